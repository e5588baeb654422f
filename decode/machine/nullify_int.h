// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of a nullifying run share: nullify.c (an instruction at a time), nullify_flow.c
 * (where it goes on), nullify_shadow.c (what is known of memory), nullify_insn.c (of an
 * instruction), nullify_blocks.c (of the allocator's blocks), nullify_quick.c (what is clean, in emitted
 * code). Private to them.
 */
#ifndef DECODE_MACHINE_NULLIFY_INT_H
#define DECODE_MACHINE_NULLIFY_INT_H

#include "decode/machine/loose_int.h"
#include "decode/machine/nullify.h"
#include "decode/translator/nat.h"
#include "decode/x86/join.h"

#define BIT(n) (UINT64_C(1) << (n))

/** A source (struct dec_source) in a word: 0 is none. */
typedef uint64_t nul_source;
#define NUL_RIGHT BIT(61) ///< struct dec_source.is_right

/** Where a value comes from (struct dec_origin). */
struct nul_leaf {
	nul_source made, assigned, via, beyond;
	/** Where the value came into being, and that of the address by which it was read from `at`: stores and
	 * returns are gone through, too, but the allocator's. */
	nul_source since, via_since;
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
	uint32_t join;	  ///< index, once has_join
	uint32_t counter; ///< of emitted code, from 1; 0: none
};

/** A call under way. */
struct nul_frame {
	uint64_t slot; ///< where its return address lies
	uint64_t ret, entry, tail;
	nul_source called; ///< by which instruction
	bool is_allocators;
	uint64_t asked;		  ///< bytes of a block that it is to give out; 0: none
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
	struct nul_frame outermost; ///< its branch alone: see dec_nullified
	bool is_first; ///< it ran when this began: its calls then were asked about
};

/** Memory that an instruction is about to access. */
struct nul_access {
	bool is_def, is_named; ///< named: a variable's own place
	bool has_corrupt_addr;
	uint64_t addr, size;
	nul_source via, via_since, beyond;
};

#define NUL_ACCESSES 48

/** A mapping that some stack is in. */
struct nul_stack {
	uint64_t start, end;
};

/** What emitted code tests. */
struct nul_tests {
	bool memory, stack;
	uint32_t regs; ///< as dec_nat_fold() says
};

/** While clean code runs in the code cache. */
struct nul_quick {
	struct dec_nat nat;
	struct dec_world world; ///< the branch's own callbacks
	uint32_t n_counters, insn[CTX_NAT_COUNTERS];
	uint64_t due[CTX_NAT_COUNTERS]; ///< that execution, from 1, is for C
	bool closes;			///< pages with NaT bytes are made inaccessible
	uint64_t n_closings, since;	///< they were so often, since that position
	unsigned n_changes;		///< between that and tests
	VEC(uint64_t) closed;		///< those that are
	VEC(struct nul_stack) stacks;	///< that threads were in when emitted code began
	bool has_lost_stack;		///< one was not found: all memory may be one
	uint64_t n_on_stacks;		///< NaT bytes there
	/** Tests go that had nothing to find for `wait` instructions, since position idle_since (0: all
	 * have something); the others have found `seen` since then. */
	uint64_t idle_since, wait;
	struct nul_tests seen;
};

/** An instruction wrote beside a block, where the layout keeps what is to be left alone: `at`. */
struct nul_overrun {
	uint32_t insn;
	uint64_t at;
	struct nul_leaf leaf;
};

/** A block of the allocator's. */
struct nul_block {
	uint64_t addr, size;
	nul_source out, back; ///< the last time it was given out, given back; 0: not seen
};

