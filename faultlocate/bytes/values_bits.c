// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of instructions that look for bits, and move them: blsr, pext, bt and the like; and of strings.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

static unsigned bytes_of(const struct bytes_flow *f)
{
	return f->m->op[0].bytes < 8 ? f->m->op[0].bytes : 8;
}

/* Flags of a result that lacks @p bits; the carry is unknown if @p no_carry. */
static struct err *put(const struct bytes_flow *f, uint64_t bits, bool no_carry)
{
	uint64_t mask = fl_flow_mask_of(bytes_of(f));

	if (f->s->insn->writes_flags) {
		fl_flow_put_flags(f->r, bits, fl_flow_value(f, 0, true), bytes_of(f),
				  false);
		f->r->no_carry = no_carry;
	}
	return fl_flow_put(f, 0, bits & mask);
}

/* ---- the lowest bit that is set ----------------------------------------------------------------- */

/* Which bit that is is not known if one without a value is below the first that is known to be set. */
static struct err *lowest_bit(const struct bytes_flow *f)
{
	uint64_t from = fl_flow_bits(f, 1);
	uint64_t ones = fl_flow_value(f, 1, false) & ~from;
	uint64_t one = ones & -ones, unknown = from & -from;
	// Those that may be the lowest.
	uint64_t below = one ? from & (one - 1) : from;

	if (!below)
		return put(f, f->m->mnemonic == ZYDIS_MNEMONIC_BLSR ? from : 0, false);
	switch (f->m->mnemonic) {
	case ZYDIS_MNEMONIC_BLSR: // the lowest of all is cleared, or is zero
		return put(f, (from & ~unknown) | one, !one);
	case ZYDIS_MNEMONIC_BLSI:
		return put(f, below | one, !one);
	default: // blsmsk: up to the lowest of all there are ones
		return put(f, ~(unknown | (unknown - 1)) & (one | (one - 1)), !one);
	}
}

/* ---- fields ------------------------------------------------------------------------------------- */

/* bzhi: what it would leave of ones is what may be there. */
static struct err *zero_high(const struct bytes_flow *f)
{
	uint64_t from = fl_flow_bits(f, 1), value = fl_flow_value(f, 1, false);
	unsigned n = fl_flow_value(f, 2, false) & 0xff;

	if (fl_flow_bits(f, 2) & 0xff)
		return put(f, from | value, true);
	return put(f, n < 64 ? from & ((UINT64_C(1) << n) - 1) : from, false);
}

static struct err *field(const struct bytes_flow *f)
{
	uint64_t by = fl_flow_value(f, 2, false), from = fl_flow_bits(f, 1);
	unsigned start = by & 0xff, n = by >> 8 & 0xff;

	if (fl_flow_bits(f, 2) & 0xffff)
		return put(f, UINT64_MAX, false);
	from = start < 64 ? from >> start : 0;
	return put(f, n < 64 ? from & ((UINT64_C(1) << n) - 1) : from, false);
}

static uint64_t extracted(uint64_t bits, uint64_t mask)
{
	uint64_t ret = 0;

	for (unsigned n = 0; mask; mask &= mask - 1, n++)
		ret |= (bits >> __builtin_ctzll(mask) & 1) << n;
	return ret;
}

static uint64_t deposited(uint64_t bits, uint64_t mask)
{
	uint64_t ret = 0;

	for (; mask; mask &= mask - 1, bits >>= 1)
		ret |= (bits & 1) * (mask & -mask);
	return ret;
}

/* Where a bit of the mask has no value, all that goes by that and those above it. */
static struct err *by_mask(const struct bytes_flow *f)
{
	uint64_t from = fl_flow_bits(f, 1), lacks = fl_flow_bits(f, 2);
	uint64_t mask = fl_flow_value(f, 2, false) | lacks, above = lacks | -lacks;

