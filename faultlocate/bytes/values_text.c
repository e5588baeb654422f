// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * .. of pcmpistri and the like, which compare texts: what lies behind the end of one counts for nothing, and so they
 * are used to read over it.
 */
#include "faultlocate/bytes/values_int.h"

#include "decode/x86/zydis.h"

enum { FROM_ANY, FROM_RANGES, FROM_EACH, FROM_ORDER };

/* What is true, false, or not known: bits of what may be. */
enum { NO = 1, YES = 2 };

struct text {
	uint8_t value[VECTOR_BYTES], lacks[VECTOR_BYTES];
	unsigned n;	     ///< elements before its end
	bool is_n_unknown;   ///< so there are at least n
	bool is_end_unknown; ///< .. nor whether it ends at all
};

struct texts {
	struct text a, b;
	unsigned control, bytes, n; ///< of an element; how many a register has
};

static int64_t element(const struct texts *x, const struct text *t, unsigned i)
{
	int64_t v = 0;

	memcpy(&v, t->value + i * x->bytes, x->bytes);
	if (!(x->control & 2))
		return v;
	return x->bytes == 1 ? (int8_t)v : (int16_t)v;
}

static bool is_known(const struct texts *x, const struct text *t, unsigned i)
{
	return !fl_vector_any(t->lacks + i * x->bytes, x->bytes);
}

/* Is it a zero, which ends the text? */
static int is_end(const struct texts *x, const struct text *t, unsigned i)
{
	const uint8_t *value = t->value + i * x->bytes, *lacks = t->lacks + i * x->bytes;
	unsigned any = 0;

	for (unsigned k = 0; k < x->bytes; k++)
		any |= value[k] & ~lacks[k];
	return any ? NO : is_known(x, t, i) ? YES : NO | YES;
}

static void find_end(const struct texts *x, struct text *t)
{
	bool has_end = false;

	for (unsigned i = 0; i < x->n; i++) {
		int ends = is_end(x, t, i);

		if (!t->is_n_unknown && ends == NO)
			t->n = i + 1;
		t->is_n_unknown |= ends == (NO | YES) && !has_end;
		has_end |= ends == YES;
		if (has_end)
			break;
	}
	t->is_end_unknown = t->is_n_unknown && !has_end;
}

/* The lengths are in eax and edx, or rax and rdx; what is more than a register has is as much. */
static void take_length(const struct bytes_flow *f, const struct texts *x, struct text *t,
			int reg)
{
	bool is_wide = dec_insn_is_wide(f->s->insn);
	int64_t n = fl_flow_value_in(fl_flow_register(f->s, reg, false), 8);

	if (!is_wide)
		n = (int32_t)n;
	t->n = n <= -(int64_t)x->n || n >= (int64_t)x->n ? x->n : n < 0 ? -n : n;
	t->is_n_unknown = t->is_end_unknown = f->r->gpr[reg] &
					      fl_flow_mask_of(is_wide ? 8 : 4);
}

static int compared(const struct texts *x, unsigned i, unsigned j)
{
	const struct text *a = &x->a, *b = &x->b;
	bool differ = false, are_known = is_known(x, a, i) && is_known(x, b, j);

	for (unsigned k = 0; k < x->bytes; k++) {
		unsigned p = i * x->bytes + k, q = j * x->bytes + k;

		differ |= (a->value[p] ^ b->value[q]) & ~(a->lacks[p] | b->lacks[q]);
	}
	return differ ? NO : are_known ? YES : NO | YES;
}

/* Element @p j of the second text lies between elements @p i and the next one of the first. */
static int is_between(const struct texts *x, unsigned i, unsigned j)
{
	int64_t v = element(x, &x->b, j);

	if (!is_known(x, &x->b, j) || !is_known(x, &x->a, i) ||
	    !is_known(x, &x->a, i + 1))
		return NO | YES;
	return v >= element(x, &x->a, i) && v <= element(x, &x->a, i + 1) ? YES : NO;
}

static int both(int p, int q)
{
	return ((p | q) & NO) | (p & q & YES);
}

static int either(int p, int q)
{
	return (p & q & NO) | ((p | q) & YES);
}

