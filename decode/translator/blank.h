// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which bits have no value, followed while the guest runs, in a guard (guard.h), so that a run in which nothing
 * depends on such need not be logged. Each byte of the guest's memory has one of shadow, at a constant distance:
 * its bits that have none. Emitted code (blank_emit.c) deals with what has values: it looks at the shadow of what is
 * read, clears that of what is written, and sets that of what is new on the stack. An instruction that has to
 * do with a register or memory that lacks any is an event: C does it, and asks others (DEC_BLANK_OPS) what becomes of them.
 *
 * It decides one way only: if it ends without a doubt, no such bit decided anything.
 */
#ifndef DECODE_TRANSLATOR_BLANK_H
#define DECODE_TRANSLATOR_BLANK_H

#include "base/base.h"
#include "decode/x86/insn.h"

struct translation;
struct dec_engine;

/** Registers, a bit each: general ones and, behind them, the flags, masks, and the x87's, MMX's, all as one; of vector
 * registers the low 8 bytes, and what is above them. */
struct blank_regs {
	uint32_t own, low, high;
};

enum { BLANK_FLAGS = 16, BLANK_MASKS = 17, BLANK_X87 = 25 };

/** What each register lacks, of those that lack any. */
struct blank_bits {
	uint64_t gpr[16];
	uint8_t vec[32][64];
};

static inline struct blank_regs blank_regs_add(struct blank_regs a, struct blank_regs b)
{
	return (struct blank_regs){ a.own | b.own, a.low | b.low, a.high | b.high };
}

static inline struct blank_regs blank_regs_without(struct blank_regs a,
						   struct blank_regs b)
{
	return (struct blank_regs){ a.own & ~b.own, a.low & ~b.low, a.high & ~b.high };
}

static inline bool blank_regs_meet(struct blank_regs a, struct blank_regs b)
{
	return (a.own & b.own) | (a.low & b.low) | (a.high & b.high);
}

/** @return what @p insn looks at, and what it leaves as it was in part; what it defines is in @p writes. */
struct blank_regs dec_blank_regs(const struct dec_insn *insn, struct blank_regs *writes);

/** What instructions, one behind the other, use of what was there before, and what they define all of, whatever happens: what
 * they may define, where no branch leaves them before, counts as used. */
struct blank_course {
	struct blank_regs uses, defs;
	bool has_branch;
};

/** Instruction @p insn comes behind those of @p c. */
void dec_blank_add(struct blank_course *c, const struct dec_insn *insn);

/** What an instruction used, and defined. */
struct blank_ref {
	bool is_def, is_mem;
	uint8_t reg; ///< number of x86/insn.h
	uint64_t addr, size;
	const uint8_t *value; ///< before it, of a use; NULL: not known
};

struct blank_step {
	const struct dec_insn *insn;
	const struct blank_ref *refs; ///< uses first
	size_t n_refs;
	const uint64_t *before, *gpr; ///< general registers before it; behind it
	/** What it uses is no mistake: the allocator's code, or a string function's, which read ahead. */
	bool is_quiet;
};

/** What is known of bits without a value: it is somebody's who may use this room (faultlocate/bytes/live.c). */
struct dec_blank_ops {
	/** Shadow bytes are @p off from their memory. @return NULL: no memory. */
	void *(*create)(int64_t off);
	/** @return whether something without a value decided. */
	bool (*step)(void *state, const struct blank_step *s);
	/** Write the registers that lack any into @p ret, and which bits of each into @p bits. */
	void (*live)(const void *state, struct blank_regs *ret, struct blank_bits *bits);
	/** Emitted code changed that: the reverse. */
	void (*settle)(void *state, const struct blank_regs *live,
		       const struct blank_bits *bits);
	/** Keep what registers lack, for another thread to run: in @p room, NULL: in new memory, which stays the caller's.
	 * @return it; NULL: no memory. */
	void *(*keep)(const void *state, void *room);
	void (*bring)(void *state, const void *kept);
};

/** Of a program's one struct dec_blank_ops, if it has any: so it is known in the machine's process, which begins before
 * main(). */
#define DEC_BLANK_OPS __attribute__((section("dec_blank_ops"), used))

#define BLANK_CHUNKS 65536

struct dec_blank {
	int32_t off;
	bool has_avx2;
	int ones;		       ///< file of ones; 0: it was not needed
	void *state;		       ///< of the ops
	uint64_t chunks[BLANK_CHUNKS]; ///< of the shadow that are there: number + 1
};

struct blank_span {
	uint64_t start, end;
};

/** Begin, in a guard. The guest has memory at the @p n @p spans. @return ERR_UNSUPPORTED: nobody knows, or there is no room. */
struct err *dec_blank_start(struct dec_engine *e, const struct blank_span *spans,
			    size_t n);

/** The guest has memory at @p start to @p end, too: in doubt, if there is no room for its shadow. */
void dec_blank_cover(struct dec_engine *e, uint64_t start, uint64_t end);

/** @return whether none of the 8 bytes at @p addr, a multiple of 8, which the guest has, has any. */
bool dec_blank_lacks_word(const struct dec_blank *k, uint64_t addr);

/** @return the registers that lack any; those of @p defs do no more. */
struct blank_regs dec_blank_live(const struct dec_engine *e);
void dec_blank_define(struct dec_engine *e, struct blank_regs defs);

/** Execute the instruction at rip. @return enum dec_verdict. */
int dec_blank_step(struct dec_engine *e);

/** The instruction at @p rip is about to read what has no value: is it of a function of strings, and all that this is to
 * read has? Then what it makes of the rest is nobody's. */
bool dec_blank_may_pass(const struct dec_engine *e, uint64_t rip);

/** The kernel wrote @p size bytes at @p addr; system call @p number was answered; @p insn, which is none of the processor's
 * here, was. */
void dec_blank_written(struct dec_engine *e, uint64_t addr, uint64_t size);
/** .. reads such: in doubt, if that has no value. */
void dec_blank_got(struct dec_engine *e, uint64_t addr, uint64_t size);
void dec_blank_answered(struct dec_engine *e, uint64_t number);
void dec_blank_special(struct dec_engine *e, const struct dec_insn *insn);

/** What a thread that does not run has for itself. */
struct blank_thread {
	void *regs; ///< of the ops
	uint64_t call[5];
	uint32_t hook;
};

/** The thread that runs is kept in @p t; @p t runs again, NULL: a new one, whose registers have values, as the log has it.
 * @return false: no memory. */
bool dec_blank_keep(const struct dec_engine *e, struct blank_thread *t);
void dec_blank_bring(struct dec_engine *e, const struct blank_thread *t);

/** Function @p fn of the allocator begins (enum cap_heap_fn, or another); it returned, and wrote 8 bytes at @p result
 * (0: none); a block is born, of which @p kept bytes are as they were; one of @p size bytes is
 * released, of which it reads the beginning. */
void dec_blank_enter(struct dec_engine *e, int fn);
void dec_blank_died(struct dec_blank *k, uint64_t addr, uint64_t size);
void dec_blank_leave(struct dec_engine *e, uint64_t result);
void dec_blank_born(struct dec_engine *e, uint64_t addr, uint64_t size, uint64_t kept,
		    bool is_zeroed);

/* ---- blank_emit.c: parts of a block, as guard_emit.c's */

void dec_blank_open(struct translation *t);

/** @return whether C does instruction @p i in any case. */
bool dec_blank_before(struct translation *t, int i);

#endif
