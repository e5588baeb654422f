// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_known.h"

#include <string.h>

#define ALL (~(sp_set)0)
#define PASSES_MAX 8

void sp_known_deinit(struct sp_known *k)
{
	free(k->at);
	free(k->edge);
	free(k->has_no_end);
	free(k->is_outside);
	free(k->region);
}

static void find_endless(struct sp_known *k)
{
	const struct sp_function *f = k->f;
	bool has_changed = true;

	for (size_t b = 0; b < f->n_blocks; b++)
		k->has_no_end[b] = f->blocks[b].n_succ && !f->blocks[b].leaves;
	while (has_changed) {
		has_changed = false;
		for (size_t b = f->n_blocks; b--;)
			for (uint32_t e = 0; k->has_no_end[b] && e < f->blocks[b].n_succ;
			     e++)
				if (!k->has_no_end[f->succs.data[f->blocks[b].succ_at +
								 e]]) {
					k->has_no_end[b] = false;
					has_changed = true;
				}
	}
}

struct err *sp_known_init(struct sp_known *k, const struct sp_function *f,
			  const struct sp_steps *s)
{
	*k = (struct sp_known){ .f = f, .s = s };
	k->at = calloc(f->n_insns + 1, sizeof(*k->at));
	k->edge = calloc(f->n_blocks + 1, sizeof(*k->edge));
	k->has_no_end = calloc(f->n_blocks + 1, sizeof(*k->has_no_end));
	k->is_outside = calloc(f->n_blocks + 1, sizeof(*k->is_outside));
	k->region = calloc(f->n_blocks + 1, sizeof(*k->region));
	if (!k->at || !k->edge || !k->has_no_end || !k->is_outside || !k->region) {
		sp_known_deinit(k);
		return &err_nomem;
	}
	find_endless(k);
	return NULL;
}

/** By the end of block @p b when going forward; outside the region it is established. */
static sp_set end_of(const struct sp_known *k, uint32_t b)
{
	uint32_t last = k->f->blocks[b].end - 1;

	return k->is_outside[b] ? sp_step_forward(&k->s->step[last], k->at[last]) :
				  k->edge[b];
}

/** By its beginning when going backward. */
static sp_set beginning_of(const struct sp_known *k, uint32_t b)
{
	return k->is_outside[b] ? k->at[k->f->blocks[b].first] : k->edge[b];
}

/** What is known at the beginning of block @p b, by the ends of those before. */
static sp_set meet_before(const struct sp_known *k, const struct sp_block *b)
{
	sp_set v = b->entry == SP_ENTRY_NONE ? ALL : SP_BIT(CAP_RSP);

	for (uint32_t e = 0; e < b->n_pred; e++) {
		uint32_t from = k->f->preds.data[b->pred_at + e];

		if (!k->f->blocks[from].is_idle)
			v &= end_of(k, from);
	}
	return v;
}

static sp_set through(const struct sp_known *k, const struct sp_block *b, sp_set v)
{
	for (uint32_t i = b->first; i < b->end; i++)
		v = sp_step_forward(&k->s->step[i], v | k->at[i]);
	return v;
}

static bool forward(struct sp_known *k)
{
	bool has_changed = true, has_more = false;

	for (size_t r = 0; r < k->n_region; r++)
		k->edge[k->region[r]] = ALL;
	while (has_changed) {
		has_changed = false;
		for (size_t r = 0; r < k->n_region; r++) {
			const struct sp_block *block = &k->f->blocks[k->region[r]];
			sp_set v = through(k, block, meet_before(k, block));

			has_changed |= v != k->edge[k->region[r]];
			k->edge[k->region[r]] = v;
		}
	}
	for (size_t r = 0; r < k->n_region; r++) {
		const struct sp_block *block = &k->f->blocks[k->region[r]];
		sp_set v = meet_before(k, block);

		for (uint32_t i = block->first; i < block->end; i++) {
			has_more |= (v & ~k->at[i]) != 0;
			v = k->at[i] |= v;
			v = sp_step_forward(&k->s->step[i], v);
		}
	}
	return has_more;
}

