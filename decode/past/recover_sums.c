// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Sums, products, bits and shifts. Sums and products are known from bit 0 up to the first
 * bit that is not; bitwise ones bit by bit.
 */
#include "decode/past/recover_rules.h"
#include "decode/x86/zydis.h"

/* ---- sums -------------------------------------------------------------------------------------- */

/* a + b = r (or a - b = r), in @p bits bits: each from the others. */
static void solve_sum(struct past_bits *a, struct past_bits *b, struct past_bits *r,
		      bool is_sub)
{
	struct past_bits na = is_sub ? bits_add(*r, *b) : bits_sub(*r, *b);
	struct past_bits nb = is_sub ? bits_sub(*a, *r) : bits_sub(*r, *a);

	*r = is_sub ? bits_sub(*a, *b) : bits_add(*a, *b);
	*a = na;
	*b = nb;
}

/* op[0] = op[0] +- b, where b is op[1] or 1. */
void dec_recover_rule_sum(const struct past_at *at, bool is_sub, bool has_result,
			  bool has_b)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false);
	struct past_bits b = has_b ? op_get(at, 1, false) : bits_low(1, bits);
	struct past_bits r = has_result ? op_get(at, 0, true) : (struct past_bits){};
	struct past_bits na = a, nb = b, nr;

	if (has_b && at->form->is_same && is_sub) {
		r = nr = bits_low(0, bits);
		if (has_result)
			op_put(at, 0, true, nr);
		dec_recover_flags_result(at, r, bits);
		dec_recover_flags_put(at, 0, RULE_CF | RULE_OF | RULE_AF);
		return;
	}
	r = bits_join(
		r, bits_within(dec_recover_flags_result(at, (struct past_bits){}, bits),
			       bits));
	// Two bits that differ: the difference is not zero.
	if (is_sub && ((a.v ^ b.v) & a.m & b.m))
		dec_recover_flags_put(at, 0, RULE_ZF);
	nr = r;
	solve_sum(&na, &nb, &nr, is_sub);
	nr = bits_within(bits_join(r, nr), bits);
	nr = bits_join(nr, dec_recover_flags_result(at, nr, bits));
	if (has_result)
		op_put(at, 0, true, nr);
	op_put(at, 0, false, na);
	if (has_b)
		op_put(at, 1, false, nb);
	if (!is_sub && has_b && at->form->is_same)
		op_put(at, 0, false, bits_unmul(nr, 2, bits));
	// Equal: what is known of one is of the other.
	if (is_sub && is_all(nr, bits) && !nr.v) {
		op_put(at, 0, false, b);
		if (has_b)
			op_put(at, 1, false, a);
	}
	// Below one is zero.
	if (is_sub && has_b && is_all(b, bits) && b.v == 1 &&
	    dec_recover_flag_of(node_get(at, at->form->flags_out), RULE_CF) == 1)
		op_put(at, 0, false, bits_low(0, bits));
	dec_recover_flags_add(at, op_get(at, 0, false), has_b ? op_get(at, 1, false) : b,
			      nr, bits, is_sub, has_b);
}

void dec_recover_rule_neg(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	r = bits_join(r, dec_recover_flags_result(at, r, bits));
	op_put(at, 0, true, bits_sub(past_const(0), a));
	op_put(at, 0, false, bits_sub(past_const(0), r));
	dec_recover_flags_result(at, op_get(at, 0, true), bits);
	if (is_all(a, bits)) {
		dec_recover_flags_put(at, a.v ? RULE_CF : 0, RULE_CF);
		dec_recover_flags_add(at, bits_low(0, bits), a, bits_low(-a.v, bits),
				      bits, true, false);
	}
}

