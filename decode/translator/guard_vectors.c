// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Emitted code that carries on the tags of lanes of vector registers.
 */
#include "decode/translator/guard_emit.h"

#include "decode/x86/zydis.h"

/* A step, if one of the words that a mask has instruction @p i load may be a pointer. They are looked at in the context:
 * what else there is of the operand may not be there. */
static void step_if_lanes(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	uint8_t s1 = const_scratch(t)[1], *stub, *none;
	struct dec_emit *o = &t->out;

	dec_guard_keep_flags(t, i);
	emit_ctx_zmm31(o, 0x7f, CTX_VECTOR);
	emit_load_lanes(o, 31, insn->mem, insn->lane_bytes, insn->lane_mask);
	emit_ctx_zmm31(o, 0x7f, CTX_BLANK_LANES);
	emit_ctx_zmm31(o, 0x6f, CTX_VECTOR);
	for (int k = 0; k < insn->mem[0].size; k += 8) {
		emit_ctx_load(o, s1, CTX_BLANK_LANES + k);
		stub = dec_guard_step_stub(t, i);
		none = dec_guard_when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(&t->cold), stub);
		if (none)
			emit_patch_rel(none, o->p);
	}
}

void dec_guard_before_vector(struct translation *t, int i)
{
	const struct dec_insn *insn = &t->insn[i];
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;
	uint32_t reads = vectors(insn->other_read), writes = vectors(insn->other_written);
	uint32_t sources = insn->gpr_read & ~RSP_BIT;

	if (m)
		for (int r = 0; r < DEC_GPRS; r++)
			if (m->base == r || m->index == r)
				sources &= ~(1u << r);
	if (!writes && !insn->gpr_written && !(m && m->is_write))
		return; // flags and masks are no pointers
	if (insn->lane_bytes && m->is_read)
		step_if_lanes(t, i);
	else if (m && m->is_read && m->size >= 8)
		dec_guard_step_if_pointers(t, i, m);
	dec_guard_step_if_tagged(t, i, sources);
	dec_guard_keep_flags(t, i);
	if (reads) {
		ctx_imm32(&t->out, false, CTX_VEC_TAGS, reads);
		dec_guard_step_if(t, i, CC_NE);
	}
	if (writes & ~reads)
		ctx_imm32(&t->out, true, CTX_VEC_TAGS, ~writes);
	dec_guard_clear_tags(t, reads || sources ? 0 : insn->gpr_written);
	if (reads || sources)
		dec_guard_zero_tags(t, insn->gpr_written & ~RSP_BIT);
}

/* In the cold part: the shadow of the two words at [@p m] is at @p s2 + @p s1; else a step. */
static void find_pair(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		*stub = dec_guard_step_stub(t, i);
	struct dec_emit *c = &t->cold;

	emit_lea(c, s0, m);
	test_aligned(c, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	dec_guard_find_word(t, false, stub);
	reg_imm(c, 7, s1, GUARD_REGION - 8); // cmp: the second one is in the next region
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
}

/* Of ctx: where the tag of word @p k of vector register @p v is. */
static uint32_t lane(const struct translation *t, int v, int k)
{
	return t->e->guard->at + GUARD_LANES_AT + (8 * v + k) * 4 - t->out.ctx;
}

static struct dec_mem part_of(const struct dec_mem *m, int at, int size)
{
	struct dec_mem part = *m;

	part.disp += at;
	part.size = size;
	return part;
}

/* In the cold part: the tag of word @p k of the pair that was found. */
static void take_lane(struct translation *t, int i, int v, int k, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *same, *over;
	const struct dec_mem low = part_of(m, 8 * k, 4), word = part_of(m, 8 * k, 8);
	struct dec_emit *c = &t->cold;

	emit_load_zx(c, s0, &low);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 8 * k);
	same = emit_jcc_rel(c, CC_E);
	emit_load_zx(c, s0, &word);
	emit_ctx_op(c, OP_SUB, s0, CTX_HEAP_LOW);
	emit_ctx_op(c, OP_CMP, s0, CTX_HEAP_SPAN);
	emit_patch_rel(emit_jcc_rel(c, CC_B), dec_guard_step_stub(t, i));
	reg_op32(c, OP_SUB, s0, s0);
	over = emit_jmp_rel(c);
	emit_patch_rel(same, c->p);
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 8 * k + 4);
	emit_patch_rel(over, c->p);
	ctx_store32(c, lane(t, v, k), s0);
}

