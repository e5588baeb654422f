// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes of bits without a value in one instruction. Where that is not modelled the result counts as having
 * one: less is told then, nothing wrong.
 */
#include <string.h>

#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

struct flow {
	struct bytes_walk *w;
	struct bytes_regs *r;
	const struct dec_step *s;
	const struct insn_model *m;
};

static uint64_t mask_of(unsigned bytes)
{
	return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

/* ---- operands ----------------------------------------------------------------------------------- */

static const struct dec_ref *memory(const struct dec_step *s, bool is_def)
{
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_mem && s->refs[i].is_def == is_def)
			return &s->refs[i];
	return NULL;
}

static uint64_t bits_at(struct bytes_walk *w, const struct dec_ref *r, unsigned bytes)
{
	uint64_t bits = 0;

	if (r)
		fl_values_read(&w->values, r->addr, (uint8_t *)&bits,
			       r->size < bytes ? r->size : bytes);
	return bits;
}

uint64_t fl_values_operand(struct bytes_walk *w, const struct dec_step *s,
			   const struct model_op *o)
{
	unsigned bytes = o->bytes < 8 ? o->bytes : 8;
	uint64_t bits = 0;

	switch (o->kind) {
	case MODEL_GPR:
		return w->thread->regs.gpr[o->reg] >> o->shift & mask_of(bytes);
	case MODEL_MEM:
		return bits_at(w, memory(s, false), bytes);
	case MODEL_VEC:
		memcpy(&bits, w->thread->regs.vec[o->reg], 8);
		return bits;
	default:
		return 0;
	}
}

static uint64_t bits_of(const struct flow *f, int op)
{
	return fl_values_operand(f->w, f->s, &f->m->op[op]);
}

static uint64_t value_in(const struct dec_ref *r, unsigned bytes)
{
	uint64_t value = 0;

	if (r && r->has_value)
		memcpy(&value, r->value, r->size < bytes ? r->size : bytes);
	return value;
}

static const struct dec_ref *of_register(const struct dec_step *s, int reg, bool is_def)
{
	for (size_t i = 0; i < s->n_refs; i++)
		if (!s->refs[i].is_mem && s->refs[i].reg == reg &&
		    s->refs[i].is_def == is_def)
			return &s->refs[i];
	return NULL;
}

/* What operand @p op holds, before (or behind) the instruction. */
static uint64_t value_of(const struct flow *f, int op, bool is_def)
{
	const struct model_op *o = &f->m->op[op];

	switch (o->kind) {
	case MODEL_GPR:
		return value_in(of_register(f->s, o->reg, is_def), 8) >> o->shift &
		       mask_of(o->bytes);
	case MODEL_MEM:
		return value_in(memory(f->s, is_def), o->bytes < 8 ? o->bytes : 8);
	case MODEL_IMM:
		return o->imm & mask_of(f->m->op[0].bytes);
	default:
		return 0;
	}
}

/* Parts of a register: 4 bytes clear what is above, fewer leave it. */
static void put_register(struct bytes_regs *r, int reg, unsigned bytes, unsigned shift,
			 uint64_t bits)
{
	uint64_t kept = bytes >= 4 ? 0 : r->gpr[reg] & ~(mask_of(bytes) << shift);

	fl_values_put_gpr(r, reg, kept | (bits & mask_of(bytes)) << shift);
}

static void note_vector(struct bytes_regs *r, int reg)
{
	static const uint8_t none[64];
	uint32_t any = memcmp(r->vec[reg], none, 64) != 0;

	r->vec_live = (r->vec_live & ~(1u << reg)) | any << reg;
}

static struct err *put(const struct flow *f, int op, uint64_t bits)
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *to;

	switch (o->kind) {
	case MODEL_GPR:
		put_register(f->r, o->reg, o->bytes, o->shift, bits);
		return NULL;
	case MODEL_MEM:
		to = memory(f->s, true);
		return to && to->size <= 8 ?
			       fl_values_write(&f->w->values, to->addr,
					       (const uint8_t *)&bits, to->size) :
			       NULL;
	default:
		return NULL;
	}
}

/* ---- flags -------------------------------------------------------------------------------------- */

static void clear_flags(struct bytes_regs *r)
{
	r->no_zero = r->no_sign = r->no_carry = r->no_overflow = r->no_parity = false;
}

