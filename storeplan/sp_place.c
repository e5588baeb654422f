// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_place.h"

#include <string.h>

/// Instruction steps, for one function: for trying candidates that are not near a store, for
/// taking away probes, for taking away registers.
#define WORK_MAX 60000000u
#define PRUNE_WORK_MAX 20000000u
#define MASK_WORK_MAX 10000000u
#define NOWHERE UINT32_MAX

void placement_deinit(struct placement *p)
{
	for (size_t i = 0; i < p->probes.size; i++)
		vec_deinit(&p->probes.data[i].reads);
	vec_deinit(&p->probes);
	vec_deinit(&p->stores);
	sp_known_deinit(&p->known);
	free(p->given);
}

/* ---- stores --------------------------------------------------------------------------- */

static bool is_move_string(const struct sp_insn *i)
{
	return i->n_mem == 2 && i->mem[0].is_write && i->mem[1].is_read &&
	       i->mem[0].base == 7 && i->mem[1].base == 6 && i->writes & SP_BIT(7);
}

bool place_is_wanted(const struct sp_insn *i, const struct sp_step *st,
		     const struct sp_options *o)
{
	const struct sp_mem *m = sp_insn_store(i);

	if (!m || i->is_push || i->flow != SP_FLOW_NEXT)
		return false;
	// Where the frame is not known, rsp still says that it is the frame.
	return o->wants_frame || (!st->is_frame_store && m->base != SP_RSP);
}

/** May the store @p other change what @p m says? Only plain cases are told apart. */
static bool may_touch(const struct sp_insn *other, const struct sp_mem *m)
{
	for (int i = 0; i < other->n_mem; i++) {
		const struct sp_mem *w = &other->mem[i];

		if (!w->is_write)
			continue;
		if (w->is_odd || other->is_rep || w->base != m->base ||
		    w->index != m->index || w->scale != m->scale ||
		    w->is_fs != m->is_fs || w->is_absolute != m->is_absolute)
			return true;
		if (w->disp < m->disp + m->size && m->disp < w->disp + w->size)
			return true;
	}
	return other->is_other_write;
}

/** Up to where what @p s has stored can be read back: see place_store.window. */
static void find_window(const struct placement *p, struct place_store *s)
{
	const struct sp_function *f = p->f;
	const struct sp_insn *in = &f->insns[s->insn];
	const struct sp_mem *m = sp_insn_store(in);
	sp_set address = p->s->step[s->insn].address;
	uint32_t end = f->blocks[f->block_of[s->insn]].end;

	s->window = s->insn;
	if (m->is_odd || m->size > 64 || in->is_rep || in->is_other_write)
		return;
	if (is_move_string(in))
		s->read_shift = -m->size;
	else if (in->writes & address)
		return;
	// Into the one block that follows, too, where the next instruction is in it.
	if (s->insn + 1 == end) {
		const struct sp_block *b = &f->blocks[f->block_of[s->insn]];

		if (b->n_succ == 1 && !b->leaves &&
		    f->succs.data[b->succ_at] == f->block_of[s->insn] + 1)
			s->window = end;
		return;
	}
	for (uint32_t i = s->insn + 1; i < end; i++) {
		s->window = i;
		if (p->s->step[i].is_barrier || p->s->step[i].changed & address ||
		    may_touch(&f->insns[i], m))
			return;
	}
}

static struct err *find_stores(struct placement *p, const struct sp_options *o)
{
	for (uint32_t i = 0; i < p->f->n_insns; i++) {
		const struct sp_insn *in = &p->f->insns[i];
		struct place_store *s;

		if (p->f->blocks[p->f->block_of[i]].is_idle ||
		    !place_is_wanted(in, &p->s->step[i], o))
			continue;
		s = vec_push(&p->stores);
		if (!s)
			return &err_nomem;
		s->insn = i;
		s->read_at = NOWHERE;
		s->is_copy = in->is_rep && is_move_string(in);
		find_window(p, s);
	}
	return NULL;
}

static bool follows(const struct placement *p, const struct place_store *s,
		    const struct sp_known *k)
{
	const struct sp_step *st = &p->s->step[s->insn];
	sp_set needs = st->needs;

	if (s->is_copy)
		needs = SP_BIT(1) | SP_BIT(6) | SP_BIT(7);
	else if (!st->has_value || sp_insn_store(&p->f->insns[s->insn])->is_odd)
		return false;
	return !(needs & ~k->at[s->insn]);
}

