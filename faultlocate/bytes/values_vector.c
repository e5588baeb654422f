// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of vectors: copies and shuffles bit by bit, logic by what is known, arithmetic lane by lane: one bit without a
 * value makes all of its lane so.
 */
#include <string.h>

#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

#define BYTES 64

static const uint8_t none[BYTES];

/* ---- operands ----------------------------------------------------------------------------------- */

static void repeat(uint8_t ret[BYTES], unsigned bytes)
{
	for (unsigned i = bytes; i < BYTES; i++)
		ret[i] = ret[i - bytes];
}

/* The bits of operand @p op. @return how many bytes it has. */
static unsigned bits_of(const struct bytes_flow *f, int op, uint8_t ret[BYTES])
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *from;
	unsigned bytes = o->bytes;
	uint64_t bits;

	memset(ret, 0, BYTES);
	switch (o->kind) {
	case MODEL_VEC:
		memcpy(ret, f->r->vec[o->reg], BYTES);
		break;
	case MODEL_MEM:
		from = fl_flow_memory(f->s, false);
		bytes = !from ? 0 : from->size < BYTES ? from->size : BYTES;
		if (bytes)
			fl_values_read(&f->w->values, from->addr, ret, bytes);
		if (bytes && f->m->is_broadcast)
			repeat(ret, bytes);
		break;
	default:
		bits = fl_values_operand(f->w, f->s, o);
		memcpy(ret, &bits, 8);
		break;
	}
	return bytes;
}

/* What operand @p op holds before the instruction. */
static void value_of(const struct bytes_flow *f, int op, uint8_t ret[BYTES])
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *from =
		o->kind == MODEL_VEC ?
			fl_flow_register(f->s, DEC_REG_VEC + o->reg, false) :
		o->kind == MODEL_MEM ? fl_flow_memory(f->s, false) :
				       NULL;
	unsigned bytes = !from || !from->has_value ? 0 :
			 from->size < BYTES	   ? from->size :
						     BYTES;

	memset(ret, 0, BYTES);
	if (bytes)
		memcpy(ret, from->value, bytes);
	if (bytes && f->m->is_broadcast && o->kind == MODEL_MEM)
		repeat(ret, bytes);
}

/* The first @p bytes of what it writes have @p bits. */
static struct err *put(const struct bytes_flow *f, const uint8_t bits[BYTES],
		       unsigned bytes)
{
	const struct model_op *o = &f->m->op[0];
	const struct dec_ref *to;
	uint64_t low;

	if (o->kind == MODEL_VEC) {
		uint8_t *reg = f->r->vec[o->reg];

		memcpy(reg, bits, bytes);
		if (bytes < f->m->clears)
			memset(reg + bytes, 0, f->m->clears - bytes);
		f->r->vec_live = (f->r->vec_live & ~(1u << o->reg)) |
				 (uint32_t)(memcmp(reg, none, BYTES) != 0) << o->reg;
		return NULL;
	}
	if (o->kind == MODEL_GPR) {
		memcpy(&low, bits, 8);
		return fl_flow_put(f, 0, low);
	}
	to = fl_flow_memory(f->s, true);
	return to ? fl_values_write(&f->w->values, to->addr, bits,
				    to->size < BYTES ? to->size : BYTES) :
		    NULL;
}

static bool any_of(const uint8_t *bits, unsigned bytes)
{
	return memcmp(bits, none, bytes) != 0;
}

/* How much of a vector register it writes. */
static unsigned width_of(const struct bytes_flow *f)
{
	return f->m->op[0].bytes < BYTES ? f->m->op[0].bytes : BYTES;
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

static struct err *copy(const struct bytes_flow *f)
{
	uint8_t bits[BYTES];
	unsigned bytes = bits_of(f, 1, bits);

	if (f->m->op[0].bytes < bytes)
		bytes = f->m->op[0].bytes;
	if (f->m->lane && f->m->lane < bytes)
		bytes = f->m->lane;
	return put(f, bits, bytes);
}

/* Is any bit without a value in the lanes at @p at of the sources? */
static bool is_lane_unknown(const struct bytes_flow *f, const uint8_t bits[][BYTES],
			    unsigned at)
{
	for (int op = f->m->first; op <= f->m->last; op++)
		if (any_of(bits[op] + at, f->m->from ? f->m->from : f->m->lane))
			return true;
	return false;
}

static void take_sources(const struct bytes_flow *f, uint8_t ret[4][BYTES])
{
	for (int op = f->m->first; op <= f->m->last; op++)
		bits_of(f, op, ret[op]);
}

static struct err *lanes(const struct bytes_flow *f)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = width_of(f);

	take_sources(f, bits);
	for (unsigned at = 0; at < width; at += lane)
		memset(ret + at,
		       !f->m->is_same && is_lane_unknown(f, bits, at) ? 0xff : 0, lane);
	return put(f, ret, width);
}

