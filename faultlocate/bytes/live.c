// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The same as values.c while the program is replayed (decode/translator/blank.h), without a log: there the instructions
 * come that have to do with something that has no value, and no others. Bits of memory are where emitted
 * code has them. Nothing is told but that something is to be told.
 */
#include "faultlocate/bytes/live.h"

#include <assert.h>
#include <string.h>

#include "faultlocate/bytes/values_int.h"

#define GPRS ((1u << DEC_GPRS) - 1)
#define LIVE_REFS 256 // more than any instruction has

_Static_assert((int)BYTES_MASKS == (int)BLANK_MASKS && (int)BYTES_X87 == (int)BLANK_X87,
	       "registers have the same bits");

struct live {
	struct bytes_walk walk;
	struct bytes_thread thread;
	struct fl_bytes_events events;
	struct dec_ref ref[LIVE_REFS];
	bool is_used;
};

static struct err *on_use(void *ctx, const struct fl_bytes_place *p,
			  enum fl_bytes_use use, uint64_t addr)
{
	struct live *l = ctx;

	(void)p, (void)use, (void)addr;
	l->is_used = true;
	return NULL;
}

static void *create(int64_t off)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->events = (struct fl_bytes_events){ .ctx = l, .use = on_use };
	l->walk.events = &l->events;
	l->walk.thread = &l->thread;
	l->walk.is_live = true;
	l->walk.values.shadow = off;
	return l;
}

/* What cannot be kept is looked at in the log. */
static bool step(void *state, const struct blank_step *b)
{
	struct live *l = state;
	struct dec_step s = { .insn = b->insn, .refs = l->ref, .gpr = b->gpr };
	struct err *err;

	for (; s.n_refs < b->n_refs; s.n_refs++) {
		const struct blank_ref *r = &b->refs[s.n_refs];

		assert(s.n_refs < LIVE_REFS);
		l->ref[s.n_refs] = (struct dec_ref){ .is_def = r->is_def,
						     .is_mem = r->is_mem,
						     .has_value = r->value,
						     .reg = r->reg,
						     .addr = r->addr,
						     .size = r->size,
						     .value = r->value };
	}
	l->is_used = false;
	l->thread.regs.rsp = b->before[CAP_RSP];
	memcpy(l->thread.gpr, b->before, sizeof(l->thread.gpr));
	err = fl_values_step(&l->walk, &s, b->is_quiet);
	l->is_used |= err != NULL;
	err_destroy(err);
	return l->is_used;
}

static void live(const void *state, struct blank_regs *ret, struct blank_bits *bits)
{
	const struct bytes_regs *r = &((const struct live *)state)->thread.regs;

	*ret = (struct blank_regs){
		.own = r->live | (uint32_t)!fl_has_flags(r) << BLANK_FLAGS,
	};
	for (uint32_t left = r->live & GPRS; left; left &= left - 1)
		bits->gpr[__builtin_ctz(left)] = r->gpr[__builtin_ctz(left)];
	for (uint32_t left = r->vec_live; left; left &= left - 1) {
		int v = __builtin_ctz(left);
		uint64_t words[8], high = 0;

		memcpy(words, r->vec[v], sizeof(words));
		memcpy(bits->vec[v], words, sizeof(words));
		for (int k = 1; k < 8; k++)
			high |= words[k];
		ret->low |= (uint32_t)(words[0] != 0) << v;
		ret->high |= (uint32_t)(high != 0) << v;
	}
}

static void settle_vector(struct bytes_regs *r, int v, const uint8_t bits[64],
			  bool has_low, bool has_high)
{
	static const uint8_t none[64];

	memcpy(r->vec[v], has_low ? bits : none, 8);
	memcpy(r->vec[v] + 8, has_high ? bits + 8 : none, 56);
}

static void settle(void *state, const struct blank_regs *now,
		   const struct blank_bits *bits)
{
	struct bytes_regs *r = &((struct live *)state)->thread.regs;
	uint32_t own = now->own & GPRS, vec = now->low | now->high;

	for (uint32_t left = (r->live & GPRS) | own; left; left &= left - 1) {
		int reg = __builtin_ctz(left);

		fl_values_put_gpr(r, reg, own >> reg & 1 ? bits->gpr[reg] : 0);
	}
	if (!(now->own >> BLANK_FLAGS & 1))
		fl_flow_clear_flags(r);
	for (uint32_t left = r->vec_live | vec; left; left &= left - 1) {
		int v = __builtin_ctz(left);

		settle_vector(r, v, bits->vec[v], now->low >> v & 1, now->high >> v & 1);
	}
	for (int k = 0; k < 8; k++)
		if (!(now->own >> (BLANK_MASKS + k) & 1))
			fl_values_put_mask(r, k, 0);
	if (!(now->own >> BLANK_X87 & 1))
		fl_values_clear_x87(r);
	r->vec_live = vec;
}

static void *keep(const void *state, void *room)
{
	const struct live *l = state;
	struct bytes_regs *kept = room ?: malloc(sizeof(*kept));

	if (kept)
		*kept = l->thread.regs;
	return kept;
}

static void bring(void *state, const void *kept)
{
	((struct live *)state)->thread.regs = *(const struct bytes_regs *)kept;
}

static const struct dec_blank_ops ops DEC_BLANK_OPS = {
	.create = create,
	.step = step,
	.live = live,
	.settle = settle,
	.keep = keep,
	.bring = bring,
};

bool fl_live_is_there(void)
{
	return ops.create != NULL;
}