void dec_guard_loads_pair(struct translation *t, int i, int v, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *both, *back, *none,
		*zero, *differ;
	const struct dec_mem word[2] = { part_of(m, 0, 8), part_of(m, 8, 8) };
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i);
	ctx_imm32(o, true, CTX_VEC_TAGS, ~(1u << v));
	dec_guard_step_stub(t, i); // before what is cold here
	both = c->p;
	find_pair(t, i, m);
	take_lane(t, i, v, 0, m);
	take_lane(t, i, v, 1, m);
	ctx_op32(c, OP_CMP, s0, lane(t, v, 0));
	differ = emit_jcc_rel(c, CC_E);
	emit_load_zx(c, s0, &word[0]);
	emit_load_zx(c, s1, &word[1]);
	reg_op(c, OP_CMP, s0, s1); // what one of them is the other is, too
	emit_patch_rel(emit_jcc_rel(c, CC_E), dec_guard_step_stub(t, i));
	emit_patch_rel(differ, c->p);
	ctx_op32(c, OP_MOV, s0, lane(t, v, 0));
	ctx_op32(c, OP_OR, s0, lane(t, v, 1));
	zero = emit_jcc_rel(c, CC_E);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	for (int k = 2; k < 8; k++)
		emit_ctx_store_imm32(c, lane(t, v, k), 0);
	emit_patch_rel(zero, c->p);
	back = emit_jmp_rel(c);
	for (int k = 0; k < 2; k++) {
		emit_load_zx(o, s1, &word[k]);
		none = dec_guard_when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(c), both);
		if (none)
			emit_patch_rel(none, o->p);
	}
	emit_patch_rel(back, o->p);
}

/* In the cold part: lane @p k of vector register @p v has the tag in the first scratch. */
static void put_lane(struct translation *t, int v, int k)
{
	struct dec_emit *c = &t->cold;
	uint8_t *has_others;

	ctx_imm32(c, false, CTX_VEC_TAGS, 1u << v);
	has_others = emit_jcc_rel(c, CC_NE);
	for (int j = 0; j < 8; j++)
		emit_ctx_store_imm32(c, lane(t, v, j), 0);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(has_others, c->p);
	ctx_store32(c, lane(t, v, k), const_scratch(t)[0]);
}

void dec_guard_loads_lane(struct translation *t, int i, int v, int k, uint8_t cleared,
			  const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *none, *stub, *jump;
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i);
	stub = dec_guard_step_stub(t, i); // before what is cold here
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	cleared |= 1u << k;
	reg_op32(c, OP_SUB, s0, s0);
	for (int j = 0; j < 8; j++)
		if (cleared >> j & 1)
			emit_ctx_store_imm32(c, lane(t, v, j), 0);
		else
			ctx_op32(c, OP_OR, s0, lane(t, v, j));
	emit_patch_rel(emit_jcc_rel(c, CC_NE), o->p);
	ctx_imm32(c, true, CTX_VEC_TAGS, ~(1u << v));
	emit_patch_rel(emit_jmp_rel(c), o->p);
	none = dec_guard_look_up_word(t, i, m);
	emit_load_zx(c, s0, m);
	emit_mem_op(c, 0, OP_CMP, s0, s2, s1, 1, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_mem_op(c, 0, OP_MOV, s0, s2, s1, 1, 4);
	reg_op32(c, 0x85, s0, s0); // test
	jump = emit_jcc_rel(c, CC_E);
	put_lane(t, v, k);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(jump, o->p);
	if (none)
		emit_patch_rel(none, o->p);
}