struct nul_run {
	struct dec_replay *r;
	const struct dec_nullify *ask;
	struct dec_nullified *ret;
	VEC(struct nul_insn) insns;
	struct map insn_of, pages;
	VEC(struct dec_join) joins;
	VEC(struct nul_thread *) threads;
	struct nul_thread *t;
	uint64_t begin;	       ///< position
	uint64_t now;	       ///< that of the instruction at hand
	uint32_t last;	       ///< instruction that is executed
	struct nul_value jump; ///< what its target was made of
	/** Where a call did not return to where it came from, first: by what, and at which instruction;
	 * n 0: each did. */
	struct nul_value stray;
	uint64_t stray_rip;
	VEC(struct nul_overrun) overruns; ///< in turn
	VEC(struct nul_block) blocks;
	struct map block_of;	///< address -> its number
	struct nul_value cause; ///< what its addresses, or its divisor, are made of
	bool has_no_memory;
	uint64_t n_corrupt; ///< bytes
	uint64_t
		turn_at; ///< position at which another thread's turn begins; 0: not known
	bool was_touched; ///< the instruction at hand used or defined something corrupt
	struct nul_quick *quick; ///< NULL: where values come from is kept
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

/** @return how many pages have corrupt bytes; the first @p max of them are in @p ret. */
size_t dec_nullify_pages(const struct nul_run *n, uint64_t *ret, size_t max);

/** @return how many bytes of [start, end), whole pages, are corrupt. */
uint64_t dec_nullify_count_in(const struct nul_run *n, uint64_t start, uint64_t end);

void dec_nullify_forget(struct nul_run *n);

/** The instruction at hand, number @p insn, made it. */
nul_source dec_nullify_made(const struct nul_run *n, uint32_t insn, bool is_arrival);
nul_source dec_nullify_of_reg(unsigned reg);

/** @return since the beginning; 0: it was there before. */
uint64_t dec_nullify_position(nul_source s);

void dec_nullify_tell(const struct nul_run *n, const struct nul_leaf *leaf,
		      struct dec_origin *ret);

/** Add the leaves of @p from to @p to, up to as many as fit. */
void dec_nullify_merge(struct nul_value *to, const struct nul_value *from);
void dec_nullify_add(struct nul_value *to, const struct nul_leaf *leaf);

/* ---- nullify_blocks.c ------------------------------------------------------------ */

/** Call @p f of the user's has come to the beginning of a function of the allocator's that does @p kind. */
void dec_nullify_block_asked(struct nul_run *n, struct nul_frame *f,
			     enum dec_nullify_allocator kind);

/** That for @p size bytes (0: none) has returned to @p here. */
void dec_nullify_block_given(struct nul_run *n, uint64_t size, nul_source here);

/** @return struct dec_origin.block of what @p leaf is of. */
nul_source dec_nullify_block_of(const struct nul_run *n, const struct nul_leaf *leaf);

/* ---- nullify_insn.c ------------------------------------------------------------------ */

/** @return the number of the instruction at @p rip; UINT32_MAX: none, or no memory. */
uint32_t dec_nullify_insn(struct nul_run *n, uint64_t rip);

/** List what instruction @p i is about to access. @return how many. */
int dec_nullify_accesses(struct nul_run *n, const struct nul_insn *i,
			 struct nul_access ret[NUL_ACCESSES]);

/* ---- nullify.c -------------------------------------------------------------------- */

/** Execute the instruction at hand, or pass it by. */
enum dec_verdict dec_nullify_step(struct nul_run *n);

/** @return what is known of the running thread. */
struct nul_thread *dec_nullify_thread(struct nul_run *n);

/* ---- nullify_quick.c ------------------------------------------------------------- */

/** From here on quickly, if that can be. */
void dec_nullify_quick_begin(struct nul_run *n);

/** From here on where values come from is kept. */
void dec_nullify_quick_end(struct nul_run *n);

/** Go on up to @p until, at most; at least one instruction. */
enum dec_verdict dec_nullify_dash(struct nul_run *n, uint64_t until);

/** Byte @p addr of memory became corrupt, or clean. */
void dec_nullify_quick_mark(struct nul_run *n, uint64_t addr, bool is_corrupt);

/** Bring the count of @p i to where it is in emitted code. */
void dec_nullify_know_count(struct nul_run *n, struct nul_insn *i);

/** Instruction @p i is executed once more; was not, after all. */
void dec_nullify_count(struct nul_run *n, struct nul_insn *i);
void dec_nullify_take_back(struct nul_run *n, struct nul_insn *i);

/** Call @p f of the running thread begins; the one whose return address lies at @p slot ended. */
void dec_nullify_note_call(struct nul_run *n, const struct nul_frame *f);
void dec_nullify_note_return(struct nul_run *n, uint64_t slot);

/** Bring the innermost @p max calls under way to the running thread's frames. */
void dec_nullify_find_calls(struct nul_run *n, size_t max);

/* ---- nullify_flow.c ------------------------------------------------------------------- */

/** The calls that are under way as it begins. */
void dec_nullify_begin(struct nul_run *n);

/** The registers that a function keeps for its caller. */
extern const uint8_t dec_nullify_kept[DEC_SAVED_REGS];

/** @return the function that the call before @p ret went to, 0: not known. */
uint64_t dec_nullify_entry(struct nul_run *n, uint64_t ret);

/** Tell call @p f. */
void dec_nullify_tell_call(const struct nul_frame *f, struct dec_nullify_call *ret);

/** Execute the instruction at hand. @return DEC_PAUSE: another thread goes on before it. */
enum dec_verdict dec_nullify_execute(struct nul_run *n);

/** It is not executed: behind it. */
void dec_nullify_pass(struct nul_run *n, struct nul_insn *i);

/** Instruction number @p i, which transfers control, is at hand; @p is_corrupt: where to is. */
enum dec_verdict dec_nullify_flow(struct nul_run *n, uint32_t i, bool is_corrupt);

/** What a call may give back; nobody looks at what else it does not preserve. */
#define NUL_RESULTS \
	(BIT(CAP_RAX) | BIT(CAP_RDX) | BIT(DEC_REG_VEC) | BIT(DEC_REG_VEC + 1))

#endif