/* Of a result of @p bytes. @p has_carry: that and overflow depend on it, too. */
static void put_flags(struct bytes_regs *r, uint64_t bits, uint64_t value, unsigned bytes,
		      bool has_carry)
{
	uint64_t mask = mask_of(bytes);

	bits &= mask;
	r->no_zero = bits && !(value & ~bits & mask);
	r->no_sign = bits >> (8 * bytes - 1) & 1;
	r->no_carry = has_carry && bits;
	r->no_overflow = has_carry ? bits != 0 : r->no_sign;
	r->no_parity = bits & 0xff;
}

/* Are all that a may be less than all that b may be, or none? */
static bool is_order_known(uint64_t a, uint64_t va, uint64_t b, uint64_t vb)
{
	return (a | va) < (b & ~vb) || (a & ~va) >= (b | vb);
}

static void compare(const struct flow *f)
{
	unsigned bytes = f->m->op[0].bytes < 8 ? f->m->op[0].bytes : 8;
	uint64_t mask = mask_of(bytes), top = (mask >> 1) + 1;
	uint64_t va = bits_of(f, 0) & mask, vb = bits_of(f, 1) & mask;
	uint64_t a = value_of(f, 0, false) & mask, b = value_of(f, 1, false) & mask;
	uint64_t any = va | vb;

	clear_flags(f->r);
	if (!any || f->m->is_same)
		return;
	f->r->no_zero = !((a ^ b) & ~any);
	f->r->no_carry = !is_order_known(a, va, b, vb);
	// With the sign's bit turned over, signed numbers are in the order of unsigned ones.
	f->r->no_overflow = !is_order_known(a ^ top, va, b ^ top, vb);
	f->r->no_sign = f->r->no_overflow && f->r->no_zero;
	f->r->no_parity = any & 0xff;
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

/* From the lowest bit without a value on, carries may have reached all. */
static uint64_t carried(uint64_t bits)
{
	return bits | -bits;
}

/* Of a sum, or difference: the bits in which the smallest and the largest that it may be differ. */
static uint64_t summed(uint64_t a, uint64_t va, uint64_t b, uint64_t vb, bool is_sub)
{
	uint64_t least = is_sub ? (a & ~va) - (b | vb) : (a & ~va) + (b & ~vb);
	uint64_t most = is_sub ? (a | va) - (b & ~vb) : (a | va) + (b | vb);

	return va | vb | (least ^ most);
}

static uint64_t shifted(const struct flow *f, uint64_t bits)
{
	const struct model_op *o = &f->m->op[0];
	unsigned width = 8u * o->bytes, by = 1;

	if (f->m->n > 1) {
		if (bits_of(f, 1))
			return mask_of(o->bytes);
		by = value_of(f, 1, false) & (o->bytes == 8 ? 63 : 31);
	}
	switch (f->m->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
		return by < 64 ? bits << by : 0;
	case ZYDIS_MNEMONIC_SHR:
		return bits >> by;
	case ZYDIS_MNEMONIC_SAR:
		return (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width) >> by);
	case ZYDIS_MNEMONIC_ROR:
		by = width - by % width;
		break;
	default:
		break;
	}
	by %= width;
	return by ? bits << by | bits >> (width - by) : bits;
}

static uint64_t masked(const struct flow *f, uint64_t va, uint64_t vb)
{
	uint64_t a = value_of(f, 0, false), b = value_of(f, 1, false);

	if (f->m->is_same)
		return va;
	if (f->m->family == MODEL_OR) {
		a = ~a;
		b = ~b;
	}
	return (va & (b | vb)) | (vb & (a | va));
}

static uint64_t computed(const struct flow *f)
{
	const struct insn_model *m = f->m;
	int last = m->n ? m->n - 1 : 0, first = m->n > 2 ? 1 : 0;
	uint64_t va = bits_of(f, first), vb = m->n > 1 ? bits_of(f, last) : 0;

	switch (m->family) {
	case MODEL_CARRY:
		if (m->is_same && m->mnemonic == ZYDIS_MNEMONIC_SUB)
			return 0;
		if (m->is_same && m->mnemonic == ZYDIS_MNEMONIC_ADD)
			return va << 1;
		if (m->mnemonic == ZYDIS_MNEMONIC_ADD ||
		    m->mnemonic == ZYDIS_MNEMONIC_SUB)
			return summed(value_of(f, first, false), va,
				      value_of(f, last, false), vb,
				      m->mnemonic == ZYDIS_MNEMONIC_SUB);
		if (m->is_same && m->mnemonic == ZYDIS_MNEMONIC_SBB)
			return f->r->no_carry ? UINT64_MAX : 0;
		if ((m->mnemonic == ZYDIS_MNEMONIC_ADC ||
		     m->mnemonic == ZYDIS_MNEMONIC_SBB) &&
		    f->r->no_carry)
			vb |= 1;
		return carried(va | vb);
	case MODEL_AND:
	case MODEL_OR:
	case MODEL_TEST:
		return masked(f, va, vb);
	case MODEL_XOR:
		return m->is_same ? 0 : va | vb;
	case MODEL_SHIFT:
		return shifted(f, va);
	default:
		return va;
	}
}