void dec_recover_rule_lea(const struct past_at *at)
{
	const struct past_form *f = at->form;
	struct past_bits base = f->agen_base == PAST_NONE ? past_const(0) :
							    node_get(at, f->agen_base);
	struct past_bits index = f->agen_index == PAST_NONE ? past_const(0) :
							      node_get(at, f->agen_index);
	struct past_bits disp = past_const(f->agen_disp), r = op_get(at, 0, true), rest;
	unsigned bits = f->op[0].bits < f->agen_bits ? f->op[0].bits : f->agen_bits;

	r = bits_within(r, bits);
	if (f->agen_base == f->agen_index && f->agen_base != PAST_NONE) {
		uint64_t factor = 1 + f->agen_scale;

		rest = bits_add(bits_mul(base, factor), disp);
		op_put(at, 0, true, bits_within(rest, bits));
		node_put(at, f->agen_base, bits_unmul(bits_sub(r, disp), factor, bits));
		return;
	}
	rest = bits_add(bits_mul(index, f->agen_scale), disp);
	// The bits that the scale shifts in are known.
	if (f->agen_index != PAST_NONE && !(index.m & 1))
		rest = bits_low(f->agen_disp, __builtin_ctz(f->agen_scale));
	op_put(at, 0, true, bits_within(bits_add(base, rest), bits));
	if (f->agen_bits == 32)
		op_put(at, 0, true, (struct past_bits){ 0, ~0xffffffffull });
	node_put(at, f->agen_base, bits_sub(r, rest));
	node_put(at, f->agen_index,
		 bits_unmul(bits_sub(bits_sub(r, disp), base), f->agen_scale, bits));
}

void dec_recover_rule_imul(const struct past_at *at)
{
	bool has_three = at->form->op[2].type == PAST_OP_IMM && at->form->n_ops > 2;
	int ia = has_three ? 1 : 0, ib = has_three ? 2 : 1;
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, ia, false), b = op_get(at, ib, false);
	struct past_bits r = op_get(at, 0, true);

	if (!has_three && at->form->is_same) {
		op_put(at, 0, true, bits_low(a.v * a.v, low_run(a.m, a.m)));
		return;
	}
	op_put(at, 0, true, bits_low(a.v * b.v, low_run(a.m, b.m)));
	if (is_all(b, bits))
		op_put(at, ia, false, bits_unmul(r, b.v, bits));
	if (is_all(a, bits))
		op_put(at, ib, false, bits_unmul(r, a.v, bits));
}

void dec_recover_rule_xadd(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits r = op_get(at, 0, true), na = a, nb = b, nr = r;

	solve_sum(&na, &nb, &nr, false);
	op_put(at, 0, true, nr);
	op_put(at, 0, false, na);
	op_put(at, 1, false, nb);
	op_put(at, 1, true, a);
	op_put(at, 0, false, op_get(at, 1, true));
	dec_recover_flags_result(at, bits_join(r, nr), bits);
	dec_recover_flags_add(at, a, b, bits_join(r, nr), bits, false, true);
}

/* ---- bitwise ---------------------------------------------------------------------------------- */

void dec_recover_rule_and(const struct past_at *at, bool has_result)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits r = has_result ? op_get(at, 0, true) : (struct past_bits){}, f;

	if (at->form->is_same) {
		r = bits_join(bits_join(r, a),
			      dec_recover_flags_result(at, bits_join(r, a), bits));
		op_put(at, 0, false, r);
		if (has_result)
			op_put(at, 0, true, r);
		dec_recover_flags_result(at, r, bits);
		dec_recover_flags_put(at, 0, RULE_CF | RULE_OF);
		return;
	}
	f = (struct past_bits){ a.v & b.v, (a.m & b.m) | (a.m & ~a.v) | (b.m & ~b.v) };
	r = bits_within(bits_join(r, f), bits);
	r = bits_join(r, dec_recover_flags_result(at, r, bits));
	if (has_result)
		op_put(at, 0, true, r);
	// One: both are. Zero where the other is one: this one is zero.
	op_put(at, 0, false, (struct past_bits){ r.v, r.v | (r.m & ~r.v & b.v) });
	op_put(at, 1, false, (struct past_bits){ r.v, r.v | (r.m & ~r.v & a.v) });
	dec_recover_flags_result(at, r, bits);
	dec_recover_flags_put(at, 0, RULE_CF | RULE_OF);
}

void dec_recover_rule_or(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits r = op_get(at, 0, true), f;

	if (at->form->is_same)
		b = a = bits_join(a, r);
	f = (struct past_bits){ a.v | b.v, (a.m & b.m) | a.v | b.v };
	r = bits_within(bits_join(r, f), bits);
	r = bits_join(r, dec_recover_flags_result(at, r, bits));
	op_put(at, 0, true, r);
	if (at->form->is_same) {
		op_put(at, 0, false, r);
	} else {
		uint64_t zero = r.m & ~r.v;

		op_put(at, 0, false,
		       (struct past_bits){ r.v & b.m & ~b.v, zero | (r.v & b.m & ~b.v) });
		op_put(at, 1, false,
		       (struct past_bits){ r.v & a.m & ~a.v, zero | (r.v & a.m & ~a.v) });
	}
	dec_recover_flags_result(at, r, bits);
	dec_recover_flags_put(at, 0, RULE_CF | RULE_OF);
}

