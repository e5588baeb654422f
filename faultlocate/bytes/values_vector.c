// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of vectors: copies and shuffles bit by bit, logic by what is known, arithmetic lane by lane: one bit without a
 * value makes all of its lane so.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

#define BYTES VECTOR_BYTES

static const uint8_t none[BYTES];

/* ---- operands ----------------------------------------------------------------------------------- */

static void repeat(uint8_t ret[BYTES], unsigned bytes)
{
	for (unsigned i = bytes; i < BYTES; i++)
		ret[i] = ret[i - bytes];
}

/* Where the operand in memory begins: of lanes only those that a mask says are referred to. */
static uint64_t operand_at(const struct bytes_flow *f, const struct dec_ref *first)
{
	const struct dec_mem *m = &f->m->address;
	const uint64_t *gpr = f->w->thread->gpr;

	if (!f->m->mask || m->is_fs || m->is_gs)
		return first->addr;
	return m->disp + (m->base < DEC_GPRS ? gpr[m->base] : 0) +
	       (m->index < DEC_GPRS ? gpr[m->index] * m->scale : 0);
}

/* Memory that is referred to, one piece after the other. @return NULL: there is no more. */
static const struct dec_ref *next_piece(const struct bytes_flow *f, size_t *i,
					bool is_def, uint64_t at)
{
	while (*i < f->s->n_refs) {
		const struct dec_ref *r = &f->s->refs[(*i)++];

		if (r->is_mem && r->is_def == is_def && r->addr - at < BYTES)
			return r;
	}
	return NULL;
}

static unsigned room_in(const struct dec_ref *r, uint64_t at)
{
	unsigned left = BYTES - (r->addr - at);

	return r->size < left ? r->size : left;
}

/* @return how many bytes the operand in memory has. */
static unsigned memory_of(const struct bytes_flow *f, int op, bool is_value,
			  uint8_t ret[BYTES])
{
	const struct dec_ref *r = fl_flow_memory(f->s, false);
	unsigned bytes = !r || f->m->mask ? f->m->op[op].bytes : room_in(r, r->addr);
	uint64_t at = r ? operand_at(f, r) : 0;

	for (size_t i = 0; r && (r = next_piece(f, &i, false, at));) {
		if (!is_value)
			fl_values_read(&f->w->values, r->addr, ret + (r->addr - at),
				       room_in(r, at));
		else if (r->has_value)
			memcpy(ret + (r->addr - at), r->value, room_in(r, at));
		if (f->m->is_broadcast)
			repeat(ret, room_in(r, at));
	}
	return bytes;
}

unsigned fl_vector_bits(const struct bytes_flow *f, int op, uint8_t ret[BYTES])
{
	const struct model_op *o = &f->m->op[op];
	uint64_t bits = 0;

	memset(ret, 0, BYTES);
	switch (o->kind) {
	case MODEL_VEC:
		memcpy(ret, f->r->vec[o->reg], BYTES);
		return o->bytes;
	case MODEL_MEM:
		return memory_of(f, op, false, ret);
	case MODEL_MASK:
		bits = f->r->mask[o->reg] & fl_flow_mask_of(o->bytes);
		break;
	case MODEL_MMX:
		bits = f->r->mmx[o->reg];
		break;
	default:
		bits = fl_values_operand(f->w, f->s, o);
		break;
	}
	memcpy(ret, &bits, 8);
	return o->bytes;
}

/* mm0 is the x87's first register, wherever st(0) is; the image begins with that. */
static uint64_t mmx_value(const struct bytes_flow *f, int reg)
{
	const struct dec_ref *r = fl_flow_register(f->s, DEC_REG_X87, false);
	uint64_t value = 0;

	if (r && r->has_value)
		memcpy(&value, r->value + 32 + 16 * ((reg - (r->value[3] >> 3 & 7)) & 7),
		       8);
	return value;
}

uint64_t fl_vector_mask(const struct bytes_flow *f, int k)
{
	return fl_flow_value_in(fl_flow_register(f->s, DEC_REG_K + k, false), 8);
}

void fl_vector_value(const struct bytes_flow *f, int op, uint8_t ret[BYTES])
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *from;
	uint64_t value;

	memset(ret, 0, BYTES);
	switch (o->kind) {
	case MODEL_VEC:
		from = fl_flow_register(f->s, DEC_REG_VEC + o->reg, false);
		if (from && from->has_value)
			memcpy(ret, from->value, from->size < BYTES ? from->size : BYTES);
		return;
	case MODEL_MEM:
		memory_of(f, op, true, ret);
		return;
	case MODEL_MASK:
		value = fl_vector_mask(f, o->reg) & fl_flow_mask_of(o->bytes);
		break;
	case MODEL_MMX:
		value = mmx_value(f, o->reg);
		break;
	default:
		value = fl_flow_value(f, op, false);
		break;
	}
	memcpy(ret, &value, 8);
}

