// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One rule for each kind of instruction, in all directions at once: whatever the operands
 * and the results are known of, each learns from the others. Sums and products are known
 * from bit 0 up to the first bit that is not; bitwise ones bit by bit.
 */
#include "decode/dec_recover_int.h"

#include <string.h>

#include <Zydis/Zydis.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
enum { CF = 1, PF = 4, AF = 16, ZF = 64, SF = 128, OF = 0x800 };

/* ---- bits ---------------------------------------------------------------------------------- */

/* How many bits from 0 on are known in both. */
static unsigned low_run(uint64_t a, uint64_t b)
{
	uint64_t unknown = ~(a & b);

	return unknown ? __builtin_ctzll(unknown) : 64;
}

static struct rec_bits bits_low(uint64_t v, unsigned n)
{
	uint64_t m = rec_ones(n);

	return (struct rec_bits){ v & m, m };
}

static struct rec_bits bits_add(struct rec_bits a, struct rec_bits b)
{
	return bits_low(a.v + b.v, low_run(a.m, b.m));
}

static struct rec_bits bits_sub(struct rec_bits a, struct rec_bits b)
{
	return bits_low(a.v - b.v, low_run(a.m, b.m));
}

static struct rec_bits bits_mul(struct rec_bits a, uint64_t factor)
{
	return bits_low(a.v * factor, low_run(a.m, UINT64_MAX));
}

/* @return x with x * odd == 1, by Newton: each step doubles the right bits. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* What a is when a * factor is r, in @p bits bits. */
static struct rec_bits bits_unmul(struct rec_bits r, uint64_t factor, unsigned bits)
{
	unsigned run = low_run(r.m, rec_ones(bits)), twos;

	if (!factor)
		return (struct rec_bits){};
	twos = __builtin_ctzll(factor);
	if (twos >= run)
		return (struct rec_bits){};
	return bits_low((r.v >> twos) * inverse_of(factor >> twos), run - twos);
}

static struct rec_bits bits_within(struct rec_bits a, unsigned bits)
{
	uint64_t m = rec_ones(bits);

	return (struct rec_bits){ a.v & m, a.m & m };
}

static bool is_all(struct rec_bits a, unsigned bits)
{
	return (a.m & rec_ones(bits)) == rec_ones(bits);
}

/* ---- operands ------------------------------------------------------------------------------- */

static struct rec_bits node_get(const struct rec_at *at, uint8_t slot)
{
	uint32_t node = slot == REC_NONE ? REC_NO_NODE : at->ref[slot];

	if (node == REC_NO_NODE || (node & REC_VEC))
		return (struct rec_bits){};
	return at->r->bits.data[node];
}

static void node_put(const struct rec_at *at, uint8_t slot, struct rec_bits b)
{
	if (slot != REC_NONE && b.m)
		rec_learn(at->r, at->ref[slot], b);
}

static struct rec_bits op_get(const struct rec_at *at, int i, bool is_out)
{
	const struct rec_operand *o = &at->form->op[i];
	struct rec_bits b;

	if (o->type == REC_OP_IMM)
		return bits_within(rec_const(at->form->imm), at->form->op[0].bits);
	b = node_get(at, is_out ? o->out : o->in);
	b.v >>= o->shift;
	b.m >>= o->shift;
	return bits_within(b, o->bits);
}

static void op_put(const struct rec_at *at, int i, bool is_out, struct rec_bits b)
{
	const struct rec_operand *o = &at->form->op[i];

	if (o->type == REC_OP_IMM)
		return;
	b = bits_within(b, o->bits);
	// 32-bit results and those in mask registers clear the rest.
	if (is_out && (o->type == REC_OP_K || (o->type == REC_OP_GPR && o->bits == 32)))
		b.m |= ~rec_ones(o->bits);
	b.v <<= o->shift;
	b.m <<= o->shift;
	if (is_out && o->type == REC_OP_K)
		b.m |= ~rec_ones(o->bits);
	node_put(at, is_out ? o->out : o->in, b);
}

/* Bits @p m of both slots are the same. */
static void tie(const struct rec_at *at, uint8_t a, uint8_t b, uint64_t m)
{
	struct rec_bits x, y;

	if (a == REC_NONE || b == REC_NONE || !m)
		return;
	x = node_get(at, a);
	y = node_get(at, b);
	node_put(at, b, (struct rec_bits){ x.v & m, x.m & m });
	node_put(at, a, (struct rec_bits){ y.v & m, y.m & m });
}

