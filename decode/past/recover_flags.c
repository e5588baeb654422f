// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Flags: what results say of them, and what a branch that was taken says of a result.
 */
#include "decode/past/recover_rules.h"

void dec_recover_flags_put(const struct past_at *at, uint64_t v, uint64_t m)
{
	node_put(at, at->form->flags_out, (struct past_bits){ v & m, m });
}

/* @return the flag: 0, 1, or -1 when it is not known. */
int dec_recover_flag_of(struct past_bits flags, uint64_t flag)
{
	return flags.m & flag ? !!(flags.v & flag) : -1;
}

/* ZF, SF and PF of result @p r, and back. @return what r is known to be, from them. */
struct past_bits dec_recover_flags_result(const struct past_at *at, struct past_bits r,
					  unsigned bits)
{
	struct past_bits f = node_get(at, at->form->flags_out), back = {};
	uint64_t top = 1ull << (bits - 1);

	if (at->form->flags_out == PAST_NONE)
		return back;
	if (r.v)
		dec_recover_flags_put(at, 0, RULE_ZF);
	else if (is_all(r, bits))
		dec_recover_flags_put(at, RULE_ZF, RULE_ZF);
	if (r.m & top)
		dec_recover_flags_put(at, r.v & top ? RULE_SF : 0, RULE_SF);
	if ((r.m & 0xff) == 0xff)
		dec_recover_flags_put(at, __builtin_parityll(r.v & 0xff) ? 0 : RULE_PF,
				      RULE_PF);
	if (dec_recover_flag_of(f, RULE_ZF) == 1)
		return bits_low(0, bits);
	if (f.m & RULE_SF)
		back = (struct past_bits){ f.v & RULE_SF ? top : 0, top };
	// Not zero, and all bits but one are.
	if (dec_recover_flag_of(f, RULE_ZF) == 0 && !r.v &&
	    __builtin_popcountll(past_ones(bits) & ~r.m) == 1) {
		back.m |= past_ones(bits) & ~r.m;
		back.v |= past_ones(bits) & ~r.m;
	}
	return back;
}

void dec_recover_flags_add(const struct past_at *at, struct past_bits a,
			   struct past_bits b, struct past_bits r, unsigned bits,
			   bool is_sub, bool has_carry)
{
	uint64_t top = 1ull << (bits - 1), over;

	if (at->form->flags_out == PAST_NONE || !is_all(a, bits) || !is_all(b, bits) ||
	    !is_all(r, bits))
		return;
	over = is_sub ? (a.v ^ b.v) & (a.v ^ r.v) : ~(a.v ^ b.v) & (a.v ^ r.v);
	dec_recover_flags_put(
		at, (over & top ? RULE_OF : 0) | ((a.v ^ b.v ^ r.v) & 16 ? RULE_AF : 0),
		RULE_OF | RULE_AF);
	if (has_carry)
		dec_recover_flags_put(at, (is_sub ? a.v < b.v : r.v < a.v) ? RULE_CF : 0,
				      RULE_CF);
}

/* @return whether condition @p cc holds: 0, 1 or -1. */
int dec_recover_cond_of(struct past_bits f, int cc)
{
	int c = dec_recover_flag_of(f, RULE_CF), z = dec_recover_flag_of(f, RULE_ZF),
	    s = dec_recover_flag_of(f, RULE_SF), o = dec_recover_flag_of(f, RULE_OF);
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
		is = dec_recover_flag_of(f, RULE_PF);
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
void dec_recover_cond_put(const struct past_at *at, int cc, bool holds)
{
	struct past_bits f = node_get(at, at->form->flags_in), b = {};
	static const uint64_t single[] = { RULE_OF, RULE_CF, RULE_ZF, 0,
					   RULE_SF, RULE_PF, 0,	      0 };
	int z = dec_recover_flag_of(f, RULE_ZF), c = dec_recover_flag_of(f, RULE_CF),
	    s = dec_recover_flag_of(f, RULE_SF), o = dec_recover_flag_of(f, RULE_OF);
	bool is = holds ^ (cc & 1);

	if (single[cc >> 1]) {
		b.m = single[cc >> 1];
		b.v = is ? b.m : 0;
	} else if (cc >> 1 == 3) {
		if (!is)
			b.m = RULE_CF | RULE_ZF;
		else if (c == 0)
			b = (struct past_bits){ RULE_ZF, RULE_ZF };
		else if (z == 0)
			b = (struct past_bits){ RULE_CF, RULE_CF };
	} else {
		if (cc >> 1 == 7 && !is)
			b.m = RULE_ZF;
		if (cc >> 1 == 7 && is && s >= 0 && s == o)
			b = (struct past_bits){ RULE_ZF, RULE_ZF };
		if (cc >> 1 == 6 || !is || z == 0) {
			if (s >= 0) {
				b.m |= RULE_OF;
				b.v |= s ^ is ? RULE_OF : 0;
			}
			if (o >= 0) {
				b.m |= RULE_SF;
				b.v |= o ^ is ? RULE_SF : 0;
			}
		}
	}
	node_put(at, at->form->flags_in, b);
}
