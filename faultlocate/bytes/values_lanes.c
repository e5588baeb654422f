// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of vectors, by masks and by shapes of their own: what AVX-512 chooses and tests, gathers, products of which the
 * instruction says what counts.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

#define BYTES VECTOR_BYTES

static unsigned number_of(const struct bytes_flow *f)
{
	return f->m->op[f->m->n - 1].imm & 0xff;
}

/* ---- products ----------------------------------------------------------------------------------- */

/* Of each source that half which the number says. */
static struct err *carryless(const struct bytes_flow *f)
{
	unsigned number = number_of(f), width = fl_vector_width(f);
	uint8_t a[BYTES], b[BYTES], ret[BYTES] = {};

	fl_vector_bits(f, f->m->first, a);
	fl_vector_bits(f, f->m->last, b);
	for (unsigned at = 0; at < width; at += 16)
		if (fl_vector_any(a + at + 8 * (number & 1), 8) ||
		    fl_vector_any(b + at + 8 * (number >> 4 & 1), 8))
			memset(ret + at, 0xff, 16);
	return fl_vector_put(f, ret, width);
}

/* dpps: which lanes are multiplied, and where their sum is put, says the number. */
static struct err *product(const struct bytes_flow *f)
{
	unsigned number = number_of(f), width = fl_vector_width(f), lane = f->m->lane;
	uint8_t a[BYTES], b[BYTES], ret[BYTES] = {};

	fl_vector_bits(f, f->m->first, a);
	fl_vector_bits(f, f->m->last, b);
	for (unsigned part = 0; part < width; part += 16) {
		bool any = false;

		for (unsigned i = 0; i < 16 / lane; i++)
			any |= number >> (4 + i) & 1 &&
			       (fl_vector_any(a + part + i * lane, lane) ||
				fl_vector_any(b + part + i * lane, lane));
		for (unsigned i = 0; any && i < 16 / lane; i++)
			if (number >> i & 1)
				memset(ret + part + i * lane, 0xff, lane);
	}
	return fl_vector_put(f, ret, width);
}

/* mpsadbw: four bytes of the second source, at each of eight places of the first. */
static struct err *sads(const struct bytes_flow *f)
{
	unsigned number = number_of(f), width = fl_vector_width(f);
	uint8_t a[BYTES], b[BYTES], ret[BYTES] = {};

	fl_vector_bits(f, f->m->first, a);
	fl_vector_bits(f, f->m->last, b);
	for (unsigned part = 0; part < width; part += 16, number >>= 3)
		for (unsigned i = 0; i < 8; i++)
			if (fl_vector_any(a + part + (number & 4) + i, 4) ||
			    fl_vector_any(b + part + 4 * (number & 3), 4))
				memset(ret + part + 2 * i, 0xff, 2);
	return fl_vector_put(f, ret, width);
}

/* May the three bits be those of @p k? Twice the same register is one bit, not two. */
static bool is_possible(const struct insn_model *m, unsigned k)
{
	for (int a = 0; a < 2; a++)
		for (int b = a + 1; b < 3; b++)
			if (m->op[a].kind == m->op[b].kind &&
			    m->op[a].reg == m->op[b].reg &&
			    (k >> (2 - a) & 1) != (k >> (2 - b) & 1))
				return false;
	return true;
}

/* Any function of three bits: does it matter what those are that are not known? */
static struct err *ternary(const struct bytes_flow *f)
{
	unsigned number = number_of(f), width = fl_vector_width(f);
	uint8_t lacks[3][BYTES], value[3][BYTES], ret[BYTES];

	for (int op = 0; op < 3; op++) {
		fl_vector_bits(f, op, lacks[op]);
		fl_vector_value(f, op, value[op]);
	}
	for (unsigned i = 0; i < width; i++) {
		uint8_t can[2] = {};

		for (unsigned k = 0; k < 8; k++) {
			uint8_t all = is_possible(f->m, k) ? 0xff : 0;

			for (int op = 0; op < 3; op++)
				all &= lacks[op][i] |
				       (k >> (2 - op) & 1 ? value[op][i] : ~value[op][i]);
			can[number >> k & 1] |= all;
		}
		ret[i] = can[0] & can[1];
	}
	return fl_vector_put(f, ret, width);
}

/* ---- tests -------------------------------------------------------------------------------------- */

