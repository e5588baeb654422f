// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Emitted code that carries on the tags of words of memory: loaded, stored, moved, added.
 */
#include "decode/translator/guard_emit.h"

#include <string.h>

/* In the cold part: where the shadow of the word whose address is in @p s0 begins, to @p s2, and how far it is from there,
 * to @p s1. @p is_sure: there is memory at that address. @p miss: the jumps that are taken when it has none; or NULL. */
static void find_word(struct translation *t, int s0, int s1, int s2, bool is_sure,
		      uint8_t *miss[2])
{
	struct dec_emit *c = &t->cold;

	reg_op(c, OP_MOV, s2, s0);
	reg_shift(c, 5, s2, GUARD_REGION_SHIFT);
	miss[0] = NULL;
	if (!is_sure) {
		reg_imm(c, 7, s2, GUARD_REGIONS); // cmp
		miss[0] = emit_jcc_rel(c, CC_AE);
	}
	emit_mem_op(c, 1, OP_MOV, s2, DEC_REG_NONE, s2, 8, t->e->guard->at);
	reg_op(c, 0x85, s2, s2); // test
	miss[1] = emit_jcc_rel(c, CC_E);
	reg_op(c, OP_MOV, s1, s0);
	reg_imm(c, 4, s1, GUARD_REGION - 8);
}

static void patch_both(uint8_t *const miss[2], const uint8_t *to)
{
	for (int i = 0; i < 2; i++)
		if (miss[i])
			emit_patch_rel(miss[i], to);
}

void dec_guard_find_word(struct translation *t, bool is_sure, const uint8_t *stub)
{
	const uint8_t *s = const_scratch(t);
	uint8_t *miss[2];

	find_word(t, s[0], s[1], s[2], is_sure, miss);
	patch_both(miss, stub);
}

/* In the cold part: the tag of the root with the value in @p reg, to @p s1; it loses @p s2. @p none: the jump that is
 * taken where there is none, and 0 in @p s1. @return the one that is taken when that is not known. */
static uint8_t *find_root(struct translation *t, int reg, int s1, int s2, uint8_t **none)
{
	const uint32_t roots = t->e->guard->at + GUARD_ROOTS_AT;
	struct dec_emit *c = &t->cold;
	uint8_t *miss;

	reg_op(c, OP_MOV, s1, reg);
	reg_shift(c, 5, s1, 4);
	reg_imm(c, 4, s1, GUARD_STARTS - 1);
	reg_op(c, OP_MOV, s2, s1);
	reg_shift(c, 5, s2, 5);
	emit_mem_op(c, 0, OP_MOV, s2, DEC_REG_NONE, s2, 4,
		    t->e->guard->at + GUARD_STARTS_AT);
	emit_bytes(c,
		   (uint8_t[]){ 0x40 | (s1 >> 3) << 2 | s2 >> 3, 0x0f, 0xa3,
				0xc0 | (s1 & 7) << 3 | (s2 & 7) },
		   4); // bt s2, s1
	emit_bytes(c, (uint8_t[]){ 0x40 | s1 >> 3, 0xb8 | (s1 & 7), 0, 0, 0, 0 },
		   6); // mov s1, 0
	*none = emit_jcc_rel(c, CC_AE);
	reg_op(c, OP_MOV, s1, reg);
	reg_imm(c, 4, s1, (GUARD_ROOTS - 1) * 8);
	reg_op(c, OP_ADD, s1, s1);
	emit_mem_op(c, 1, OP_CMP, reg, s1, DEC_REG_NONE, 1, roots);
	miss = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s1, DEC_REG_NONE, 1, roots + 8);
	return miss;
}

