// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * States and steps: kept, found again, left.
 */

#include "faultlocate/inputs/steps.h"

#include <string.h>

#include "base/hash.h"
#include "faultlocate/inputs/steps_int.h"

enum { MAX_STEPS = 1 << 19, MAX_WORDS = 1 << 22, MAX_OPS = 1 << 21 };

/* ---- the pool --------------------------------------------------------------------------------- */

static bool is_item(const struct pool *p, uint32_t number, const uint64_t *words,
		    uint32_t n)
{
	return p->items.data[number].n == n &&
	       (!n || !memcmp(p->words.data + p->items.data[number].first, words,
			      n * sizeof(*words)));
}

struct err *fl_pool_find(struct pool *p, const uint64_t *words, uint32_t n, uint32_t *ret)
{
	uint64_t hash = n;
	const uint64_t *at;
	struct err *err = p->items.size || vec_push(&p->items) ? NULL : &err_nomem;

	for (uint32_t i = 0; i < n; i++)
		hash = hash_mix(hash, words[i]);
	while ((at = map_get(&p->of, hash))) {
		*ret = *at;
		if (is_item(p, *ret, words, n))
			return NULL;
		hash++;
	}
	*ret = p->items.size;
	if (err || vec_reserve(&p->words, p->words.size + n + 1) ||
	    map_put(&p->of, hash, *ret))
		return &err_nomem;
	if (n)
		memcpy(p->words.data + p->words.size, words, n * sizeof(*words));
	p->words.size += n;
	return vec_add(&p->items, (struct pool_item){ p->words.size - n, n });
}

/* ---- states ------------------------------------------------------------------------------------- */

static struct err *seal_regs(struct walker *w, uint32_t *ret)
{
	const struct wanted_regs *r = w->at->regs;
	struct steps *m = &w->steps;
	struct err *err = NULL;

	m->scratch.size = 0;
	for (uint64_t regs = r->any; regs && !err; regs &= regs - 1) {
		uint64_t reg = __builtin_ctzll(regs);

		for (uint64_t left = r->bytes[reg]; left && !err;) {
			unsigned first = __builtin_ctzll(left), n = 0;
			label_word label = label_word_of(&r->at[reg][first]);

			do {
				left &= left - 1;
				n++;
			} while (left >> first >> n & 1 &&
				 label_word_of(&r->at[reg][first + n]) == label);
			err = vec_add(&m->scratch, label);
			if (!err)
				err = vec_add(&m->scratch, reg << 16 | first << 8 | n);
		}
	}
	return err ?: fl_pool_find(&m->pool, m->scratch.data, m->scratch.size, ret);
}

static struct err *find_waits(struct walker *w, const struct call *c, uint32_t *ret)
{
	struct steps *m = &w->steps;
	struct err *err;

	m->scratch.size = 0;
	err = vec_add(&m->scratch, c->function);
	for (size_t i = 0; i < c->waiting.size && !err; i++) {
		const struct waiting *p = &c->waiting.data[i];

		err = vec_add(&m->scratch, p->block | (uint64_t)p->by_control.ways << 32);
		if (!err)
			err = vec_add(&m->scratch,
				      p->chain_ways | (uint64_t)p->chain_link << 32);
	}
	return err ?: fl_pool_find(&m->pool, m->scratch.data, m->scratch.size, ret);
}

struct err *fl_steps_cover(struct walker *w, struct call *c)
{
	return c->waits ? NULL : find_waits(w, c, &c->waits);
}

struct err *fl_steps_enter(struct walker *w)
{
	struct steps *m = &w->steps;
	struct walker_thread *t = w->at;
	struct step_state made = { .any = t->regs->any };
	struct err *err = seal_regs(w, &made.regs);
	const uint64_t *at;
	uint64_t key;

	if (!err)
		err = find_waits(w, &t->calls.data[t->calls.size - 1], &made.waits);
	if (!err && !m->states.size)
		err = vec_add(&m->states, (struct step_state){});
	if (err)
		return err;
	key = (uint64_t)made.regs << 32 | made.waits;
	at = map_get(&m->state_of, key);
	t->state = at ? *at : m->states.size;
	if (at)
		return NULL;
	if (map_put(&m->state_of, key, t->state))
		return &err_nomem;
	return vec_add(&m->states, made);
}

static void bring_regs(struct walker *w, struct walker_thread *t, uint32_t number)
{
	const struct pool *p = &w->steps.pool;
	const uint64_t *words = p->words.data + p->items.data[number].first;
	struct wanted_regs *r = t->regs;

	for (; r->any; r->any &= r->any - 1) {
		int reg = __builtin_ctzll(r->any);

		for (; r->bytes[reg]; r->bytes[reg] &= r->bytes[reg] - 1)
			r->at[reg][__builtin_ctzll(r->bytes[reg])] = (struct label){};
	}
	for (uint32_t i = 0; i < p->items.data[number].n; i += 2) {
		unsigned reg = words[i + 1] >> 16, first = words[i + 1] >> 8 & 255;
		unsigned n = words[i + 1] & 255;

		for (unsigned k = first; k < first + n; k++) {
			r->at[reg][k] = label_of_word(words[i]);
			r->bytes[reg] |= UINT64_C(1) << k;
		}
		r->any |= UINT64_C(1) << reg;
	}
}

struct err *fl_steps_uncover(struct walker *w, struct call *c)
{
	const struct pool *p = &w->steps.pool;
	const uint64_t *words;
	struct err *err = NULL;

