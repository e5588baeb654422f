// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where a value comes from: a backward slice over the machine's trace. Beginning with what
 * is wanted at an instant (a register, or why the flow came here), it goes back window by
 * window; an instruction that defines something wanted becomes a node, and what it used is
 * wanted from there on, until inputs are reached.
 *
 * Each node knows its *cost*: how far it is from the beginning, where an address counts
 * for more than a value and a branch for more than an address. Only the cheapest way from
 * each node back to the beginning is kept (`parent`).
 *
 * What costs more than a cap is not followed; as the slice grows the cap sinks, so that
 * what is near is always followed.
 *
 * Approximations: a register is one value, however little of it matters; what decides a
 * branch is taken to decide everything behind it in the same call (no post-dominators).
 */
#ifndef DECODE_EXPLAIN_SLICE_H
#define DECODE_EXPLAIN_SLICE_H

#include "decode/explain/history.h"
#include "decode/machine/trace.h"

#define SLICE_NONE UINT32_MAX

/** What a node is: an instruction, or an input where the way back ends. */
enum slice_origin {
	SLICE_INSN,	  ///< computed from others
	SLICE_CONSTANT,	  ///< an instruction that uses nothing
	SLICE_RESULT,	  ///< what a system call returned
	SLICE_WRITTEN,	  ///< memory that a system call is recorded to have written
	SLICE_CHILD,	  ///< the same, of vfork: a child wrote it
	SLICE_UNMODELLED, ///< a call whose effects are not all recorded may have written it
	SLICE_QUIET,	  ///< a call that got a pointer to it, and no write is recorded
	SLICE_MAPPED,	  ///< fresh memory, or a file's
	SLICE_SHARED,	  ///< memory that others may write
	SLICE_FRAME,	  ///< a signal's frame
	SLICE_SIGRETURN, ///< restored by rt_sigreturn
	SLICE_TSC,
	SLICE_CPUID,
	SLICE_START, ///< the start state
	SLICE_FAR,   ///< older than the windows looked at
};

enum slice_edge { SLICE_BEGIN, SLICE_VALUE, SLICE_ADDRESS, SLICE_BRANCH };

/** A register, or bytes of memory. */
struct slice_location {
	bool is_mem;
	uint8_t reg; ///< number of x86/insn.h; DEC_REG_RIP: the way taken by a branch
	uint32_t size;
	uint64_t addr;
};

struct slice_node {
	uint64_t position;
	uint64_t value; ///< the first bytes of what is at `location` behind it
	struct slice_location location;
	uint32_t cost;
	uint32_t parent; ///< who needed it; SLICE_NONE at the beginning
	uint32_t insn;	 ///< index into insns, or SLICE_NONE
	uint32_t event;	 ///< index into the history, or SLICE_NONE
	uint32_t tid;
	uint8_t origin; ///< enum slice_origin
	uint8_t edge;	///< enum slice_edge: how the parent needed it
	bool has_value;
};

struct slice_want {
	uint64_t word; ///< memory: address of 8 bytes
	uint32_t cost, parent;
	uint8_t mask; ///< memory: which of them
	uint8_t edge;
};

/** One instruction of the window at hand. */
struct slice_step {
	uint64_t position;
	uint32_t tid;
	uint32_t insn; ///< or SLICE_NONE: memory written
	uint32_t first_ref;
};

struct slice_ref {
	uint64_t addr, value;
	uint32_t size;
	uint8_t reg;
	bool is_def, is_mem, has_value;
};

#define SLICE_DEPTHS 256

/** What is wanted of one thread. */
struct slice_thread {
	uint32_t tid;
	uint64_t regs; ///< bit n: register n is wanted
	struct slice_want reg[64];
	struct slice_want branch[SLICE_DEPTHS]; ///< why the flow is here, by call depth
	int depth;
};

