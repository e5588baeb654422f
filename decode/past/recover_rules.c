// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One rule for each kind of instruction, in all directions at once: whatever the operands
 * and the results are known of, each learns from the others. Here: copies, the stack,
 * branches, strings; and which rule is whose.
 */
#include "decode/past/recover_rules.h"

#include <string.h>

#include "decode/x86/zydis.h"

/* What an instruction writes in part stays as it was in the rest. */
static void tie_partial(const struct past_at *at)
{
	const struct past_form *f = at->form;

	for (int i = 0; i < f->n_ops; i++) {
		const struct past_operand *o = &f->op[i];

		if (o->type == PAST_OP_GPR && o->out != PAST_NONE && o->bits < 32)
			tie(at, o->in, o->out, ~(past_ones(o->bits) << o->shift));
	}
	tie(at, f->flags_in, f->flags_out, f->flags_kept);
}

/* ---- copies --------------------------------------------------------------------------------- */

static void rule_mov(const struct past_at *at)
{
	struct past_bits a = op_get(at, 1, false), r = op_get(at, 0, true);
	unsigned from = at->form->op[1].bits;

	// movzx, and a mask register's rest.
	if (at->form->op[1].type != PAST_OP_IMM && from < at->form->op[0].bits)
		a.m |= ~past_ones(from);
	op_put(at, 0, true, a);
	op_put(at, 1, false, r);
}

static void movsx(const struct past_at *at, int dst, int src, unsigned from)
{
	struct past_bits a = bits_within(op_get(at, src, false), from);
	struct past_bits r = op_get(at, dst, true);
	uint64_t top = 1ull << (from - 1), above = ~past_ones(from);

	if (a.m & top) {
		a.m |= above;
		a.v |= a.v & top ? above : 0;
	}
	op_put(at, dst, true, a);
	above &= past_ones(at->form->op[dst].bits);
	if (r.m & (above | top)) {
		r.v = (r.v & (above | top)) ? r.v | top : r.v;
		r.m |= top;
	}
	op_put(at, src, false, bits_within(r, from));
}

/* cwd, cdq, cqo: op[0] is (r|e)dx, op[1] (r|e)ax. */
static void rule_sign(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	uint64_t top = 1ull << (bits - 1);
	struct past_bits a = op_get(at, 1, false), r = op_get(at, 0, true);

	if (a.m & top)
		op_put(at, 0, true, bits_low(a.v & top ? UINT64_MAX : 0, bits));
	if (r.m) {
		op_put(at, 1, false, (struct past_bits){ r.v ? top : 0, top });
		op_put(at, 0, true, bits_low(r.v ? UINT64_MAX : 0, bits));
	}
}

static void rule_xchg(const struct past_at *at)
{
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits ra = op_get(at, 0, true), rb = op_get(at, 1, true);

	if (at->form->is_same) {
		op_put(at, 0, true, a);
		op_put(at, 0, false, ra);
		return;
	}
	op_put(at, 0, true, b);
	op_put(at, 1, true, a);
	op_put(at, 1, false, ra);
	op_put(at, 0, false, rb);
}

static void rule_bswap(const struct past_at *at)
{
	unsigned drop = 64 - at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	op_put(at, 0, true,
	       (struct past_bits){ __builtin_bswap64(a.v) >> drop,
				   __builtin_bswap64(a.m) >> drop });
	op_put(at, 0, false,
	       (struct past_bits){ __builtin_bswap64(r.v) >> drop,
				   __builtin_bswap64(r.m) >> drop });
}

static void rule_set(const struct past_at *at)
{
	int is = dec_recover_cond_of(node_get(at, at->form->flags_in), at->form->cc);
	struct past_bits r = op_get(at, 0, true);

	op_put(at, 0, true, (struct past_bits){ 0, 0xfe });
	if (is >= 0)
		op_put(at, 0, true, bits_low(is, 8));
	else if (r.m & 1)
		dec_recover_cond_put(at, at->form->cc, r.v & 1);
}

static void rule_cmov(const struct past_at *at)
{
	int is = dec_recover_cond_of(node_get(at, at->form->flags_in), at->form->cc);
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits r = op_get(at, 0, true);
	bool is_a = true, is_b = true;

	if (is < 0) {
		is_a = !((a.v ^ r.v) & a.m & r.m);
		is_b = !((b.v ^ r.v) & b.m & r.m);
		if (is_a != is_b) {
			is = is_b;
			dec_recover_cond_put(at, at->form->cc, is);
		}
	}
	if (is < 0) {
		uint64_t same = a.m & b.m & ~(a.v ^ b.v);

		op_put(at, 0, true, (struct past_bits){ a.v & same, same });
		return;
	}
	op_put(at, 0, true, is ? b : a);
	op_put(at, is ? 1 : 0, false, r);
}

/* ---- the stack, branches ------------------------------------------------------------------- */