void dec_guard_loaded(struct translation *t, int i, int reg, const struct dec_mem *m,
		      bool is_kept)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2];
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint32_t n = dec_guard_make_event(t, GUARD_EVENT_WORD, t->insn[i].rip, reg);
	uint8_t *none, *miss[2], *other, *astride, *back;

	dec_guard_keep_flags(t, i + 1);
	none = dec_guard_when_pointer(t, reg, s1);
	if (none)
		emit_patch_rel(none, o->p);
	if (may(t, reg))
		emit_ctx_store_imm32(o, TAG(reg), 0);
	back = o->p;
	if (!is_kept)
		emit_address(c, s0, m);
	test_aligned(c, s0);
	astride = emit_jcc_rel(c, CC_NE);
	find_word(t, s0, s1, s2, true, miss);
	// cmp [s2+s1], r32: the low half
	emit_mem_op(c, 0, 0x39, reg, s2, s1, 1, 0);
	other = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	ctx_store32(c, TAG(reg), s1);
	emit_patch_rel(emit_jmp_rel(c), back);
	emit_patch_rel(other, c->p);
	patch_both(miss, c->p);
	emit_patch_rel(astride, c->p);
	other = find_root(t, reg, s1, s2, &none);
	emit_patch_rel(none, c->p);
	ctx_store32(c, TAG(reg), s1);
	emit_patch_rel(emit_jmp_rel(c), back);
	emit_patch_rel(other, c->p);
	dec_guard_leave(t, n);
	t->e->guard->events.data[n].resume = back;
	t->zero &= ~(1u << reg);
}

void dec_guard_stores(struct translation *t, int i, int reg, const struct dec_mem *m,
		      int32_t disp)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2];
	struct dec_emit *o = &t->out, *c = &t->cold;
	struct dec_mem at = *m;
	uint8_t *jump, *stub;

	if (!may(t, reg))
		return;
	dec_guard_keep_flags(t, i);
	ctx_is_zero(o, TAG(reg));
	jump = emit_jcc_rel(o, CC_NE);
	stub = dec_guard_step_stub(t, i);
	emit_patch_rel(jump, c->p);
	at.disp += disp;
	emit_address(c, s0, &at);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), o->p);
	dec_guard_find_word(t, false, stub);
	emit_mem_op(c, 0, 0x89, reg, s2, s1, 1, 0);
	ctx_op32(c, OP_MOV, s0, TAG(reg));
	emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 4);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

uint8_t *dec_guard_look_up_word(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *none, *stub;
	struct dec_emit *c = &t->cold;

	dec_guard_keep_flags(t, i);
	emit_load_zx(&t->out, s1, m);
	stub = dec_guard_step_stub(t, i);
	none = dec_guard_when_pointer(t, s1, s1);
	emit_lea(c, s0, m);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	dec_guard_find_word(t, true, stub);
	return none;
}

/* .. is what the shadow in @p s2 + @p s1 is of? Then @p s1 gets the tag, which is none of what is gone; else a
 * step. @return the jump that is taken when it is no pointer. */
static uint8_t *take_tag(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *stub = dec_guard_step_stub(t, i), *none;
	struct dec_emit *c = &t->cold;

	emit_load_zx(c, s0, m);
	reg_op32(c, 0x85, s0, s0); // test
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	reg_op32(c, 0x85, s1, s1);
	none = emit_jcc_rel(c, CC_E);
	dec_guard_cold_step_if_parts(t, i, s1);
	emit_mem_op(c, 1, 0x83, 7, s1, DEC_REG_NONE, 1, // cmp qword, 0
		    t->e->guard->at + GUARD_ROWS_AT + 8);
	emit_u8(c, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	return none;
}

void dec_guard_adds_word(struct translation *t, int i, int to, const struct dec_mem *m,
			 bool is_sub)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *over, *outside,
		*none;
	struct dec_emit *c = &t->cold;

	dec_guard_step_if_parts(t, i, to);
	outside = dec_guard_look_up_word(t, i, m);
	none = take_tag(t, i, m);
	ctx_is_zero(c, TAG(to));
	over = emit_jcc_rel(c, CC_E);
	if (is_sub) {
		ctx_op32(c, OP_CMP, s1, TAG(to));
		emit_patch_rel(emit_jcc_rel(c, CC_NE), dec_guard_step_stub(t, i));
		emit_ctx_store_imm32(c, TAG(to), 0);
		emit_patch_rel(over, c->p);
	} else {
		emit_patch_rel(emit_jmp_rel(c), dec_guard_step_stub(t, i));
		emit_patch_rel(over, c->p);
		ctx_store32(c, TAG(to), s1);
	}
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	emit_patch_rel(none, t->out.p);
	if (outside)
		emit_patch_rel(outside, t->out.p);
	if (!is_sub &&
	    may(t, to)) { // the sum may have less than 32 bits: dec_insn_cuts()
		ctx_is_zero(&t->out, TAG(to));
		emit_patch_rel(emit_jcc_rel(&t->out, CC_NE), c->p);
		emit_load_zx(c, s1, m);
		reg_op(c, OP_ADD, s1, to);
		ctx_op32(c, OP_MOV, s0, TAG(to));
		dec_guard_step_if_cut(t, i, s1, s0);
		emit_patch_rel(emit_jmp_rel(c), t->out.p);
	}
	t->zero &= ~(1u << to);
}