struct slice {
	const struct history *history;
	size_t event; ///< events from here on are behind us
	VEC(struct slice_thread *) threads;
	struct slice_thread *at; ///< the thread whose instructions are being swept
	VEC(struct slice_node) nodes;
	VEC(struct dec_insn) insns;
	struct map insn_of; ///< rip -> index into insns
	struct map mem;	    ///< word -> index into wants
	VEC(struct slice_want) wants;
	uint64_t begin; ///< position of the first instruction of the window
	VEC(struct slice_step) steps;
	VEC(struct slice_ref) refs;
	uint64_t block; ///< position where the last straight piece of the run begins
	uint32_t cap;	///< nothing that costs more is wanted
	bool is_full;	///< too much: what came after this was passed over
};

/** Begin behind the events of @p h below index @p event, where thread @p tid runs. */
struct err *dec_slice_init(struct slice *s, const struct history *h, size_t event,
			   uint32_t tid);
void dec_slice_deinit(struct slice *s);

/** Want register @p reg at the instant where the next window ends. */
void dec_slice_want_reg(struct slice *s, int reg);

/** Want the reason why the flow is here, which costs @p cost. */
void dec_slice_want_flow(struct slice *s, uint32_t cost);

/** Go back over [begin, end): @p m is brought there. @p end is where the last window
 * began. */
struct err *dec_slice_window(struct slice *s, struct dec_machine *m, uint64_t begin,
			     uint64_t end);

/** @return whether nothing is wanted any more. */
bool dec_slice_is_done(const struct slice *s);

/** @return the lowest cost of what is still wanted; UINT32_MAX when nothing is. */
uint32_t dec_slice_nearest(const struct slice *s);

/** No window comes any more: what is still wanted came from @p origin. */
void dec_slice_end(struct slice *s, enum slice_origin origin, uint64_t position);

/** Let thread @p tid be the one that is swept. @return NULL, or &err_nomem. */
struct err *dec_slice_thread(struct slice *s, uint32_t tid);

/** Want register @p reg of the thread at hand, unless it is wanted for less already. */
void dec_slice_use_reg(struct slice *s, int reg, uint32_t cost, uint32_t parent,
		       enum slice_edge edge);

/** The cheaper of the two wants goes to @p best. */
void dec_slice_cheaper(struct slice_want *best, const struct slice_want *w);

/** [addr, addr+size) was written: nothing in it is wanted any more. The cheapest want that
 * was goes to @p best, and which bytes of it to @p location. */
void dec_slice_take_mem(struct slice *s, uint64_t addr, uint64_t size,
			struct slice_want *best, struct slice_location *location);

/** The same of register @p reg of the thread at hand. */
void dec_slice_take_reg(struct slice *s, int reg, struct slice_want *best,
			struct slice_location *location);

/** What no want is more expensive than. */
static const struct slice_want slice_unwanted = { .cost = UINT32_MAX };

/** Let the cap sink when the slice has grown. */
void dec_slice_restrain(struct slice *s);

/** Add a node for @p want; it is what its parent needed. @return its index. */
uint32_t dec_slice_node_add(struct slice *s, enum slice_origin origin,
			    const struct slice_want *want, struct slice_location location,
			    uint64_t position);

/** Want bytes of memory, for node @p parent of cost @p cost. */
void dec_slice_want_mem(struct slice *s, uint64_t addr, uint64_t size, uint32_t cost,
			uint32_t parent, enum slice_edge edge);

/* ---- slice_step.c ------------------------------------------------------------------ */

/** Go back over the recorded steps of one window. */
struct err *dec_slice_sweep(struct slice *s);

/* ---- slice_input.c ------------------------------------------------------------------ */

/** @p step is a system call. */
void dec_slice_call(struct slice *s, const struct slice_step *step, uint32_t n_refs);

/** @p step is rdtsc or cpuid. */
void dec_slice_special(struct slice *s, const struct slice_step *step, uint32_t n_refs);

/** Step number @p i is memory written in bulk: by the kernel, or by the instruction in the
 * step before it. */
void dec_slice_bulk(struct slice *s, size_t i);

#endif
