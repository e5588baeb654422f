// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Executions at random. The facts that they make false: what is dropped is only not assumed any more.
 * The pairs of which the second can follow: one that did needs no question to Z3, whose states are
 * these and more.
 */
#include <string.h>

#include "faultlocate/linear/facts.h"
#include "faultlocate/linear/world.h"

enum { RUNS = 600, AT_ONCE = 3, MOST_BEGUN = 12, IN_VAIN = 30 };

struct sampling {
	struct fl_lin_worlds in; ///< first
	struct facts *f;
	struct fl_lin_world chosen;
	unsigned n_ways;
	unsigned first, second; ///< to go on,
	bool *follows;		///< has it?
	bool has_facts;		///< they are known
	size_t n_found;
	uint64_t random;
};

static unsigned dice(struct sampling *s, unsigned n)
{
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(s->random >> 33) % n;
}

/* One of the ways, each as likely as another. */
static void choose(struct fl_lin_worlds *in, struct fl_lin_world *w, unsigned i)
{
	struct sampling *s = (struct sampling *)in;

	(void)i;
	if (!dice(s, ++s->n_ways))
		s->chosen = *w;
}

static bool is_false(struct sampling *s, const struct fact *it, struct fl_lin_world *w,
		     unsigned u, unsigned v)
{
	int64_t a = it->a ? fl_lin_world_value(&s->in, w, u, it->a) : 0;
	int64_t b = it->b ? fl_lin_world_value(&s->in, w, it->v == FACT_ALWAYS ? u : v,
					       it->b) :
			    -1;
	const int16_t *field = w->memory[it->memory];

	switch (it->is) {
	case FACT_EQ:
		return a != b;
	case FACT_NE:
		return a == b;
	case FACT_LT:
		return a >= b;
	case FACT_LE:
		return a > b;
	case FACT_NO_OTHER:
		for (int k = 0; k < LIN_MOST_VALUES; k++)
			if (field[k] == a && k != b)
				return true;
		return false;
	default:
		for (int k = 0; k < LIN_MOST_VALUES; k++)
			for (int other = 0; other < k; other++)
				if (field[k] && field[k] == field[other])
					return true;
		return false;
	}
}

/* Drop what is false of instances @p i and @p k, of which one stands before sub-operation @p u and one
 * before @p v; FACT_ALWAYS: there is none. */
static void drop_false(struct sampling *s, struct fl_lin_world *w, size_t u, size_t v,
		       unsigned i, unsigned k)
{
	size_t end, fact = fl_lin_facts_about(s->f, u, v, &end);

	for (; fact < end; fact++) {
		struct fact *it = &s->f->all.data[fact];

		if (it->is_off || !is_false(s, it, w, i, k))
			continue;
		it->is_off = true;
		s->n_found++;
	}
}

/* Of instance @p i of @p w: which sub-operation is next. */
static size_t next_of(const struct sampling *s, const struct fl_lin_world *w, unsigned i)
{
	return s->in.steps->of[s->in.operation[i]] + w->of[i].at;
}

static size_t stands_before(const struct sampling *s, const struct fl_lin_world *w,
			    unsigned i)
{
	return !w->of[i].at || w->of[i].has_ended ? FACT_ALWAYS : next_of(s, w, i);
}

/* ---- who can follow ---------------------------------------------------------------------------------- */

/* Does what was promised of instance @p i hold in @p w? */
static bool is_promised(struct sampling *s, struct fl_lin_world *w, unsigned i)
{
	bool is = true;

	for (size_t k = 0; k < s->f->promises.size && !w->of[i].has_ended; k++) {
		const struct promise *p = &s->f->promises.data[k];

		if (p->at == next_of(s, w, i))
			is = is && fl_lin_world_holds(&s->in, w, i, p->condition);
	}
	return is;
}

/* The second has followed the first. */
static void have_followed(struct fl_lin_worlds *in, struct fl_lin_world *w, unsigned i)
{
	struct sampling *s = (struct sampling *)in;

	(void)i;
	if (is_promised(s, w, s->first) && is_promised(s, w, s->second) && !*s->follows) {
		*s->follows = true;
		s->n_found++;
	}
}

static void follow(struct fl_lin_worlds *in, struct fl_lin_world *w, unsigned i)
{
	struct sampling *s = (struct sampling *)in;

	(void)i;
	if (!*s->follows && is_promised(s, w, s->first) && is_promised(s, w, s->second))
		fl_lin_world_next(in, w, s->second, have_followed);
}