static struct err *arithmetic(const struct flow *f)
{
	unsigned bytes = f->m->op[0].bytes < 8 ? f->m->op[0].bytes : 8;
	uint64_t bits = computed(f), value;
	bool has_carry = f->m->family == MODEL_CARRY || f->m->family == MODEL_SHIFT;

	if (f->m->family == MODEL_TEST) {
		value = value_of(f, 0, false) & value_of(f, 1, false);
		put_flags(f->r, bits, value, bytes, false);
		return NULL;
	}
	if (f->m->family != MODEL_NOT)
		put_flags(f->r, bits, value_of(f, 0, true), bytes, has_carry);
	return put(f, 0, bits);
}

/* What compilers write as lea: sums, and shifts. */
static struct err *address(const struct flow *f)
{
	const struct dec_mem *m = &f->m->address;
	bool has_base = m->base < DEC_GPRS, has_index = m->index < DEC_GPRS;
	uint64_t a = has_base ? value_in(of_register(f->s, m->base, false), 8) : 0;
	uint64_t b = has_index ? value_in(of_register(f->s, m->index, false), 8) : 0;
	uint64_t va = has_base ? f->r->gpr[m->base] : 0;
	uint64_t vb = has_index ? f->r->gpr[m->index] * m->scale : 0;
	uint64_t bits = has_base && m->base == m->index && m->scale == 1 ?
				va << 1 :
				summed(a, va, b * m->scale, vb, false);

	return put(f, 0, summed(a + b * m->scale, bits, m->disp, 0, false));
}

/* mul, div: one operand, and rax, rdx. */
static struct err *wide(const struct flow *f)
{
	bool is_division = f->m->mnemonic == ZYDIS_MNEMONIC_DIV ||
			   f->m->mnemonic == ZYDIS_MNEMONIC_IDIV;
	unsigned bytes = f->m->op[0].bytes;
	uint64_t bits = bits_of(f, 0) | (f->r->gpr[CAP_RAX] & mask_of(bytes));

	if (is_division)
		bits |= f->r->gpr[CAP_RDX] & mask_of(bytes);
	bits = bits ? UINT64_MAX : 0;
	clear_flags(f->r);
	f->r->no_carry = f->r->no_overflow = bits && !is_division;
	put_register(f->r, CAP_RAX, bytes > 1 ? bytes : 2, 0, bits);
	if (bytes > 1)
		put_register(f->r, CAP_RDX, bytes, 0, bits);
	return NULL;
}

static uint64_t sign_extended(uint64_t bits, unsigned bytes)
{
	unsigned by = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(bits << by) >> by);
}

static struct err *extend(const struct flow *f)
{
	if (f->m->lane) { // cbw, cwde, cdqe
		put_register(f->r, CAP_RAX, 2 * f->m->lane, 0,
			     sign_extended(f->r->gpr[CAP_RAX], f->m->lane));
		return NULL;
	}
	return put(f, 0, sign_extended(bits_of(f, 1), f->m->op[1].bytes));
}

/* A conditional move: which it was is seen by the value that is there then. */
static struct err *move(const struct flow *f)
{
	uint64_t value = value_of(f, 0, true), from = value_of(f, 1, false);

	if (fl_values_is_undecided(f->r, f->m))
		return put(f, 0, UINT64_MAX);
	if (value == from && value != value_of(f, 0, false))
		return put(f, 0, bits_of(f, 1));
	if (value != from)
		return put(f, 0, bits_of(f, 0));
	return put(f, 0, bits_of(f, 0) & bits_of(f, 1));
}

static struct err *swap(const struct flow *f)
{
	uint64_t a = bits_of(f, 0), b = bits_of(f, 1);
	struct err *err = put(f, 0, b);

