// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files that emit the guard's code share (guard.h): encodings, and each other's pieces. "In the cold part": where
 * hardly ever anything runs, from which it goes back into the block.
 */
#ifndef DECODE_TRANSLATOR_GUARD_EMIT_H
#define DECODE_TRANSLATOR_GUARD_EMIT_H

#include "decode/translator/guard.h"
#include "decode/translator/translation.h"

enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_BE = 6, CC_A = 7, CC_C = 2 };
enum {
	OP_ADD = 0x03,
	OP_OR = 0x0b,
	OP_SUB = 0x2b,
	OP_CMP = 0x3b,
	OP_MOVSXD = 0x63,
	OP_MOV = 0x8b
};
enum { RSP_BIT = 1u << CAP_RSP };

#define TAG(reg) (CTX_TAG + 4 * (reg))

#define ROW(t, field) \
	((t)->e->guard->at + GUARD_ROWS_AT + offsetof(struct guard_parts_row, field))

/* op r32, ctx:[off] */
static inline void ctx_op32(struct dec_emit *o, uint8_t op, int reg, uint32_t off)
{
	if (reg >= 8)
		emit_u8(o, 0x44);
	emit_u8(o, op);
	emit_abs(o, reg, off);
}

/* mov ctx:[off], r32 */
static inline void ctx_store32(struct dec_emit *o, uint32_t off, int reg)
{
	ctx_op32(o, 0x89, reg, off);
}

/* cmp dword ctx:[off], 0 */
static inline void ctx_is_zero(struct dec_emit *o, uint32_t off)
{
	emit_u8(o, 0x83);
	emit_abs(o, 7, off);
	emit_u8(o, 0);
}

/* test / and dword ctx:[off], imm */
static inline void ctx_imm32(struct dec_emit *o, bool is_and, uint32_t off, uint32_t imm)
{
	emit_u8(o, is_and ? 0x81 : 0xf7);
	emit_abs(o, is_and ? 4 : 0, off);
	emit_u32(o, imm);
}

/* or dword ctx:[off], imm */
static inline void ctx_or_imm32(struct dec_emit *o, uint32_t off, uint32_t imm)
{
	emit_u8(o, 0x81);
	emit_abs(o, 1, off);
	emit_u32(o, imm);
}

/* op r64, r64 (to, from) */
static inline void reg_op(struct dec_emit *o, uint8_t op, int to, int from)
{
	emit_u8(o, 0x48 | (to >> 3) << 2 | from >> 3);
	emit_u8(o, op);
	emit_u8(o, 0xc0 | (to & 7) << 3 | (from & 7));
}

static inline void reg_op32(struct dec_emit *o, uint8_t op, int to, int from)
{
	emit_u8(o, 0x40 | (to >> 3) << 2 | from >> 3);
	emit_u8(o, op);
	emit_u8(o, 0xc0 | (to & 7) << 3 | (from & 7));
}

/* add/and r64, imm: @p kind 0, 4 */
static inline void reg_imm(struct dec_emit *o, int kind, int reg, int32_t imm)
{
	bool is_short = imm == (int8_t)imm;

	emit_u8(o, 0x48 | reg >> 3);
	emit_u8(o, is_short ? 0x83 : 0x81);
	emit_u8(o, 0xc0 | kind << 3 | (reg & 7));
	if (is_short)
		emit_u8(o, imm);
	else
		emit_u32(o, imm);
}

/* shl/shr r64, n: @p kind 4, 5 */
static inline void reg_shift(struct dec_emit *o, int kind, int reg, uint8_t n)
{
	emit_u8(o, 0x48 | reg >> 3);
	emit_u8(o, 0xc1);
	emit_u8(o, 0xc0 | kind << 3 | (reg & 7));
	emit_u8(o, n);
}

/* cmp dword [reg + disp], imm */
static inline void mem_is(struct dec_emit *o, int reg, uint32_t disp, uint32_t imm)
{
	emit_mem_op(o, 0, 0x81, 7, reg, DEC_REG_NONE, 1, disp);
	emit_u32(o, imm);
}

/* cmp byte [reg + disp], imm: which way led to the row whose tag register @p reg has? */
static inline void way_is(struct translation *t, int reg, enum guard_way way)
{
	emit_mem_op(&t->cold, 0, 0x80, 7, reg, DEC_REG_NONE, 1, ROW(t, way));
	emit_u8(&t->cold, way);
}

/* In the cold part: register @p at, which has what dec_guard_move_at() makes of the key in register @p key, leads to that of @p site in moves;
 * what is not at hand goes on at @p miss. */
static inline void emit_find_move(struct translation *t, int key, int at, uint32_t site,
				  uint8_t *miss)
{
	uint32_t moves = t->e->guard->at + GUARD_MOVES_AT;
	struct dec_emit *c = &t->cold;

	reg_imm(c, 0, at, site * 0x9e3779b0u);
	reg_imm(c, 4, at, (GUARD_MOVES - 1) * 16);
	emit_mem_op(c, 0, OP_CMP, key, at, DEC_REG_NONE, 1, moves);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), miss);
	mem_is(c, at, moves + offsetof(struct guard_move, site), site);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), miss);
}

