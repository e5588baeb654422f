// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One block on its way into the code cache: what translate.c (the guest's
 * instructions) and instrument.c (what goes around them) share. Private to the two.
 *
 * Block layout:
 *
 *	full:	borrow the log pointer's register
 *	fast:	borrow the others, [check], header, instructions with [check] and slots,
 *		advance, branch to fast or to a stub:
 *	stub:	give the log pointer's register back, go on to full or leave
 *
 * A stub that gives nothing back lies with others of its kind in another part of the arena, and
 * so do constants: it runs until its exit is linked, and between blocks it would fill half
 * of the lines that the processor fetches.
 *
 * Where nothing is logged a block goes on behind a conditional branch that leads forward, so
 * that one which is not taken costs no jump. All its instructions are counted at once, before
 * the last one that overwrites the flags. Who leaves by a branch before that takes along how
 * many are still to be counted, who leaves behind it how many were not executed: the exit
 * leads to a block of its own, a continuation, that was made knowing this number. Until it is known to be passed often
 * it leads to a pad, which only counts them.
 *
 * An indirect branch borrows r11 and rcx, and gives them back where it lands: in front of a block
 * that has been come to that way. A block that uses neither and ends in such a branch is carried:
 * they stay in the context all through it, and who enters it by a direct branch, through an entry
 * behind it, puts them there.
 *
 * A direct branch between two blocks that borrow the same register for the log pointer
 * goes from the one's advance to the other's fast entry: in a loop the pointer stays in
 * its register. ctx->log is stale then; whoever leaves such a block in its middle takes
 * the pointer from the register (engine_leave_middle()).
 *
 * So do the three registers that a guard borrows (guard_emit.c), all of which must be the same: behind
 * `fast' they are borrowed already, and a stub gives them back, in the other part.
 */
#ifndef DECODE_TRANSLATOR_TRANSLATION_H
#define DECODE_TRANSLATOR_TRANSLATION_H

#include "decode/translator/blank.h"
#include "decode/translator/emit.h"
#include "decode/translator/engine.h"

/** A conditional branch out of the middle of a block. */
struct translation_side {
	uint8_t *patch;
	uint64_t target;
	int n; ///< instructions of the block executed then
};

/** Bytes at [r+lo, r+hi), by a register, that were tested: nat.c. */
struct translation_span {
	int64_t lo, hi;
};

#define TRANSLATION_STORES 4 ///< of a block that may be muted, at most

/** A store, by where its record has its registers; 0: none. */
struct translation_store {
	const struct dec_mem *mem;
	uint32_t base_at, index_at;
};

/** Bytes of code that a block compares itself: of more, C is no slower. */
enum { DEC_CHECKED_MOST = 128 };

struct translation {
	struct dec_engine *e;
	struct dec_emit out, cold; ///< its code; what hardly ever runs, elsewhere
	struct engine_block *block;
	int n;		  ///< instructions executed natively
	bool has_special; ///< insn[n] is for C (or the bytes there are bad)
	int special_kind;
	uint64_t end_rip; ///< where execution goes on when no branch ends the block
	bool is_logged, is_watched, is_single;
	uint64_t seen_page;	///< the last one that the world was told of, + 1; 0: none
	uint32_t log_at;	///< next slot's offset in the record
	struct dec_known known; ///< at the instruction being emitted
	int debit_at;		///< the block is counted before this instruction; -1: not
	bool has_saved_flags;	///< for that, which is at the block's start
	bool has_dead_flags;	///< at the block's start: no instruction of it sees them
	uint8_t *check_patch;
	bool is_pad;	     ///< it only counts what its exit brought along
	uint32_t pad_of;     ///< .. until it leaves by this one: index + 1; 0: always
	uint8_t *pass_patch; ///< where it does
	bool goes_beyond;    ///< a conditional branch
	bool ends_in_branch; ///< other conditional branches are ways out of its middle
	int n_sides;
	bool is_open;	  ///< the log pointer's register is borrowed
	bool has_nat;	  ///< tests go around the instructions: nat.c
	bool nat_is_held; ///< the block's nat_reg is borrowed
	uint32_t
		nat_tested; ///< registers of dec_nat_fold() that the block has tested so far
	struct translation_span nat_span[DEC_GPRS];
	// Of mute.c:
	bool is_mutable; ///< without a record where it stores in muted pages
	bool is_release; ///< it is left before its first instruction, perhaps
	int n_stores;
	struct translation_store store[TRANSLATION_STORES];
	uint32_t reg_at[DEC_GPRS]; ///< where the record has a register
	// Of guard_emit.c:
	bool is_guarded, is_guard_open;
	bool has_kept_flags; ///< they are in the context
	bool step_stub_kept, is_load_kept;
	bool is_stos; ///< the instruction at hand is rep stos, of which the first scratch has where it begins
	uint8_t load_reg;     ///< the instruction at hand loads a word into it; or none
	uint8_t load_cc;      ///< .. if that holds, then; or none
	uint8_t store_vec;    ///< .. stores this vector register; or none
	uint32_t zero;	      ///< registers known to be no pointers
	uint32_t first_event; ///< of the instruction at hand
	uint8_t *step_stub;   ///< where it leaves; NULL: nowhere yet
	uint8_t *blank_stub;  ///< .. as what it reads has no value, with this event
	uint8_t *move_stub;   ///< .. as it leads a pointer on for the first time
	uint32_t blank_event, move_event;
	struct blank_regs
		blank_carried; ///< that perhaps hold what was loaded without a value
	// Not set before it is used, of which there is too much: insn[0..n] and side[0..n_sides-1].
	struct dec_insn insn[DEC_BLOCK_INSNS + 1];
	struct translation_side side[DEC_BLOCK_INSNS];
};

/** The registers that instructions of a block use and that logging them borrows. */
struct translation_regs {
	struct dec_known known; ///< behind the last instruction added
	uint32_t used;		///< bit n: register n must keep the guest's value
	int need;		///< how many are borrowed: see dec_translation_regs_add()
	bool is_far;		///< one more is: see far.c
};

/* ---- translate.c ------------------------------------------------------------ */

/** A new exit of the block; valid until the next one is made. */
struct engine_exit *dec_translation_exit(struct translation *t, int kind, uint64_t rip);

/** Emit, at @p out, a stub that leaves the guest through exit @p x. */
void dec_translation_stub(const struct translation *t, struct dec_emit *out,
			  const struct engine_exit *x);

/* ---- far.c ------------------------------------------------------------------ */

/** Does @p insn refer to data that may be out of reach of the block? */
bool dec_translation_is_far(const struct translation *t, const struct dec_insn *insn);

/** @return whether @p insn is to be executed with the guest's fs base, which is not loaded in blocks (CTX_HAS_NO_FS), and
 * cannot be rewritten. */
bool dec_translation_needs_fs(const struct translation *t, const struct dec_insn *insn);

/** @return a register that can stand for the address of such data, when those in @p used
 * cannot; or DEC_REG_NONE. */
uint8_t dec_translation_far_reg(uint32_t used);

/** Emit @p insn, rip-relative, with the address in the block's far_reg. */
void dec_translation_copy_far(struct translation *t, const struct dec_insn *insn);

/* ---- instrument.c ----------------------------------------------------------- */

/** @return the registers of a block without instructions. */
struct translation_regs dec_translation_regs_start(const struct translation *t);

/** Count what @p insn uses and what logging it borrows (the log pointer, one to carry
 * what is read from memory, one for an address kept across the instruction).
 * @return whether there are enough for both; always when nothing is logged. */
bool dec_translation_regs_add(const struct translation *t, struct translation_regs *regs,
			      const struct dec_insn *insn);

/** Set the block's scratch[], if it is logged, and far_reg. Its instructions are known. */
void dec_translation_choose_scratch(struct translation *t);

/** Tell the reader of the log what block this is. */
void dec_translation_announce(struct translation *t);

/** @return the first instruction from @p from on before which all flags are dead; -1: none before a
 * branch looks at them. */
int dec_translation_dead(const struct translation *t, int from);

/** Set debit_at, has_saved_flags and has_dead_flags. */
void dec_translation_plan(struct translation *t);

/** @return in which cell of ctx->quiet the block's instructions are counted. */
int dec_translation_quiet_cell(const struct translation *t);

/** Emit the header of the block's record, by all of its scratch registers but the first. */
void dec_translation_head(struct translation *t);

/** Emit the budget check, at debit_at. */
void dec_translation_check(struct translation *t);

/** Emit the check's way out. */
void dec_translation_check_stub(struct translation *t);

/** Emit what comes before the first instruction. */
void dec_translation_open(struct translation *t);

/** Emit the slots of @p insn that lie before or behind it. @p known is that before it. */
void dec_translation_slots(struct translation *t, const struct dec_insn *insn,
			   struct dec_known known, bool is_after);

/** The record is complete: move the log pointer, give back all but its register. */
void dec_translation_advance(struct translation *t);

/** Give back the log pointer's register; in one of the block's ways out. */
void dec_translation_give_back(struct translation *t);

/** Give it back for the rest of the block, when it is borrowed. */
void dec_translation_close(struct translation *t);

/* ---- nat.c -------------------------------------------------------------------- */

/** @return whether C executes @p insn where registers and memory may be NaT. */
bool dec_nat_is_for_c(const struct dec_insn *insn);

/** Choose the register that the tests of the block borrow. */
void dec_translation_nat_plan(struct translation *t);

/** Emit the test at the block's start. */
void dec_translation_nat_open(struct translation *t);

/** Emit what comes before instruction @p i. */
void dec_translation_nat(struct translation *t, int i);

/** Give back what the tests have borrowed. */
void dec_translation_nat_release(struct translation *t);

#endif