	return err ? err : put(f, 1, a);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static struct err *push(const struct flow *f)
{
	uint64_t bits = f->m->op[0].kind == MODEL_GPR ? f->r->gpr[f->m->op[0].reg] :
							bits_of(f, 0);
	const struct dec_ref *to = memory(f->s, true);

	return to ? fl_values_write(&f->w->values, to->addr, (const uint8_t *)&bits,
				    to->size < 8 ? to->size : 8) :
		    NULL;
}

static struct err *string(const struct flow *f)
{
	const struct dec_ref *from = memory(f->s, false), *to = memory(f->s, true);
	struct err *err = NULL;
	uint8_t bits[64];

	if (f->m->family == MODEL_STRING_FILL && to)
		return fl_values_set(&f->w->values, to->addr, to->size,
				     !(f->r->gpr[CAP_RAX] & 0xff));
	for (uint64_t at = 0; from && to && at < to->size && !err; at += sizeof(bits)) {
		uint64_t n = to->size - at < sizeof(bits) ? to->size - at : sizeof(bits);

		fl_values_read(&f->w->values, from->addr + at, bits, n);
		err = fl_values_write(&f->w->values, to->addr + at, bits, n);
	}
	return err;
}

/* ---- vectors ------------------------------------------------------------------------------------ */

/* The bits of operand @p op, as of a vector register. @return how many bytes it has. */
static unsigned vector_bits(const struct flow *f, int op, uint8_t ret[64])
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *from;
	uint64_t bits;

	memset(ret, 0, 64);
	switch (o->kind) {
	case MODEL_VEC:
		memcpy(ret, f->r->vec[o->reg], 64);
		return o->bytes;
	case MODEL_MEM:
		from = memory(f->s, false);
		if (from)
			fl_values_read(&f->w->values, from->addr, ret,
				       from->size < 64 ? from->size : 64);
		return from ? from->size : 0;
	default:
		bits = bits_of(f, op);
		memcpy(ret, &bits, 8);
		return o->bytes;
	}
}

static struct err *put_vector(const struct flow *f, const uint8_t bits[64],
			      unsigned bytes)
{
	const struct model_op *o = &f->m->op[0];
	const struct dec_ref *to;
	uint64_t low;

	if (o->kind == MODEL_VEC) {
		memcpy(f->r->vec[o->reg], bits, bytes);
		if (!f->m->keeps_top)
			memset(f->r->vec[o->reg] + bytes, 0, 64 - bytes);
		note_vector(f->r, o->reg);
		return NULL;
	}
	memcpy(&low, bits, 8);
	if (o->kind == MODEL_GPR)
		return put(f, 0, low);
	to = memory(f->s, true);
	return to ? fl_values_write(&f->w->values, to->addr, bits,
				    to->size < 64 ? to->size : 64) :
		    NULL;
}

static bool any_of(const uint8_t *bits, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		if (bits[i])
			return true;
	return false;
}

static struct err *copy_vector(const struct flow *f)
{
	uint8_t bits[64];
	unsigned bytes = vector_bits(f, 1, bits);

	if (f->m->op[0].bytes < bytes)
		bytes = f->m->op[0].bytes;
	if (f->m->lane && f->m->lane < bytes)
		bytes = f->m->lane;
	return put_vector(f, bits, bytes);
}

static bool reads_target(uint16_t mnemonic)
{
	return mnemonic != ZYDIS_MNEMONIC_SQRTSD && mnemonic != ZYDIS_MNEMONIC_CVTSS2SD &&
	       mnemonic != ZYDIS_MNEMONIC_CVTSD2SS &&
	       mnemonic != ZYDIS_MNEMONIC_CVTSI2SD && mnemonic != ZYDIS_MNEMONIC_CVTSI2SS;
}

/* One lane, or all, of which any bit without a value makes all of it so. */
static struct err *compute_vector(const struct flow *f)
{
	uint16_t mnemonic = f->m->mnemonic;
	unsigned lane = f->m->lane, end = f->m->op[0].bytes, from = lane;
	uint8_t a[64], b[64];
	unsigned bytes = vector_bits(f, 1, b);