/* What an instruction writes in part stays as it was in the rest. */
static void tie_partial(const struct rec_at *at)
{
	const struct rec_form *f = at->form;

	for (int i = 0; i < f->n_ops; i++) {
		const struct rec_operand *o = &f->op[i];

		if (o->type == REC_OP_GPR && o->out != REC_NONE && o->bits < 32)
			tie(at, o->in, o->out, ~(rec_ones(o->bits) << o->shift));
	}
	tie(at, f->flags_in, f->flags_out, f->flags_kept);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void flags_put(const struct rec_at *at, uint64_t v, uint64_t m)
{
	node_put(at, at->form->flags_out, (struct rec_bits){ v & m, m });
}

/* @return the flag: 0, 1, or -1 when it is not known. */
static int flag_of(struct rec_bits flags, uint64_t flag)
{
	return flags.m & flag ? !!(flags.v & flag) : -1;
}

/* ZF, SF and PF of result @p r, and back. @return what r is known to be, from them. */
static struct rec_bits flags_result(const struct rec_at *at, struct rec_bits r,
				    unsigned bits)
{
	struct rec_bits f = node_get(at, at->form->flags_out), back = {};
	uint64_t top = 1ull << (bits - 1);

	if (at->form->flags_out == REC_NONE)
		return back;
	if (r.v)
		flags_put(at, 0, ZF);
	else if (is_all(r, bits))
		flags_put(at, ZF, ZF);
	if (r.m & top)
		flags_put(at, r.v & top ? SF : 0, SF);
	if ((r.m & 0xff) == 0xff)
		flags_put(at, __builtin_parityll(r.v & 0xff) ? 0 : PF, PF);
	if (flag_of(f, ZF) == 1)
		return bits_low(0, bits);
	if (f.m & SF)
		back = (struct rec_bits){ f.v & SF ? top : 0, top };
	// Not zero, and all bits but one are.
	if (flag_of(f, ZF) == 0 && !r.v &&
	    __builtin_popcountll(rec_ones(bits) & ~r.m) == 1) {
		back.m |= rec_ones(bits) & ~r.m;
		back.v |= rec_ones(bits) & ~r.m;
	}
	return back;
}

static void flags_add(const struct rec_at *at, struct rec_bits a, struct rec_bits b,
		      struct rec_bits r, unsigned bits, bool is_sub, bool has_carry)
{
	uint64_t top = 1ull << (bits - 1), over;

	if (at->form->flags_out == REC_NONE || !is_all(a, bits) || !is_all(b, bits) ||
	    !is_all(r, bits))
		return;
	over = is_sub ? (a.v ^ b.v) & (a.v ^ r.v) : ~(a.v ^ b.v) & (a.v ^ r.v);
	flags_put(at, (over & top ? OF : 0) | ((a.v ^ b.v ^ r.v) & 16 ? AF : 0), OF | AF);
	if (has_carry)
		flags_put(at, (is_sub ? a.v < b.v : r.v < a.v) ? CF : 0, CF);
}

/* @return whether condition @p cc holds: 0, 1 or -1. */
static int cond_of(struct rec_bits f, int cc)
{
	int c = flag_of(f, CF), z = flag_of(f, ZF), s = flag_of(f, SF),
	    o = flag_of(f, OF);
	int is = -1;

	switch (cc >> 1) {
	case 0:
		is = o;
		break;
	case 1:
		is = c;
		break;
	case 2:
		is = z;
		break;
	case 3:
		is = c == 1 || z == 1 ? 1 : c == 0 && z == 0 ? 0 : -1;
		break;
	case 4:
		is = s;
		break;
	case 5:
		is = flag_of(f, PF);
		break;
	case 6:
		is = s >= 0 && o >= 0 ? s != o : -1;
		break;
	case 7:
		if (z == 1 || (s >= 0 && o >= 0 && s != o))
			is = 1;
		else if (z == 0 && s >= 0 && o >= 0)
			is = 0;
		break;
	}
	return is < 0 ? is : is ^ (cc & 1);
}

/* Condition @p cc is known to hold, or not: what that says of the flags. */
static void cond_put(const struct rec_at *at, int cc, bool holds)
{
	struct rec_bits f = node_get(at, at->form->flags_in), b = {};
	static const uint64_t single[] = { OF, CF, ZF, 0, SF, PF, 0, 0 };
	int z = flag_of(f, ZF), c = flag_of(f, CF), s = flag_of(f, SF),
	    o = flag_of(f, OF);
	bool is = holds ^ (cc & 1);

	if (single[cc >> 1]) {
		b.m = single[cc >> 1];
		b.v = is ? b.m : 0;
	} else if (cc >> 1 == 3) {
		if (!is)
			b.m = CF | ZF;
		else if (c == 0)
			b = (struct rec_bits){ ZF, ZF };
		else if (z == 0)
			b = (struct rec_bits){ CF, CF };
	} else {
		if (cc >> 1 == 7 && !is)
			b.m = ZF;
		if (cc >> 1 == 7 && is && s >= 0 && s == o)
			b = (struct rec_bits){ ZF, ZF };
		if (cc >> 1 == 6 || !is || z == 0) {
			if (s >= 0) {
				b.m |= OF;
				b.v |= s ^ is ? OF : 0;
			}
			if (o >= 0) {
				b.m |= SF;
				b.v |= o ^ is ? SF : 0;
			}
		}
	}
	node_put(at, at->form->flags_in, b);
}

/* ---- sums -------------------------------------------------------------------------------------- */

/* a + b = r (or a - b = r), in @p bits bits: each from the others. */
static void solve_sum(struct rec_bits *a, struct rec_bits *b, struct rec_bits *r,
		      bool is_sub)
{
	struct rec_bits na = is_sub ? bits_add(*r, *b) : bits_sub(*r, *b);
	struct rec_bits nb = is_sub ? bits_sub(*a, *r) : bits_sub(*r, *a);

	*r = is_sub ? bits_sub(*a, *b) : bits_add(*a, *b);
	*a = na;
	*b = nb;
}

static struct rec_bits bits_join(struct rec_bits a, struct rec_bits b)
{
	return (struct rec_bits){ a.v | (b.v & ~a.m), a.m | b.m };
}

/* op[0] = op[0] +- b, where b is op[1] or 1. */
static void rule_sum(const struct rec_at *at, bool is_sub, bool has_result, bool has_b)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false);
	struct rec_bits b = has_b ? op_get(at, 1, false) : bits_low(1, bits);
	struct rec_bits r = has_result ? op_get(at, 0, true) : (struct rec_bits){};
	struct rec_bits na = a, nb = b, nr;

	if (has_b && at->form->is_same && is_sub) {
		r = nr = bits_low(0, bits);
		if (has_result)
			op_put(at, 0, true, nr);
		flags_result(at, r, bits);
		flags_put(at, 0, CF | OF | AF);
		return;
	}
	r = bits_join(r, bits_within(flags_result(at, (struct rec_bits){}, bits), bits));
	// Two bits that differ: the difference is not zero.
	if (is_sub && ((a.v ^ b.v) & a.m & b.m))
		flags_put(at, 0, ZF);
	nr = r;
	solve_sum(&na, &nb, &nr, is_sub);
	nr = bits_within(bits_join(r, nr), bits);
	nr = bits_join(nr, flags_result(at, nr, bits));
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
	    flag_of(node_get(at, at->form->flags_out), CF) == 1)
		op_put(at, 0, false, bits_low(0, bits));
	flags_add(at, op_get(at, 0, false), has_b ? op_get(at, 1, false) : b, nr, bits,
		  is_sub, has_b);
}