/* vptestmb: is a bit set in both? */
static struct err *test(const struct bytes_flow *f)
{
	uint8_t a[BYTES], b[BYTES], va[BYTES], vb[BYTES], ret[BYTES] = {};
	unsigned lane = f->m->lane, width = fl_vector_width(f);

	fl_vector_bits(f, f->m->first, va);
	fl_vector_bits(f, f->m->last, vb);
	fl_vector_value(f, f->m->first, a);
	fl_vector_value(f, f->m->last, b);
	for (unsigned at = 0; at < width; at += lane) {
		bool is_set = false, may_be = false;

		for (unsigned i = at; i < at + lane; i++) {
			uint8_t v = va[i] | vb[i];

			is_set |= a[i] & b[i] & ~v;
			may_be |= v & (a[i] | va[i]) & (b[i] | vb[i]);
		}
		memset(ret + at, may_be && !is_set ? 0xff : 0, lane);
	}
	return fl_vector_put(f, ret, width);
}

/* kortest: are there zeroes alone, or ones? */
static void or_test(const struct bytes_flow *f)
{
	uint64_t mask = fl_flow_mask_of(f->m->lane);
	const struct model_op *o = f->m->op;
	uint64_t va = f->r->mask[o[0].reg] & mask, vb = f->r->mask[o[1].reg] & mask;
	uint64_t a = fl_vector_mask(f, o[0].reg) & mask;
	uint64_t b = fl_vector_mask(f, o[1].reg) & mask;
	uint64_t ones = (a & ~va) | (b & ~vb), zeroes = ~(a | va) & ~(b | vb) & mask;
	uint64_t unknown = mask & ~ones & ~zeroes;

	fl_flow_clear_flags(f->r);
	f->r->no_zero = unknown && !ones;
	f->r->no_carry = unknown && !zeroes;
}

/* ---- by a mask ---------------------------------------------------------------------------------- */

static uint64_t lacks_of(const struct bytes_flow *f)
{
	return f->m->mask ? f->r->mask[f->m->mask] : 0;
}

static uint64_t mask_of(const struct bytes_flow *f)
{
	return f->m->mask ? fl_vector_mask(f, f->m->mask) : UINT64_MAX;
}

static struct err *blend(const struct bytes_flow *f)
{
	unsigned lane = f->m->lane, width = fl_vector_width(f);
	uint64_t lacks = lacks_of(f), on = mask_of(f);
	uint8_t a[BYTES] = {}, b[BYTES];

	if (!f->m->is_zeroing)
		fl_vector_bits(f, f->m->first, a);
	fl_vector_bits(f, f->m->last, b);
	for (unsigned i = 0, at = 0; at < width; i++, at += lane) {
		if (lacks >> i & 1)
			memset(a + at, 0xff, lane);
		else if (on >> i & 1)
			memcpy(a + at, b + at, lane);
	}
	return fl_vector_put(f, a, width);
}

static struct err *spread(const struct bytes_flow *f)
{
	unsigned lane = f->m->lane, width = fl_vector_width(f);
	uint64_t bits = f->r->mask[f->m->op[1].reg];
	uint8_t ret[BYTES];

	for (unsigned i = 0, at = 0; at < width; i++, at += lane)
		memset(ret + at, bits >> i & 1 ? 0xff : 0, lane);
	return fl_vector_put(f, ret, width);
}

/* What is not written into a register of the target stays, or is zero. */
static void take_target(const struct bytes_flow *f, uint8_t ret[BYTES])
{
	memset(ret, 0, BYTES);
	if (!f->m->is_zeroing && f->m->op[0].kind == MODEL_VEC)
		memcpy(ret, f->r->vec[f->m->op[0].reg], BYTES);
}

/* From the first lane that the mask may leave out or not, all is unknown that comes behind. */
static struct err *compress(const struct bytes_flow *f, bool is_expand)
{
	unsigned lane = f->m->lane, at = 0;
	unsigned width = f->m->op[!is_expand].bytes;
	uint64_t lacks = lacks_of(f), on = mask_of(f);
	uint8_t from[BYTES], ret[BYTES];