static struct err *lowest(const struct bytes_flow *f)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	bool is_unknown;

	take_sources(f, bits);
	is_unknown = f->m->op[f->m->last].kind == MODEL_GPR ?
			     any_of(bits[f->m->last], 8) :
			     is_lane_unknown(f, bits, 0);
	bits_of(f, f->m->base, ret);
	memset(ret, is_unknown ? 0xff : 0, f->m->lane);
	return put(f, ret, 16);
}

/* Lanes to larger ones, or smaller. */
static struct err *convert(const struct bytes_flow *f)
{
	uint8_t bits[BYTES], ret[BYTES] = {};
	unsigned lane = f->m->lane, from = f->m->from, width = width_of(f);
	unsigned n = bits_of(f, f->m->last, bits) / from;

	for (unsigned i = 0; i < n && (i + 1) * lane <= width; i++) {
		if (f->m->family == MODEL_VEC_WIDEN)
			memcpy(ret + i * lane, bits + i * from, from);
		else
			memset(ret + i * lane, any_of(bits + i * from, from) ? 0xff : 0,
			       lane);
	}
	return put(f, ret, width);
}

/* In each 16 bytes the lower half is of the first source, the upper one of the second. */
static struct err *narrow(const struct bytes_flow *f, unsigned from)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = width_of(f);

	take_sources(f, bits);
	for (unsigned at = 0; at < width; at += lane) {
		unsigned i = at % 16 / lane, half = 8 / lane;
		const uint8_t *source =
			bits[i < half ? f->m->first : f->m->last] + at / 16 * 16;

		memset(ret + at, any_of(source + i % half * from, from) ? 0xff : 0, lane);
	}
	return put(f, ret, width);
}

/* ---- bits --------------------------------------------------------------------------------------- */

/* The two sources: which bits have no value, and what they hold. */
static void take_two(const struct bytes_flow *f, uint8_t va[BYTES], uint8_t vb[BYTES],
		     uint8_t a[BYTES], uint8_t b[BYTES])
{
	bits_of(f, f->m->first, va);
	bits_of(f, f->m->last, vb);
	value_of(f, f->m->first, a);
	value_of(f, f->m->last, b);
}

/* A one that is known decides or, a zero and. */
static struct err *logic(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES];
	bool is_xor = f->m->how == LOGIC_XOR, is_andn = f->m->how == LOGIC_ANDN;
	bool is_or = f->m->how == LOGIC_OR;

	take_two(f, va, vb, a, b);
	for (unsigned i = 0; i < BYTES; i++) {
		// What leaves the other one's bit as it is.
		uint8_t by_a = is_or || is_andn ? ~a[i] : a[i],
			by_b = is_or ? ~b[i] : b[i];

		if (f->m->is_same)
			ret[i] = is_xor || is_andn ? 0 : va[i];
		else if (is_xor)
			ret[i] = va[i] | vb[i];
		else
			ret[i] = (va[i] & (by_b | vb[i])) | (vb[i] & (by_a | va[i]));
	}
	return put(f, ret, width_of(f));
}

/* Lanes that differ in a bit that is known are not equal, whatever the others are. */
static struct err *equal(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = width_of(f);

	take_two(f, va, vb, a, b);
	for (unsigned at = 0; at < width; at += lane) {
		bool is_unknown = false, differs = f->m->is_same;

		for (unsigned i = at; i < at + lane; i++) {
			uint8_t v = va[i] | vb[i];

			is_unknown |= v;
			differs |= (a[i] ^ b[i]) & ~v;
		}
		memset(ret + at, is_unknown && !differs ? 0xff : 0, lane);
	}
	return put(f, ret, width);
}