	if (f->m->family == MODEL_EXTRACT)
		return put(f, extracted(from | above, mask), false);
	return put(f, deposited(from, mask) | (above & mask), false);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

static struct err *byte_swap(const struct bytes_flow *f)
{
	unsigned bytes = bytes_of(f);

	return fl_flow_put(f, 0,
			   __builtin_bswap64(fl_flow_bits(f, f->m->n - 1)) >>
				   (64 - 8 * bytes));
}

/* mulx: of rdx. */
static struct err *two(const struct bytes_flow *f)
{
	uint64_t mask = fl_flow_mask_of(bytes_of(f));
	uint64_t bits = (fl_flow_bits(f, 2) | f->r->gpr[CAP_RDX]) & mask;
	struct err *err = fl_flow_put(f, 1, bits | -bits);

	return err ? err : fl_flow_put(f, 0, bits ? UINT64_MAX : 0);
}

/* adcx, adox have one flag each, which they read and write, and leave the others. */
static struct err *carry_one(const struct bytes_flow *f)
{
	bool is_carry = f->m->mnemonic == ZYDIS_MNEMONIC_ADCX;
	bool *flag = is_carry ? &f->r->no_carry : &f->r->no_overflow;
	uint64_t bits = fl_flow_bits(f, 0) | fl_flow_bits(f, 1) | *flag;

	*flag = bits & fl_flow_mask_of(bytes_of(f));
	return fl_flow_put(f, 0, bits | -bits);
}

/* The carry is the bit; in memory that a register's bit is far from the operand the word is the one that is referred to. */
static struct err *bit_test(const struct bytes_flow *f)
{
	const struct insn_model *m = f->m;
	unsigned n = fl_flow_value(f, 1, false) % (8 * m->op[0].bytes);
	uint64_t bit = UINT64_C(1) << n, bits = fl_flow_bits(f, 0);
	bool is_unknown = fl_flow_bits(f, 1) & (8 * m->op[0].bytes - 1);

	f->r->no_carry = is_unknown || bits & bit;
	switch (m->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
		return NULL;
	case ZYDIS_MNEMONIC_BTC:
		bit = 0;
		break;
	}
	return fl_flow_put(f, 0, is_unknown ? UINT64_MAX : bits & ~bit);
}

/* rcl, rcr: the carry is one bit more. Of a number without a value any bit may be anywhere. */
static struct err *through_carry(const struct bytes_flow *f)
{
	unsigned bytes = bytes_of(f), width = 8 * bytes;
	bool is_left = f->m->mnemonic == ZYDIS_MNEMONIC_RCL, out = f->r->no_carry;
	unsigned by = f->m->n > 1 ? fl_flow_value(f, 1, false) & (bytes == 8 ? 63 : 31) :
				    1;
	uint64_t bits = fl_flow_bits(f, 0), mask = fl_flow_mask_of(bytes);

	if (f->m->n > 1 && (uint8_t)fl_flow_bits(f, 1)) {
		bits = mask;
		out = true;
	}
	for (; by; by--) {
		bool in = out;

		out = bits >> (is_left ? width - 1 : 0) & 1;
		bits = is_left ? bits << 1 | in : bits >> 1 | (uint64_t)in << (width - 1);
		bits &= mask;
	}
	f->r->no_carry = out;
	f->r->no_overflow |= bits != 0;
	return fl_flow_put(f, 0, bits);
}

static void sign(const struct bytes_flow *f)
{
	bool has_none = f->r->gpr[CAP_RAX] >> (8 * f->m->lane - 1) & 1;

	fl_flow_put_register(f->r, CAP_RDX, f->m->lane, 0, has_none ? UINT64_MAX : 0);
}

static void put_status(struct bytes_regs *r, uint64_t bits)
{
	r->no_sign = bits >> 7 & 1;
	r->no_zero = bits >> 6 & 1;
	r->no_parity = bits >> 2 & 1;
	r->no_carry = bits & 1;
}

/* Between the flags and ah, which has no overflow, or the stack. */
static struct err *flags(const struct bytes_flow *f)
{
	struct bytes_regs *r = f->r;
	const struct dec_ref *to = fl_flow_memory(f->s, true),
			     *from = fl_flow_memory(f->s, false);
	uint64_t bits = r->no_sign << 7 | r->no_zero << 6 | r->no_parity << 2 |
			r->no_carry;