	if (!c->waits)
		return NULL;
	words = p->words.data + p->items.data[c->waits].first;
	c->function = words[0];
	c->waiting.size = 0;
	for (uint32_t i = 1; i < p->items.data[c->waits].n && !err; i += 2)
		err = vec_add(&c->waiting,
			      (struct waiting){ .block = words[i],
						.by_control.ways = words[i] >> 32,
						.chain_ways = words[i + 1],
						.chain_link = words[i + 1] >> 32 });
	c->waits = 0;
	return err;
}

bool fl_steps_has_waiting(const struct walker *w, const struct call *c)
{
	return c->waits ? w->steps.pool.items.data[c->waits].n > 1 : c->waiting.size;
}

struct err *fl_steps_bring(struct walker *w, struct walker_thread *t)
{
	const struct step_state *s = &w->steps.states.data[t->state];
	struct call *c = &t->calls.data[t->calls.size - 1];

	if (!t->is_away)
		return NULL;
	t->is_away = false;
	bring_regs(w, t, s->regs);
	c->waits = s->waits;
	return fl_steps_uncover(w, c);
}

struct err *fl_steps_leave(struct walker *w, struct walker_thread *t)
{
	struct err *err = t->state ? fl_steps_bring(w, t) : NULL;

	t->state = 0;
	return err;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static uint64_t hash_step(uint32_t place, uint32_t state, uint64_t outcome)
{
	return hash_mix(hash_mix(outcome, state), place);
}

static bool is_step(const struct step *s, uint32_t place, uint32_t state,
		    uint64_t outcome)
{
	return s->place == place && s->state == state && s->outcome == outcome;
}

uint32_t fl_steps_find(struct walker *w, uint32_t place, uint64_t outcome)
{
	struct steps *m = &w->steps;
	uint32_t state = w->at->state, at = m->all.data[m->last].then;
	const uint64_t *found;

	if (at && is_step(&m->all.data[at], place, state, outcome))
		return at;
	found = map_get(&m->step_of, hash_step(place, state, outcome));
	at = found ? *found : 0;
	return is_step(&m->all.data[at], place, state, outcome) ? at : 0;
}

struct err *fl_steps_add(struct walker *w, struct step step, uint32_t other)
{
	struct steps *m = &w->steps;
	uint32_t number = m->all.size;
	struct err *err;

	m->recording = NULL;
	err = fl_steps_enter(w);
	if (err)
		return err;
	step.before = w->at->state;
	step.n_ops = m->ops.size - step.first_op;
	for (uint32_t i = 0; i < step.n_ops; i++)
		step.has_guards |= m->ops.data[step.first_op + i].is_guard;
	if (m->is_odd) {
		m->ops.size = step.first_op;
		m->last = 0;
		return NULL;
	}
	// The one that has been met already goes on being found.
	if (other) {
		step.other = m->all.data[other].other;
		m->all.data[other].other = number;
	} else {
		if (map_put(&m->step_of, hash_step(step.place, step.state, step.outcome),
			    number))
			return &err_nomem;
		m->all.data[m->last].then = number;
	}
	m->last = number;
	return vec_add(&m->all, step);
}

struct err *fl_steps_want(struct walker *w, const struct trace_mem *mem, uint64_t from,
			  uint64_t n, const struct label *l)
{
	struct steps *m = &w->steps;
	struct step_op op = { .label = label_word_of(l),
			      .mem = mem - m->recording->mem,
			      .from = from,
			      .n = n };
	struct step_op *last = m->ops.size ? &m->ops.data[m->ops.size - 1] : NULL;

	if (!l->ways)
		return NULL;
	if (last && m->is_going_on && !last->is_guard && last->label == op.label &&
	    last->mem == op.mem && last->from + last->n == op.from) {
		last->n += op.n;
		return NULL;
	}
	m->is_going_on = true;
	return vec_add(&m->ops, op);
}

struct err *fl_steps_guard(struct walker *w, const struct trace_mem *mem, bool is_only)
{
	return vec_add(&w->steps.ops,
		       (struct step_op){ .mem = mem - w->steps.recording->mem,
					 .is_guard = true,
					 .is_only = is_only });
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void fl_steps_deinit(struct steps *m)
{
	vec_deinit(&m->pool.words);
	vec_deinit(&m->pool.items);
	map_deinit(&m->pool.of);
	vec_deinit(&m->states);
	map_deinit(&m->state_of);
	vec_deinit(&m->all);
	map_deinit(&m->step_of);
	vec_deinit(&m->ops);
	vec_deinit(&m->scratch);
	vec_deinit(&m->blocks);
	vec_deinit(&m->pieces);
}

bool fl_steps_are_many(const struct steps *m)
{
	return m->all.size >= MAX_STEPS || m->ops.size >= MAX_OPS ||
	       m->pool.words.size >= MAX_WORDS;
}

struct err *fl_steps_room(struct walker *w)
{
	struct steps *m = &w->steps;
	struct err *err = NULL;

	if (m->all.size && !fl_steps_are_many(m))
		return NULL;
	for (size_t i = 0; i < w->threads.size && !err; i++) {
		struct walker_thread *t = w->threads.data[i];

		err = fl_steps_leave(w, t);
		for (size_t k = 0; k < t->calls.size && !err; k++)
			err = fl_steps_uncover(w, &t->calls.data[k]);
	}
	fl_steps_deinit(m);
	m->last = 0;
	return err ?: vec_add(&m->all, (struct step){});
}