/* Nothing is less than 0, which has a value, whatever the other one is: strlen() without AVX looks for a terminator in four
 * vectors at once. */
static struct err *least(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = width_of(f);

	take_two(f, va, vb, a, b);
	for (unsigned at = 0; at < width; at += lane) {
		bool is_least = (!any_of(a + at, lane) && !any_of(va + at, lane)) ||
				(!any_of(b + at, lane) && !any_of(vb + at, lane));
		bool is_unknown = any_of(va + at, lane) || any_of(vb + at, lane);

		memset(ret + at, is_unknown && !is_least ? 0xff : 0, lane);
	}
	return put(f, ret, width);
}

static uint64_t shifted(uint64_t bits, unsigned width, uint64_t by, enum model_shift how)
{
	uint64_t top = bits >> (width - 1) & 1;

	if (by >= width)
		return how == SHIFT_ARITHMETIC && top ? UINT64_MAX : 0;
	if (how == SHIFT_LEFT)
		return bits << by;
	return bits >> by |
	       (how == SHIFT_ARITHMETIC && top && by ? UINT64_MAX << (width - by) : 0);
}

/* By a number, or by the lower half of a register. */
static struct err *shift(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	const struct model_op *count = &m->op[m->n - 1];
	uint8_t bits[BYTES], by[BYTES], n[BYTES];
	bool is_unknown = false;
	uint64_t number = count->imm, lane;

	if (count->kind != MODEL_IMM) {
		bits_of(f, m->n - 1, by);
		value_of(f, m->n - 1, n);
		is_unknown = any_of(by, 8);
		memcpy(&number, n, 8);
	}
	bits_of(f, m->base, bits);
	for (unsigned at = 0; at < width_of(f); at += m->lane) {
		lane = 0;
		memcpy(&lane, bits + at, m->lane);
		lane = is_unknown ? UINT64_MAX :
				    shifted(lane, 8 * m->lane, number, m->how);
		memcpy(bits + at, &lane, m->lane);
	}
	return put(f, bits, width_of(f));
}

static struct err *signs(const struct bytes_flow *f)
{
	unsigned lane = f->m->lane;
	uint8_t bits[BYTES];
	unsigned bytes = bits_of(f, 1, bits);
	uint64_t ret = 0;

	for (unsigned i = 0; i < bytes / lane; i++)
		ret |= (uint64_t)(bits[i * lane + lane - 1] >> 7) << i;
	return fl_flow_put(f, 0, ret);
}

static void compare(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES];
	bool any;

	bits_of(f, 0, a);
	bits_of(f, 1, b);
	any = any_of(a, f->m->lane) || any_of(b, f->m->lane);
	fl_flow_clear_flags(f->r);
	f->r->no_zero = f->r->no_carry = f->r->no_parity = any;
}

/* Is it decided whether any bit is set in both (zero), and in the second alone (carry)? */
static void test(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES];
	bool has_both = false, has_one = false, may_both = false, may_one = false;

	bits_of(f, 0, va);
	bits_of(f, 1, vb);
	value_of(f, 0, a);
	value_of(f, 1, b);
	for (unsigned i = 0; i < width_of(f); i++) {
		uint8_t v = va[i] | vb[i];

		has_both |= a[i] & b[i] & ~v;
		has_one |= ~a[i] & b[i] & ~v;
		may_both |= v & (a[i] | va[i]) & (b[i] | vb[i]);
		may_one |= v & (~a[i] | va[i]) & (b[i] | vb[i]);
	}
	fl_flow_clear_flags(f->r);
	f->r->no_zero = may_both && !has_both;
	f->r->no_carry = may_one && !has_one;
}

/* ---- bytes that move ---------------------------------------------------------------------------- */

struct origin {
	int op; ///< -1: zero
	unsigned at;
};

static struct origin two_in_turn(const struct insn_model *m, unsigned i, unsigned half)
{
	unsigned k = i % 16 / m->lane;

	return (struct origin){ k & 1 ? m->last : m->first,
				i / 16 * 16 + half + k / 2 * m->lane + i % m->lane };
}

static struct origin of_insert_single(const struct insn_model *m, unsigned number,
				      unsigned i)
{
	unsigned from = m->op[m->last].kind == MODEL_MEM ? 0 : number >> 6 & 3;

	if (number >> i / 4 & 1)
		return (struct origin){ -1, 0 };
	if (i / 4 == (number >> 4 & 3))
		return (struct origin){ m->last, 4 * from + i % 4 };
	return (struct origin){ m->first, i };
}