	fl_vector_bits(f, 1, from);
	take_target(f, ret);
	for (unsigned i = 0; i < width / lane; i++) {
		uint8_t *to = ret + (is_expand ? i * lane : at);

		if (lacks >> i & 1) {
			memset(to, 0xff, BYTES - (to - ret));
			break;
		}
		if (!(on >> i & 1))
			continue;
		memcpy(to, from + (is_expand ? at : i * lane), lane);
		at += lane;
	}
	return fl_vector_put(f, ret, f->m->op[0].bytes);
}

/* vmaskmovps: of memory, by the signs of a vector; what that leaves out is zero, or in memory as it was. What is stored where a
 * sign has no value may be either. */
static struct err *masked(const struct bytes_flow *f)
{
	unsigned lane = f->m->lane, width = f->m->op[1].bytes;
	bool is_load = f->m->op[0].kind == MODEL_VEC;
	uint8_t by[BYTES], from[BYTES], ret[BYTES] = {};
	const struct insn_model *m = f->m;
	struct err *err = NULL;
	uint64_t at = m->address.disp;

	if (m->address.is_fs || m->address.is_gs)
		return fl_flow_other(f);
	at += m->address.base < DEC_GPRS ? f->w->thread->gpr[m->address.base] : 0;
	at += m->address.index < DEC_GPRS ?
		      f->w->thread->gpr[m->address.index] * m->address.scale :
		      0;
	fl_vector_bits(f, 1, by);
	if (!is_load)
		fl_vector_bits(f, 2, from);
	for (unsigned i = 0; i < width && !is_load; i += lane)
		if (by[i + lane - 1] & 0x80)
			memset(from + i, 0xff, lane);
	for (size_t i = 0; i < f->s->n_refs && !err; i++) {
		const struct dec_ref *r = &f->s->refs[i];

		if (!r->is_mem || r->addr - at + r->size > width || r->is_def == is_load)
			continue;
		if (is_load)
			fl_values_read(&f->w->values, r->addr, ret + (r->addr - at),
				       r->size);
		else
			err = fl_values_write(&f->w->values, r->addr,
					      from + (r->addr - at), r->size);
	}
	for (unsigned i = 0; i < width && is_load; i += lane)
		if (by[i + lane - 1] & 0x80)
			memset(ret + i, 0xff, lane);
	return err || !is_load ? err : fl_vector_put(f, ret, width);
}

/* ---- fields of bits ----------------------------------------------------------------------------- */

/* extrq, insertq: so many bits from one on, as numbers say or bytes of a register, in the lower half. */
static struct err *bit_field(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	bool inserts = m->mnemonic == ZYDIS_MNEMONIC_INSERTQ, is_unknown = false;
	unsigned n = m->op[m->n - 2].imm & 63, start = m->op[m->n - 1].imm & 63;
	uint8_t ret[BYTES], by[BYTES], which[BYTES];
	uint64_t mask, low, field;

	fl_vector_bits(f, 0, ret);
	fl_vector_bits(f, 1, by);
	if (m->op[m->n - 1].kind != MODEL_IMM) {
		const unsigned at = inserts ? 8 : 0;

		fl_vector_value(f, 1, which);
		n = which[at] & 63;
		start = which[at + 1] & 63;
		is_unknown = (by[at] | by[at + 1]) & 63;
	}
	mask = n ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	// What is more than there is is anything.
	is_unknown |= start + (n ?: 64) > 64 &&
		      (fl_vector_any(ret, 8) || fl_vector_any(by, 8));
	memcpy(&low, ret, 8);
	memcpy(&field, by, 8);
	if (is_unknown)
		low = UINT64_MAX;
	else if (inserts)
		low = (low & ~(mask << start)) | (field & mask) << start;
	else
		low = low >> start & mask;
	memcpy(ret, &low, 8);
	return fl_vector_put(f, ret, 16);
}

/* ---- gathers ------------------------------------------------------------------------------------ */

/* Which lanes are accessed: by a mask, or by a vector's signs. */
static uint64_t lanes_of(const struct bytes_flow *f, uint64_t *lacks)
{
	unsigned lane = f->m->lane;
	uint8_t by[BYTES], which[BYTES];
	uint64_t on = 0;

	if (f->m->mask) {
		*lacks = lacks_of(f);
		return mask_of(f);
	}
	fl_vector_bits(f, 2, by);
	fl_vector_value(f, 2, which);
	*lacks = 0;
	for (unsigned i = 0; i < BYTES / lane; i++) {
		*lacks |= (uint64_t)(by[(i + 1) * lane - 1] >> 7) << i;
		on |= (uint64_t)(which[(i + 1) * lane - 1] >> 7) << i;
	}
	return on;
}