/* ---- results ------------------------------------------------------------------------------------ */

bool fl_vector_any(const uint8_t *bits, unsigned bytes)
{
	return memcmp(bits, none, bytes) != 0;
}

/* Is its mask one of lanes of the result, all of which have been computed? */
static bool has_plain_mask(const struct insn_model *m)
{
	return m->mask &&
	       (m->family < MODEL_LANES_BLEND || m->family == MODEL_LANES_SPREAD);
}

/* Lanes that the mask leaves out are what they were, or zero; where it has no value they may be either. */
static void leave_out(const struct bytes_flow *f, uint8_t bits[BYTES], unsigned bytes)
{
	const struct insn_model *m = f->m;
	uint64_t lacks = f->r->mask[m->mask], on = fl_vector_mask(f, m->mask);
	bool is_lowest = m->family == MODEL_VEC_LOW || m->how == SHUFFLE_LOWEST ||
			 (m->family == MODEL_VEC_COPY && m->lane);
	const uint8_t *old = m->op[0].kind == MODEL_VEC && !m->is_zeroing ?
				     f->r->vec[m->op[0].reg] :
				     none;
	unsigned lane = is_lowest ? m->lane : m->mask_lane;

	for (unsigned i = 0, at = 0; lane && at + lane <= bytes; i++, at += lane) {
		if (lacks >> i & 1)
			memset(bits + at, 0xff, lane);
		else if (!(on >> i & 1))
			memcpy(bits + at, old + at, lane);
		if (is_lowest)
			return;
	}
}

static void put_vector(const struct bytes_flow *f, int v, const uint8_t *bits,
		       unsigned bytes)
{
	uint32_t live = 1u << v;
	uint8_t *reg = f->r->vec[v];

	memcpy(reg, bits, bytes);
	if (bytes < f->m->clears)
		memset(reg + bytes, 0, f->m->clears - bytes);
	f->r->vec_live = fl_vector_any(reg, BYTES) ? f->r->vec_live | live :
						     f->r->vec_live & ~live;
}

static struct err *put_memory(const struct bytes_flow *f, const uint8_t bits[BYTES])
{
	const struct dec_ref *r = fl_flow_memory(f->s, true);
	uint64_t at = r ? operand_at(f, r) : 0;
	struct err *err = NULL;

	for (size_t i = 0; !err && r && (r = next_piece(f, &i, true, at));)
		err = fl_values_write(&f->w->values, r->addr, bits + (r->addr - at),
				      room_in(r, at));
	return err;
}

/* A bit for each lane that has any. */
static uint64_t to_mask(const struct bytes_flow *f, const uint8_t *bits, unsigned bytes)
{
	uint64_t ret = 0, lacks = f->r->mask[f->m->mask];
	unsigned lane = f->m->lane;

	for (unsigned i = 0; i < bytes / lane; i++)
		ret |= (uint64_t)fl_vector_any(bits + i * lane, lane) << i;
	return f->m->mask ? (ret | lacks) & (fl_vector_mask(f, f->m->mask) | lacks) : ret;
}

struct err *fl_vector_put(const struct bytes_flow *f, const uint8_t from[BYTES],
			  unsigned bytes)
{
	const struct model_op *o = &f->m->op[0];
	uint8_t bits[BYTES] = {};
	uint64_t low;

	memcpy(bits, from, bytes);
	if (has_plain_mask(f->m) && !f->m->is_to_mask)
		leave_out(f, bits, bytes);
	memcpy(&low, bits, 8);
	switch (o->kind) {
	case MODEL_VEC:
		put_vector(f, o->reg, bits, bytes);
		return NULL;
	case MODEL_MASK:
		if (f->m->is_to_mask)
			low = to_mask(f, bits, bytes);
		fl_values_put_mask(f->r, o->reg, low & fl_flow_mask_of(o->bytes));
		return NULL;
	case MODEL_MMX:
		f->r->mmx[o->reg] = low;
		fl_values_put_x87(f->r);
		return NULL;
	case MODEL_GPR:
		return fl_flow_put(f, 0, low);
	default:
		return put_memory(f, bits);
	}
}