static struct origin of_words(const struct insn_model *m, unsigned number, unsigned i,
			      unsigned half)
{
	unsigned j = i % 16;

	if (j / 8 * 8 != half)
		return (struct origin){ m->last, i };
	return (struct origin){ m->last,
				i / 8 * 8 + 2 * (number >> j % 8 / 2 * 2 & 3) + i % 2 };
}

/* Whence is byte @p i of the result? */
static struct origin origin_of(const struct insn_model *m, unsigned number, unsigned i)
{
	unsigned base = i / 16 * 16, j = i % 16, lane = m->lane, at;
	const int a = m->first, b = m->last;

	switch ((enum model_shuffle)m->how) {
	case SHUFFLE_ALIGN:
		at = j + number;
		return at < 16 ? (struct origin){ b, base + at } :
		       at < 32 ? (struct origin){ a, base + at - 16 } :
				 (struct origin){ -1, 0 };
	case SHUFFLE_BLEND:
		return (struct origin){ number >> i / lane % 8 & 1 ? b : a, i };
	case SHUFFLE_BROADCAST:
		return (struct origin){ b, i % lane };
	case SHUFFLE_DOUBLES:
		return (struct origin){ b, base + 4 * (number >> j / 4 * 2 & 3) + i % 4 };
	case SHUFFLE_EVEN:
		return (struct origin){ b, i / (2 * lane) * 2 * lane + i % lane };
	case SHUFFLE_EXTRACT:
		return (struct origin){ i < lane ? 1 : -1, lane * number + i };
	case SHUFFLE_HALVES:
		at = number >> i / 16 * 4 & 15;
		return (struct origin){ at & 8 ? -1 : at & 2 ? b : a, 16 * (at & 1) + j };
	case SHUFFLE_HIGH_HALF:
		if (m->op[0].kind == MODEL_MEM)
			return (struct origin){ b, 8 + i };
		return i < 8 ? (struct origin){ a, i } : (struct origin){ b, i - 8 };
	case SHUFFLE_HIGH_TO_LOW:
		return i < 8 ? (struct origin){ b, 8 + i } : (struct origin){ a, i };
	case SHUFFLE_HIGH_WORDS:
		return of_words(m, number, i, 8);
	case SHUFFLE_INSERT:
		return i / lane == number ? (struct origin){ b, i % lane } :
					    (struct origin){ a, i };
	case SHUFFLE_INSERT_SINGLE:
		return of_insert_single(m, number, i);
	case SHUFFLE_LEFT:
		return j < number ? (struct origin){ -1, 0 } :
				    (struct origin){ b, i - number };
	case SHUFFLE_LOWEST:
		return (struct origin){ i < lane ? b : a, i };
	case SHUFFLE_LOW_WORDS:
		return of_words(m, number, i, 0);
	case SHUFFLE_ODD:
		return (struct origin){ b, i / (2 * lane) * 2 * lane + lane + i % lane };
	case SHUFFLE_PAIR:
		return (struct origin){ i / 8 & 1 ? b : a,
					base + 8 * (number >> i / 8 & 1) + i % 8 };
	case SHUFFLE_QUADS:
		return (struct origin){
			b, i / 32 * 32 + 8 * (number >> i / 8 % 4 * 2 & 3) + i % 8
		};
	case SHUFFLE_RIGHT:
		return j + number < 16 ? (struct origin){ b, i + number } :
					 (struct origin){ -1, 0 };
	case SHUFFLE_TWO_AND_TWO:
		return (struct origin){ j < 8 ? a : b,
					base + 4 * (number >> j / 4 * 2 & 3) + i % 4 };
	case SHUFFLE_UNPACK_HIGH:
		return two_in_turn(m, i, 8);
	case SHUFFLE_UNPACK_LOW:
		return two_in_turn(m, i, 0);
	}
	return (struct origin){ -1, 0 };
}