/* Of two that go on from @p w, one behind the other. */
static void look_who_follows(struct sampling *s, struct fl_lin_world *w)
{
	for (unsigned k = 0; k < s->in.n * s->in.n; k++) {
		s->first = k / s->in.n;
		s->second = k % s->in.n;
		if (s->first == s->second || w->of[s->first].has_ended ||
		    w->of[s->second].has_ended)
			continue;
		s->follows = &s->f->follows[next_of(s, w, s->first) * s->in.steps->size +
					    next_of(s, w, s->second)];
		if (!*s->follows && is_promised(s, w, s->first) &&
		    is_promised(s, w, s->second))
			fl_lin_world_next(&s->in, w, s->first, follow);
	}
}

/* ---- executions --------------------------------------------------------------------------------------- */

static void look(struct sampling *s, struct fl_lin_world *w)
{
	look_who_follows(s, w);
	if (s->has_facts)
		return;
	drop_false(s, w, FACT_ALWAYS, FACT_ALWAYS, 0, 0);
	for (unsigned i = 0; i < s->in.n; i++) {
		size_t u = stands_before(s, w, i);

		if (u == FACT_ALWAYS)
			continue;
		drop_false(s, w, u, FACT_ALWAYS, i, i);
		for (unsigned k = 0; k < s->in.n; k++) {
			size_t v = stands_before(s, w, k);

			if (k != i && v != FACT_ALWAYS && v >= u) // of equals, both ways
				drop_false(s, w, u, v, i, k);
		}
	}
}

/* @return whether there is such an operation: its arguments are numbers. */
static bool begin_operation(struct sampling *s, struct fl_lin_world *w, unsigned i)
{
	const struct spec_structure_operation *o;

	s->in.operation[i] = dice(s, (unsigned)s->in.s->n_operations);
	o = &s->in.s->operations[s->in.operation[i]];
	for (size_t k = 0; k < o->n_args; k++) {
		if (o->locals[k].type >= 0)
			return false;
		// Often the same, at times what is in the text or beyond it.
		w->of[i].local[k] = (int16_t)(dice(s, 2) ? 1 + (int)dice(s, 2) :
							   (int)dice(s, 10) - 3);
	}
	w->of[i].bound = (uint16_t)((1u << o->n_args) - 1);
	return true;
}

static void run(struct sampling *s)
{
	struct fl_lin_world w;
	unsigned n_begun = AT_ONCE, last = 0;

	if (!fl_lin_world_begin(&s->in, &w))
		return;
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (!begin_operation(s, &w, i))
			return;
	look(s, &w);
	// An operation that cannot go on may be able to later.
	for (unsigned tried = 0; tried < 8 * AT_ONCE; tried++) {
		// Mostly the same: where all are half done, locks stop most.
		unsigned i = last = dice(s, 3) ? last : dice(s, AT_ONCE);

		// Where one has ended, another begins.
		if (w.of[i].has_ended && n_begun++ < MOST_BEGUN) {
			uint8_t others = w.of[i].others + 1;

			memset(&w.of[i], 0, sizeof(w.of[i]));
			w.of[i].others = others;
			if (!begin_operation(s, &w, i))
				return;
		}
		if (w.of[i].has_ended)
			continue;
		s->n_ways = 0;
		fl_lin_world_next(&s->in, &w, i, choose);
		if (!s->n_ways)
			continue;
		w = s->chosen;
		look(s, &w);
		tried = 0;
	}
}

static void sample(struct facts *f, bool has_facts)
{
	struct sampling s = { .f = f, .has_facts = has_facts };

	if (!f->s->initialize)
		return;
	fl_lin_worlds_make(f->steps, &s.in);
	if (s.in.over)
		return;
	s.in.n = AT_ONCE;
	for (unsigned k = 0, last = 0; k < RUNS && k < last + IN_VAIN; k++) {
		size_t before = s.n_found;

		run(&s);
		last = s.n_found != before ? k : last;
	}
}

void fl_lin_facts_sample(struct facts *f)
{
	sample(f, false);
}

void fl_lin_facts_follow(struct facts *f)
{
	size_t n = f->steps->size;

	for (size_t k = 0; k < f->promises.size; k++)
		for (size_t other = 0; other < n; other++) {
			size_t at = f->promises.data[k].at;

			// What stands before it, and what is done then.
			f->follows[at * n + other] = f->follows[other * n + at] = false;
			f->follows[(at - 1) * n + other] =
				f->follows[other * n + at - 1] = false;
		}
	if (f->promises.size)
		sample(f, true);
}