static void rule_neg(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	r = bits_join(r, flags_result(at, r, bits));
	op_put(at, 0, true, bits_sub(rec_const(0), a));
	op_put(at, 0, false, bits_sub(rec_const(0), r));
	flags_result(at, op_get(at, 0, true), bits);
	if (is_all(a, bits)) {
		flags_put(at, a.v ? CF : 0, CF);
		flags_add(at, bits_low(0, bits), a, bits_low(-a.v, bits), bits, true,
			  false);
	}
}

static void rule_lea(const struct rec_at *at)
{
	const struct rec_form *f = at->form;
	struct rec_bits base = f->agen_base == REC_NONE ? rec_const(0) :
							  node_get(at, f->agen_base);
	struct rec_bits index = f->agen_index == REC_NONE ? rec_const(0) :
							    node_get(at, f->agen_index);
	struct rec_bits disp = rec_const(f->agen_disp), r = op_get(at, 0, true), rest;
	unsigned bits = f->op[0].bits < f->agen_bits ? f->op[0].bits : f->agen_bits;

	r = bits_within(r, bits);
	if (f->agen_base == f->agen_index && f->agen_base != REC_NONE) {
		uint64_t factor = 1 + f->agen_scale;

		rest = bits_add(bits_mul(base, factor), disp);
		op_put(at, 0, true, bits_within(rest, bits));
		node_put(at, f->agen_base, bits_unmul(bits_sub(r, disp), factor, bits));
		return;
	}
	rest = bits_add(bits_mul(index, f->agen_scale), disp);
	// The bits that the scale shifts in are known.
	if (f->agen_index != REC_NONE && !(index.m & 1))
		rest = bits_low(f->agen_disp, __builtin_ctz(f->agen_scale));
	op_put(at, 0, true, bits_within(bits_add(base, rest), bits));
	if (f->agen_bits == 32)
		op_put(at, 0, true, (struct rec_bits){ 0, ~0xffffffffull });
	node_put(at, f->agen_base, bits_sub(r, rest));
	node_put(at, f->agen_index,
		 bits_unmul(bits_sub(bits_sub(r, disp), base), f->agen_scale, bits));
}

