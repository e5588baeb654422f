// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From which allocation a pointer comes. Observation 1 of paper 001, section 3.2.1: an
 * address inside a node is derived from the node's start, step by step. So each register,
 * vector lane and memory word carries the derivation of the pointer it holds, if it holds
 * one: the allocator's result is derived from nothing, a copy keeps its derivation, and
 * arithmetic begins a new one on top of it. For heapgraph/, and faultlocate/bytes/, whose numbers
 * are its own.
 *
 * A copy is recognised by its value: what an instruction defines is derived from whatever
 * it uses that has the same value, be it moved, exchanged, pushed or selected.
 */
#ifndef HEAPGRAPH_HG_DERIVE_H
#define HEAPGRAPH_HG_DERIVE_H

#include "base/base.h"
#include "decode/machine/trace.h"
#include "heapgraph/hg_int.h"

/** An address that is farther from its node was not meant to be in it: it is a distance
 * between two nodes, by which compilers walk two buffers with one pointer. */
#define HG_DERIVE_REACH (INT64_C(1) << 20)

/** One step of pointer arithmetic; its number is its index + 1. What each access asks for is in
 * front, and all that is asked of its node but whether it lives: there may be millions of
 * both, anywhere in memory. */
struct hg_derivation {
	uint32_t parent; ///< 0: the allocation itself
	struct hg_node_id node;
	uint64_t start, size; ///< of the node
	/** The same of those that go through the same steps from nodes of one site and size. */
	uint64_t shape;
	uint64_t rip;	 ///< of the instruction
	uint32_t child;	 ///< one that was derived from it; 0: none
	bool is_rough;	 ///< masks or distances had a part in it
	bool is_indexed; ///< another register had: it is no constant
	bool is_far;	 ///< offset is beyond HG_DERIVE_REACH
	bool is_varied;	 ///< it led to other offsets, too: in a loop, or by another index
	bool is_whole;	 ///< for whom looks at accesses: no part of the node matters
	uint64_t time;	 ///< of the instruction; of many in a loop, the first
	int64_t offset;	 ///< of the result, from the node's start: of many, the first
};

/** Registers of one thread. */
struct hg_derived_regs {
	uint32_t tid;
	uint64_t value[DEC_GPRS];      ///< as last seen
	uint32_t gpr[DEC_GPRS];	       ///< derivations; 0: no pointer
	uint32_t live;		       ///< bit n: gpr[n] is not 0
	uint32_t vec[32][8];	       ///< by 8-byte lane
	uint32_t vec_live;	       ///< bit n: vec[n] has any
	uint64_t kept_value[DEC_GPRS]; ///< of hg_derive_enter()
	uint32_t kept_gpr[DEC_GPRS];
};

/** From here on general register @p reg is pointer @p number; 0: none. */
static inline void hg_derived_set(struct hg_derived_regs *regs, int reg, uint32_t number)
{
	regs->gpr[reg] = number;
	regs->live = (regs->live & ~(1u << reg)) | (uint32_t)(number != 0) << reg;
}

/** A signal's handler begins with registers @p now, where they were @p before, which @p was is to keep: its pointers
 * are those that are the same. */
void hg_derived_interrupt(struct hg_derived_regs *regs, struct hg_derived_regs *was,
			  const uint64_t before[DEC_GPRS], const uint64_t now[DEC_GPRS]);
/** It has returned; they are @p now. */
void hg_derived_resume(struct hg_derived_regs *regs, const struct hg_derived_regs *was,
		       const uint64_t now[DEC_GPRS]);

/** @return the number that stands for a pointer of unknown origin to @p value, or 0. */
typedef uint32_t (*hg_derive_pointer_fn)(void *ctx, uint64_t value);

#define HG_DERIVE_PAGES 512

/** A page of words; @p number 0: not known. */
struct hg_derive_page {
	uint64_t number;
	uint8_t *bytes; ///< NULL: there is no such page
};

