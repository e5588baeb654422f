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

#define LIVE_REFS 256 // more than any instruction has

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

static uint32_t live(const void *state)
{
	const struct bytes_regs *r = &((const struct live *)state)->thread.regs;
	uint32_t ret = r->live;

	if (!fl_has_flags(r))
		ret |= 1u << BLANK_FLAGS;
	for (uint32_t v = r->vec_live; v; v &= v - 1)
		ret |= dec_blank_vector(__builtin_ctz(v));
	return ret;
}

static void define(void *state, int reg)
{
	struct live *l = state;

	if (reg < 0)
		l->thread.regs = (struct bytes_regs){};
	else
		fl_values_put_gpr(&l->thread.regs, reg, 0);
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
	.define = define,
	.keep = keep,
	.bring = bring,
};

bool fl_live_is_there(void)
{
	return ops.create != NULL;
}
