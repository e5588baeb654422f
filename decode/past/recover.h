// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Values where none were recorded: from the instructions of a window, in order, and the
 * registers and memory at its end, back to what each instruction read and wrote (REPT, Cui
 * et al., OSDI 2018; doc/recovery.md). Forward where inputs are known, backward
 * where an instruction can be undone, and through memory, to a fixed point.
 *
 * Invariants:
 *  1. A value is *known* when it follows from the window and its end alone. In particular,
 *     nothing known passes through memory across a store whose address is not known.
 *  2. A value is *inferred* when it also takes a guess: that such a store hit something
 *     else, that a system call wrote only where its arguments point.
 *  3. All else is unknown. A register may be known in part; it is then unknown as a whole.
 *
 * The order of use: create, steps in the order in which they ran, end, run, trace. Belongs
 * to one thread; two must not run at once (it borrows SIGILL and SIGFPE).
 */
#ifndef DECODE_PAST_RECOVER_H
#define DECODE_PAST_RECOVER_H

#include "base/base.h"
#include "decode/machine/trace.h"

struct dec_recover;

/** How memory was mapped at the end. */
enum dec_recover_map {
	DEC_MAP_NONE,	 ///< nothing there, or not in the core
	DEC_MAP_CONST,	 ///< private and not writable: it was the same all the time
	DEC_MAP_PRIVATE, ///< only this program writes it
	DEC_MAP_SHARED,	 ///< others may write it
};

/** The end of the window: what a crash core holds. */
struct dec_recover_end {
	struct cap_regs regs;
	uint8_t vec[32][64];
	uint64_t vec_mask[32]; ///< bit n: byte n of the register is known
	uint64_t k[8];
	bool has_k;
	uint32_t mxcsr; ///< how floating-point results are rounded
	/** Read @p size bytes, all within an aligned 64. @return how they are mapped;
	 * DEC_MAP_NONE: @p buf is not set. */
	enum dec_recover_map (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	void *ctx;
};

/** Begin a window whose first step is at @p position. */
struct err *dec_recover_create(uint64_t position, struct dec_recover **ret);
void dec_recover_destroy(struct dec_recover *r);

/** Add the next instruction that ran; one that the end's fault cut off is not added. */
struct err *dec_recover_step(struct dec_recover *r, const struct dec_insn *insn);

/** Something happened here that is not in the window: a signal, a gap. All registers and
 * all memory may have changed. */
struct err *dec_recover_gap(struct dec_recover *r);

/** It is known from elsewhere (a heap event) that register @p reg, below 16, was @p value
 * when the next step began. */
struct err *dec_recover_anchor(struct dec_recover *r, int reg, uint64_t value);

/** It is known from elsewhere (a store probe) that the @p n bytes, at most 64, at @p addr
 * were @p bytes when the next step began. */
struct err *dec_recover_anchor_memory(struct dec_recover *r, uint64_t addr,
				      const void *bytes, size_t n);

/** The recorder wrote the program's stack just before the next step: @p n bytes from rsp +
 * @p from on hold something else now. */
struct err *dec_recover_lose_below(struct dec_recover *r, int64_t from, size_t n);

/** What a probe on a function's return does so, as arch/x86/kernel/uprobes.c has it: the
 * return address is replaced when the function is entered; when it returns, rax, rcx and r11
 * are pushed (since Linux 6.11) and the address is set right again. */
enum { DEC_RETURN_PROBE_BYTES = 24, DEC_RETURN_ADDRESS_BYTES = 8 };

/** An allocator call. Steps count from 0, as they were added. */
struct dec_recover_heap_call {
	uint64_t entry;		    ///< its first step that is known to be
	uint64_t exit;		    ///< the first one behind it; 0: not in the window
	uint64_t given, given_size; ///< block that it gave; 0: none
	uint64_t taken;		    ///< block that it was given back; 0: none
};

/** What a heap event tells of the heap. In the order of entry. */
struct err *dec_recover_heap_call(struct dec_recover *r,
				  const struct dec_recover_heap_call *call);

/** The state behind the last step. @p end is borrowed until destroy. */
void dec_recover_set_end(struct dec_recover *r, const struct dec_recover_end *end);

/** Other threads run beside this one (@p has_company): they may write any memory at any
 * time, so that what passes through it is inferred at best. */
void dec_recover_set_company(struct dec_recover *r, bool has_company);

/** What came of it. */
struct dec_recover_stats {
	uint64_t steps, accesses;
	uint64_t accesses_placed; ///< of them, those with a known or inferred address
	uint64_t sweeps;	  ///< through memory, in all
	uint64_t rounds;	  ///< of guesses
	uint64_t conflicts;	  ///< guesses that met something else in the last round
	uint64_t known_conflicts; ///< must be 0: two derivations without a guess disagree
	double seconds;
};

/** Recover to the fixed point. */
struct err *dec_recover_run(struct dec_recover *r, struct dec_recover_stats *ret);

/** The @p i-th step, below stats.steps, as dec_machine_trace() would show it. What
 * @p ret points to is valid until the next call. */
void dec_recover_show(struct dec_recover *r, uint64_t i, struct dec_step *ret);

/** Show each step to @p fn as dec_machine_trace() does, each reference with its
 * certainty. Unknown values have has_value false; unknown addresses are 0. */
struct err *dec_recover_trace(struct dec_recover *r, dec_step_fn fn, void *ctx);

#endif
