// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Emitted code that carries on the tags of general registers.
 */
#include "decode/translator/guard_emit.h"

#include <string.h>

#include "decode/x86/zydis.h"

void dec_guard_look_up_move(struct translation *t, uint32_t site, uint8_t *miss)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	uint32_t moves = t->e->guard->at + GUARD_MOVES_AT;
	struct dec_emit *c = &t->cold;

	reg_op32(c, OP_MOV, s1, s0);
	reg_shift(c, 5, s1, 2);
	emit_find_move(t, s0, s1, site, miss);
	emit_mem_op(c, 0, OP_MOV, s0, s1, DEC_REG_NONE, 1,
		    moves + offsetof(struct guard_move, to));
}

void dec_guard_step_if_parts(struct translation *t, int i, int reg)
{
	if (!t->e->guard->has_parts || !may(t, reg))
		return;
	dec_guard_keep_flags(t, i);
	ctx_is(&t->out, TAG(reg), GUARD_PARTS);
	dec_guard_step_if(t, i, CC_AE);
}

void dec_guard_cold_step_if_parts(struct translation *t, int i, int s)
{
	if (!t->e->guard->has_parts)
		return;
	reg_imm(&t->cold, 7, s, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(&t->cold, CC_AE), dec_guard_step_stub(t, i));
}

uint8_t *dec_guard_when_pointer(struct translation *t, int reg, int s1)
{
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint8_t *low, *none;

	if (reg != s1)
		reg_op(o, OP_MOV, s1, reg);
	emit_ctx_op(o, OP_SUB, s1, CTX_HEAP_LOW);
	emit_ctx_op(o, OP_CMP, s1, CTX_HEAP_SPAN);
	emit_patch_rel(emit_jcc_rel(o, CC_B), c->p);
	if (!t->e->guard->has_high)
		return NULL;
	emit_ctx_op(c, OP_CMP, s1, CTX_LOW_SPAN);
	low = emit_jcc_rel(c, CC_B);
	emit_ctx_op(c, OP_ADD, s1, CTX_HEAP_LOW);
	emit_ctx_op(c, OP_SUB, s1, CTX_HIGH_LOW);
	emit_ctx_op(c, OP_CMP, s1, CTX_HIGH_SPAN);
	none = emit_jcc_rel(c, CC_AE);
	emit_patch_rel(low, c->p);
	return none;
}

void dec_guard_step_if_pointers(struct translation *t, int i, const struct dec_mem *m)
{
	uint8_t s1 = const_scratch(t)[1], *stub, *none;
	struct dec_emit *o = &t->out;

	dec_guard_keep_flags(t, i);
	for (int k = 0; k + 8 <= m->size; k += 8) {
		struct dec_mem word = *m;

		word.size = 8;
		word.disp += k;
		emit_load_zx(o, s1, &word);
		stub = dec_guard_step_stub(t, i);
		none = dec_guard_when_pointer(t, s1, s1);
		emit_patch_rel(emit_jmp_rel(&t->cold), stub);
		if (none)
			emit_patch_rel(none, o->p);
	}
}

void dec_guard_clear_tag(struct translation *t, int reg)
{
	if (may(t, reg))
		emit_ctx_store_imm32(&t->out, TAG(reg), 0);
	t->zero |= 1u << reg;
}

void dec_guard_clear_tags(struct translation *t, uint32_t regs)
{
	for (; regs; regs &= regs - 1)
		if (__builtin_ctz(regs) != CAP_RSP)
			dec_guard_clear_tag(t, __builtin_ctz(regs));
}

void dec_guard_zero_tags(struct translation *t, uint32_t regs)
{
	for (; regs; regs &= regs - 1) {
		emit_ctx_store_imm32(&t->out, TAG(__builtin_ctz(regs)), 0);
		t->zero &= ~(1u << __builtin_ctz(regs));
	}
}

bool dec_guard_step_if_tagged(struct translation *t, int i, uint32_t regs)
{
	uint8_t s0 = const_scratch(t)[0];
	bool is_any = false;

	for (regs &= ~t->zero; regs; regs &= regs - 1) {
		if (!is_any)
			dec_guard_keep_flags(t, i);
		ctx_op32(&t->out, is_any ? OP_OR : OP_MOV, s0, TAG(__builtin_ctz(regs)));
		if (!is_any)
			reg_op32(&t->out, 0x85, s0, s0);
		is_any = true;
	}
	if (is_any)
		dec_guard_step_if(t, i, CC_NE);
	return is_any;
}