static void rule_imul(const struct rec_at *at)
{
	bool has_three = at->form->op[2].type == REC_OP_IMM && at->form->n_ops > 2;
	int ia = has_three ? 1 : 0, ib = has_three ? 2 : 1;
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, ia, false), b = op_get(at, ib, false);
	struct rec_bits r = op_get(at, 0, true);

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

static void rule_xadd(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits r = op_get(at, 0, true), na = a, nb = b, nr = r;

	solve_sum(&na, &nb, &nr, false);
	op_put(at, 0, true, nr);
	op_put(at, 0, false, na);
	op_put(at, 1, false, nb);
	op_put(at, 1, true, a);
	op_put(at, 0, false, op_get(at, 1, true));
	flags_result(at, bits_join(r, nr), bits);
	flags_add(at, a, b, bits_join(r, nr), bits, false, true);
}

/* ---- bitwise ---------------------------------------------------------------------------------- */

static void rule_and(const struct rec_at *at, bool has_result)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits r = has_result ? op_get(at, 0, true) : (struct rec_bits){}, f;

	if (at->form->is_same) {
		r = bits_join(bits_join(r, a), flags_result(at, bits_join(r, a), bits));
		op_put(at, 0, false, r);
		if (has_result)
			op_put(at, 0, true, r);
		flags_result(at, r, bits);
		flags_put(at, 0, CF | OF);
		return;
	}
	f = (struct rec_bits){ a.v & b.v, (a.m & b.m) | (a.m & ~a.v) | (b.m & ~b.v) };
	r = bits_within(bits_join(r, f), bits);
	r = bits_join(r, flags_result(at, r, bits));
	if (has_result)
		op_put(at, 0, true, r);
	// One: both are. Zero where the other is one: this one is zero.
	op_put(at, 0, false, (struct rec_bits){ r.v, r.v | (r.m & ~r.v & b.v) });
	op_put(at, 1, false, (struct rec_bits){ r.v, r.v | (r.m & ~r.v & a.v) });
	flags_result(at, r, bits);
	flags_put(at, 0, CF | OF);
}

static void rule_or(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits r = op_get(at, 0, true), f;

	if (at->form->is_same)
		b = a = bits_join(a, r);
	f = (struct rec_bits){ a.v | b.v, (a.m & b.m) | a.v | b.v };
	r = bits_within(bits_join(r, f), bits);
	r = bits_join(r, flags_result(at, r, bits));
	op_put(at, 0, true, r);
	if (at->form->is_same) {
		op_put(at, 0, false, r);
	} else {
		uint64_t zero = r.m & ~r.v;

		op_put(at, 0, false,
		       (struct rec_bits){ r.v & b.m & ~b.v, zero | (r.v & b.m & ~b.v) });
		op_put(at, 1, false,
		       (struct rec_bits){ r.v & a.m & ~a.v, zero | (r.v & a.m & ~a.v) });
	}
	flags_result(at, r, bits);
	flags_put(at, 0, CF | OF);
}