void dec_recover_rule_xor(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct past_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct past_bits r = op_get(at, 0, true);

	if (at->form->is_same)
		r = bits_low(0, bits);
	else
		r = bits_join(r, bits_xor(a, b));
	r = bits_join(r, dec_recover_flags_result(at, r, bits));
	op_put(at, 0, true, r);
	if (!at->form->is_same) {
		op_put(at, 0, false, bits_xor(r, b));
		op_put(at, 1, false, bits_xor(r, a));
	}
	dec_recover_flags_result(at, r, bits);
	dec_recover_flags_put(at, 0, RULE_CF | RULE_OF);
}

void dec_recover_rule_not(const struct past_at *at)
{
	struct past_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	op_put(at, 0, true, (struct past_bits){ ~a.v & a.m, a.m });
	op_put(at, 0, false, (struct past_bits){ ~r.v & r.m, r.m });
}

static struct past_bits bits_rotate(struct past_bits a, unsigned left, unsigned bits)
{
	struct past_bits r;

	left %= bits;
	if (!left)
		return a;
	r.v = (a.v << left | a.v >> (bits - left)) & past_ones(bits);
	r.m = (a.m << left | a.m >> (bits - left)) & past_ones(bits);
	return r;
}

/* By a known count that is not 0 and below the width. */
static void shift_by(const struct past_at *at, unsigned n, unsigned bits)
{
	struct past_bits a = op_get(at, 0, false), r = op_get(at, 0, true);
	uint64_t all = past_ones(bits), gone = all & ~(all >> n);
	uint64_t top = 1ull << (bits - 1);

	switch (at->form->insn.mnemonic) {
	case ZYDIS_MNEMONIC_ROL:
		op_put(at, 0, true, bits_rotate(a, n, bits));
		op_put(at, 0, false, bits_rotate(r, bits - n, bits));
		return;
	case ZYDIS_MNEMONIC_ROR:
		op_put(at, 0, true, bits_rotate(a, bits - n, bits));
		op_put(at, 0, false, bits_rotate(r, n, bits));
		return;
	case ZYDIS_MNEMONIC_SHL:
		op_put(at, 0, true,
		       (struct past_bits){ (a.v << n) & all,
					   ((a.m << n) & all) | past_ones(n) });
		op_put(at, 0, false, (struct past_bits){ r.v >> n, r.m >> n });
		break;
	case ZYDIS_MNEMONIC_SHR:
		op_put(at, 0, true, (struct past_bits){ a.v >> n, a.m >> n | gone });
		op_put(at, 0, false,
		       (struct past_bits){ (r.v << n) & all, (r.m << n) & all });
		break;
	case ZYDIS_MNEMONIC_SAR:
		if (a.m & top)
			op_put(at, 0, true,
			       (struct past_bits){ a.v >> n | (a.v & top ? gone : 0),
						   a.m >> n | gone });
		else
			op_put(at, 0, true,
			       (struct past_bits){ a.v >> n, (a.m >> n) & ~gone });
		op_put(at, 0, false,
		       (struct past_bits){ (r.v << n) & all, (r.m << n) & all });
		if (r.m & (gone | top >> n))
			op_put(at, 0, false,
			       (struct past_bits){ r.v & (gone | top >> n) ? top : 0,
						   top });
		break;
	}
	r = op_get(at, 0, true);
	r = bits_join(r, dec_recover_flags_result(at, r, bits));
	op_put(at, 0, true, r);
}

void dec_recover_rule_shift(const struct past_at *at)
{
	unsigned bits = at->form->op[0].bits, n = at->form->imm;
	uint8_t in = at->form->flags_in;

	if (at->form->op[1].type == PAST_OP_GPR) {
		struct past_bits count = op_get(at, 1, false);
		unsigned mask = bits == 64 ? 63 : 31;

		if ((count.m & mask) != mask)
			return;
		n = count.v;
	}
	n &= bits == 64 ? 63 : 31;
	if (!n) {
		struct past_bits a = op_get(at, 0, false);

		op_put(at, 0, true, a);
		op_put(at, 0, false, op_get(at, 0, true));
		tie(at, in, at->form->flags_out, UINT64_MAX);
	} else if (n < bits) {
		shift_by(at, n, bits);
	}
}