static void rsp_moves(const struct past_at *at, int64_t by)
{
	const struct past_form *f = at->form;
	struct past_bits a = node_get(at, f->rsp_in), r = node_get(at, f->rsp_out);

	node_put(at, f->rsp_out, bits_add(a, past_const(by)));
	node_put(at, f->rsp_in, bits_sub(r, past_const(by)));
}

/* The slot of memory operand @p m. */
static uint8_t mem_slot(const struct past_form *f, int m, bool is_out)
{
	int from = is_out ? f->n_in : 0, to = from + (is_out ? f->n_out : f->n_in);

	for (int s = to - 1; s >= from; s--) {
		if (f->slot[s] == (0x80 | m))
			return s;
	}
	return PAST_NONE;
}

static void rule_push(const struct past_at *at)
{
	uint8_t slot = mem_slot(at->form, at->form->insn.n_mem - 1, true);
	struct past_bits a = op_get(at, 0, false), r = node_get(at, slot);

	if (at->form->op[0].type == PAST_OP_IMM)
		a = past_const(at->form->imm);
	node_put(at, slot, a);
	op_put(at, 0, false, r);
	rsp_moves(at, -8);
}

static void rule_pop(const struct past_at *at)
{
	uint8_t slot = mem_slot(at->form, at->form->insn.n_mem - 1, false);

	op_put(at, 0, true, node_get(at, slot));
	node_put(at, slot, op_get(at, 0, true));
	if (at->form->op[0].reg != CAP_RSP)
		rsp_moves(at, 8);
}

static void rule_leave(const struct past_at *at)
{
	const struct past_form *f = at->form;
	uint8_t slot = mem_slot(f, 0, false), rbp_in = f->base_in[0], rbp_out = PAST_NONE;

	for (int s = f->n_in; s < f->n_in + f->n_out; s++)
		rbp_out = f->slot[s] == CAP_RBP ? s : rbp_out;
	if (slot == PAST_NONE || rbp_in == PAST_NONE)
		return;
	node_put(at, rbp_out, node_get(at, slot));
	node_put(at, slot, node_get(at, rbp_out));
	node_put(at, f->rsp_out, bits_add(node_get(at, rbp_in), past_const(8)));
	node_put(at, rbp_in, bits_sub(node_get(at, f->rsp_out), past_const(8)));
}

static void rule_branch(const struct past_at *at)
{
	const struct past_form *f = at->form;
	uint64_t next = dec_recover_next_rip(at->r, at->step),
		 behind = f->insn.rip + f->insn.len;
	uint16_t pops = 0;

	switch (f->insn.flow) {
	case DEC_FLOW_JCC:
		if (next && f->insn.target != behind)
			dec_recover_cond_put(at, f->cc, next == f->insn.target);
		break;
	case DEC_FLOW_CALL_IND:
	case DEC_FLOW_JMP_IND:
		if (next)
			op_put(at, 0, false, past_const(next));
		if (f->insn.flow == DEC_FLOW_JMP_IND)
			break;
		// Fall through.
	case DEC_FLOW_CALL:
		node_put(at, mem_slot(f, f->insn.n_mem - 1, true), past_const(behind));
		rsp_moves(at, -8);
		break;
	case DEC_FLOW_RET:
		if (f->insn.len >= 3 && f->insn.bytes[f->insn.len - 3] == 0xc2)
			memcpy(&pops, f->insn.bytes + f->insn.len - 2, 2);
		if (next)
			node_put(at, mem_slot(f, 0, false), past_const(next));
		rsp_moves(at, 8 + pops);
		break;
	}
}

/* ---- strings ----------------------------------------------------------------------------------- */

/* rdi or rsi moves on by @p n units (forward: nobody runs with the direction flag set). */
static void string_moves(const struct past_at *at, uint8_t reg, struct past_bits n,
			 unsigned unit, struct past_bits *count)
{
	uint8_t in = past_slot_of(at->form, reg, false),
		out = past_slot_of(at->form, reg, true);
	struct past_bits by = bits_mul(n, unit), a, r;

	if (in == PAST_NONE || out == PAST_NONE)
		return;
	a = node_get(at, in);
	r = node_get(at, out);
	node_put(at, out, bits_add(a, by));
	node_put(at, in, bits_sub(r, by));
	if (is_all(a, 64) && is_all(r, 64))
		*count = past_const((r.v - a.v) / unit);
}