/* In the cold part: lanes @p first and on of vector register @p v have tag 0. */
static void zero_lanes(struct translation *t, int v, int first)
{
	for (int k = first; k < 8; k++)
		emit_ctx_store_imm32(&t->cold, lane(t, v, k), 0);
}

/* In the cold part: a step, if one of lanes @p first and on of @p v, which has tags, is a pointer. It loses the second
 * scratch. */
static void step_if_lanes_from(struct translation *t, int i, int v, int first)
{
	uint8_t s1 = const_scratch(t)[1];

	ctx_op32(&t->cold, OP_MOV, s1, lane(t, v, first));
	for (int k = first + 1; k < 8; k++)
		ctx_op32(&t->cold, OP_OR, s1, lane(t, v, k));
	reg_op32(&t->cold, 0x85, s1, s1); // test
	emit_patch_rel(emit_jcc_rel(&t->cold, CC_NE), dec_guard_step_stub(t, i));
}

bool dec_guard_is_to_lane(const struct dec_insn *insn)
{
	uint32_t to = vectors(insn->other_written);

	return (insn->mnemonic == ZYDIS_MNEMONIC_MOVQ ||
		insn->mnemonic == ZYDIS_MNEMONIC_VMOVQ) &&
	       !insn->n_mem && !insn->other_read && !insn->gpr_written &&
	       __builtin_popcount(insn->gpr_read) == 1 && insn->gpr_read != RSP_BIT &&
	       __builtin_popcount(to) == 1;
}

void dec_guard_moves_to_lane(struct translation *t, int i, int v, int from)
{
	uint8_t s0 = const_scratch(t)[0], *stub;
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i);
	ctx_imm32(o, true, CTX_VEC_TAGS, ~(1u << v));
	if (!may(t, from))
		return;
	stub = dec_guard_step_stub(t, i); // before what is cold here
	ctx_op32(o, OP_MOV, s0, TAG(from));
	reg_op32(o, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	reg_op(c, 0x85, from, from); // zeros are in the other lane, too
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	zero_lanes(t, v, 1);
	ctx_store32(c, lane(t, v, 0), s0);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

bool dec_guard_is_joined_lanes(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_PUNPCKLQDQ && !insn->n_mem;
}

/* movq r64, xmm */
static void emit_lowest(struct dec_emit *o, int to, int v)
{
	emit_u8(o, 0x66);
	emit_u8(o, 0x48 | (v >> 3) << 2 | to >> 3);
	emit_u8(o, 0x0f);
	emit_u8(o, 0x7e);
	emit_u8(o, 0xc0 | (v & 7) << 3 | (to & 7));
}

/* In the cold part: all of @p v is known: where it has no tags they are 0. Only the lowest lane may have one, else that is
 * a step. */
static void know_lanes(struct translation *t, int i, int v)
{
	struct dec_emit *c = &t->cold;
	uint8_t *has, *over;

	ctx_imm32(c, false, CTX_VEC_TAGS, 1u << v);
	has = emit_jcc_rel(c, CC_NE);
	zero_lanes(t, v, 0);
	ctx_or_imm32(c, CTX_VEC_TAGS, 1u << v);
	over = emit_jmp_rel(c);
	emit_patch_rel(has, c->p);
	step_if_lanes_from(t, i, v, 1);
	emit_patch_rel(over, c->p);
}

void dec_guard_joins_lanes(struct translation *t, int i, int v, int other)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *none, *some;
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i);
	dec_guard_step_stub(t, i); // before what is cold here
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v | 1u << other);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	know_lanes(t, i, v);
	if (other == v) {
		ctx_op32(c, OP_MOV, s0, lane(t, v, 0));
	} else {
		emit_lowest(c, s0, v);
		emit_lowest(c, s1, other);
		reg_op(c, OP_CMP, s0, s1); // what one of them is the other is, too
		emit_patch_rel(emit_jcc_rel(c, CC_E), dec_guard_step_stub(t, i));
		reg_op32(c, OP_SUB, s0, s0);
		ctx_imm32(c, false, CTX_VEC_TAGS, 1u << other);
		none = emit_jcc_rel(c, CC_E);
		step_if_lanes_from(t, i, other, 1);
		ctx_op32(c, OP_MOV, s0, lane(t, other, 0));
		emit_patch_rel(none, c->p);
	}
	ctx_store32(c, lane(t, v, 1), s0);
	ctx_op32(c, OP_OR, s0, lane(t, v, 0));
	some = emit_jcc_rel(c, CC_NE);
	ctx_imm32(c, true, CTX_VEC_TAGS, ~(1u << v));
	emit_patch_rel(some, c->p);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