	if (mnemonic == ZYDIS_MNEMONIC_CVTSS2SD)
		from = 4;
	if (mnemonic == ZYDIS_MNEMONIC_CVTSD2SS)
		from = 8;
	if (f->m->op[1].kind == MODEL_GPR)
		from = bytes;
	vector_bits(f, 0, a);
	if (f->m->family == MODEL_VEC_LOW)
		end = lane;
	for (unsigned i = 0; i < end; i += lane) {
		bool any = any_of(b + i, from) ||
			   (reads_target(mnemonic) && any_of(a + i, lane));

		memset(a + i, any ? 0xff : 0, lane);
	}
	return put_vector(f, a, end);
}

static struct err *xor_vector(const struct flow *f)
{
	uint8_t a[64], b[64];
	unsigned bytes = f->m->op[0].bytes;

	vector_bits(f, 0, a);
	vector_bits(f, 1, b);
	for (unsigned i = 0; i < 64; i++)
		a[i] = f->m->is_same ? 0 : a[i] | b[i];
	return put_vector(f, a, bytes);
}

static void compare_vector(const struct flow *f)
{
	uint8_t a[64], b[64];
	bool any;

	vector_bits(f, 0, a);
	vector_bits(f, 1, b);
	any = any_of(a, f->m->lane) || any_of(b, f->m->lane);
	clear_flags(f->r);
	f->r->no_zero = f->r->no_carry = f->r->no_parity = any;
}

static struct err *to_all(const struct flow *f)
{
	uint8_t bits[64];
	unsigned bytes = vector_bits(f, f->m->n > 1 ? 1 : 0, bits);
	bool any = any_of(bits, f->m->lane ? f->m->lane : bytes);

	clear_flags(f->r);
	f->r->no_zero = any && f->m->mnemonic == ZYDIS_MNEMONIC_POPCNT;
	return put(f, 0, any ? UINT64_MAX : 0);
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* What is not modelled has a value. */
static struct err *other(const struct flow *f)
{
	struct err *err = NULL;

	for (size_t i = 0; i < f->s->n_refs && !err; i++) {
		const struct dec_ref *d = &f->s->refs[i];

		if (!d->is_def)
			continue;
		if (d->is_mem) {
			err = fl_values_set(&f->w->values, d->addr, d->size, true);
		} else if (d->reg < DEC_GPRS) {
			fl_values_put_gpr(f->r, d->reg, 0);
		} else if (d->reg < DEC_REG_K) {
			memset(f->r->vec[d->reg - DEC_REG_VEC], 0, 64);
			note_vector(f->r, d->reg - DEC_REG_VEC);
		}
	}
	if (f->s->insn->writes_flags)
		clear_flags(f->r);
	return err;
}

static struct err *flow(const struct flow *f)
{
	switch (f->m->family) {
	case MODEL_COPY:
		return put(f, 0, bits_of(f, 1));
	case MODEL_SIGN_EXTEND:
		return extend(f);
	case MODEL_LEA:
		return address(f);
	case MODEL_CARRY:
	case MODEL_AND:
	case MODEL_OR:
	case MODEL_XOR:
	case MODEL_TEST:
	case MODEL_NOT:
	case MODEL_SHIFT:
		return arithmetic(f);
	case MODEL_COMPARE:
		compare(f);
		return NULL;
	case MODEL_ALL:
		return to_all(f);
	case MODEL_WIDE:
		return wide(f);
	case MODEL_SWAP:
		return swap(f);
	case MODEL_SET:
		return put(f, 0, fl_values_is_undecided(f->r, f->m));
	case MODEL_MOVE:
		return move(f);
	case MODEL_PUSH:
		return push(f);
	case MODEL_POP:
		return put(f, 0, bits_at(f->w, memory(f->s, false), 8));
	case MODEL_LEAVE:
		fl_values_put_gpr(f->r, CAP_RBP, bits_at(f->w, memory(f->s, false), 8));
		return NULL;
	case MODEL_STRING_COPY:
	case MODEL_STRING_FILL:
		return string(f);
	case MODEL_VEC_COPY:
		return copy_vector(f);
	case MODEL_VEC_XOR:
		return xor_vector(f);
	case MODEL_VEC_LOW:
	case MODEL_VEC_LANES:
		return compute_vector(f);
	case MODEL_VEC_COMPARE:
		compare_vector(f);
		return NULL;
	default:
		return other(f);
	}
}

struct err *fl_values_flow(struct bytes_walk *w, const struct dec_step *s,
			   const struct insn_model *m)
{
	const struct flow f = { w, &w->thread->regs, s, m };

	return flow(&f);
}