	switch (f->m->mnemonic) {
	case ZYDIS_MNEMONIC_LAHF:
		fl_flow_put_register(r, CAP_RAX, 1, 8, bits);
		return NULL;
	case ZYDIS_MNEMONIC_SAHF:
		put_status(r, r->gpr[CAP_RAX] >> 8);
		return NULL;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		bits |= (r->no_overflow && r->no_carry) << 11; // logic clears both
		return to && to->size <= 8 ?
			       fl_values_write(&f->w->values, to->addr,
					       (const uint8_t *)&bits, to->size) :
			       NULL;
	default:
		bits = 0;
		if (from && from->size <= 8)
			fl_values_read(&f->w->values, from->addr, (uint8_t *)&bits,
				       from->size);
		put_status(r, bits);
		r->no_overflow = r->no_sign || bits >> 11 & 1;
		return NULL;
	}
}

static uint64_t register_value(const struct bytes_flow *f, int reg)
{
	return fl_flow_value_in(fl_flow_register(f->s, reg, false), f->m->lane);
}

/* If rdx and rax have what is there, rcx and rbx are put there, otherwise that into those. */
static struct err *exchange_two(const struct bytes_flow *f)
{
	static const uint8_t with[] = { CAP_RAX, CAP_RDX }, from[] = { CAP_RBX, CAP_RCX };
	const struct dec_ref *is = fl_flow_memory(f->s, false);
	const struct dec_ref *to = fl_flow_memory(f->s, true);
	bool are_alike = true, differ = false, any = false;
	unsigned bytes = f->m->lane;
	uint64_t bits[2] = {}, mask = fl_flow_mask_of(bytes), value;
	uint8_t ret[16] = {};

	if (!is || !is->has_value || is->size != 2 * bytes)
		return fl_flow_other(f);
	for (int i = 0; i < 2; i++) {
		uint64_t lacks;

		fl_values_read(&f->w->values, is->addr + i * bytes, (uint8_t *)&bits[i],
			       bytes);
		value = 0;
		memcpy(&value, is->value + i * bytes, bytes);
		value ^= register_value(f, with[i]);
		lacks = (bits[i] | f->r->gpr[with[i]]) & mask;
		are_alike &= !value;
		differ |= value & ~lacks;
		any |= lacks;
		lacks = f->r->gpr[from[i]] & mask;
		memcpy(ret + i * bytes, &lacks, bytes);
	}
	f->r->no_zero = any && !differ;
	if (are_alike)
		return to ? fl_values_write(&f->w->values, to->addr, ret, 2 * bytes) :
			    NULL;
	for (int i = 0; i < 2; i++)
		fl_flow_put_register(f->r, with[i], bytes, 0, bits[i]);
	return NULL;
}

/* ---- strings ------------------------------------------------------------------------------------ */

static struct err *string_load(const struct bytes_flow *f)
{
	const struct dec_ref *from = fl_flow_memory(f->s, false);
	unsigned bytes = f->s->insn->mem[0].size;
	const struct insn_model m = {
		.op[0] = { .kind = MODEL_GPR, .reg = CAP_RAX, .bytes = bytes }
	};
	const struct bytes_flow to = { f->w, f->r, f->s, &m };
	uint64_t bits = 0;

