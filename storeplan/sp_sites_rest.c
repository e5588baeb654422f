// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_sites_int.h"

static unsigned missing(const struct sp_sites *p, const struct sites_store *s,
			const struct sp_known *k)
{
	sp_set m = p->s->step[s->insn].needs & ~k->at[s->insn];

	return __builtin_popcountll(m) + __builtin_popcountll(m >> 64);
}

/** The cheapest candidate that makes more of what @p s needs known. */
static uint32_t find_partial(struct sp_sites *p, const struct sites_candidates *c,
			     const struct sites_store *s, struct sp_known *k)
{
	unsigned before = missing(p, s, &p->known), best_gain = 0;
	uint32_t best = NOWHERE;

	sp_known_copy(k, &p->known);
	for (size_t n = 0; n < c->insns.size; n++) {
		uint32_t insn = c->insns.data[n];
		unsigned gain;

		if (best_gain && sp_sites_price(p, insn) >= sp_sites_price(p, best))
			continue;
		sp_known_grow(k, insn);
		gain = before - missing(p, s, k);
		sp_known_shrink(k, &p->known);
		if (gain) {
			best = insn;
			best_gain = gain;
		}
	}
	return best;
}

#define JOINT_MAX 3

/** Several emulated probes together may give what @p s needs, each a part: when that is
 * cheaper than to step. */
static struct err *place_jointly(struct sp_sites *p, const struct sites_candidates *c,
				 struct sites_store *s, struct sp_known *k)
{
	uint32_t placed[JOINT_MAX];
	double sum = 0;
	int n = 0;

	while (!sp_sites_follows(p, s, &p->known) && n < JOINT_MAX) {
		uint32_t insn = find_partial(p, c, s, k);
		struct err *err;

		if (insn == NOWHERE || sp_sites_probe_at(p, insn))
			break;
		sum += sp_sites_price(p, insn);
		if (sum > sp_sites_price(p, s->insn))
			break;
		err = sp_sites_add(p, insn);
		if (err)
			return err;
		placed[n++] = insn;
	}
	if (!sp_sites_follows(p, s, &p->known))
		while (n--) {
			p->given[placed[n]] = 0;
			p->probes.size--;
		}
	sp_known_compute(&p->known, p->given);
	sp_sites_update(p);
	return NULL;
}

#define AROUND_MAX 8

/** The emulated instructions nearest to a store, one on each way. */
struct around {
	uint32_t insn[AROUND_MAX];
	int n;
	uint32_t seen[4 * AROUND_MAX]; ///< blocks
	int n_seen;
};

static bool is_place(const struct sp_sites *p, uint32_t i)
{
	return p->f->insns[i].is_emulated && !p->f->insns[i].is_unprobable;
}

/** Before instruction @p end of block @p b, and where there is none in the blocks that lead
 * there. @return false: some way has none, or there are too many ways. */
static bool look_before(const struct sp_sites *p, struct around *a, uint32_t b,
			uint32_t end)
{
	const struct sp_block *block = &p->f->blocks[b];

	for (uint32_t i = end; i-- > block->first;)
		if (is_place(p, i)) {
			if (a->n == AROUND_MAX)
				return false;
			a->insn[a->n++] = i;
			return true;
		}
	if (block->entry != SP_ENTRY_NONE)
		return false;
	for (uint32_t e = 0; e < block->n_pred; e++) {
		uint32_t from = p->f->preds.data[block->pred_at + e];
		bool is_seen = false;

		for (int k = 0; k < a->n_seen; k++)
			is_seen |= a->seen[k] == from;
		if (is_seen || p->f->blocks[from].is_idle)
			continue;
		if (a->n_seen == 4 * AROUND_MAX)
			return false;
		a->seen[a->n_seen++] = from;
		if (!look_before(p, a, from, p->f->blocks[from].end))
			return false;
	}
	return true;
}

/** Where ways meet just before a store, no single probe does; one on each way may. */
static void place_around(struct sp_sites *p, struct sites_store *s)
{
	struct around a = {};
	double sum = 0;
	int n_new = 0;

	if (!look_before(p, &a, p->f->block_of[s->insn], s->insn))
		return;
	for (int i = 0; i < a.n; i++)
		sum += sp_sites_probe_at(p, a.insn[i]) ? 0 : sp_sites_price(p, a.insn[i]);
	if (sum >= sp_sites_price(p, s->insn))
		return;
	for (int i = 0; i < a.n; i++)
		if (!sp_sites_probe_at(p, a.insn[i]) && !sp_sites_add(p, a.insn[i]))
			a.insn[n_new++] = a.insn[i];
	if (!sp_sites_follows(p, s, &p->known))
		while (n_new--) {
			p->given[a.insn[n_new]] = 0;
			p->probes.size--;
		}
	sp_known_compute(&p->known, p->given);
	sp_sites_update(p);
}

struct err *sp_sites_leftovers(struct sp_sites *p, const struct sites_candidates *c)
{
	struct sp_known k;
	struct err *err = sp_known_init(&k, p->f, p->s);

	if (err)
		return err;
	for (size_t i = 0; !err && i < p->stores.size; i++) {
		struct sites_store *s = &p->stores.data[i];

		if (!s->is_done && p->s->step[s->insn].has_value && !s->is_copy &&
		    c->insns.size * p->f->n_insns * 12 < WORK_MAX / 8)
			err = place_jointly(p, c, s, &k);
		if (!err && !s->is_done && p->s->step[s->insn].has_value && !s->is_copy)
			place_around(p, s);
	}
	sp_known_deinit(&k);
	return err;
}

/** No emulated instruction does it: one that is stepped, the store itself or one that is
 * behind it in its window. */
struct err *sp_sites_stepped(struct sp_sites *p)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct sites_store *s = &p->stores.data[i];
		const struct sp_step *st = &p->s->step[s->insn];
		struct err *err = NULL;

		if (!s->is_done && (st->has_value || s->is_copy) &&
		    !p->f->insns[s->insn].is_unprobable) {
			sp_set given = p->given[s->insn];
			size_t n = p->probes.size;

			err = sp_sites_add(p, s->insn);
			if (!err && !sp_sites_follows(p, s, &p->known) &&
			    n < p->probes.size) {
				p->probes.size--;
				p->given[s->insn] = given;
				sp_known_compute(&p->known, p->given);
			}
			sp_sites_update(p);
		}
		for (uint32_t at = s->insn + 1; !err && !s->is_done && at <= s->window;
		     at++) {
			if (p->f->insns[at].is_unprobable)
				continue;
			err = sp_sites_add(p, at);
			err = err ?: sp_sites_reads(p, at);
		}
		if (err)
			return err;
	}
	return NULL;
}
