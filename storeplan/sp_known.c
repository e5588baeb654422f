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
	if (!k->at || !k->edge || !k->has_no_end) {
		sp_known_deinit(k);
		return &err_nomem;
	}
	find_endless(k);
	return NULL;
}

/** What is known at the beginning of block @p b, by the ends of those before. */
static sp_set meet_before(const struct sp_known *k, const struct sp_block *b)
{
	sp_set v = b->entry == SP_ENTRY_NONE ? ALL : SP_BIT(SP_RSP);

	for (uint32_t e = 0; e < b->n_pred; e++)
		v &= k->edge[k->f->preds.data[b->pred_at + e]];
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
	const struct sp_function *f = k->f;
	bool has_changed = true, has_more = false;

	for (size_t b = 0; b < f->n_blocks; b++)
		k->edge[b] = ALL;
	while (has_changed) {
		has_changed = false;
		for (size_t b = 0; b < f->n_blocks; b++) {
			const struct sp_block *block = &f->blocks[b];
			sp_set v;

			if (block->is_idle)
				continue;
			v = through(k, block, meet_before(k, block));
			has_changed |= v != k->edge[b];
			k->edge[b] = v;
		}
	}
	for (size_t b = 0; b < f->n_blocks; b++) {
		const struct sp_block *block = &f->blocks[b];
		sp_set v = block->is_idle ? 0 : meet_before(k, block);

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
		v &= k->edge[k->f->succs.data[block->succ_at + e]];
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
	const struct sp_function *f = k->f;
	bool has_changed = true, has_more = false;

	for (size_t b = 0; b < f->n_blocks; b++)
		k->edge[b] = ALL;
	while (has_changed) {
		has_changed = false;
		for (size_t b = f->n_blocks; b--;) {
			sp_set v = back_through(k, &f->blocks[b], meet_behind(k, b));

			has_changed |= v != k->edge[b];
			k->edge[b] = v;
		}
	}
	for (size_t b = 0; b < f->n_blocks; b++) {
		const struct sp_block *block = &f->blocks[b];
		sp_set v = meet_behind(k, b);

		for (uint32_t i = block->end; i-- > block->first;) {
			v = sp_step_backward(&k->s->step[i], v);
			has_more |= (v & ~k->at[i]) != 0;
			v = k->at[i] |= v;
		}
	}
	return has_more;
}

void sp_known_compute(struct sp_known *k, const sp_set *given, size_t extra_at)
{
	size_t bytes = k->f->n_insns * sizeof(*k->at);

	if (given)
		memcpy(k->at, given, bytes);
	else
		memset(k->at, 0, bytes);
	if (extra_at != SIZE_MAX)
		k->at[extra_at] |= SP_ALL_GPRS;
	forward(k);
	for (int pass = 0; pass < PASSES_MAX; pass++)
		if (!backward(k) || !forward(k))
			break;
}
