// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_sites_int.h"

#include <string.h>

void sp_sites_deinit(struct sp_sites *p)
{
	for (size_t i = 0; i < p->probes.size; i++)
		vec_deinit(&p->probes.data[i].reads);
	vec_deinit(&p->probes);
	vec_deinit(&p->stores);
	sp_known_deinit(&p->known);
	free(p->given);
}

/* ---- candidates -------------------------------------------------------------------------- */

/** Blocks with something to do, and those next to them. */
static bool is_near(const struct sp_sites *p, const bool *has_work, uint32_t block)
{
	const struct sp_block *b = &p->f->blocks[block];

	if (has_work[block])
		return true;
	for (uint32_t e = 0; e < b->n_succ; e++)
		if (has_work[p->f->succs.data[b->succ_at + e]])
			return true;
	return false;
}

static struct err *find_candidates(const struct sp_sites *p, struct sites_candidates *c)
{
	_cleanup_free_ bool *has_work = calloc(p->f->n_blocks + 1, 1);
	size_t n = 0;

	if (!has_work)
		return &err_nomem;
	for (size_t i = 0; i < p->stores.size; i++)
		has_work[p->f->block_of[p->stores.data[i].insn]] |=
			!p->stores.data[i].is_done;
	for (size_t i = 0; i < p->f->n_insns; i++)
		n += p->f->insns[i].is_emulated;
	for (uint32_t i = 0; i < p->f->n_insns; i++) {
		uint32_t block = p->f->block_of[i], *slot;

		if (!p->f->insns[i].is_emulated || p->f->insns[i].is_unprobable ||
		    p->f->blocks[block].is_idle)
			continue;
		// Long functions: only what is close.
		if (n * p->f->n_insns * 12 > WORK_MAX && !is_near(p, has_work, block))
			continue;
		slot = vec_push(&c->insns);
		if (!slot)
			return &err_nomem;
		*slot = i;
	}
	c->words = p->stores.size / 64 + 1;
	c->covers = calloc((c->insns.size + 1) * c->words, 8);
	return c->covers ? NULL : &err_nomem;
}

/** What each candidate would do by itself. */
static struct err *try_candidates(struct sp_sites *p, struct sites_candidates *c)
{
	struct sp_known k;
	struct err *err = sp_known_init(&k, p->f, p->s);

	if (err)
		return err;
	sp_known_copy(&k, &p->known);
	for (size_t n = 0; n < c->insns.size; n++) {
		uint64_t *row = c->covers + n * c->words;
		uint32_t insn = c->insns.data[n];

		sp_known_grow(&k, insn);
		for (size_t i = 0; i < p->stores.size; i++) {
			const struct sites_store *s = &p->stores.data[i];

			if (!s->is_done &&
			    (sp_sites_in_window(s, insn) || sp_sites_follows(p, s, &k)))
				row[i / 64] |= 1ull << i % 64;
		}
		sp_known_shrink(&k, &p->known);
	}
	sp_known_deinit(&k);
	return NULL;
}

static size_t gain(const struct sp_sites *p, const uint64_t *row)
{
	size_t n = 0;

	for (size_t i = 0; i < p->stores.size; i++)
		n += !p->stores.data[i].is_done && row[i / 64] >> i % 64 & 1;
	return n;
}

/* ---- placing ------------------------------------------------------------------------------- */

struct err *sp_sites_add(struct sp_sites *p, uint32_t insn)
{
	struct sites_probe *probe = sp_sites_probe_at(p, insn);

	if (!probe) {
		probe = vec_push(&p->probes);
		if (!probe)
			return &err_nomem;
		probe->insn = insn;
	}
	p->given[insn] = SP_ALL_GPRS;
	sp_known_grow(&p->known, insn);
	return NULL;
}

/** Stores that the probe at @p insn can read back, and that do not follow otherwise. */
struct err *sp_sites_reads(struct sp_sites *p, uint32_t insn)
{
	struct sites_probe *probe = sp_sites_probe_at(p, insn);