/* How many lanes there are: as many as there are of the shorter one. */
static unsigned lanes_in(const struct insn_model *m)
{
	const struct model_op *data =
		&m->op[m->family == MODEL_LANES_SCATTER ? m->n - 1 : 0];
	unsigned lanes = data->bytes / m->lane;

	return lanes < BYTES / m->index_bytes ? lanes : BYTES / m->index_bytes;
}

bool fl_lanes_is_address_unknown(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	uint64_t lacks, on;

	if (m->family != MODEL_LANES_GATHER && m->family != MODEL_LANES_SCATTER)
		return false;
	if (m->address.base < DEC_GPRS && f->r->gpr[m->address.base])
		return true;
	on = lanes_of(f, &lacks);
	for (unsigned i = 0; i < lanes_in(m); i++)
		if (on >> i & 1 && fl_vector_any(f->r->vec[m->index] + i * m->index_bytes,
						 m->index_bytes))
			return true;
	return false;
}

/* The lanes' memory is referred to one by one; what says which of them is zero then. */
static struct err *gather(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	uint64_t lacks, on = lanes_of(f, &lacks);
	uint8_t ret[BYTES], zeroes[BYTES] = {};
	struct err *err;
	size_t next = 0;

	memcpy(ret, f->r->vec[m->op[0].reg], BYTES);
	for (unsigned i = 0; i < lanes_in(m); i++) {
		const struct dec_ref *r = NULL;

		while (on >> i & 1 && next < f->s->n_refs && !r) {
			const struct dec_ref *at = &f->s->refs[next++];

			r = at->is_mem && !at->is_def ? at : NULL;
		}
		if (lacks >> i & 1)
			memset(ret + i * m->lane, 0xff, m->lane);
		else if (r)
			fl_values_read(&f->w->values, r->addr, ret + i * m->lane,
				       r->size < m->lane ? r->size : m->lane);
	}
	err = fl_vector_put(f, ret, lanes_in(m) * m->lane);
	if (m->mask) {
		fl_values_put_mask(f->r, m->mask, 0);
	} else {
		memcpy(f->r->vec[m->op[2].reg], zeroes, BYTES);
		f->r->vec_live &= ~(1u << m->op[2].reg);
	}
	return err;
}

static struct err *scatter(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	uint64_t lacks, on = lanes_of(f, &lacks);
	struct err *err = NULL;
	uint8_t from[BYTES];
	unsigned i = 0;

	fl_vector_bits(f, m->n - 1, from);
	for (size_t k = 0; k < f->s->n_refs && !err; k++) {
		const struct dec_ref *r = &f->s->refs[k];

		if (!r->is_mem || !r->is_def)
			continue;
		while (i < lanes_in(m) && !(on >> i & 1))
			i++;
		if (i == lanes_in(m) || r->size > m->lane)
			break;
		err = fl_values_write(&f->w->values, r->addr, from + i++ * m->lane,
				      r->size);
	}
	fl_values_put_mask(f->r, m->mask, 0);
	return err;
}

struct err *fl_values_flow_lanes(const struct bytes_flow *f)
{
	switch ((enum model_family)f->m->family) {
	case MODEL_LANES_TEXT:
		return fl_values_flow_text(f);
	case MODEL_LANES_CARRYLESS:
		return carryless(f);
	case MODEL_LANES_PRODUCT:
		return product(f);
	case MODEL_LANES_SADS:
		return sads(f);
	case MODEL_LANES_TERNARY:
		return ternary(f);
	case MODEL_LANES_TEST:
		return test(f);
	case MODEL_LANES_OR_TEST:
		or_test(f);
		return NULL;
	case MODEL_LANES_BLEND:
		return blend(f);
	case MODEL_LANES_SPREAD:
		return spread(f);
	case MODEL_LANES_COMPRESS:
		return compress(f, false);
	case MODEL_LANES_EXPAND:
		return compress(f, true);
	case MODEL_LANES_MASKED:
		return masked(f);
	case MODEL_LANES_BIT_FIELD:
		return bit_field(f);
	case MODEL_LANES_GATHER:
		return gather(f);
	case MODEL_LANES_SCATTER:
		return scatter(f);
	default:
		return NULL;
	}
}
