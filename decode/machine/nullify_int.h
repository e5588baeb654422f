// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of a nullifying run share: nullify.c (an instruction at a time), nullify_flow.c
 * (where it goes on), nullify_shadow.c (what is known of memory), nullify_insn.c (of an
 * instruction). Private to them.
 */
#ifndef DECODE_MACHINE_NULLIFY_INT_H
#define DECODE_MACHINE_NULLIFY_INT_H

#include "decode/machine/loose_int.h"
#include "decode/machine/nullify.h"
#include "decode/x86/join.h"

#define BIT(n) (UINT64_C(1) << (n))

/** A source (struct dec_source) in a word: 0 is none. */
typedef uint64_t nul_source;
#define NUL_RIGHT BIT(61) ///< struct dec_source.is_right

/** Where a value comes from (struct dec_origin). */
struct nul_leaf {
	nul_source made, assigned, via, beyond;
	uint64_t at;
	uint64_t value; ///< that was loaded or returned, `bytes` of it; 0: not known
	uint8_t bytes;
};

/** What a register holds was made of these. */
struct nul_value {
	uint8_t n;
	bool is_computed; ///< of them, it is no copy of the one
	struct nul_leaf leaf[DEC_ORIGINS_MAX];
};

/** An instruction, decoded once. Masks: bit n is register n of x86/insn.h. */
struct nul_insn {
	struct dec_insn insn;
	uint64_t count, n_omitted;
	uint64_t reads;	 ///< data; no registers of addresses
	uint64_t addrs;	 ///< registers of addresses
	uint64_t writes; ///< rsp is not among them
	uint64_t merges; ///< of these, in part only
	bool is_copy;	 ///< what is written is what is read
	bool has_point, has_join, moves_stack;
	uint32_t join; ///< index, once has_join
};

/** A call under way. */
struct nul_frame {
	uint64_t slot; ///< where its return address lies
	uint64_t ret, entry;
	bool is_allocators;
	uint64_t saved[CAP_GPRS]; ///< at the call
	uint64_t saved_corrupt;
	struct nul_leaf saved_leaf[CAP_GPRS];
	uint64_t branch;
	struct nul_value by, arg;
};

struct nul_thread {
	uint32_t tid;
	uint64_t corrupt;      ///< registers
	uint64_t params;       ///< registers that hold parameters still
	unsigned n_allocators; ///< of the frames
	struct nul_value reg[64];
	VEC(struct nul_frame) frames;
};

/** Memory that an instruction is about to access. */
struct nul_access {
	bool is_def, is_named; ///< named: a variable's own place
	bool has_corrupt_addr;
	uint64_t addr, size;
	nul_source via, beyond;
};

#define NUL_ACCESSES 48

struct nul_run {
	struct dec_replay *r;
	const struct dec_nullify *ask;
	struct dec_nullified *ret;
	VEC(struct nul_insn) insns;
	struct map insn_of, pages;
	VEC(struct dec_join) joins;
	VEC(struct nul_thread *) threads;
	struct nul_thread *t;
	uint64_t begin;		///< position
	uint64_t now;		///< that of the instruction at hand
	uint32_t last;		///< instruction that is executed
	struct nul_value jump;	///< what its target was made of
	struct nul_value cause; ///< what its addresses, or its divisor, are made of
	bool has_no_memory;
};

/* ---- nullify_shadow.c ------------------------------------------------------------- */

/** @return whether any byte of [addr, addr+size) is corrupt. */
bool dec_nullify_is_corrupt(const struct nul_run *n, uint64_t addr, uint64_t size);

/** Mark [addr, addr+size) corrupt or clean. */
void dec_nullify_mark(struct nul_run *n, uint64_t addr, uint64_t size, bool is_corrupt);

/** What is at [addr, addr+size) comes from @p leaf. */
void dec_nullify_put(struct nul_run *n, uint64_t addr, uint64_t size,
		     const struct nul_leaf *leaf);

/** @return where that comes from. */
struct nul_leaf dec_nullify_get(const struct nul_run *n, uint64_t addr, uint64_t size);

void dec_nullify_forget(struct nul_run *n);

/** The instruction at hand, number @p insn, made it. */
nul_source dec_nullify_made(const struct nul_run *n, uint32_t insn, bool is_arrival);
nul_source dec_nullify_of_reg(unsigned reg);

void dec_nullify_tell(const struct nul_run *n, const struct nul_leaf *leaf,
		      struct dec_origin *ret);

/** Add the leaves of @p from to @p to, up to as many as fit. */
void dec_nullify_merge(struct nul_value *to, const struct nul_value *from);
void dec_nullify_add(struct nul_value *to, const struct nul_leaf *leaf);

/* ---- nullify_insn.c ------------------------------------------------------------------ */

/** @return the number of the instruction at @p rip; UINT32_MAX: none, or no memory. */
uint32_t dec_nullify_insn(struct nul_run *n, uint64_t rip);

/** List what instruction @p i is about to access. @return how many. */
int dec_nullify_accesses(struct nul_run *n, const struct nul_insn *i,
			 struct nul_access ret[NUL_ACCESSES]);

/* ---- nullify_flow.c ------------------------------------------------------------------- */

/** The calls that are under way as it begins. */
void dec_nullify_begin(struct nul_run *n);

/** Tell call @p f. */
void dec_nullify_tell_call(const struct nul_frame *f, struct dec_nullify_call *ret);

/** Execute the instruction at hand. */
enum dec_verdict dec_nullify_execute(struct nul_run *n);

/** It is not executed: behind it. */
void dec_nullify_pass(struct nul_run *n, struct nul_insn *i);

/** Instruction number @p i, which transfers control, is at hand; @p is_corrupt: where to is. */
enum dec_verdict dec_nullify_flow(struct nul_run *n, uint32_t i, bool is_corrupt);

/** What a call may give back; nobody looks at what else it does not preserve. */
#define NUL_RESULTS \
	(BIT(CAP_RAX) | BIT(CAP_RDX) | BIT(DEC_REG_VEC) | BIT(DEC_REG_VEC + 1))

#endif