void dec_guard_copy_tag(struct translation *t, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0];

	if (!may(t, from)) {
		dec_guard_clear_tag(t, to);
		return;
	}
	ctx_op32(&t->out, OP_MOV, s0, TAG(from));
	ctx_store32(&t->out, TAG(to), s0);
	t->zero &= ~(1u << to);
}

/* What is added to the register by an add, sub, inc or dec of 64 bits without another one. */
static int32_t constant_of(const struct dec_insn *insn)
{
	int32_t by;

	if (insn->mnemonic == ZYDIS_MNEMONIC_INC)
		return 1;
	if (insn->mnemonic == ZYDIS_MNEMONIC_DEC)
		return -1;
	if (insn->bytes[1] == 0x83)
		by = (int8_t)insn->bytes[insn->len - 1];
	else
		memcpy(&by, insn->bytes + insn->len - 4, 4);
	return insn->mnemonic == ZYDIS_MNEMONIC_SUB ? -(int64_t)by : by;
}

/* Is it of those that emit_sum() knows? */
static bool is_sum(const struct dec_insn *insn)
{
	static const uint8_t opcodes[] = {
		0x8d, 0x81, 0x83, 0x05, 0x2d, 0xff, 0x01, 0x03
	};

	return (insn->bytes[0] & 0xf8) == 0x48 &&
	       memchr(opcodes, insn->bytes[1], sizeof(opcodes)) &&
	       __builtin_popcount(insn->gpr_read) >= 1 &&
	       (insn->mnemonic != ZYDIS_MNEMONIC_SUB || insn->bytes[1] > 3);
}

/* In the cold part: the sum that the lea, add, or what else adds a constant at hand comes to, in @p reg. */
static void emit_sum(struct translation *t, int i, int reg)
{
	const struct dec_insn *insn = &t->insn[i];
	struct dec_emit *c = &t->cold;
	uint32_t to = insn->gpr_written, from = insn->gpr_read & ~to;

	if (insn->mnemonic != ZYDIS_MNEMONIC_LEA) {
		reg_op(c, OP_MOV, reg, __builtin_ctz(to));
		if (from || (insn->mnemonic == ZYDIS_MNEMONIC_ADD &&
			     (insn->bytes[1] == 0x01 || insn->bytes[1] == 0x03)))
			reg_op(c, OP_ADD, reg, __builtin_ctz(from ?: to));
		else
			reg_imm(c, 0, reg, constant_of(insn));
		return;
	}
	// The same with another register.
	emit_u8(c, (insn->bytes[0] & ~4) | (reg >> 3) << 2);
	emit_u8(c, insn->bytes[1]);
	emit_u8(c, (insn->bytes[2] & 0xc7) | (reg & 7) << 3);
	emit_bytes(c, insn->bytes + 3, insn->len - 3);
}

/* Where that leaves when it is the first time. Before what is cold there. */
static void make_move_stub(struct translation *t, int i)
{
	t->move_event = dec_guard_make_event(t, GUARD_EVENT_MOVE, t->insn[i].rip,
					     __builtin_popcount(t->insn[i].gpr_read) > 1);
	t->move_stub = t->cold.p;
	emit_sum(t, i, const_scratch(t)[1]);
	dec_guard_leave(t, t->move_event);
}

/* In the cold part: the lea or what else adds moves a pointer to what may have parts, with the tag in the first
 * scratch, which becomes the result's, as does that of @p to if it is a register. It goes on where the rest is to
 * be. */
static void move_in_parts(struct translation *t, int i, int to)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1];
	struct dec_emit *o = &t->out, *c = &t->cold;
	uint8_t *stub = dec_guard_step_stub(t, i), *start;
	bool is_const = __builtin_popcount(t->insn[i].gpr_read) == 1;

	emit_sum(t, i, s1);
	emit_mem_op(c, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, node_start));
	start = emit_jcc_rel(c, CC_E);
	way_is(t, s0, GUARD_WAY_PART);
	emit_patch_rel(emit_jcc_rel(c, CC_AE), o->p);
	way_is(t, s0, GUARD_WAY_START);
	emit_patch_rel(emit_jcc_rel(c, is_const ? CC_B : CC_NE), stub);
	dec_guard_look_up_move(t, dec_guard_parts_site(t->e->guard, t->insn[i].rip),
			       t->move_stub);
	t->e->guard->events.data[t->move_event].passed = c->p;
	if (to != DEC_REG_NONE)
		ctx_store32(c, TAG(to), s0);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	emit_patch_rel(start, c->p);
	way_is(t, s0, GUARD_WAY_START);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
}