/* Numbers that say which lane: as many bits as there are lanes. */
static unsigned number_of(const struct insn_model *m)
{
	unsigned number = m->op[m->n - 1].kind == MODEL_IMM ? m->op[m->n - 1].imm & 0xff :
							      0;
	const struct model_op *whole = &m->op[m->how == SHUFFLE_EXTRACT ? 1 : 0];

	return m->how == SHUFFLE_EXTRACT || m->how == SHUFFLE_INSERT ?
		       number % (whole->bytes / m->lane) :
		       number;
}

static struct err *shuffle(const struct bytes_flow *f)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	unsigned number = number_of(f->m);

	for (int op = 0; op <= f->m->last; op++)
		bits_of(f, op, bits[op]);
	for (unsigned i = 0; i < BYTES; i++) {
		struct origin o = origin_of(f->m, number, i);

		ret[i] = o.op < 0 || o.at >= BYTES ? 0 : bits[o.op][o.at];
	}
	return put(f, ret, width_of(f));
}

/* Which of @p range bytes' lanes each is says a register; where that is not known, it may be any. */
static struct err *permute(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned lane = m->lane, width = width_of(f);
	bool is_first = m->mnemonic == ZYDIS_MNEMONIC_VPERMD ||
			m->mnemonic == ZYDIS_MNEMONIC_VPERMPS; // that says it
	unsigned range = is_first ? width : 16;
	int index = is_first ? m->first : m->last, from = is_first ? m->last : m->first;
	uint8_t bits[BYTES], by[BYTES], which[BYTES], ret[BYTES];

	bits_of(f, from, bits);
	bits_of(f, index, by);
	value_of(f, index, which);
	for (unsigned at = 0; at < width; at += lane) {
		// vpermilpd looks at the second bit.
		unsigned k = (lane == 8 ? which[at] >> 1 : which[at]) % (range / lane);
		const uint8_t *source = bits + at / range * range + k * lane;

		if (any_of(by + at, lane))
			memset(ret + at, 0xff, lane);
		else if (lane == 1 && which[at] & 0x80)
			ret[at] = 0;
		else
			memcpy(ret + at, source, lane);
	}
	return put(f, ret, width);
}

/* The last operand's signs say of which of two each lane is. */
static struct err *choose(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned lane = m->lane, width = width_of(f);
	uint8_t a[BYTES], b[BYTES], by[BYTES], which[BYTES];

	bits_of(f, m->first, a);
	bits_of(f, m->last - 1, b);
	bits_of(f, m->last, by);
	value_of(f, m->last, which);
	for (unsigned at = 0; at < width; at += lane) {
		if (by[at + lane - 1] & 0x80)
			memset(a + at, 0xff, lane);
		else if (which[at + lane - 1] & 0x80)
			memcpy(a + at, b + at, lane);
	}
	return put(f, a, width);
}

static void clear_upper(struct bytes_regs *r)
{
	for (int reg = 0; reg < 16; reg++) {
		memset(r->vec[reg] + 16, 0, BYTES - 16);
		if (!any_of(r->vec[reg], 16))
			r->vec_live &= ~(1u << reg);
	}
}

struct err *fl_values_flow_vector(const struct bytes_flow *f)
{
	switch ((enum model_family)f->m->family) {
	case MODEL_VEC_COPY:
		return copy(f);
	case MODEL_VEC_LOW:
		return lowest(f);
	case MODEL_VEC_LANES:
		return lanes(f);
	case MODEL_VEC_CONVERT:
	case MODEL_VEC_WIDEN:
		return convert(f);
	case MODEL_VEC_PACK:
		return narrow(f, f->m->from);
	case MODEL_VEC_PAIRS:
		return narrow(f, 2 * f->m->lane);
	case MODEL_VEC_LOGIC:
		return logic(f);
	case MODEL_VEC_LEAST:
		return least(f);
	case MODEL_VEC_EQUAL:
		return equal(f);
	case MODEL_VEC_SHIFT:
		return shift(f);
	case MODEL_VEC_SHUFFLE:
		return shuffle(f);
	case MODEL_VEC_PERMUTE:
		return permute(f);
	case MODEL_VEC_CHOOSE:
		return choose(f);
	case MODEL_VEC_SIGNS:
		return signs(f);
	case MODEL_VEC_COMPARE:
		compare(f);
		return NULL;
	case MODEL_VEC_TEST:
		test(f);
		return NULL;
	case MODEL_VEC_UPPER:
		clear_upper(f->r);
		return NULL;
	default:
		return NULL;
	}
}