/* How much of a vector register it writes. */
unsigned fl_vector_width(const struct bytes_flow *f)
{
	unsigned bytes = f->m->op[f->m->is_to_mask ? f->m->first : 0].bytes;

	return bytes < BYTES ? bytes : BYTES;
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

static struct err *copy(const struct bytes_flow *f)
{
	uint8_t bits[BYTES];
	unsigned bytes = fl_vector_bits(f, 1, bits);

	if (f->m->op[0].bytes < bytes)
		bytes = f->m->op[0].bytes;
	if (f->m->lane && f->m->lane < bytes)
		bytes = f->m->lane;
	// What is above it is zero.
	memset(bits + bytes, 0, BYTES - bytes);
	return fl_vector_put(f, bits, bytes);
}

/* Is any bit without a value in the lanes at @p at of the sources? */
static bool is_lane_unknown(const struct bytes_flow *f, const uint8_t bits[][BYTES],
			    unsigned at)
{
	for (int op = f->m->first; op <= f->m->last; op++)
		if (fl_vector_any(bits[op] + at, f->m->from ? f->m->from : f->m->lane))
			return true;
	return false;
}

static void take_sources(const struct bytes_flow *f, uint8_t ret[4][BYTES])
{
	for (int op = f->m->first; op <= f->m->last; op++)
		fl_vector_bits(f, op, ret[op]);
}

static struct err *lanes(const struct bytes_flow *f)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = fl_vector_width(f);

	take_sources(f, bits);
	for (unsigned at = 0; at < width; at += lane)
		memset(ret + at,
		       !f->m->is_same && is_lane_unknown(f, bits, at) ? 0xff : 0, lane);
	return fl_vector_put(f, ret, width);
}

static struct err *lowest(const struct bytes_flow *f)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	bool is_unknown;

	take_sources(f, bits);
	is_unknown = f->m->op[f->m->last].kind == MODEL_GPR ?
			     fl_vector_any(bits[f->m->last], 8) :
			     is_lane_unknown(f, bits, 0);
	fl_vector_bits(f, f->m->base, ret);
	memset(ret, is_unknown ? 0xff : 0, f->m->lane);
	return fl_vector_put(f, ret, 16);
}

/* Lanes to larger ones, or smaller: of the family that widens what is left of them. */
static struct err *convert(const struct bytes_flow *f)
{
	uint8_t bits[BYTES], ret[BYTES] = {};
	unsigned lane = f->m->lane, from = f->m->from, width = fl_vector_width(f);
	unsigned n = fl_vector_bits(f, f->m->last, bits) / from;

	for (unsigned i = 0; i < n && (i + 1) * lane <= width; i++) {
		if (f->m->family == MODEL_VEC_WIDEN)
			memcpy(ret + i * lane, bits + i * from,
			       from < lane ? from : lane);
		else
			memset(ret + i * lane,
			       fl_vector_any(bits + i * from, from) ? 0xff : 0, lane);
	}
	return fl_vector_put(f, ret, width);
}

/* In each 16 bytes the lower half is of the first source, the upper one of the second. */
static struct err *narrow(const struct bytes_flow *f, unsigned from)
{
	uint8_t bits[4][BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = fl_vector_width(f), unit = f->m->unit;

	take_sources(f, bits);
	for (unsigned at = 0; at < width; at += lane) {
		unsigned i = at % unit / lane, half = unit / 2 / lane;
		const uint8_t *source =
			bits[i < half ? f->m->first : f->m->last] + at / unit * unit;

		memset(ret + at, fl_vector_any(source + i % half * from, from) ? 0xff : 0,
		       lane);
	}
	return fl_vector_put(f, ret, width);
}

/* ---- bits --------------------------------------------------------------------------------------- */

/* The two sources: which bits have no value, and what they hold. */
static void take_two(const struct bytes_flow *f, uint8_t va[BYTES], uint8_t vb[BYTES],
		     uint8_t a[BYTES], uint8_t b[BYTES])
{
	fl_vector_bits(f, f->m->first, va);
	fl_vector_bits(f, f->m->last, vb);
	fl_vector_value(f, f->m->first, a);
	fl_vector_value(f, f->m->last, b);
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
	return fl_vector_put(f, ret, fl_vector_width(f));
}

/* Lanes that differ in a bit that is known are not equal, whatever the others are. */
static struct err *equal(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = fl_vector_width(f);

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
	return fl_vector_put(f, ret, width);
}

/* Nothing is less than 0, which has a value, whatever the other one is: strlen() without AVX looks for a terminator in four
 * vectors at once. */
static struct err *least(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES];
	unsigned lane = f->m->lane, width = fl_vector_width(f);