void dec_guard_move_tag(struct translation *t, int i, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0];
	struct dec_emit *o = &t->out;

	if (to != from && !t->e->guard->has_parts) {
		dec_guard_copy_tag(t, to, from);
		return;
	}
	if (!may(t, from)) {
		dec_guard_clear_tag(t, to);
		return;
	}
	if (!t->e->guard->has_parts)
		return;
	if (!is_sum(&t->insn[i])) {
		dec_guard_step_if_tagged(t, i, 1u << from);
		if (to != from)
			dec_guard_zero_tags(t, 1u << to);
		return;
	}
	dec_guard_keep_flags(t, i);
	dec_guard_step_stub(t, i);
	make_move_stub(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(from));
	reg_imm(o, 7, s0, GUARD_PARTS);
	emit_patch_rel(emit_jcc_rel(o, CC_AE), t->cold.p);
	move_in_parts(t, i, to == from ? to : DEC_REG_NONE);
	if (to != from)
		ctx_store32(o, TAG(to), s0);
	t->zero &= ~(1u << to);
}

void dec_guard_step_if_cut(struct translation *t, int i, int sum, int tag)
{
	uint8_t *stub = dec_guard_step_stub(t, i), *is_wide;
	struct dec_emit *c = &t->cold;

	reg_shift(c, 5, sum, 32);
	if (!t->e->guard->has_low) {
		emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
		return;
	}
	is_wide = emit_jcc_rel(c, CC_NE);
	mem_is(c, tag, ROW(t, start) + 4, 0);
	emit_patch_rel(emit_jcc_rel(c, CC_NE), stub);
	emit_patch_rel(is_wide, c->p);
}

void dec_guard_merge_tags(struct translation *t, int i, int to, int a, int b)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1], *over;
	struct dec_emit *o = &t->out, *c = &t->cold;
	bool is_one = !may(t, a) || !may(t, b) || a == b;

	if (!may(t, a) && !may(t, b)) {
		dec_guard_clear_tag(t, to);
		return;
	}
	if (t->insn[i].mnemonic == ZYDIS_MNEMONIC_LEA &&
	    (t->insn[i].bytes[0] & 0xf8) != 0x48) {
		dec_guard_step_if_tagged(t, i, 1u << a | 1u << b);
		dec_guard_zero_tags(t, 1u << to);
		return;
	}
	dec_guard_keep_flags(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(may(t, a) ? a : b));
	if (!is_one) {
		ctx_op32(o, OP_MOV, s1, TAG(b));
		reg_op32(o, 0x85, s1, s1);
		over = emit_jcc_rel(o, CC_E);
		reg_op32(o, 0x85, s0, s0);
		dec_guard_step_if(t, i, CC_NE);
		reg_op32(o, OP_MOV, s0, s1);
		emit_patch_rel(over, o->p);
	}
	dec_guard_step_stub(t, i); // before what is cold here
	if (t->e->guard->has_parts)
		make_move_stub(t, i);
	reg_op32(o, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(o, CC_NE), c->p);
	emit_sum(t, i, s1);
	dec_guard_step_if_cut(t, i, s1, s0);
	if (t->e->guard->has_parts) {
		reg_imm(c, 7, s0, GUARD_PARTS);
		emit_patch_rel(emit_jcc_rel(c, CC_B), o->p);
		move_in_parts(t, i, DEC_REG_NONE);
	} else {
		emit_patch_rel(emit_jmp_rel(c), o->p);
	}
	ctx_store32(o, TAG(to), s0);
	t->zero &= ~(1u << to);
}

void dec_guard_subtract(struct translation *t, int i, int to, int from)
{
	uint8_t s0 = const_scratch(t)[0], *over, *other, *stub;
	struct dec_emit *o = &t->out, *c = &t->cold;

	dec_guard_step_if_parts(t, i, to);
	if (!may(t, from))
		return;
	dec_guard_keep_flags(t, i);
	stub = dec_guard_step_stub(t, i); // before what is cold here
	ctx_op32(o, OP_MOV, s0, TAG(from));
	reg_op32(o, 0x85, s0, s0);
	over = emit_jcc_rel(o, CC_E);
	ctx_op32(o, OP_CMP, s0, TAG(to));
	other = emit_jcc_rel(o, CC_NE);
	emit_ctx_store_imm32(o, TAG(to), 0);
	emit_patch_rel(over, o->p);
	// A number less a pointer is none; a distance between two blocks goes on as a pointer to the first, while that lives.
	emit_patch_rel(other, c->p);
	ctx_op32(c, OP_MOV, s0, TAG(to));
	reg_op32(c, 0x85, s0, s0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), o->p);
	mem_is(c, s0, ROW(t, size), 0);
	emit_patch_rel(emit_jcc_rel(c, CC_E), stub);
	emit_patch_rel(emit_jmp_rel(c), o->p);
	t->zero &= ~(1u << to);
}