static struct rec_bits bits_xor(struct rec_bits a, struct rec_bits b)
{
	uint64_t m = a.m & b.m;

	return (struct rec_bits){ (a.v ^ b.v) & m, m };
}

static void rule_xor(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits r = op_get(at, 0, true);

	if (at->form->is_same)
		r = bits_low(0, bits);
	else
		r = bits_join(r, bits_xor(a, b));
	r = bits_join(r, flags_result(at, r, bits));
	op_put(at, 0, true, r);
	if (!at->form->is_same) {
		op_put(at, 0, false, bits_xor(r, b));
		op_put(at, 1, false, bits_xor(r, a));
	}
	flags_result(at, r, bits);
	flags_put(at, 0, CF | OF);
}

static void rule_not(const struct rec_at *at)
{
	struct rec_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	op_put(at, 0, true, (struct rec_bits){ ~a.v & a.m, a.m });
	op_put(at, 0, false, (struct rec_bits){ ~r.v & r.m, r.m });
}

static struct rec_bits bits_rotate(struct rec_bits a, unsigned left, unsigned bits)
{
	struct rec_bits r;

	left %= bits;
	if (!left)
		return a;
	r.v = (a.v << left | a.v >> (bits - left)) & rec_ones(bits);
	r.m = (a.m << left | a.m >> (bits - left)) & rec_ones(bits);
	return r;
}

/* By a known count that is not 0 and below the width. */
static void shift_by(const struct rec_at *at, unsigned n, unsigned bits)
{
	struct rec_bits a = op_get(at, 0, false), r = op_get(at, 0, true);
	uint64_t all = rec_ones(bits), gone = all & ~(all >> n);
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
		       (struct rec_bits){ (a.v << n) & all,
					  ((a.m << n) & all) | rec_ones(n) });
		op_put(at, 0, false, (struct rec_bits){ r.v >> n, r.m >> n });
		break;
	case ZYDIS_MNEMONIC_SHR:
		op_put(at, 0, true, (struct rec_bits){ a.v >> n, a.m >> n | gone });
		op_put(at, 0, false,
		       (struct rec_bits){ (r.v << n) & all, (r.m << n) & all });
		break;
	case ZYDIS_MNEMONIC_SAR:
		if (a.m & top)
			op_put(at, 0, true,
			       (struct rec_bits){ a.v >> n | (a.v & top ? gone : 0),
						  a.m >> n | gone });
		else
			op_put(at, 0, true,
			       (struct rec_bits){ a.v >> n, (a.m >> n) & ~gone });
		op_put(at, 0, false,
		       (struct rec_bits){ (r.v << n) & all, (r.m << n) & all });
		if (r.m & (gone | top >> n))
			op_put(at, 0, false,
			       (struct rec_bits){ r.v & (gone | top >> n) ? top : 0,
						  top });
		break;
	}
	r = op_get(at, 0, true);
	r = bits_join(r, flags_result(at, r, bits));
	op_put(at, 0, true, r);
}

static void rule_shift(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits, n = at->form->imm;
	uint8_t in = at->form->flags_in;

	if (at->form->op[1].type == REC_OP_GPR) {
		struct rec_bits count = op_get(at, 1, false);
		unsigned mask = bits == 64 ? 63 : 31;

		if ((count.m & mask) != mask)
			return;
		n = count.v;
	}
	n &= bits == 64 ? 63 : 31;
	if (!n) {
		struct rec_bits a = op_get(at, 0, false);

		op_put(at, 0, true, a);
		op_put(at, 0, false, op_get(at, 0, true));
		tie(at, in, at->form->flags_out, UINT64_MAX);
	} else if (n < bits) {
		shift_by(at, n, bits);
	}
}

/* ---- copies --------------------------------------------------------------------------------- */

static void rule_mov(const struct rec_at *at)
{
	struct rec_bits a = op_get(at, 1, false), r = op_get(at, 0, true);
	unsigned from = at->form->op[1].bits;

	// movzx, and a mask register's rest.
	if (at->form->op[1].type != REC_OP_IMM && from < at->form->op[0].bits)
		a.m |= ~rec_ones(from);
	op_put(at, 0, true, a);
	op_put(at, 1, false, r);
}