bool dec_guard_is_zeroed(const struct dec_insn *insn)
{
	uint64_t reads = insn->other_read, to = insn->other_written;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
		return !insn->n_mem && __builtin_popcountll(reads) == 1 &&
		       __builtin_popcount(vectors(to)) == 1 &&
		       (insn->is_vex || reads == to);
	default:
		return false;
	}
}

void dec_guard_clears_lanes(struct translation *t, int i, int v, bool is_all)
{
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i);
	if (is_all) {
		ctx_imm32(o, true, CTX_VEC_TAGS, ~(1u << v));
		return;
	}
	dec_guard_step_stub(t, i); // before what is cold here
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	step_if_lanes_from(t, i, v, 2);
	ctx_imm32(c, true, CTX_VEC_TAGS, ~(1u << v));
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

/* Does it load into one vector register, and into nothing else? */
static bool is_load(const struct dec_insn *insn)
{
	uint64_t to = insn->other_written;

	return insn->n_mem == 1 && insn->mem[0].is_read && !insn->mem[0].is_write &&
	       !insn->gpr_written && to && !(to & (to - 1)) && to == (uint32_t)to;
}

bool dec_guard_is_lane_load(const struct dec_insn *insn, int *lane, uint8_t *cleared)
{
	*lane = 0;
	*cleared = 0xfe;
	if (!is_load(insn) || !is_plain(insn->mem, 8))
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
		*lane = 1;
		*cleared = 0;
		return true;
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
		*cleared = 0;
		return true;
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSD:
		*cleared = 1u << 1;
		return true;
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_VMOVSD:
		return true;
	default:
		return false;
	}
}

void dec_guard_stored_pair(struct translation *t, int i, int v, const struct dec_mem *m)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *jump, *zero;
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_keep_flags(t, i + 1);
	ctx_imm32(o, false, CTX_VEC_TAGS, 1u << v);
	jump = emit_jcc_rel(o, CC_NE);
	dec_guard_step_stub(t, i);
	emit_patch_rel(jump, c->p);
	find_pair(t, i, m);
	for (int k = 0; k < 2; k++) {
		const struct dec_mem low = part_of(m, 8 * k, 4);

		ctx_op32(c, OP_MOV, s0, lane(t, v, k));
		emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 8 * k + 4);
		reg_op32(c, 0x85, s0, s0);
		zero = emit_jcc_rel(c, CC_E);
		emit_load_zx(c, s0, &low);
		emit_patch_rel(zero, c->p);
		emit_mem_op(c, 0, 0x89, s0, s2, s1, 1, 8 * k);
	}
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

bool dec_guard_is_pair_load(const struct dec_insn *insn)
{
	return is_load(insn) && is_plain(insn->mem, 16) && insn->is_plain_load &&
	       !insn->other_read;
}

bool dec_guard_is_pair_store(const struct dec_insn *insn)
{
	return insn->n_mem == 1 && is_plain(insn->mem, 16) && insn->mem[0].is_write &&
	       !insn->mem[0].is_read && !insn->other_written && !insn->gpr_written &&
	       insn->store_reg >= DEC_REG_VEC && insn->store_reg < DEC_REG_VEC + 32 &&
	       insn->other_read == 1ull << (insn->store_reg - DEC_REG_VEC);
}