	take_two(f, va, vb, a, b);
	for (unsigned at = 0; at < width; at += lane) {
		bool is_least =
			(!fl_vector_any(a + at, lane) && !fl_vector_any(va + at, lane)) ||
			(!fl_vector_any(b + at, lane) && !fl_vector_any(vb + at, lane));
		bool is_unknown = fl_vector_any(va + at, lane) ||
				  fl_vector_any(vb + at, lane);

		memset(ret + at, is_unknown && !is_least ? 0xff : 0, lane);
	}
	return fl_vector_put(f, ret, width);
}

static uint64_t shifted(uint64_t bits, unsigned width, uint64_t by, enum model_shift how)
{
	uint64_t top = bits >> (width - 1) & 1;

	if (how >= SHIFT_AROUND) {
		by = (how == SHIFT_AROUND ? by : width - by % width) % width;
		return by ? bits << by | bits >> (width - by) : bits;
	}
	if (by >= width)
		return how == SHIFT_ARITHMETIC && top ? UINT64_MAX : 0;
	if (how == SHIFT_LEFT)
		return bits << by;
	return bits >> by |
	       (how == SHIFT_ARITHMETIC && top && by ? UINT64_MAX << (width - by) : 0);
}

/* By a number, by the lower half of a register, or each lane by another one's. */
static struct err *shift(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	const struct model_op *count = &m->op[m->n - 1];
	uint8_t bits[BYTES], by[BYTES] = {}, n[BYTES] = {};
	unsigned wide = m->is_each ? m->lane : 8;

	if (count->kind != MODEL_IMM) {
		fl_vector_bits(f, m->n - 1, by);
		fl_vector_value(f, m->n - 1, n);
	}
	fl_vector_bits(f, m->base, bits);
	for (unsigned at = 0; at < fl_vector_width(f); at += m->lane) {
		unsigned from = m->is_each ? at : 0;
		uint64_t number = count->imm, lane = 0;

		if (count->kind != MODEL_IMM)
			memcpy(&number, n + from, wide);
		if (m->is_each && count->kind != MODEL_IMM && wide < 8)
			number &= fl_flow_mask_of(wide);
		memcpy(&lane, bits + at, m->lane);
		lane = fl_vector_any(by + from, wide) ?
			       UINT64_MAX :
			       shifted(lane, 8 * m->lane, number, m->how);
		memcpy(bits + at, &lane, m->lane);
	}
	return fl_vector_put(f, bits, fl_vector_width(f));
}

static struct err *signs(const struct bytes_flow *f)
{
	unsigned lane = f->m->lane;
	uint8_t bits[BYTES], ret[BYTES] = {};
	unsigned bytes = fl_vector_bits(f, 1, bits);

	for (unsigned i = 0; i < bytes / lane; i++)
		ret[i / 8] |= bits[i * lane + lane - 1] >> 7 << i % 8;
	return fl_vector_put(f, ret, 8);
}

static void compare(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES];
	bool any;

	fl_vector_bits(f, 0, a);
	fl_vector_bits(f, 1, b);
	any = fl_vector_any(a, f->m->lane) || fl_vector_any(b, f->m->lane);
	fl_flow_clear_flags(f->r);
	f->r->no_zero = f->r->no_carry = f->r->no_parity = any;
}