static void movsx(const struct rec_at *at, int dst, int src, unsigned from)
{
	struct rec_bits a = bits_within(op_get(at, src, false), from);
	struct rec_bits r = op_get(at, dst, true);
	uint64_t top = 1ull << (from - 1), above = ~rec_ones(from);

	if (a.m & top) {
		a.m |= above;
		a.v |= a.v & top ? above : 0;
	}
	op_put(at, dst, true, a);
	above &= rec_ones(at->form->op[dst].bits);
	if (r.m & (above | top)) {
		r.v = (r.v & (above | top)) ? r.v | top : r.v;
		r.m |= top;
	}
	op_put(at, src, false, bits_within(r, from));
}

/* cwd, cdq, cqo: op[0] is (r|e)dx, op[1] (r|e)ax. */
static void rule_sign(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	uint64_t top = 1ull << (bits - 1);
	struct rec_bits a = op_get(at, 1, false), r = op_get(at, 0, true);

	if (a.m & top)
		op_put(at, 0, true, bits_low(a.v & top ? UINT64_MAX : 0, bits));
	if (r.m) {
		op_put(at, 1, false, (struct rec_bits){ r.v ? top : 0, top });
		op_put(at, 0, true, bits_low(r.v ? UINT64_MAX : 0, bits));
	}
}