	for (uint32_t i = 0; i < p->stores.size; i++) {
		struct sites_store *s = &p->stores.data[i];

		if (s->read_at != NOWHERE || !sp_sites_in_window(s, insn) ||
		    sp_sites_follows(p, s, &p->known) || probe->reads.size == SP_READS)
			continue;
		if (vec_add(&probe->reads, i))
			return &err_nomem;
		s->read_at = insn;
	}
	sp_sites_update(p);
	return NULL;
}

static struct err *place_greedily(struct sp_sites *p, struct sites_candidates *c)
{
	for (;;) {
		size_t best = SIZE_MAX;
		double best_ratio = 0;
		struct err *err;

		for (size_t n = 0; n < c->insns.size; n++) {
			size_t g = gain(p, c->covers + n * c->words);
			double ratio = g / sp_sites_price(p, c->insns.data[n]);

			if (g && ratio > best_ratio) {
				best_ratio = ratio;
				best = n;
			}
		}
		if (best == SIZE_MAX)
			return NULL;
		err = sp_sites_add(p, c->insns.data[best]);
		err = err ?: sp_sites_reads(p, c->insns.data[best]);
		if (err)
			return err;
		// Reads are limited: it may not do more a second time.
		memset(c->covers + best * c->words, 0, c->words * 8);
	}
}

static struct err *place_each(struct sp_sites *p)
{
	for (size_t i = 0; i < p->stores.size; i++)
		if (!p->f->insns[p->stores.data[i].insn].is_unprobable) {
			struct sites_probe *probe = vec_push(&p->probes);

			if (!probe)
				return &err_nomem;
			probe->insn = p->stores.data[i].insn;
			p->given[probe->insn] = SP_ALL_GPRS;
		}
	sp_known_compute(&p->known, p->given);
	return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void set_states(struct sp_sites *p, const struct sp_known *without)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct sites_store *s = &p->stores.data[i];

		s->state = !s->is_done			   ? SP_STORE_LOST :
			   s->is_copy			   ? SP_STORE_COPY :
			   sp_sites_follows(p, s, without) ? SP_STORE_FREE :
							     SP_STORE_SERVED;
	}
}

static bool is_all_done(const struct sp_sites *p)
{
	return !vec_find(&p->stores, s, !s->is_done);
}

#define ROUNDS_MAX 4

static struct err *place_wisely(struct sp_sites *p)
{
	struct sites_candidates c = {};
	struct err *err = find_candidates(p, &c);
	size_t n = SIZE_MAX;

	// What is placed makes others do more than they would do alone.
	for (int round = 0;
	     !err && round < ROUNDS_MAX && n != p->probes.size && !is_all_done(p);
	     round++) {
		n = p->probes.size;
		memset(c.covers, 0, c.insns.size * c.words * 8);
		err = try_candidates(p, &c);
		err = err ?: place_greedily(p, &c);
	}
	err = err ?: sp_sites_leftovers(p, &c);
	err = err ?: sp_sites_stepped(p);
	vec_deinit(&c.insns);
	free(c.covers);
	return err;
}

static struct err *place_all(struct sp_sites *p, const struct sp_options *o,
			     struct sp_known *k)
{
	struct err *err;

	sp_known_compute(&p->known, NULL);
	sp_sites_update(p);
	err = o->is_naive ? place_each(p) : place_wisely(p);
	if (err)
		return err;
	sp_sites_update(p);
	if (!o->is_naive)
		sp_sites_prune(p, k);
	sp_known_compute(&p->known, p->given);
	sp_known_compute(k, NULL);
	set_states(p, k);
	return NULL;
}

struct err *sp_sites_choose(const struct sp_function *f, const struct sp_steps *s,
			    const struct sp_options *o, struct sp_sites *ret)
{
	struct err *err;
	struct sp_known k = {};

	*ret = (struct sp_sites){ .f = f, .s = s };
	ret->given = calloc(f->n_insns + 1, sizeof(*ret->given));
	err = ret->given ? sp_known_init(&ret->known, f, s) : &err_nomem;
	err = err ?: sp_known_init(&k, f, s);
	err = err ?: sp_sites_find_stores(ret, o);
	if (!err && ret->stores.size)
		err = place_all(ret, o, &k);
	sp_known_deinit(&k);
	if (err)
		sp_sites_deinit(ret);
	return err;
}