struct hg_derive {
	const struct hg_graph *graph; ///< as it is before the instruction; grows
	/** Without a graph: the numbers are the user's, and arithmetic keeps them. */
	hg_derive_pointer_fn pointer;
	void *pointer_ctx;
	VEC(struct hg_derivation) steps;
	struct map roots;	///< node -> derivation
	struct map known;	///< parent, rip -> derivation: a loop makes one
	struct map measured;	///< derivation << 32 | node: see hg_derive_is_measured()
	struct hg_image memory; ///< of each word: derivation, low half of the value
	struct hg_derive_page at_hand[HG_DERIVE_PAGES]; ///< of memory, met lately
	VEC(struct hg_derived_regs) threads;
	struct hg_derived_regs *regs;  ///< of the thread that runs
	uint64_t heap_start, heap_end; ///< all nodes lie between, of those
	uint32_t n_nodes;	       ///< .. that were looked at
	bool is_out_of_memory;
};

void hg_derive_init(struct hg_derive *d, const struct hg_graph *g);

/** The same without a graph: each pointer has a number (not 0) that the user puts into
 * regs and that copies and results of arithmetic have as well. */
void hg_derive_init_plain(struct hg_derive *d, hg_derive_pointer_fn pointer, void *ctx);
void hg_derive_deinit(struct hg_derive *d);

/** Let @p tid run. @return which of the threads it is; d->regs is NULL when memory is out. */
size_t hg_derive_thread(struct hg_derive *d, uint32_t tid);

/** @return the derivation of the allocation @p id itself. */
uint32_t hg_derive_root(struct hg_derive *d, struct hg_node_id id);

/** The instruction of @p s ran: carry on what its definitions are derived from. */
void hg_derive_step(struct hg_derive *d, const struct dec_step *s);

/**
 * Pointers into a node that is gone may be meant for what lies there now: who keeps them across
 * blocks (a compressor's dictionary) makes them new by q - (q - p), q being a pointer to the
 * new block, and looks how far it is; compilers leave p as it was.
 *
 * @return whether @p number, or what it is derived from, was subtracted from a pointer to @p node, or
 * the other way round, when it held an address in that.
 */
bool hg_derive_is_measured(const struct hg_derive *d, uint32_t number,
			   struct hg_node_id node);

/** @return the memory operand, with a base register, that @p r is an access of, where the general registers were
 * @p value before; NULL: none. */
const struct dec_mem *hg_derive_operand(const struct dec_insn *insn,
					const struct dec_ref *r, const uint64_t *value);

/** @return the number of the pointer in the word at @p addr, which holds @p value; 0: none. */
uint32_t hg_derive_word(struct hg_derive *d, uint64_t addr, uint64_t value);

/** From here on the word at @p addr, which holds @p value, is pointer @p number. */
void hg_derive_set_word(struct hg_derive *d, uint64_t addr, uint64_t value,
			uint32_t number);

/** The allocator gave out node @p id, with what node @p from held ({0}: nothing; realloc, which may have
 * left it in its place): pointers that are in it moved with that, others are not there any more,
 * whatever values its words have. */
void hg_derive_born(struct hg_derive *d, struct hg_node_id id, struct hg_node_id from);

/** The allocator is entered, and left: registers that it gave back are as they were. */
void hg_derive_enter(struct hg_derive *d);
void hg_derive_leave(struct hg_derive *d);

/** As hg_derive_step() for instructions of the allocator: only values are kept. */
void hg_derive_skip(struct hg_derive *d, const struct dec_step *s);

/** @return a number for the pair; that two pairs have the same is out of the question. */
static inline uint64_t hg_derive_key(uint64_t a, uint64_t b)
{
	a = (a ^ a >> 32) * 0x9e3779b97f4a7c15u;
	b = (b + 0x632be59bd9b4e019u) * 0xd6e8feb86659fd93u;
	return (a ^ a >> 29) + (b ^ b >> 31);
}

/** @return derivation @p number (not 0). */
static inline const struct hg_derivation *hg_derive_get(const struct hg_derive *d,
							uint32_t number)
{
	return &d->steps.data[number - 1];
}

/** Derivation @p number was made again, and leads to @p offset now. */
static inline void hg_derive_again(struct hg_derive *d, uint32_t number, int64_t offset)
{
	struct hg_derivation *s = &d->steps.data[number - 1];

	if (s->offset != offset)
		s->is_varied = true;
}

#endif