/** What is known at the end of block @p b, by the beginnings of those behind it. */
static sp_set meet_behind(const struct sp_known *k, size_t b)
{
	const struct sp_block *block = &k->f->blocks[b];
	sp_set v = block->leaves || !block->n_succ || k->has_no_end[b] ? 0 : ALL;

	for (uint32_t e = 0; v && e < block->n_succ; e++)
		v &= beginning_of(k, k->f->succs.data[block->succ_at + e]);
	return v;
}

static sp_set back_through(const struct sp_known *k, const struct sp_block *b, sp_set v)
{
	for (uint32_t i = b->end; i-- > b->first;)
		v = sp_step_backward(&k->s->step[i], v) | k->at[i];
	return v;
}

static bool backward(struct sp_known *k)
{
	bool has_changed = true, has_more = false;

	for (size_t r = 0; r < k->n_region; r++)
		k->edge[k->region[r]] = ALL;
	while (has_changed) {
		has_changed = false;
		for (size_t r = k->n_region; r--;) {
			uint32_t b = k->region[r];
			sp_set v = back_through(k, &k->f->blocks[b], meet_behind(k, b));

			has_changed |= v != k->edge[b];
			k->edge[b] = v;
		}
	}
	for (size_t r = 0; r < k->n_region; r++) {
		const struct sp_block *block = &k->f->blocks[k->region[r]];
		sp_set v = meet_behind(k, k->region[r]);

		for (uint32_t i = block->end; i-- > block->first;) {
			v = sp_step_backward(&k->s->step[i], v);
			has_more |= (v & ~k->at[i]) != 0;
			v = k->at[i] |= v;
		}
	}
	return has_more;
}

static void take_turns(struct sp_known *k)
{
	forward(k);
	for (int pass = 0; pass < PASSES_MAX; pass++)
		if (!backward(k) || !forward(k))
			break;
}

void sp_known_compute(struct sp_known *k, const sp_set *given)
{
	size_t bytes = k->f->n_insns * sizeof(*k->at);

	if (given)
		memcpy(k->at, given, bytes);
	else
		memset(k->at, 0, bytes);
	k->n_region = 0;
	for (size_t b = 0; b < k->f->n_blocks; b++) {
		k->is_outside[b] = k->f->blocks[b].is_idle;
		if (!k->f->blocks[b].is_idle)
			k->region[k->n_region++] = b;
	}
	take_turns(k);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_to_region(struct sp_known *k, uint32_t b)
{
	if (k->n_region == SP_REGION_BLOCKS || !k->is_outside[b] ||
	    k->f->blocks[b].is_idle)
		return;
	k->is_outside[b] = false;
	k->region[k->n_region++] = b;
}

/** Blocks around @p middle, the nearest first, along edges of both directions. */
static void find_region(struct sp_known *k, uint32_t middle)
{
	memset(k->is_outside, true, k->f->n_blocks);
	k->n_region = 0;
	add_to_region(k, middle);
	for (size_t r = 0; r < k->n_region; r++) {
		const struct sp_block *b = &k->f->blocks[k->region[r]];

		for (uint32_t e = 0; e < b->n_pred; e++)
			add_to_region(k, k->f->preds.data[b->pred_at + e]);
		for (uint32_t e = 0; e < b->n_succ; e++)
			add_to_region(k, k->f->succs.data[b->succ_at + e]);
	}
	qsort(k->region, k->n_region, sizeof(*k->region), by_number);
}

void sp_known_grow(struct sp_known *k, uint32_t at)
{
	find_region(k, k->f->block_of[at]);
	k->at[at] |= SP_ALL_GPRS;
	take_turns(k);
}

void sp_known_shrink(struct sp_known *k, const struct sp_known *base)
{
	for (size_t r = 0; r < k->n_region; r++) {
		const struct sp_block *b = &k->f->blocks[k->region[r]];

		memcpy(k->at + b->first, base->at + b->first,
		       (b->end - b->first) * sizeof(*k->at));
	}
}

void sp_known_copy(struct sp_known *k, const struct sp_known *base)
{
	memcpy(k->at, base->at, k->f->n_insns * sizeof(*k->at));
}