static void rule_string(const struct past_at *at)
{
	const struct past_form *f = at->form;
	unsigned unit = f->insn.n_mem ? f->insn.mem[0].size : 1;
	uint8_t in = past_slot_of(f, CAP_RCX, false),
		out = past_slot_of(f, CAP_RCX, true);
	struct past_bits n = past_const(1), count = {};

	if (at->r->ran.changes_df && !at->r->guess.is_guessing)
		return;
	if (f->is_bulk) {
		if (f->n_mem_out)
			node_put(at, out, past_const(0));
		n = bits_sub(node_get(at, in), node_get(at, out));
	}
	string_moves(at, CAP_RDI, n, unit, &count);
	string_moves(at, CAP_RSI, n, unit, &count);
	if (f->is_bulk && count.m) {
		node_put(at, in, bits_add(node_get(at, out), count));
		node_put(at, out, bits_sub(node_get(at, in), count));
	}
	if (f->is_bulk || !f->n_mem_out)
		return;
	// One movs or stos: the value stored.
	if (f->n_mem_in) {
		uint8_t from = f->n_in - 1, to = f->n_in + f->n_out - 1;

		tie(at, from, to, past_ones(unit * 8));
	} else {
		uint8_t rax = past_slot_of(f, CAP_RAX, false),
			to = f->n_in + f->n_out - 1;

		if (rax != PAST_NONE)
			tie(at, rax, to, past_ones(unit * 8));
	}
}

/* ---- the rest ---------------------------------------------------------------------------------- */

/* tzcnt, bsf: the lowest one is known when all below it are known zeros. */
static void rule_scan(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 1, false);
	unsigned at_bit = a.v ? __builtin_ctzll(a.v) : 64;

	// The CPU leaves bsf's result alone when there is none; a branch told that before.
	if (a.v || at->form->insn.mnemonic == ZYDIS_MNEMONIC_TZCNT)
		op_put(at, 0, true, (struct past_bits){ 0, ~(2 * (uint64_t)bits - 1) });
	if (a.v) {
		dec_recover_flags_put(at, 0,
				      at->form->insn.mnemonic == ZYDIS_MNEMONIC_BSF ?
					      RULE_ZF :
					      RULE_CF);
		if ((a.m & past_ones(at_bit)) == past_ones(at_bit)) {
			op_put(at, 0, true, bits_low(at_bit, bits));
			if (at->form->insn.mnemonic == ZYDIS_MNEMONIC_TZCNT)
				dec_recover_flags_put(at, at_bit ? 0 : RULE_ZF, RULE_ZF);
		}
	}
}

static void rule_syscall(const struct past_at *at)
{
	node_put(at, past_slot_of(at->form, CAP_RCX, true),
		 past_const(at->form->insn.rip + 2));
}

void dec_recover_apply(struct past_at *at)
{
	tie_partial(at);
	switch ((enum past_kind)at->form->kind) {
	case PAST_MOV:
		rule_mov(at);
		break;
	case PAST_MOVSX:
		movsx(at, 0, 1, at->form->op[1].bits);
		break;
	case PAST_LEA:
		dec_recover_rule_lea(at);
		break;
	case PAST_ADD:
		dec_recover_rule_sum(at, false, true, true);
		break;
	case PAST_SUB:
		dec_recover_rule_sum(at, true, true, true);
		break;
	case PAST_CMP:
		dec_recover_rule_sum(at, true, false, true);
		break;
	case PAST_INC:
		dec_recover_rule_sum(at, false, true, false);
		break;
	case PAST_DEC:
		dec_recover_rule_sum(at, true, true, false);
		break;
	case PAST_AND:
		dec_recover_rule_and(at, true);
		break;
	case PAST_TEST:
		dec_recover_rule_and(at, false);
		break;
	case PAST_OR:
		dec_recover_rule_or(at);
		break;
	case PAST_XOR:
		dec_recover_rule_xor(at);
		break;
	case PAST_NEG:
		dec_recover_rule_neg(at);
		break;
	case PAST_NOT:
		dec_recover_rule_not(at);
		break;
	case PAST_SHIFT:
		dec_recover_rule_shift(at);
		dec_recover_apply_vector(at); // flags, by the CPU
		break;
	case PAST_IMUL:
		dec_recover_rule_imul(at);
		dec_recover_apply_vector(at);
		break;
	case PAST_XCHG:
		rule_xchg(at);
		break;
	case PAST_XADD:
		dec_recover_rule_xadd(at);
		break;
	case PAST_BSWAP:
		rule_bswap(at);
		break;
	case PAST_SIGN:
		rule_sign(at);
		break;
	case PAST_SET:
		rule_set(at);
		break;
	case PAST_CMOV:
		rule_cmov(at);
		break;
	case PAST_PUSH:
		rule_push(at);
		break;
	case PAST_POP:
		rule_pop(at);
		break;
	case PAST_LEAVE:
		rule_leave(at);
		break;
	case PAST_BRANCH:
		rule_branch(at);
		break;
	case PAST_STRING:
		rule_string(at);
		break;
	case PAST_SCAN:
		rule_scan(at);
		dec_recover_apply_vector(at);
		break;
	case PAST_SYSCALL:
		rule_syscall(at);
		break;
	case PAST_OPAQUE:
	case PAST_GAP:
		break;
	default:
		dec_recover_apply_vector(at);
	}
}
