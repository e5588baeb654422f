// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the rules of dec_recover share: arithmetic on bits of which some are known, a step's
 * operands, flags and conditions. Private to dec_recover_*.c.
 */
#ifndef DECODE_PAST_RECOVER_RULES_H
#define DECODE_PAST_RECOVER_RULES_H

#include "decode/past/recover_int.h"

enum {
	RULE_CF = 1,
	RULE_PF = 4,
	RULE_AF = 16,
	RULE_ZF = 64,
	RULE_SF = 128,
	RULE_OF = 0x800
};

/* ---- bits ---------------------------------------------------------------------------------- */

/* How many bits from 0 on are known in both. */
static inline unsigned low_run(uint64_t a, uint64_t b)
{
	uint64_t unknown = ~(a & b);

	return unknown ? __builtin_ctzll(unknown) : 64;
}

static inline struct past_bits bits_low(uint64_t v, unsigned n)
{
	uint64_t m = past_ones(n);

	return (struct past_bits){ v & m, m };
}

static inline struct past_bits bits_add(struct past_bits a, struct past_bits b)
{
	return bits_low(a.v + b.v, low_run(a.m, b.m));
}

static inline struct past_bits bits_sub(struct past_bits a, struct past_bits b)
{
	return bits_low(a.v - b.v, low_run(a.m, b.m));
}

static inline struct past_bits bits_mul(struct past_bits a, uint64_t factor)
{
	return bits_low(a.v * factor, low_run(a.m, UINT64_MAX));
}

/* @return x with x * odd == 1, by Newton: each step doubles the right bits. */
static inline uint64_t inverse_of(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* What a is when a * factor is r, in @p bits bits. */
static inline struct past_bits bits_unmul(struct past_bits r, uint64_t factor,
					  unsigned bits)
{
	unsigned run = low_run(r.m, past_ones(bits)), twos;

	if (!factor)
		return (struct past_bits){};
	twos = __builtin_ctzll(factor);
	if (twos >= run)
		return (struct past_bits){};
	return bits_low((r.v >> twos) * inverse_of(factor >> twos), run - twos);
}

static inline struct past_bits bits_within(struct past_bits a, unsigned bits)
{
	uint64_t m = past_ones(bits);

	return (struct past_bits){ a.v & m, a.m & m };
}

static inline bool is_all(struct past_bits a, unsigned bits)
{
	return (a.m & past_ones(bits)) == past_ones(bits);
}

static inline struct past_bits bits_join(struct past_bits a, struct past_bits b)
{
	return (struct past_bits){ a.v | (b.v & ~a.m), a.m | b.m };
}

static inline struct past_bits bits_xor(struct past_bits a, struct past_bits b)
{
	uint64_t m = a.m & b.m;

	return (struct past_bits){ (a.v ^ b.v) & m, m };
}

/* ---- operands ------------------------------------------------------------------------------- */

static inline struct past_bits node_get(const struct past_at *at, uint8_t slot)
{
	uint32_t node = slot == PAST_NONE ? PAST_NO_NODE : at->ref[slot];

	if (node == PAST_NO_NODE || (node & PAST_VEC))
		return (struct past_bits){};
	return at->r->bits.data[node];
}

static inline void node_put(const struct past_at *at, uint8_t slot, struct past_bits b)
{
	if (slot != PAST_NONE && b.m)
		dec_recover_learn(at->r, at->ref[slot], b);
}

static inline struct past_bits op_get(const struct past_at *at, int i, bool is_out)
{
	const struct past_operand *o = &at->form->op[i];
	struct past_bits b;

	if (o->type == PAST_OP_IMM)
		return bits_within(past_const(at->form->imm), at->form->op[0].bits);
	b = node_get(at, is_out ? o->out : o->in);
	b.v >>= o->shift;
	b.m >>= o->shift;
	return bits_within(b, o->bits);
}

static inline void op_put(const struct past_at *at, int i, bool is_out,
			  struct past_bits b)
{
	const struct past_operand *o = &at->form->op[i];

	if (o->type == PAST_OP_IMM)
		return;
	b = bits_within(b, o->bits);
	// 32-bit results and those in mask registers clear the rest.
	if (is_out && (o->type == PAST_OP_K || (o->type == PAST_OP_GPR && o->bits == 32)))
		b.m |= ~past_ones(o->bits);
	b.v <<= o->shift;
	b.m <<= o->shift;
	if (is_out && o->type == PAST_OP_K)
		b.m |= ~past_ones(o->bits);
	node_put(at, is_out ? o->out : o->in, b);
}

/* Bits @p m of both slots are the same. */
static inline void tie(const struct past_at *at, uint8_t a, uint8_t b, uint64_t m)
{
	struct past_bits x, y;

	if (a == PAST_NONE || b == PAST_NONE || !m)
		return;
	x = node_get(at, a);
	y = node_get(at, b);
	node_put(at, b, (struct past_bits){ x.v & m, x.m & m });
	node_put(at, a, (struct past_bits){ y.v & m, y.m & m });
}

/* ---- flags (recover_flags.c) --------------------------------------------------------- */

/** Learn flags that the step writes: those in @p m. */
void dec_recover_flags_put(const struct past_at *at, uint64_t v, uint64_t m);

/** @return the flag: 0, 1, or -1 when it is not known. */
int dec_recover_flag_of(struct past_bits flags, uint64_t flag);

/** ZF, SF and PF of result @p r, and back. @return what r is known to be, from them. */
struct past_bits dec_recover_flags_result(const struct past_at *at, struct past_bits r,
					  unsigned bits);

/** OF, AF and (@p has_carry) CF of a + b = r, or a - b = r. */
void dec_recover_flags_add(const struct past_at *at, struct past_bits a,
			   struct past_bits b, struct past_bits r, unsigned bits,
			   bool is_sub, bool has_carry);

/** @return whether condition code @p cc holds under flags @p f: 0, 1 or -1. */
int dec_recover_cond_of(struct past_bits f, int cc);

/** Condition @p cc is known to hold, or not: learn what that says of the flags read. */
void dec_recover_cond_put(const struct past_at *at, int cc, bool holds);

/* ---- rules --------------------------------------------------------------------------------- */

void dec_recover_rule_sum(const struct past_at *at, bool is_sub, bool has_result,
			  bool has_b);
void dec_recover_rule_neg(const struct past_at *at);
void dec_recover_rule_lea(const struct past_at *at);
void dec_recover_rule_imul(const struct past_at *at);
void dec_recover_rule_xadd(const struct past_at *at);
void dec_recover_rule_and(const struct past_at *at, bool has_result);
void dec_recover_rule_or(const struct past_at *at);
void dec_recover_rule_xor(const struct past_at *at);
void dec_recover_rule_not(const struct past_at *at);
void dec_recover_rule_shift(const struct past_at *at);

#endif