/* Is it decided whether any bit is set in both (zero), and in the second alone (carry)? */
static void test(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES];
	bool has_both = false, has_one = false, may_both = false, may_one = false;

	fl_vector_bits(f, 0, va);
	fl_vector_bits(f, 1, vb);
	fl_vector_value(f, 0, a);
	fl_vector_value(f, 1, b);
	for (unsigned i = 0; i < fl_vector_width(f); i++) {
		uint8_t v = va[i] | vb[i];

		if (f->m->is_by_sign && i % f->m->lane != f->m->lane - 1u)
			continue;
		if (f->m->is_by_sign) {
			v &= 0x80;
			a[i] &= 0x80;
			b[i] &= 0x80;
		}
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
	unsigned k = i % m->unit / m->lane;

	return (struct origin){ k & 1 ? m->last : m->first, i / m->unit * m->unit + half +
								    k / 2 * m->lane +
								    i % m->lane };
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
	unsigned base = i / m->unit * m->unit, j = i % m->unit, lane = m->lane, at, half;
	const int a = m->first, b = m->last;

	switch ((enum model_shuffle)m->how) {
	case SHUFFLE_ALIGN:
		at = j + number;
		return at < m->unit	? (struct origin){ b, base + at } :
		       at < 2 * m->unit ? (struct origin){ a, base + at - m->unit } :
					  (struct origin){ -1, 0 };
	case SHUFFLE_ALIGN_WHOLE:
		at = i + number * lane % m->op[0].bytes;
		return at < m->op[0].bytes ? (struct origin){ b, at } :
					     (struct origin){ a, at - m->op[0].bytes };
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
	case SHUFFLE_JOIN:
		return i < lane	    ? (struct origin){ b, i } :
		       i < 2 * lane ? (struct origin){ a, i - lane } :
				      (struct origin){ -1, 0 };
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
	case SHUFFLE_PARTS:
		half = m->op[0].bytes / 2;
		at = m->op[0].bytes == BYTES ? number >> i / 16 * 2 & 3 :
					       number >> i / 16 & 1;
		return (struct origin){ i < half ? a : b, 16 * at + j };
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
		return two_in_turn(m, i, m->unit / 2);
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
		fl_vector_bits(f, op, bits[op]);
	for (unsigned i = 0; i < BYTES; i++) {
		struct origin o = origin_of(f->m, number, i);

		ret[i] = o.op < 0 || o.at >= BYTES ? 0 : bits[o.op][o.at];
	}
	return fl_vector_put(f, ret, fl_vector_width(f));
}

/* Does the first source say which lanes, of all of the second? */
static bool is_by_first(uint16_t mnemonic)
{
	return mnemonic >= ZYDIS_MNEMONIC_VPERMB && mnemonic <= ZYDIS_MNEMONIC_VPERMW &&
	       mnemonic != ZYDIS_MNEMONIC_VPERMILPD &&
	       mnemonic != ZYDIS_MNEMONIC_VPERMILPS;
}

/* .. of the lanes of two vectors. */
static struct err *pick(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	bool is_by_target = m->mnemonic >= ZYDIS_MNEMONIC_VPERMI2B &&
			    m->mnemonic <= ZYDIS_MNEMONIC_VPERMI2W;
	unsigned lane = m->lane, width = fl_vector_width(f), n = width / lane;
	uint8_t bits[2][BYTES], by[BYTES], which[BYTES], ret[BYTES];

	fl_vector_bits(f, is_by_target, bits[0]);
	fl_vector_bits(f, 2, bits[1]);
	fl_vector_bits(f, !is_by_target, by);
	fl_vector_value(f, !is_by_target, which);
	for (unsigned at = 0; at < width; at += lane) {
		unsigned k = which[at] % (2 * n);

		if (fl_vector_any(by + at, lane))
			memset(ret + at, 0xff, lane);
		else
			memcpy(ret + at, bits[k / n] + k % n * lane, lane);
	}
	return fl_vector_put(f, ret, width);
}

/* Which of @p range bytes' lanes each is says a register; where that is not known, it may be any. */
static struct err *permute(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned lane = m->lane, width = fl_vector_width(f);
	bool is_first = is_by_first(m->mnemonic);
	unsigned range = is_first ? width : m->unit;
	int index = is_first ? m->first : m->last, from = is_first ? m->last : m->first;
	uint8_t bits[BYTES], by[BYTES], which[BYTES], ret[BYTES];

	fl_vector_bits(f, from, bits);
	fl_vector_bits(f, index, by);
	fl_vector_value(f, index, which);
	for (unsigned at = 0; at < width; at += lane) {
		// vpermilpd looks at the second bit.
		unsigned k = (lane == 8 && !is_first ? which[at] >> 1 : which[at]) %
			     (range / lane);
		const uint8_t *source = bits + at / range * range + k * lane;

		if (fl_vector_any(by + at, lane))
			memset(ret + at, 0xff, lane);
		else if (lane == 1 && !is_first && which[at] & 0x80)
			ret[at] = 0;
		else
			memcpy(ret + at, source, lane);
	}
	return fl_vector_put(f, ret, width);
}

/* The last operand's signs say of which of two each lane is. */
static struct err *choose(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned lane = m->lane, width = fl_vector_width(f);
	uint8_t a[BYTES], b[BYTES], by[BYTES], which[BYTES];

	fl_vector_bits(f, m->first, a);
	fl_vector_bits(f, m->last - 1, b);
	fl_vector_bits(f, m->last, by);
	fl_vector_value(f, m->last, which);
	for (unsigned at = 0; at < width; at += lane) {
		if (by[at + lane - 1] & 0x80)
			memset(a + at, 0xff, lane);
		else if (which[at + lane - 1] & 0x80)
			memcpy(a + at, b + at, lane);
	}
	return fl_vector_put(f, a, width);
}

static void clear_upper(struct bytes_regs *r)
{
	for (int reg = 0; reg < 16; reg++) {
		memset(r->vec[reg] + 16, 0, BYTES - 16);
		if (!fl_vector_any(r->vec[reg], 16))
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
	case MODEL_VEC_PICK:
		return pick(f);
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