static int aggregate(const struct texts *x, unsigned j)
{
	unsigned how = x->control >> 2 & 3;
	int ret = how == FROM_ORDER ? YES : NO;

	switch (how) {
	case FROM_ANY:
		for (unsigned i = 0; i < x->a.n && j < x->b.n; i++)
			ret = either(ret, compared(x, i, j));
		return ret;
	case FROM_RANGES:
		for (unsigned i = 0; i + 1 < x->a.n && j < x->b.n; i += 2)
			ret = either(ret, is_between(x, i, j));
		return ret;
	case FROM_EACH:
		return j < x->a.n && j < x->b.n ? compared(x, j, j) :
		       j < x->a.n || j < x->b.n ? NO :
						  YES;
	default:
		for (unsigned i = 0; i < x->a.n && i + j < x->n; i++)
			ret = both(ret, i + j < x->b.n ? compared(x, i, i + j) : NO);
		return ret;
	}
}

/* @return which bits of the result are known to be ones; *@p lacks: which are not known. */
static uint64_t result_of(const struct texts *x, uint64_t *lacks)
{
	uint64_t ones = 0;

	*lacks = x->a.is_n_unknown || x->b.is_n_unknown ? (UINT64_C(1) << x->n) - 1 : 0;
	for (unsigned j = 0; j < x->n && !*lacks; j++)
		ones |= (uint64_t)(aggregate(x, j) == YES) << j;
	for (unsigned j = 0; j < x->n && !(x->a.is_n_unknown || x->b.is_n_unknown); j++)
		*lacks |= (uint64_t)(aggregate(x, j) == (NO | YES)) << j;
	if (x->control & 0x10) // those of the second text, or all, the other way round
		ones ^= x->control & 0x20 && !x->b.is_n_unknown ?
				(UINT64_C(1) << x->b.n) - 1 :
				(UINT64_C(1) << x->n) - 1;
	return ones & ~*lacks;
}

static struct err *put_mask(const struct bytes_flow *f, const struct texts *x,
			    uint64_t lacks)
{
	const struct insn_model m = { .family = MODEL_VEC_COPY,
				      .op[0] = { .kind = MODEL_VEC, .bytes = 16 },
				      .clears = f->s->insn->is_vex ? 64 : 16 };
	const struct bytes_flow to = { f->w, f->r, f->s, &m };
	uint8_t bits[VECTOR_BYTES] = {};

	memcpy(bits, &lacks, 2);
	for (unsigned i = 0; i < x->n && x->control & 0x40; i++)
		memset(bits + i * x->bytes, lacks >> i & 1 ? 0xff : 0, x->bytes);
	return fl_vector_put(&to, bits, 16);
}

/* The number of the lowest, or highest, bit that is set. */
static void put_index(const struct bytes_flow *f, const struct texts *x, uint64_t ones,
		      uint64_t lacks)
{
	bool is_unknown = x->control & 0x40 ? lacks > ones :
					      (lacks & -lacks) < (ones & -ones) || !ones;

	fl_values_put_gpr(f->r, CAP_RCX, lacks && is_unknown ? 0x1f : 0);
}

struct err *fl_values_flow_text(const struct bytes_flow *f)
{
	uint16_t m = f->m->mnemonic;
	bool has_lengths =
		m == ZYDIS_MNEMONIC_PCMPESTRI || m == ZYDIS_MNEMONIC_PCMPESTRM ||
		m == ZYDIS_MNEMONIC_VPCMPESTRI || m == ZYDIS_MNEMONIC_VPCMPESTRM;
	bool is_mask = m == ZYDIS_MNEMONIC_PCMPISTRM || m == ZYDIS_MNEMONIC_VPCMPISTRM ||
		       m == ZYDIS_MNEMONIC_PCMPESTRM || m == ZYDIS_MNEMONIC_VPCMPESTRM;
	struct texts x = { .control = f->m->op[f->m->n - 1].imm };
	uint64_t ones, lacks;

	x.bytes = x.control & 1 ? 2 : 1;
	x.n = 16 / x.bytes;
	fl_vector_bits(f, 0, x.a.lacks);
	fl_vector_bits(f, 1, x.b.lacks);
	fl_vector_value(f, 0, x.a.value);
	fl_vector_value(f, 1, x.b.value);
	if (has_lengths) {
		take_length(f, &x, &x.a, CAP_RAX);
		take_length(f, &x, &x.b, CAP_RDX);
	} else {
		find_end(&x, &x.a);
		find_end(&x, &x.b);
	}
	ones = result_of(&x, &lacks);
	fl_flow_clear_flags(f->r);
	f->r->no_carry = lacks && !ones;
	f->r->no_zero = x.b.is_end_unknown;
	f->r->no_sign = x.a.is_end_unknown;
	f->r->no_overflow = lacks & 1;
	if (is_mask)
		return put_mask(f, &x, lacks);
	put_index(f, &x, ones, lacks);
	return NULL;
}
