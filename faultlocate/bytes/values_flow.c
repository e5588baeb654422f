// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What becomes of bits without a value in one instruction. Where that is not modelled the result counts as having
 * one: less is told then, nothing wrong.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

uint64_t fl_flow_mask_of(unsigned bytes)
{
	return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

/* ---- operands ----------------------------------------------------------------------------------- */

const struct dec_ref *fl_flow_memory(const struct dec_step *s, bool is_def)
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
		return w->thread->regs.gpr[o->reg] >> o->shift & fl_flow_mask_of(bytes);
	case MODEL_MEM:
		return bits_at(w, fl_flow_memory(s, false), bytes);
	case MODEL_VEC:
		memcpy(&bits, w->thread->regs.vec[o->reg], 8);
		return bits;
	default:
		return 0;
	}
}

uint64_t fl_flow_bits(const struct bytes_flow *f, int op)
{
	return fl_values_operand(f->w, f->s, &f->m->op[op]);
}

uint64_t fl_flow_value_in(const struct dec_ref *r, unsigned bytes)
{
	uint64_t value = 0;

	if (r && r->has_value)
		memcpy(&value, r->value, r->size < bytes ? r->size : bytes);
	return value;
}

const struct dec_ref *fl_flow_register(const struct dec_step *s, int reg, bool is_def)
{
	for (size_t i = 0; i < s->n_refs; i++)
		if (!s->refs[i].is_mem && s->refs[i].reg == reg &&
		    s->refs[i].is_def == is_def)
			return &s->refs[i];
	return NULL;
}

/* What operand @p op holds, before (or behind) the instruction. */
uint64_t fl_flow_value(const struct bytes_flow *f, int op, bool is_def)
{
	const struct model_op *o = &f->m->op[op];

	switch (o->kind) {
	case MODEL_GPR:
		return fl_flow_value_in(fl_flow_register(f->s, o->reg, is_def), 8) >>
			       o->shift &
		       fl_flow_mask_of(o->bytes);
	case MODEL_MEM:
		return fl_flow_value_in(fl_flow_memory(f->s, is_def),
					o->bytes < 8 ? o->bytes : 8);
	case MODEL_IMM:
		return o->imm & fl_flow_mask_of(f->m->op[0].bytes);
	default:
		return 0;
	}
}

/* Parts of a register: 4 bytes clear what is above, fewer leave it. */
void fl_flow_put_register(struct bytes_regs *r, int reg, unsigned bytes, unsigned shift,
			  uint64_t bits)
{
	uint64_t kept = bytes >= 4 ? 0 : r->gpr[reg] & ~(fl_flow_mask_of(bytes) << shift);

	fl_values_put_gpr(r, reg, kept | (bits & fl_flow_mask_of(bytes)) << shift);
}

struct err *fl_flow_put(const struct bytes_flow *f, int op, uint64_t bits)
{
	const struct model_op *o = &f->m->op[op];
	const struct dec_ref *to;

	switch (o->kind) {
	case MODEL_GPR:
		fl_flow_put_register(f->r, o->reg, o->bytes, o->shift, bits);
		return NULL;
	case MODEL_MEM:
		to = fl_flow_memory(f->s, true);
		return to && to->size <= 8 ?
			       fl_values_write(&f->w->values, to->addr,
					       (const uint8_t *)&bits, to->size) :
			       NULL;
	default:
		return NULL;
	}
}

/* ---- flags -------------------------------------------------------------------------------------- */

void fl_flow_clear_flags(struct bytes_regs *r)
{
	r->no_zero = r->no_sign = r->no_carry = r->no_overflow = r->no_parity = false;
}

