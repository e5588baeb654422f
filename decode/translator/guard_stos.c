// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Emitted code around rep stos, by which compilers clear structs, and rep movs, by which they copy them. What the one leaves is
 * no pointer, as what mov of a constant does is none; and it has a value. Of the other C copies the tags, in front.
 */
#include "decode/translator/guard_emit.h"

/* Is @p insn rep with @p opcode, of bytes, or the next one? @return its elements have 1 << so many bytes; -1: it is not. */
static int rep_shift(const struct dec_insn *insn, uint8_t opcode)
{
	const uint8_t *p = insn->bytes;
	bool is_wide = p[1] == 0x48;

	if (p[0] != 0xf3 || insn->len != 2 + is_wide)
		return -1;
	if (p[1 + is_wide] == opcode + 1)
		return is_wide ? 3 : 2;
	return p[1] == opcode ? 0 : -1;
}

bool dec_guard_is_stos(struct translation *t, const struct dec_insn *insn, int *shift)
{
	*shift = rep_shift(insn, 0xaa);
	return *shift >= 0 && const_scratch(t)[2] != DEC_REG_NONE;
}

bool dec_guard_before_movs(struct translation *t, int i)
{
	int shift = rep_shift(&t->insn[i], 0xa4);
	uint32_t n;

	if (shift < 0)
		return false;
	emit_patch_rel(emit_jmp_rel(&t->out), t->cold.p);
	n = dec_guard_make_event(t, GUARD_EVENT_MOVS, t->insn[i].rip, shift);
	dec_guard_leave(t, n);
	t->e->guard->events.data[n].passed = t->out.p;
	return true;
}

/* Is all that the pointer in rdi is to be led over its node's? */
static void check(struct translation *t, int i, int shift)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *over, *stub;
	struct dec_emit *o = &t->out;

	dec_guard_step_if_tagged(t, i, 1u << CAP_RAX | 1u << CAP_RCX);
	if (!may(t, CAP_RDI))
		return;
	stub = dec_guard_step_stub(t, i);
	ctx_op32(o, OP_MOV, s0, TAG(CAP_RDI));
	reg_op32(o, 0x85, s0, s0); // test
	over = emit_jcc_rel(o, CC_E);
	if (t->e->guard->has_parts) {
		reg_imm(o, 7, s0, GUARD_PARTS);
		emit_patch_rel(emit_jcc_rel(o, CC_AE), stub);
	}
	reg_op(o, OP_MOV, s2, CAP_RCX);
	if (shift)
		reg_shift(o, 4, s2, shift);
	reg_op(o, OP_MOV, s1, CAP_RDI);
	emit_mem_op(o, 1, OP_SUB, s1, s0, DEC_REG_NONE, 1, ROW(t, start));
	reg_op(o, OP_ADD, s1, s2);
	emit_patch_rel(emit_jcc_rel(o, CC_C), stub);
	emit_mem_op(o, 1, OP_CMP, s1, s0, DEC_REG_NONE, 1, ROW(t, size));
	emit_patch_rel(emit_jcc_rel(o, CC_A), stub);
	emit_patch_rel(over, o->p);
}

void dec_guard_before_stos(struct translation *t, int i, int shift)
{
	dec_guard_keep_flags(t, i);
	if (!t->e->guard->is_without_pointers)
		check(t, i, shift);
	reg_op(&t->out, OP_MOV, const_scratch(t)[0], CAP_RDI);
	t->is_stos = true;
}

void dec_guard_after_stos(struct translation *t, int i)
{
	uint8_t s0 = const_scratch(t)[0], s1 = const_scratch(t)[1],
		s2 = const_scratch(t)[2], *down;
	struct dec_emit *o = &t->out;

	dec_guard_keep_flags(t, i + 1);
	reg_op(o, OP_MOV, s1, CAP_RDI);
	reg_op(o, OP_SUB, s1, s0);
	down = emit_jcc_rel(o, CC_B);
	emit_patch_rel(down, t->cold.p);
	dec_guard_leave(t,
			dec_guard_make_event(t, GUARD_EVENT_BACKWARD, t->insn[i].rip, 0));
	if (!t->e->guard->blank)
		return;
	reg_op(o, OP_MOV, s2, CAP_RAX);
	reg_op(o, OP_MOV, CAP_RCX, s1);
	reg_op(o, OP_MOV, s1, CAP_RDI);
	emit_bytes(o, "\x31\xc0", 2); // xor eax, eax
	emit_lea(o, CAP_RDI,
		 &(struct dec_mem){ .base = s0,
				    .index = DEC_REG_NONE,
				    .scale = 1,
				    .disp = t->e->guard->blank->off });
	emit_bytes(o, "\xf3\xaa", 2); // rep stosb, which leaves 0 in rcx, too
	reg_op(o, OP_MOV, CAP_RDI, s1);
	reg_op(o, OP_MOV, CAP_RAX, s2);
}