static void update_done(struct placement *p)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct place_store *s = &p->stores.data[i];

		s->is_done = s->read_at != NOWHERE || follows(p, s, &p->known);
	}
}

/* ---- candidates -------------------------------------------------------------------------- */

static double price(const struct placement *p, uint32_t insn)
{
	double us = p->f->insns[insn].is_emulated ? SP_EMULATED_US : SP_STEPPED_US;

	return us * (p->f->blocks[p->f->block_of[insn]].often + 1e-3);
}

static bool in_window(const struct place_store *s, uint32_t insn)
{
	return insn > s->insn && insn <= s->window;
}

static struct place_probe *find_probe(struct placement *p, uint32_t insn)
{
	for (size_t i = 0; i < p->probes.size; i++)
		if (p->probes.data[i].insn == insn)
			return &p->probes.data[i];
	return NULL;
}

/** Blocks with something to do, and those next to them. */
static bool is_near(const struct placement *p, const bool *has_work, uint32_t block)
{
	const struct sp_block *b = &p->f->blocks[block];

	if (has_work[block])
		return true;
	for (uint32_t e = 0; e < b->n_succ; e++)
		if (has_work[p->f->succs.data[b->succ_at + e]])
			return true;
	return false;
}

struct candidates {
	VEC(uint32_t) insns;
	uint64_t *covers; ///< a row of bits for each: which stores
	size_t words;
};

static struct err *find_candidates(const struct placement *p, struct candidates *c)
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
static struct err *try_candidates(struct placement *p, struct candidates *c)
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
			const struct place_store *s = &p->stores.data[i];

			if (!s->is_done && (in_window(s, insn) || follows(p, s, &k)))
				row[i / 64] |= 1ull << i % 64;
		}
		sp_known_shrink(&k, &p->known);
	}
	sp_known_deinit(&k);
	return NULL;
}

static size_t gain(const struct placement *p, const uint64_t *row)
{
	size_t n = 0;

	for (size_t i = 0; i < p->stores.size; i++)
		n += !p->stores.data[i].is_done && row[i / 64] >> i % 64 & 1;
	return n;
}

/* ---- placing ------------------------------------------------------------------------------- */

static struct err *place(struct placement *p, uint32_t insn)
{
	struct place_probe *probe = find_probe(p, insn);

	if (!probe) {
		probe = vec_push(&p->probes);
		if (!probe)
			return &err_nomem;
		probe->insn = insn;
	}
	probe->gprs = SP_ALL_GPRS;
	p->given[insn] = SP_ALL_GPRS;
	sp_known_grow(&p->known, insn);
	return NULL;
}

/** Stores that the probe at @p insn can read back, and that do not follow otherwise. */
static struct err *place_reads(struct placement *p, uint32_t insn)
{
	struct place_probe *probe = find_probe(p, insn);

	for (uint32_t i = 0; i < p->stores.size; i++) {
		struct place_store *s = &p->stores.data[i];
		uint32_t *slot;

		if (s->read_at != NOWHERE || !in_window(s, insn) ||
		    follows(p, s, &p->known) || probe->reads.size == SP_READS)
			continue;
		slot = vec_push(&probe->reads);
		if (!slot)
			return &err_nomem;
		*slot = i;
		s->read_at = insn;
	}
	update_done(p);
	return NULL;
}

static struct err *place_greedily(struct placement *p, struct candidates *c)
{
	for (;;) {
		size_t best = SIZE_MAX;
		double best_ratio = 0;
		struct err *err;

		for (size_t n = 0; n < c->insns.size; n++) {
			size_t g = gain(p, c->covers + n * c->words);
			double ratio = g / price(p, c->insns.data[n]);

			if (g && ratio > best_ratio) {
				best_ratio = ratio;
				best = n;
			}
		}
		if (best == SIZE_MAX)
			return NULL;
		err = place(p, c->insns.data[best]);
		err = err ?: place_reads(p, c->insns.data[best]);
		if (err)
			return err;
		// Reads are limited: it may not do more a second time.
		memset(c->covers + best * c->words, 0, c->words * 8);
	}
}

static unsigned missing(const struct placement *p, const struct place_store *s,
			const struct sp_known *k)
{
	sp_set m = p->s->step[s->insn].needs & ~k->at[s->insn];

	return __builtin_popcountll(m) + __builtin_popcountll(m >> 64);
}