/* The word at [@p m] moves: by @p by, if register @p reg is none, else by what is in that. */
static void moves_word(struct translation *t, int i, const struct dec_mem *m, int reg,
		       int32_t by)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *stub, *none;
	struct dec_emit *c = &t->cold;

	none = dec_guard_look_up_word(t, i, m);
	if (none)
		emit_patch_rel(none, t->out.p);
	stub = dec_guard_step_stub(t, i);
	emit_load_zx(c, s0, m);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	if (reg != DEC_REG_NONE) { // dec_insn_cuts()
		reg_op(c, OP_ADD, s0, reg);
		reg_shift(c, 5, s0, 32);
		emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	}
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 4);
	reg_op32(c, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	dec_guard_cold_step_if_parts(t, i, s0);
	if (reg != DEC_REG_NONE) { // add dword, reg; by: the low half
		emit_mem_op(c, 0, 0x01, reg, s2, s1, 1, 0);
	} else {
		emit_mem_op(c, 0, 0x81, 0, s2, s1, 1, 0);
		emit_u32(c, by);
	}
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
}

void dec_guard_moves_word(struct translation *t, int i, const struct dec_mem *m,
			  int32_t by)
{
	moves_word(t, i, m, DEC_REG_NONE, by);
}

void dec_guard_adds_to_word(struct translation *t, int i, const struct dec_mem *m, int by)
{
	dec_guard_step_if_tagged(t, i, 1u << by);
	moves_word(t, i, m, by, 0);
}

bool dec_guard_is_word_move(const struct dec_insn *insn)
{
	return insn->len == 2 && !memcmp(insn->bytes, "\x48\xa5", 2);
}

void dec_guard_moves_between(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *from = &insn->mem[insn->mem[0].is_write],
			     *to = &insn->mem[!insn->mem[0].is_write];
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *none[2], *stub, *other, *same;
	struct dec_emit *c = &t->cold;

	dec_guard_step_if_parts(t, i, CAP_RSI);
	dec_guard_step_if_parts(t, i, CAP_RDI);
	none[0] = dec_guard_look_up_word(t, i, from);
	stub = dec_guard_step_stub(t, i);
	emit_load_zx(c, s0, from);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	other = emit_jcc_rel(c, CC_NE);
	emit_mem_op(c, 0, OP_MOV, s1, s2, s1, 1, 4);
	same = emit_jmp_rel(c);
	emit_patch_rel(other, c->p);
	emit_patch_rel(find_root(t, s0, s1, s2, &none[1]), stub);
	emit_patch_rel(same, c->p);
	reg_op32(c, 0x85, s1, s1); // test
	emit_patch_rel(emit_jcc_rel(c, CC_E), t->out.p);
	ctx_store32(c, CTX_GUARD_TAG, s1);
	emit_lea(c, s0, to);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), t->out.p);
	dec_guard_find_word(t, false, stub);
	ctx_op32(c, OP_MOV, s0, CTX_GUARD_TAG);
	emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 4);
	emit_load_zx(c, s0, from);
	emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jmp_rel(c), t->out.p);
	emit_patch_rel(none[1], t->out.p);
	if (none[0])
		emit_patch_rel(none[0], t->out.p);
}