/* Of a result of @p bytes. @p has_carry: that and overflow depend on it, too. */
void fl_flow_put_flags(struct bytes_regs *r, uint64_t bits, uint64_t value,
		       unsigned bytes, bool has_carry)
{
	uint64_t mask = fl_flow_mask_of(bytes);

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

/* Of a sum, or difference: the bits in which the smallest and the largest that it may be differ. */
static uint64_t summed(uint64_t a, uint64_t va, uint64_t b, uint64_t vb, bool is_sub)
{
	uint64_t least = is_sub ? (a & ~va) - (b | vb) : (a & ~va) + (b & ~vb);
	uint64_t most = is_sub ? (a | va) - (b & ~vb) : (a | va) + (b | vb);

	return va | vb | (least ^ most);
}

/* .. of @p a less @p b, of which @p va and @p vb are without a value. */
void fl_flow_put_compared(const struct bytes_flow *f, uint64_t a, uint64_t va, uint64_t b,
			  uint64_t vb)
{
	uint64_t mask = fl_flow_mask_of(f->m->op[0].bytes), top = (mask >> 1) + 1, any;

	a &= mask;
	b &= mask;
	va &= mask;
	vb &= mask;
	any = va | vb;
	fl_flow_clear_flags(f->r);
	if (!any)
		return;
	f->r->no_zero = !((a ^ b) & ~any);
	f->r->no_carry = !is_order_known(a, va, b, vb);
	// With the sign's bit turned over, signed numbers are in the order of unsigned ones.
	f->r->no_overflow = !is_order_known(a ^ top, va, b ^ top, vb);
	f->r->no_sign = summed(a, va, b, vb, true) & top;
	f->r->no_parity = any & 0xff;
}

static void compare(const struct bytes_flow *f)
{
	uint64_t va = f->m->is_same ? 0 : fl_flow_bits(f, 0);
	uint64_t vb = f->m->is_same ? 0 : fl_flow_bits(f, 1);

	fl_flow_put_compared(f, fl_flow_value(f, 0, false), va,
			     fl_flow_value(f, 1, false), vb);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

/* From the lowest bit without a value on, carries may have reached all. */
static uint64_t carried(uint64_t bits)
{
	return bits | -bits;
}

static uint64_t shifted(const struct bytes_flow *f, uint64_t bits, unsigned by)
{
	unsigned width = 8u * f->m->op[0].bytes;

	switch (f->m->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHLX:
		return bits << by;
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SHRX:
		return bits >> by;
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_SARX:
		return (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width) >> by);
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RORX:
		by = width - by % width;
		break;
	default:
		break;
	}
	by %= width;
	return by ? bits << by | bits >> (width - by) : bits;
}

static uint64_t masked(const struct bytes_flow *f, uint64_t va, uint64_t vb)
{
	bool is_inverted = f->m->mnemonic == ZYDIS_MNEMONIC_ANDN;
	uint64_t a = fl_flow_value(f, is_inverted, false);
	uint64_t b = fl_flow_value(f, f->m->n - 1, false);

	if (f->m->is_same)
		return is_inverted ? 0 : va;
	if (is_inverted)
		a = ~a;
	if (f->m->family == MODEL_OR) {
		a = ~a;
		b = ~b;
	}
	return (va & (b | vb)) | (vb & (a | va));
}

static uint64_t computed(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	int last = m->n ? m->n - 1 : 0, first = m->n > 2 ? 1 : 0;
	uint64_t va = fl_flow_bits(f, first), vb = m->n > 1 ? fl_flow_bits(f, last) : 0;

	switch (m->family) {
	case MODEL_CARRY:
		if (m->is_same && m->mnemonic == ZYDIS_MNEMONIC_SUB)
			return 0;
		if (m->is_same && m->mnemonic == ZYDIS_MNEMONIC_ADD)
			return va << 1;
		if (m->mnemonic == ZYDIS_MNEMONIC_ADD ||
		    m->mnemonic == ZYDIS_MNEMONIC_SUB)
			return summed(fl_flow_value(f, first, false), va,
				      fl_flow_value(f, last, false), vb,
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
	default:
		return va;
	}
}

static struct err *arithmetic(const struct bytes_flow *f)
{
	unsigned bytes = f->m->op[0].bytes < 8 ? f->m->op[0].bytes : 8;
	bool leaves_carry = f->m->mnemonic == ZYDIS_MNEMONIC_INC ||
			    f->m->mnemonic == ZYDIS_MNEMONIC_DEC;
	bool no_carry = f->r->no_carry;
	uint64_t bits = computed(f), value;

	if (f->m->family == MODEL_TEST) {
		value = fl_flow_value(f, 0, false) & fl_flow_value(f, 1, false);
		fl_flow_put_flags(f->r, bits, value, bytes, false);
		return NULL;
	}
	if (f->s->insn->writes_flags)
		fl_flow_put_flags(f->r, bits, fl_flow_value(f, 0, true), bytes,
				  f->m->family == MODEL_CARRY);
	if (leaves_carry)
		f->r->no_carry = no_carry;
	// Twice the same is a shift, of which the last bit out is the carry.
	if (f->m->is_same && f->m->mnemonic == ZYDIS_MNEMONIC_ADD &&
	    fl_flow_bits(f, 0) >> (8 * bytes - 1) & 1)
		f->r->no_carry = f->r->no_overflow = true;
	return fl_flow_put(f, 0, bits);
}

/* Has the bit that was shifted out last no value? */
static bool is_last_out_unknown(const struct bytes_flow *f, uint64_t bits, unsigned by)
{
	unsigned width = 8u * f->m->op[0].bytes;

	if (by > width)
		return bits;
	switch (f->m->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_ROL:
		return bits >> (width - by) & 1;
	default:
		return bits >> (by - 1) & 1;
	}
}

/* The bits of a count that shifts of @p bytes look at: compilers leave what is in the others. */
static unsigned count_mask(unsigned bytes)
{
	return bytes == 8 ? 63 : 31;
}

/* Rotations leave all flags but carry and overflow, and a shift by nothing leaves all. */
static struct err *shift(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned bytes = m->op[0].bytes, by = 1;
	bool is_rotation = m->mnemonic == ZYDIS_MNEMONIC_ROL ||
			   m->mnemonic == ZYDIS_MNEMONIC_ROR;
	unsigned counted = count_mask(bytes);
	bool is_by_unknown = m->n > 1 && fl_flow_bits(f, m->n - 1) & counted;
	uint64_t from = fl_flow_bits(f, m->n > 2 ? 1 : 0), bits;

	if (m->n > 1)
		by = fl_flow_value(f, m->n - 1, false) & counted;
	bits = is_by_unknown ? fl_flow_mask_of(bytes) : shifted(f, from, by);
	if (f->s->insn->writes_flags && (by || is_by_unknown)) {
		if (!is_rotation)
			fl_flow_put_flags(f->r, bits, fl_flow_value(f, 0, true), bytes,
					  false);
		f->r->no_carry = is_by_unknown || is_last_out_unknown(f, from, by);
		f->r->no_overflow = is_by_unknown || from;
	}
	return fl_flow_put(f, 0, bits);
}

/* Of two operands, into the first: the second's bits come in. */
static struct err *shift_double(const struct bytes_flow *f)
{
	unsigned bytes = f->m->op[0].bytes, width = 8 * bytes;
	unsigned counted = count_mask(bytes), by = fl_flow_value(f, 2, false) & counted;
	bool is_left = f->m->mnemonic == ZYDIS_MNEMONIC_SHLD;
	uint64_t a = fl_flow_bits(f, 0), b = fl_flow_bits(f, 1), bits = a;

	if (fl_flow_bits(f, 2) & counted)
		bits = UINT64_MAX;
	else if (by && by < width)
		bits = is_left ? a << by | b >> (width - by) :
				 a >> by | b << (width - by);
	if (by || bits != a) {
		fl_flow_put_flags(f->r, bits, fl_flow_value(f, 0, true), bytes, false);
		f->r->no_carry = f->r->no_overflow = (bits | a) & fl_flow_mask_of(bytes);
	}
	return fl_flow_put(f, 0, bits);
}

/* How many zeroes there are is known if a one is before all that has no value. bsf and bsr leave what they would write
 * where there is none. */
static struct err *count(const struct bytes_flow *f)
{
	uint16_t m = f->m->mnemonic;
	bool is_upward = m == ZYDIS_MNEMONIC_BSF || m == ZYDIS_MNEMONIC_TZCNT;
	bool is_bs = m == ZYDIS_MNEMONIC_BSF || m == ZYDIS_MNEMONIC_BSR;
	uint64_t from = fl_flow_bits(f, 1), value = fl_flow_value(f, 1, false);
	uint64_t ones = value & ~from, top = UINT64_C(1) << (8 * f->m->op[1].bytes - 1);
	// Is the first bit that may be one without a value?
	bool is_unknown = from && (is_upward ? (from & -from) < (ones & -ones) || !ones :
					       from > ones);

	fl_flow_clear_flags(f->r);
	if (is_bs) {
		f->r->no_zero = from && !ones;
		if (!from && !value)
			return NULL;
	} else {
		f->r->no_carry = from && !ones;
		f->r->no_zero = from & (is_upward ? 1 : top);
	}
	return fl_flow_put(f, 0, !is_unknown ? 0 : is_bs && !ones ? UINT64_MAX : 0x7f);
}

/* The sum is left in the first operand, which was the first in the second. */
static struct err *exchange_add(const struct bytes_flow *f)
{
	uint64_t a = fl_flow_bits(f, 0), b = fl_flow_bits(f, 1);
	uint64_t bits = summed(fl_flow_value(f, 0, false), a, fl_flow_value(f, 1, false),
			       b, false);
	struct err *err;

	fl_flow_put_flags(f->r, bits, fl_flow_value(f, 0, true),
			  f->m->op[0].bytes < 8 ? f->m->op[0].bytes : 8, true);
	err = fl_flow_put(f, 1, a);
	return err ? err : fl_flow_put(f, 0, bits);
}

/* If rax has what is there, the second operand is put there, otherwise that into rax. */
static struct err *compare_exchange(const struct bytes_flow *f)
{
	uint64_t mask = fl_flow_mask_of(f->m->op[0].bytes), bits = fl_flow_bits(f, 0);
	uint64_t rax = fl_flow_value_in(fl_flow_register(f->s, CAP_RAX, false), 8);
	uint64_t there = fl_flow_value(f, 0, false);

	fl_flow_put_compared(f, rax, f->r->gpr[CAP_RAX], there, bits);
	if (!((rax ^ there) & mask))
		return fl_flow_put(f, 0, fl_flow_bits(f, 1));
	fl_flow_put_register(f->r, CAP_RAX, f->m->op[0].bytes, 0, bits);
	return NULL;
}

/* What compilers write as lea: sums, and shifts. */
static struct err *address(const struct bytes_flow *f)
{
	const struct dec_mem *m = &f->m->address;
	bool has_base = m->base < DEC_GPRS, has_index = m->index < DEC_GPRS;
	uint64_t a = has_base ?
			     fl_flow_value_in(fl_flow_register(f->s, m->base, false), 8) :
			     0;
	uint64_t b =
		has_index ? fl_flow_value_in(fl_flow_register(f->s, m->index, false), 8) :
			    0;
	uint64_t va = has_base ? f->r->gpr[m->base] : 0;
	uint64_t vb = has_index ? f->r->gpr[m->index] * m->scale : 0;
	uint64_t bits = has_base && m->base == m->index && m->scale == 1 ?
				va << 1 :
				summed(a, va, b * m->scale, vb, false);

	return fl_flow_put(f, 0, summed(a + b * m->scale, bits, m->disp, 0, false));
}

/* mul, div: one operand, and rax, rdx. */
static struct err *wide(const struct bytes_flow *f)
{
	bool is_division = f->m->mnemonic == ZYDIS_MNEMONIC_DIV ||
			   f->m->mnemonic == ZYDIS_MNEMONIC_IDIV;
	unsigned bytes = f->m->op[0].bytes;
	uint64_t bits = fl_flow_bits(f, 0) |
			(f->r->gpr[CAP_RAX] & fl_flow_mask_of(bytes));

	if (is_division)
		bits |= f->r->gpr[CAP_RDX] & fl_flow_mask_of(bytes);
	bits = bits ? UINT64_MAX : 0;
	fl_flow_clear_flags(f->r);
	f->r->no_carry = f->r->no_overflow = bits && !is_division;
	fl_flow_put_register(f->r, CAP_RAX, bytes > 1 ? bytes : 2, 0, bits);
	if (bytes > 1)
		fl_flow_put_register(f->r, CAP_RDX, bytes, 0, bits);
	return NULL;
}

static uint64_t sign_extended(uint64_t bits, unsigned bytes)
{
	unsigned by = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(bits << by) >> by);
}

static struct err *extend(const struct bytes_flow *f)
{
	if (f->m->lane) { // cbw, cwde, cdqe
		fl_flow_put_register(f->r, CAP_RAX, 2 * f->m->lane, 0,
				     sign_extended(f->r->gpr[CAP_RAX], f->m->lane));
		return NULL;
	}
	return fl_flow_put(f, 0, sign_extended(fl_flow_bits(f, 1), f->m->op[1].bytes));
}

/* A conditional move: which it was is seen by the value that is there then. */
static struct err *move(const struct bytes_flow *f)
{
	uint64_t value = fl_flow_value(f, 0, true), from = fl_flow_value(f, 1, false);

	if (fl_values_is_undecided(f->r, f->m))
		return fl_flow_put(f, 0, UINT64_MAX);
	if (value == from && value != fl_flow_value(f, 0, false))
		return fl_flow_put(f, 0, fl_flow_bits(f, 1));
	if (value != from)
		return fl_flow_put(f, 0, fl_flow_bits(f, 0));
	return fl_flow_put(f, 0, fl_flow_bits(f, 0) & fl_flow_bits(f, 1));
}

static struct err *swap(const struct bytes_flow *f)
{
	uint64_t a = fl_flow_bits(f, 0), b = fl_flow_bits(f, 1);
	struct err *err = fl_flow_put(f, 0, b);

	return err ? err : fl_flow_put(f, 1, a);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static struct err *push(const struct bytes_flow *f)
{
	uint64_t bits = f->m->op[0].kind == MODEL_GPR ? f->r->gpr[f->m->op[0].reg] :
							fl_flow_bits(f, 0);
	const struct dec_ref *to = fl_flow_memory(f->s, true);

	return to ? fl_values_write(&f->w->values, to->addr, (const uint8_t *)&bits,
				    to->size < 8 ? to->size : 8) :
		    NULL;
}

#define ENTER_WORDS 33 // at most: rbp, 31 frames' and its own

/* rbp, above the frames that are copied, above where its own is. */
static struct err *enter(const struct bytes_flow *f)
{
	const struct dec_ref *from = fl_flow_memory(f->s, false),
			     *to = fl_flow_memory(f->s, true);
	uint64_t bits[ENTER_WORDS] = {};
	size_t n = to ? to->size / 8 : 0;

	if (!n || n > ENTER_WORDS || to->size % 8 || (from && from->size > to->size - 16))
		return fl_flow_other(f);
	if (from)
		fl_values_read(&f->w->values, from->addr, (uint8_t *)&bits[1],
			       from->size);
	bits[n - 1] = f->r->gpr[CAP_RBP];
	fl_values_put_gpr(f->r, CAP_RBP, 0);
	return fl_values_write(&f->w->values, to->addr, (const uint8_t *)bits, to->size);
}

static struct err *string(const struct bytes_flow *f)
{
	const struct dec_ref *from = fl_flow_memory(f->s, false),
			     *to = fl_flow_memory(f->s, true);
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

/* ---- any bit ------------------------------------------------------------------------------------ */

static struct err *to_all(const struct bytes_flow *f)
{
	uint64_t bits = fl_flow_bits(f, f->m->n > 1 ? 1 : 0);
	bool is_sum = f->m->mnemonic == ZYDIS_MNEMONIC_CRC32;
	bool any = bits & fl_flow_mask_of(f->m->lane ? f->m->lane : 8) ||
		   (is_sum && fl_flow_bits(f, 0) & UINT32_MAX);

	fl_flow_clear_flags(f->r);
	f->r->no_zero = any && f->m->mnemonic == ZYDIS_MNEMONIC_POPCNT;
	return fl_flow_put(f, 0, any ? UINT64_MAX : 0);
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* What is not modelled has a value. */
struct err *fl_flow_other(const struct bytes_flow *f)
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
			f->r->vec_live &= ~(1u << (d->reg - DEC_REG_VEC));
		} else if (d->reg < DEC_REG_FLAGS) {
			fl_values_put_mask(f->r, d->reg - DEC_REG_K, 0);
		} else if (d->reg == DEC_REG_X87) {
			fl_values_clear_x87(f->r);
		}
	}
	if (f->s->insn->writes_flags)
		fl_flow_clear_flags(f->r);
	return err;
}

static struct err *flow(const struct bytes_flow *f)
{
	if (f->m->family >= MODEL_LANES)
		return fl_values_flow_lanes(f);
	if (f->m->family >= MODEL_VECTORS)
		return fl_values_flow_vector(f);
	if (f->m->family >= MODEL_BITS)
		return fl_values_flow_bits(f);
	switch (f->m->family) {
	case MODEL_COPY:
		return fl_flow_put(f, 0, fl_flow_bits(f, 1));
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
		return arithmetic(f);
	case MODEL_SHIFT:
		return shift(f);
	case MODEL_COMPARE:
		compare(f);
		return NULL;
	case MODEL_ALL:
		return to_all(f);
	case MODEL_COUNT:
		return count(f);
	case MODEL_DOUBLE:
		return shift_double(f);
	case MODEL_XADD:
		return exchange_add(f);
	case MODEL_CMPXCHG:
		return compare_exchange(f);
	case MODEL_X87:
		return fl_values_flow_x87(f);
	case MODEL_WIDE:
		return wide(f);
	case MODEL_SWAP:
		return swap(f);
	case MODEL_SET:
		return fl_flow_put(f, 0, fl_values_is_undecided(f->r, f->m));
	case MODEL_MOVE:
		return move(f);
	case MODEL_PUSH:
		return push(f);
	case MODEL_POP:
		return fl_flow_put(f, 0, bits_at(f->w, fl_flow_memory(f->s, false), 8));
	case MODEL_ENTER:
		return enter(f);
	case MODEL_XLAT:
		fl_flow_put_register(f->r, CAP_RAX, 1, 0,
				     bits_at(f->w, fl_flow_memory(f->s, false), 1));
		return NULL;
	case MODEL_LEAVE:
		fl_values_put_gpr(f->r, CAP_RBP,
				  bits_at(f->w, fl_flow_memory(f->s, false), 8));
		return NULL;
	case MODEL_STRING_COPY:
	case MODEL_STRING_FILL:
		return string(f);
	default:
		return fl_flow_other(f);
	}
}

struct err *fl_values_flow(struct bytes_walk *w, const struct dec_step *s,
			   const struct insn_model *m)
{
	const struct bytes_flow f = { w, &w->thread->regs, s, m };

	return flow(&f);
}