/** The cheapest candidate that makes more of what @p s needs known. */
static uint32_t find_partial(struct placement *p, const struct candidates *c,
			     const struct place_store *s, struct sp_known *k)
{
	unsigned before = missing(p, s, &p->known), best_gain = 0;
	uint32_t best = NOWHERE;

	sp_known_copy(k, &p->known);
	for (size_t n = 0; n < c->insns.size; n++) {
		uint32_t insn = c->insns.data[n];
		unsigned gain;

		if (best_gain && price(p, insn) >= price(p, best))
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
static struct err *place_jointly(struct placement *p, const struct candidates *c,
				 struct place_store *s, struct sp_known *k)
{
	uint32_t placed[JOINT_MAX];
	double sum = 0;
	int n = 0;

	while (!follows(p, s, &p->known) && n < JOINT_MAX) {
		uint32_t insn = find_partial(p, c, s, k);
		struct err *err;

		if (insn == NOWHERE || find_probe(p, insn))
			break;
		sum += price(p, insn);
		if (sum > price(p, s->insn))
			break;
		err = place(p, insn);
		if (err)
			return err;
		placed[n++] = insn;
	}
	if (!follows(p, s, &p->known))
		while (n--) {
			p->given[placed[n]] = 0;
			p->probes.size--;
		}
	sp_known_compute(&p->known, p->given);
	update_done(p);
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

static bool is_place(const struct placement *p, uint32_t i)
{
	return p->f->insns[i].is_emulated && !p->f->insns[i].is_unprobable;
}

/** Before instruction @p end of block @p b, and where there is none in the blocks that lead
 * there. @return false: some way has none, or there are too many ways. */
static bool look_before(const struct placement *p, struct around *a, uint32_t b,
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
static void place_around(struct placement *p, struct place_store *s)
{
	struct around a = {};
	double sum = 0;
	int n_new = 0;

	if (!look_before(p, &a, p->f->block_of[s->insn], s->insn))
		return;
	for (int i = 0; i < a.n; i++)
		sum += find_probe(p, a.insn[i]) ? 0 : price(p, a.insn[i]);
	if (sum >= price(p, s->insn))
		return;
	for (int i = 0; i < a.n; i++)
		if (!find_probe(p, a.insn[i]) && !place(p, a.insn[i]))
			a.insn[n_new++] = a.insn[i];
	if (!follows(p, s, &p->known))
		while (n_new--) {
			p->given[a.insn[n_new]] = 0;
			p->probes.size--;
		}
	sp_known_compute(&p->known, p->given);
	update_done(p);
}

static struct err *place_leftovers(struct placement *p, const struct candidates *c)
{
	struct sp_known k;
	struct err *err = sp_known_init(&k, p->f, p->s);

	if (err)
		return err;
	for (size_t i = 0; !err && i < p->stores.size; i++) {
		struct place_store *s = &p->stores.data[i];

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
static struct err *place_stepped(struct placement *p)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct place_store *s = &p->stores.data[i];
		const struct sp_step *st = &p->s->step[s->insn];
		struct err *err = NULL;

		if (!s->is_done && (st->has_value || s->is_copy) &&
		    !p->f->insns[s->insn].is_unprobable) {
			sp_set given = p->given[s->insn];
			size_t n = p->probes.size;

			err = place(p, s->insn);
			if (!err && !follows(p, s, &p->known) && n < p->probes.size) {
				p->probes.size--;
				p->given[s->insn] = given;
				sp_known_compute(&p->known, p->given);
			}
			update_done(p);
		}
		for (uint32_t at = s->insn + 1; !err && !s->is_done && at <= s->window;
		     at++) {
			if (p->f->insns[at].is_unprobable)
				continue;
			err = place(p, at);
			err = err ?: place_reads(p, at);
		}
		if (err)
			return err;
	}
	return NULL;
}

static struct err *place_each(struct placement *p)
{
	for (size_t i = 0; i < p->stores.size; i++)
		if (!p->f->insns[p->stores.data[i].insn].is_unprobable) {
			struct place_probe *probe = vec_push(&p->probes);

			if (!probe)
				return &err_nomem;
			probe->insn = p->stores.data[i].insn;
			probe->gprs = SP_ALL_GPRS;
			p->given[probe->insn] = SP_ALL_GPRS;
		}
	sp_known_compute(&p->known, p->given);
	return NULL;
}

/* ---- taking away what turned out not to be needed --------------------------------------------- */

static bool still_done(const struct placement *p, const struct sp_known *k)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		const struct place_store *s = &p->stores.data[i];

		if (s->is_done && s->read_at == NOWHERE && !follows(p, s, k))
			return false;
	}
	return true;
}

static int by_price(const void *a, const void *b, void *ctx)
{
	const struct place_probe *x = a, *y = b;
	double px = price(ctx, x->insn), py = price(ctx, y->insn);

	return px > py ? -1 : px < py ? 1 : x->insn < y->insn ? -1 : x->insn > y->insn;
}

static void prune(struct placement *p, struct sp_known *k)
{
	bool is_long = p->probes.size * p->f->n_insns * 12 > PRUNE_WORK_MAX;
	size_t n = 0;

	if (p->probes.size)
		qsort_r(p->probes.data, p->probes.size, sizeof(*p->probes.data), by_price,
			p);
	for (size_t i = 0; i < p->probes.size; i++) {
		struct place_probe probe = p->probes.data[i];

		p->given[probe.insn] = 0;
		if (!probe.reads.size && !is_long) {
			sp_known_compute(k, p->given);
			if (still_done(p, k)) {
				vec_deinit(&probe.reads);
				continue;
			}
		}
		p->given[probe.insn] = SP_ALL_GPRS;
		p->probes.data[n++] = probe;
	}
	p->probes.size = n;
}

/** Registers that the reads of @p probe need to find their memory. */
static sp_set read_registers(const struct placement *p, const struct place_probe *probe)
{
	sp_set set = 0;

	for (size_t i = 0; i < probe->reads.size; i++)
		set |= p->s->step[p->stores.data[probe->reads.data[i]].insn].address;
	return set & SP_ALL_GPRS;
}

static void narrow(struct placement *p, struct sp_known *k)
{
	if (p->probes.size * p->f->n_insns * 12 * SP_GPRS > MASK_WORK_MAX)
		return;
	for (size_t i = 0; i < p->probes.size; i++) {
		struct place_probe *probe = &p->probes.data[i];
		sp_set keep = read_registers(p, probe);

		for (int r = SP_GPRS; r--;) {
			sp_set less = p->given[probe->insn] & ~SP_BIT(r);

			if (keep & SP_BIT(r))
				continue;
			p->given[probe->insn] = less;
			sp_known_compute(k, p->given);
			if (!still_done(p, k))
				p->given[probe->insn] |= SP_BIT(r);
		}
		probe->gprs = p->given[probe->insn];
	}
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void set_states(struct placement *p, const struct sp_known *without)
{
	for (size_t i = 0; i < p->stores.size; i++) {
		struct place_store *s = &p->stores.data[i];

		s->state = !s->is_done		  ? SP_STORE_LOST :
			   s->is_copy		  ? SP_STORE_COPY :
			   follows(p, s, without) ? SP_STORE_FREE :
						    SP_STORE_SERVED;
	}
}

static bool is_all_done(const struct placement *p)
{
	for (size_t i = 0; i < p->stores.size; i++)
		if (!p->stores.data[i].is_done)
			return false;
	return true;
}

#define ROUNDS_MAX 4

static struct err *place_wisely(struct placement *p)
{
	struct candidates c = {};
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
	err = err ?: place_leftovers(p, &c);
	err = err ?: place_stepped(p);
	vec_deinit(&c.insns);
	free(c.covers);
	return err;
}

static struct err *place_all(struct placement *p, const struct sp_options *o,
			     struct sp_known *k)
{
	struct err *err;

	sp_known_compute(&p->known, NULL);
	update_done(p);
	err = o->is_naive ? place_each(p) : place_wisely(p);
	if (err)
		return err;
	update_done(p);
	if (!o->is_naive) {
		prune(p, k);
		narrow(p, k);
	}
	sp_known_compute(&p->known, p->given);
	sp_known_compute(k, NULL);
	set_states(p, k);
	return NULL;
}

struct err *place_function(const struct sp_function *f, const struct sp_steps *s,
			   const struct sp_options *o, struct placement *ret)
{
	struct err *err;
	struct sp_known k = {};

	*ret = (struct placement){ .f = f, .s = s };
	ret->given = calloc(f->n_insns + 1, sizeof(*ret->given));
	err = ret->given ? sp_known_init(&ret->known, f, s) : &err_nomem;
	err = err ?: sp_known_init(&k, f, s);
	err = err ?: find_stores(ret, o);
	if (!err && ret->stores.size)
		err = place_all(ret, o, &k);
	sp_known_deinit(&k);
	if (err)
		placement_deinit(ret);
	return err;
}