/* cmp dword ctx:[off], imm */
static inline void ctx_is(struct dec_emit *o, uint32_t off, uint32_t imm)
{
	emit_u8(o, 0x81);
	emit_abs(o, 7, off);
	emit_u32(o, imm);
}

static inline uint8_t *const_scratch(struct translation *t)
{
	return t->block->scratch;
}

static inline bool may(const struct translation *t, int reg)
{
	return reg < DEC_GPRS && !(t->zero >> reg & 1);
}

static inline int one(uint32_t regs)
{
	return regs ? __builtin_ctz(regs) : DEC_REG_NONE;
}

static inline uint32_t vectors(uint64_t other)
{
	return (uint32_t)other;
}

/* Is it memory of @p size bytes, whose address emitted code can tell? */
static inline bool is_plain(const struct dec_mem *m, uint32_t size)
{
	return m->size == size && !m->is_fs && !m->is_gs && !m->is_absolute &&
	       !m->is_addr32;
}

/* test regb, 7: what is not aligned has no word. */
static inline void test_aligned(struct dec_emit *o, int reg)
{
	emit_u8(o, 0x40 | reg >> 3);
	emit_u8(o, 0xf6);
	emit_u8(o, 0xc0 | (reg & 7));
	emit_u8(o, 7);
}

/* ---- events (guard_emit.c) --------------------------------------------------------------------- */

/** Emitted code before instruction @p i changes flags: keep the guest's, once for all instructions up to one that has to do with flags. */
void dec_guard_keep_flags(struct translation *t, int i);

/** @return the number of a new event of the instruction at @p rip, of the block at hand. @p reg: WORD: which was loaded. */
uint32_t dec_guard_make_event(struct translation *t, enum guard_event_kind kind,
			      uint64_t rip, int reg);

/** Leave with event @p n, in the cold part. */
void dec_guard_leave(struct translation *t, uint32_t n);

/** Where the instruction at hand leaves with its event: C does it. One stub serves all its conditions. */
uint8_t *dec_guard_step_stub(struct translation *t, int i);

/** .. if condition @p cc holds. */
void dec_guard_step_if(struct translation *t, int i, uint8_t cc);

/** Where it leaves for C to do all of the block from instruction @p i on. */
uint8_t *dec_guard_run_stub(struct translation *t, int i);

/* ---- accesses (guard_check.c) ------------------------------------------------------------------ */

/** Is [@p m] the memory of its pointer's node? */
void dec_guard_check(struct translation *t, int i, const struct dec_mem *m);

/** memcpy is about to be called: is its memory the same in part? */
void dec_guard_check_copy(struct translation *t, int i);

/** A function begins, perhaps one that reads: by pointers. */
void dec_guard_enter_string(struct translation *t);

/* ---- registers (guard_tags.c) ------------------------------------------------------------------ */

/** In the cold part: the tag in the first scratch becomes that to which it leads at @p site; what is not at hand
 * goes on at @p miss. */
void dec_guard_look_up_move(struct translation *t, uint32_t site, uint8_t *miss);

/** A step, if register @p reg is a pointer to what may have parts. */
void dec_guard_step_if_parts(struct translation *t, int i, int reg);

/** .. if the tag in @p s is of one, in the cold part. */
void dec_guard_cold_step_if_parts(struct translation *t, int i, int s);

/** Is the value of @p reg perhaps a pointer? Then it goes on in the cold part, whose end leads back. It loses @p s1.
 * @return the jump, to be patched, that is taken in there when it is none after all; NULL: there is no such. */
uint8_t *dec_guard_when_pointer(struct translation *t, int reg, int s1);

/** A step, if one of the words at [@p m] may be a pointer. */
void dec_guard_step_if_pointers(struct translation *t, int i, const struct dec_mem *m);

/** Register @p reg is no pointer any more; those of @p regs but the stack pointer are none. */
void dec_guard_clear_tag(struct translation *t, int reg);
void dec_guard_clear_tags(struct translation *t, uint32_t regs);

/** The same where an event may make them pointers. */
void dec_guard_zero_tags(struct translation *t, uint32_t regs);

/** A step, if one of @p regs is a pointer. @return whether it may be. */
bool dec_guard_step_if_tagged(struct translation *t, int i, uint32_t regs);

/** Register @p to is the same pointer as @p from. */
void dec_guard_copy_tag(struct translation *t, int to, int from);

/** By a constant a pointer in @p from is moved to @p to, perhaps the same register. */
void dec_guard_move_tag(struct translation *t, int i, int to, int from);

/** @p to gets the tag of that of @p a, @p b that has one; a step, if both have, or the sum has less than 32 bits
 * (dec_insn_cuts()). */
void dec_guard_merge_tags(struct translation *t, int i, int to, int a, int b);