	if (from && from->size >= bytes) // of a repeated one the last
		fl_values_read(&f->w->values, from->addr + from->size - bytes,
			       (uint8_t *)&bits, bytes);
	return fl_flow_put(&to, 0, bits);
}

/* What is compared: a register, or memory, which may be of many elements. */
struct compared {
	const struct dec_ref *memory;
	uint64_t bits, value;
};

/* @return how many elements of @p bytes there are; 0: that is not known. */
static uint64_t take_operands(const struct bytes_flow *f, struct compared c[2],
			      unsigned bytes)
{
	bool is_cmps = f->s->insn->n_mem == 2;
	uint64_t n = 0;

	c[0].bits = f->r->gpr[CAP_RAX] & fl_flow_mask_of(bytes);
	c[0].value = fl_flow_value_in(fl_flow_register(f->s, CAP_RAX, false), bytes);
	c[1].memory = NULL;
	c[0].memory = NULL;
	for (size_t i = 0; i < f->s->n_refs; i++) {
		const struct dec_ref *r = &f->s->refs[i];

		if (!r->is_mem || r->is_def)
			continue;
		if (!r->has_value || (n && r->size / bytes != n))
			return 0;
		c[is_cmps && !n ? 0 : 1].memory = r;
		n = r->size / bytes;
	}
	return c[1].memory ? n : 0;
}

static void take_element(const struct bytes_flow *f, struct compared *c, uint64_t at,
			 unsigned bytes)
{
	if (!c->memory)
		return;
	c->bits = c->value = 0;
	fl_values_read(&f->w->values, c->memory->addr + at, (uint8_t *)&c->bits, bytes);
	memcpy(&c->value, c->memory->value + at, bytes);
}

bool fl_bits_is_end_unknown(const struct bytes_flow *f)
{
	unsigned bytes = f->s->insn->n_mem ? f->s->insn->mem[0].size : 0;
	struct compared c[2];
	uint64_t n = f->m->family == MODEL_STRING_COMPARE && f->s->insn->is_rep ?
			     take_operands(f, c, bytes) :
			     0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t any;

		take_element(f, &c[0], i * bytes, bytes);
		take_element(f, &c[1], i * bytes, bytes);
		any = c[0].bits | c[1].bits;
		if (any && !((c[0].value ^ c[1].value) & ~any))
			return true;
	}
	return false;
}

/* scas, cmps. Of such that are repeated it is told where they end without a value, and the flags have one then. */
static struct err *string_compare(const struct bytes_flow *f)
{
	unsigned bytes = f->s->insn->mem[0].size;
	const struct insn_model m = { .op[0].bytes = bytes };
	const struct bytes_flow of = { f->w, f->r, f->s, &m };
	struct compared c[2];

	if (f->s->insn->is_rep || !take_operands(f, c, bytes))
		return fl_flow_other(f);
	take_element(f, &c[0], 0, bytes);
	take_element(f, &c[1], 0, bytes);
	fl_flow_put_compared(&of, c[0].value, c[0].bits, c[1].value, c[1].bits);
	return NULL;
}

struct err *fl_values_flow_bits(const struct bytes_flow *f)
{
	switch ((enum model_family)f->m->family) {
	case MODEL_BITS:
		return lowest_bit(f);
	case MODEL_BYTE_SWAP:
		return byte_swap(f);
	case MODEL_ZERO_HIGH:
		return zero_high(f);
	case MODEL_FIELD:
		return field(f);
	case MODEL_EXTRACT:
	case MODEL_DEPOSIT:
		return by_mask(f);
	case MODEL_TWO:
		return two(f);
	case MODEL_CARRY_ONE:
		return carry_one(f);
	case MODEL_BIT_TEST:
		return bit_test(f);
	case MODEL_THROUGH_CARRY:
		return through_carry(f);
	case MODEL_SIGN_OF:
		sign(f);
		return NULL;
	case MODEL_FLAGS:
		return flags(f);
	case MODEL_CMPXCHG_TWO:
		return exchange_two(f);
	case MODEL_STRING_LOAD:
		return string_load(f);
	case MODEL_STRING_COMPARE:
		return string_compare(f);
	default:
		return NULL;
	}
}