static void rule_xchg(const struct rec_at *at)
{
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits ra = op_get(at, 0, true), rb = op_get(at, 1, true);

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

static void rule_bswap(const struct rec_at *at)
{
	unsigned drop = 64 - at->form->op[0].bits;
	struct rec_bits a = op_get(at, 0, false), r = op_get(at, 0, true);

	op_put(at, 0, true,
	       (struct rec_bits){ __builtin_bswap64(a.v) >> drop,
				  __builtin_bswap64(a.m) >> drop });
	op_put(at, 0, false,
	       (struct rec_bits){ __builtin_bswap64(r.v) >> drop,
				  __builtin_bswap64(r.m) >> drop });
}

static void rule_set(const struct rec_at *at)
{
	int is = cond_of(node_get(at, at->form->flags_in), at->form->cc);
	struct rec_bits r = op_get(at, 0, true);

	op_put(at, 0, true, (struct rec_bits){ 0, 0xfe });
	if (is >= 0)
		op_put(at, 0, true, bits_low(is, 8));
	else if (r.m & 1)
		cond_put(at, at->form->cc, r.v & 1);
}

static void rule_cmov(const struct rec_at *at)
{
	int is = cond_of(node_get(at, at->form->flags_in), at->form->cc);
	struct rec_bits a = op_get(at, 0, false), b = op_get(at, 1, false);
	struct rec_bits r = op_get(at, 0, true);
	bool is_a = true, is_b = true;

	if (is < 0) {
		is_a = !((a.v ^ r.v) & a.m & r.m);
		is_b = !((b.v ^ r.v) & b.m & r.m);
		if (is_a != is_b) {
			is = is_b;
			cond_put(at, at->form->cc, is);
		}
	}
	if (is < 0) {
		uint64_t same = a.m & b.m & ~(a.v ^ b.v);

		op_put(at, 0, true, (struct rec_bits){ a.v & same, same });
		return;
	}
	op_put(at, 0, true, is ? b : a);
	op_put(at, is ? 1 : 0, false, r);
}

/* ---- the stack, branches ------------------------------------------------------------------- */

static void rsp_moves(const struct rec_at *at, int64_t by)
{
	const struct rec_form *f = at->form;
	struct rec_bits a = node_get(at, f->rsp_in), r = node_get(at, f->rsp_out);

	node_put(at, f->rsp_out, bits_add(a, rec_const(by)));
	node_put(at, f->rsp_in, bits_sub(r, rec_const(by)));
}

/* The slot of memory operand @p m. */
static uint8_t mem_slot(const struct rec_form *f, int m, bool is_out)
{
	int from = is_out ? f->n_in : 0, to = from + (is_out ? f->n_out : f->n_in);

	for (int s = to - 1; s >= from; s--) {
		if (f->slot[s] == (0x80 | m))
			return s;
	}
	return REC_NONE;
}

static void rule_push(const struct rec_at *at)
{
	uint8_t slot = mem_slot(at->form, at->form->insn.n_mem - 1, true);
	struct rec_bits a = op_get(at, 0, false), r = node_get(at, slot);

	if (at->form->op[0].type == REC_OP_IMM)
		a = rec_const(at->form->imm);
	node_put(at, slot, a);
	op_put(at, 0, false, r);
	rsp_moves(at, -8);
}

static void rule_pop(const struct rec_at *at)
{
	uint8_t slot = mem_slot(at->form, at->form->insn.n_mem - 1, false);

	op_put(at, 0, true, node_get(at, slot));
	node_put(at, slot, op_get(at, 0, true));
	if (at->form->op[0].reg != RSP)
		rsp_moves(at, 8);
}

static void rule_leave(const struct rec_at *at)
{
	const struct rec_form *f = at->form;
	uint8_t slot = mem_slot(f, 0, false), rbp_in = f->base_in[0], rbp_out = REC_NONE;

	for (int s = f->n_in; s < f->n_in + f->n_out; s++)
		rbp_out = f->slot[s] == RBP ? s : rbp_out;
	if (slot == REC_NONE || rbp_in == REC_NONE)
		return;
	node_put(at, rbp_out, node_get(at, slot));
	node_put(at, slot, node_get(at, rbp_out));
	node_put(at, f->rsp_out, bits_add(node_get(at, rbp_in), rec_const(8)));
	node_put(at, rbp_in, bits_sub(node_get(at, f->rsp_out), rec_const(8)));
}

static void rule_branch(const struct rec_at *at)
{
	const struct rec_form *f = at->form;
	uint64_t next = rec_next_rip(at->r, at->step), behind = f->insn.rip + f->insn.len;
	uint16_t pops = 0;

	switch (f->insn.flow) {
	case DEC_FLOW_JCC:
		if (next && f->insn.target != behind)
			cond_put(at, f->cc, next == f->insn.target);
		break;
	case DEC_FLOW_CALL_IND:
	case DEC_FLOW_JMP_IND:
		if (next)
			op_put(at, 0, false, rec_const(next));
		if (f->insn.flow == DEC_FLOW_JMP_IND)
			break;
		// Fall through.
	case DEC_FLOW_CALL:
		node_put(at, mem_slot(f, f->insn.n_mem - 1, true), rec_const(behind));
		rsp_moves(at, -8);
		break;
	case DEC_FLOW_RET:
		if (f->insn.len >= 3 && f->insn.bytes[f->insn.len - 3] == 0xc2)
			memcpy(&pops, f->insn.bytes + f->insn.len - 2, 2);
		if (next)
			node_put(at, mem_slot(f, 0, false), rec_const(next));
		rsp_moves(at, 8 + pops);
		break;
	}
}

/* ---- strings ----------------------------------------------------------------------------------- */

static uint8_t reg_slot(const struct rec_form *f, uint8_t reg, bool is_out)
{
	int from = is_out ? f->n_in : 0, to = from + (is_out ? f->n_out : f->n_in);

	for (int s = from; s < to; s++) {
		if (f->slot[s] == reg)
			return s;
	}
	return REC_NONE;
}

/* rdi or rsi moves on by @p n units (forward: nobody runs with the direction flag set). */
static void string_moves(const struct rec_at *at, uint8_t reg, struct rec_bits n,
			 unsigned unit, struct rec_bits *count)
{
	uint8_t in = reg_slot(at->form, reg, false), out = reg_slot(at->form, reg, true);
	struct rec_bits by = bits_mul(n, unit), a, r;

	if (in == REC_NONE || out == REC_NONE)
		return;
	a = node_get(at, in);
	r = node_get(at, out);
	node_put(at, out, bits_add(a, by));
	node_put(at, in, bits_sub(r, by));
	if (is_all(a, 64) && is_all(r, 64))
		*count = rec_const((r.v - a.v) / unit);
}

static void rule_string(const struct rec_at *at)
{
	const struct rec_form *f = at->form;
	unsigned unit = f->insn.n_mem ? f->insn.mem[0].size : 1;
	uint8_t in = reg_slot(f, RCX, false), out = reg_slot(f, RCX, true);
	struct rec_bits n = rec_const(1), count = {};

	if (f->is_bulk) {
		if (f->n_mem_out)
			node_put(at, out, rec_const(0));
		n = bits_sub(node_get(at, in), node_get(at, out));
	}
	string_moves(at, RDI, n, unit, &count);
	string_moves(at, RSI, n, unit, &count);
	if (f->is_bulk && count.m) {
		node_put(at, in, bits_add(node_get(at, out), count));
		node_put(at, out, bits_sub(node_get(at, in), count));
	}
	if (f->is_bulk || !f->n_mem_out)
		return;
	// One movs or stos: the value stored.
	if (f->n_mem_in) {
		uint8_t from = f->n_in - 1, to = f->n_in + f->n_out - 1;

		tie(at, from, to, rec_ones(unit * 8));
	} else {
		uint8_t rax = reg_slot(f, RAX, false), to = f->n_in + f->n_out - 1;

		if (rax != REC_NONE)
			tie(at, rax, to, rec_ones(unit * 8));
	}
}

/* ---- the rest ---------------------------------------------------------------------------------- */

/* tzcnt, bsf: the lowest one is known when all below it are known zeros. */
static void rule_scan(const struct rec_at *at)
{
	unsigned bits = at->form->op[0].bits;
	struct rec_bits a = op_get(at, 1, false);
	unsigned at_bit = a.v ? __builtin_ctzll(a.v) : 64;

	if (a.v) {
		flags_put(at, 0, at->form->insn.mnemonic == ZYDIS_MNEMONIC_BSF ? ZF : CF);
		if ((a.m & rec_ones(at_bit)) == rec_ones(at_bit)) {
			op_put(at, 0, true, bits_low(at_bit, bits));
			if (at->form->insn.mnemonic == ZYDIS_MNEMONIC_TZCNT)
				flags_put(at, at_bit ? 0 : ZF, ZF);
		}
	}
}

static void rule_syscall(const struct rec_at *at)
{
	node_put(at, reg_slot(at->form, RCX, true), rec_const(at->form->insn.rip + 2));
}

void rec_apply(struct rec_at *at)
{
	tie_partial(at);
	switch ((enum rec_kind)at->form->kind) {
	case REC_MOV:
		rule_mov(at);
		break;
	case REC_MOVSX:
		movsx(at, 0, 1, at->form->op[1].bits);
		break;
	case REC_LEA:
		rule_lea(at);
		break;
	case REC_ADD:
		rule_sum(at, false, true, true);
		break;
	case REC_SUB:
		rule_sum(at, true, true, true);
		break;
	case REC_CMP:
		rule_sum(at, true, false, true);
		break;
	case REC_INC:
		rule_sum(at, false, true, false);
		break;
	case REC_DEC:
		rule_sum(at, true, true, false);
		break;
	case REC_AND:
		rule_and(at, true);
		break;
	case REC_TEST:
		rule_and(at, false);
		break;
	case REC_OR:
		rule_or(at);
		break;
	case REC_XOR:
		rule_xor(at);
		break;
	case REC_NEG:
		rule_neg(at);
		break;
	case REC_NOT:
		rule_not(at);
		break;
	case REC_SHIFT:
		rule_shift(at);
		rec_apply_vector(at); // flags, by the CPU
		break;
	case REC_IMUL:
		rule_imul(at);
		rec_apply_vector(at);
		break;
	case REC_XCHG:
		rule_xchg(at);
		break;
	case REC_XADD:
		rule_xadd(at);
		break;
	case REC_BSWAP:
		rule_bswap(at);
		break;
	case REC_SIGN:
		rule_sign(at);
		break;
	case REC_SET:
		rule_set(at);
		break;
	case REC_CMOV:
		rule_cmov(at);
		break;
	case REC_PUSH:
		rule_push(at);
		break;
	case REC_POP:
		rule_pop(at);
		break;
	case REC_LEAVE:
		rule_leave(at);
		break;
	case REC_BRANCH:
		rule_branch(at);
		break;
	case REC_STRING:
		rule_string(at);
		break;
	case REC_SCAN:
		rule_scan(at);
		rec_apply_vector(at);
		break;
	case REC_SYSCALL:
		rule_syscall(at);
		break;
	case REC_OPAQUE:
	case REC_GAP:
		break;
	default:
		rec_apply_vector(at);
	}
}