/** Less a pointer to the same node a pointer is a number; a step, if it is another. */
void dec_guard_subtract(struct translation *t, int i, int to, int from);

/* ---- words of memory (guard_words.c) ----------------------------------------------------------- */

/** In the cold part: the shadow of the word whose address is in the first scratch is at the sum of the other two; if there
 * is none it leaves through @p stub. @p is_sure: there is memory at that address. */
void dec_guard_find_word(struct translation *t, bool is_sure, const uint8_t *stub);

/** General register @p reg was loaded from [@p m], whose address is in the first scratch if @p is_kept. */
void dec_guard_loaded(struct translation *t, int i, int reg, const struct dec_mem *m,
		      bool is_kept);

/** The word in @p reg is about to be stored at [@p m], @p disp further. */
void dec_guard_stores(struct translation *t, int i, int reg, const struct dec_mem *m,
		      int32_t disp);

/** Hot: load the word at [@p m], and go to the cold part if it may be a pointer. There the first scratch has its address,
 * the others lead to its shadow; if there is none that is a step. @return as dec_guard_when_pointer(). */
uint8_t *dec_guard_look_up_word(struct translation *t, int i, const struct dec_mem *m);

/** A pointer in memory is added to register @p to, or subtracted. */
void dec_guard_adds_word(struct translation *t, int i, int to, const struct dec_mem *m,
			 bool is_sub);

/** A pointer in memory moves by @p by. */
void dec_guard_moves_word(struct translation *t, int i, const struct dec_mem *m,
			  int32_t by);

/** In the cold part: is @p sum, of a pointer with the tag in register @p tag, cut off (dec_insn_cuts())? Then C does
 * instruction @p i, which has a stub. @p sum is lost. */
void dec_guard_step_if_cut(struct translation *t, int i, int sum, int tag);

/** Register @p by is added to the word at [@p m], which may be a pointer; is that one, C does it. */
void dec_guard_adds_to_word(struct translation *t, int i, const struct dec_mem *m,
			    int by);

/** Is it movsq, once? */
bool dec_guard_is_word_move(const struct dec_insn *insn);

/** A word is moved from one place to another, both of which are checked; the pointers to them stay to what they
 * are to. */
void dec_guard_moves_between(struct translation *t, int i);

/* ---- rep stos, rep movs (guard_stos.c) ------------------------------------------------------------ */

/** Is it rep movs? Before it C copies the tags, or does it all. */
bool dec_guard_before_movs(struct translation *t, int i);

/** Is @p insn rep stos, of elements of 1 << *@p shift bytes, and can it be looked at here? */
bool dec_guard_is_stos(struct translation *t, const struct dec_insn *insn, int *shift);

/** Before it: is all that it fills the pointer's? Behind it: which way did it go? */
void dec_guard_before_stos(struct translation *t, int i, int shift);
void dec_guard_after_stos(struct translation *t, int i);

/* ---- vectors (guard_vectors.c) ----------------------------------------------------------------- */

/** Vectors: what is loaded may be pointers, as may what is in them. */
void dec_guard_before_vector(struct translation *t, int i);

/** Vector register @p v is loaded with the two words at [@p m], as they are. */
void dec_guard_loads_pair(struct translation *t, int i, int v, const struct dec_mem *m);

/** Lane @p k of vector register @p v is loaded with the word at [@p m]; the others stay, but for @p cleared, a mask.
 * When none is a pointer any more, that is known of the register. */
void dec_guard_loads_lane(struct translation *t, int i, int v, int k, uint8_t cleared,
			  const struct dec_mem *m);

/** Does @p insn load a word into a lane of a vector register? Into which, @p lane, and which others, a mask, become
 * zero? */
bool dec_guard_is_lane_load(const struct dec_insn *insn, int *lane, uint8_t *cleared);

/** Vector register @p v was stored to the two words at [@p m]. What is not found is done once more, as a step. */
void dec_guard_stored_pair(struct translation *t, int i, int v, const struct dec_mem *m);

/** Does it move 16 bytes from memory into a vector register, or back, as they are? */
bool dec_guard_is_pair_load(const struct dec_insn *insn);

/** Does it move a general register to the lowest lane of a vector register, and clear the next one? .. join the lowest lanes
 * of two in the first? .. clear the lower half of one, or all of it (VEX)? */
bool dec_guard_is_to_lane(const struct dec_insn *insn);
bool dec_guard_is_joined_lanes(const struct dec_insn *insn);
bool dec_guard_is_zeroed(const struct dec_insn *insn);

/** General register @p from is moved to vector register @p v; the lowest lane of @p other becomes the second one of @p v;
 * @p v is cleared. */
void dec_guard_moves_to_lane(struct translation *t, int i, int v, int from);
void dec_guard_joins_lanes(struct translation *t, int i, int v, int other);
void dec_guard_clears_lanes(struct translation *t, int i, int v, bool is_all);
bool dec_guard_is_pair_store(const struct dec_insn *insn);

#endif
