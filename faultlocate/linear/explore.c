// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Depth first over all orders of sub-operations, each state once. Sequential executions are found
 * first, prefix by prefix: operations that did not end may be in one, or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "faultlocate/linear/explore.h"

/* One sequential execution: who, and what each gave. */
struct sequence {
	uint8_t n, who[LIN_MOST_INSTANCES];
	int16_t gave[LIN_MOST_INSTANCES];
};

struct exploring {
	struct fl_lin_worlds in;
	struct fl_lin_executions *ret;
	VEC(struct sequence) sequences;
	uint64_t *seen;
	size_t n_seen, capacity;
	uint64_t most;
	bool is_over, is_out_of_memory;
};

/* Whose worlds are @p in? */
static struct exploring *exploring_of(struct fl_lin_worlds *in)
{
	return (struct exploring *)in;
}

static bool is_over(const struct exploring *x)
{
	return x->is_over || x->in.over;
}

/* ---- one behind the other ----------------------------------------------------------------------------- */

static int16_t gave(const struct exploring *x, const struct fl_lin_world *w, unsigned i)
{
	int result = x->in.s->operations[x->in.operation[i]].result;

	return result < 0 ? 0 : w->of[i].local[result];
}

/* Where is it in the sequence? By who had ended: nothing else begins in between. */
static void note_sequence(struct exploring *x, const struct fl_lin_world *w)
{
	struct sequence q = {};

	for (unsigned i = 0; i < x->in.n; i++) {
		unsigned place = (unsigned)__builtin_popcount(w->of[i].before);

		if (!w->of[i].has_ended)
			continue;
		q.who[place] = (uint8_t)i;
		q.gave[place] = gave(x, w, i);
		q.n++;
	}
	for (size_t k = 0; k < x->sequences.size; k++)
		if (!memcmp(&x->sequences.data[k], &q, sizeof(q)))
			return;
	if (vec_add(&x->sequences, q))
		x->is_out_of_memory = x->is_over = true;
}

static bool is_new(struct exploring *x, const struct fl_lin_world *w);
static void begin_sequential(struct exploring *x, struct fl_lin_world *w, unsigned i);

static void sequential(struct fl_lin_worlds *in, struct fl_lin_world *w, unsigned i)
{
	struct exploring *x = exploring_of(in);

	if (is_over(x) || !is_new(x, w))
		return;
	if (!w->of[i].has_ended) {
		fl_lin_world_next(&x->in, w, i, sequential);
		return;
	}
	note_sequence(x, w);
	for (unsigned j = 0; j < x->in.n; j++)
		if (!w->of[j].at)
			begin_sequential(x, w, j);
}

/* Operations that give something and whose names agree up to the `_` are one for whoever calls it:
 * in a sequence any of them may be what happens. */
static bool is_same_method(const struct spec_structure_operation *a,
			   const struct spec_structure_operation *b)
{
	size_t n = strcspn(a->name, "_");

	return a == b || (a->result >= 0 && b->result >= 0 && a->n_args == b->n_args &&
			  n == strcspn(b->name, "_") && !strncmp(a->name, b->name, n));
}

static void begin_sequential(struct exploring *x, struct fl_lin_world *w, unsigned i)
{
	size_t asked = x->in.operation[i];

	for (size_t o = 0; o < x->in.s->n_operations && !is_over(x); o++) {
		struct fl_lin_world as = *w;

		if (!is_same_method(&x->in.s->operations[asked], &x->in.s->operations[o]))
			continue;
		as.of[i].as = (uint8_t)o;
		x->in.operation[i] = o;
		fl_lin_world_next(&x->in, &as, i, sequential);
		x->in.operation[i] = asked;
	}
}

/* Does sequence @p q explain @p w? */
static bool explains(const struct exploring *x, const struct sequence *q,
		     const struct fl_lin_world *w)
{
	unsigned in = 0;

	for (unsigned k = 0; k < q->n; k++) {
		unsigned i = q->who[k];

		// Who had ended when it began must be before it.
		if (!w->of[i].at || (w->of[i].before & ~in) ||
		    (w->of[i].has_ended && gave(x, w, i) != q->gave[k]))
			return false;
		in |= 1u << i;
	}
	for (unsigned i = 0; i < x->in.n; i++)
		if (w->of[i].has_ended && !(in >> i & 1))
			return false;
	return true;
}

/* ---- all at once ---------------------------------------------------------------------------------------- */

/* By a hash of 64 bits alone: where two states share one, something is missed, never made up. */
static bool is_new(struct exploring *x, const struct fl_lin_world *w)
{
	const uint8_t *bytes = (const uint8_t *)w;
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (size_t k = 0; k + 8 <= sizeof(*w); k += 8) {
		uint64_t word;

		memcpy(&word, bytes + k, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (size_t k = sizeof(*w) & ~7ul; k < sizeof(*w); k++)
		h = (h ^ bytes[k]) * 0x100000001b3ull;
	h |= !h;
	if (x->n_seen * 2 >= x->capacity) {
		size_t capacity = x->capacity ? x->capacity * 2 : 4096;
		uint64_t *more = calloc(capacity, sizeof(*more));

		if (!more) {
			x->is_out_of_memory = x->is_over = true;
			return false;
		}
		for (size_t k = 0; k < x->capacity; k++)
			if (x->seen[k]) {
				size_t at = x->seen[k] >> 20 & (capacity - 1);

				while (more[at])
					at = (at + 1) & (capacity - 1);
				more[at] = x->seen[k];
			}
		free(x->seen);
		x->seen = more;
		x->capacity = capacity;
	}
	for (size_t at = h >> 20 & (x->capacity - 1);;
	     at = (at + 1) & (x->capacity - 1)) {
		if (x->seen[at] == h)
			return false;
		if (!x->seen[at]) {
			x->seen[at] = h;
			break;
		}
	}
	x->n_seen++;
	if (++x->ret->n_states >= x->most)
		x->in.over = "there are too many states";
	return true;
}

static void tell(struct exploring *x, const struct fl_lin_world *w)
{
	struct fl_lin_executions *r = x->ret;

	r->is_broken = x->is_over = true;
	r->n_instances = x->in.n;
	for (unsigned i = 0; i < x->in.n; i++) {
		r->instance[i].operation = x->in.operation[i];
		memcpy(r->instance[i].local, w->of[i].local, sizeof(w->of[i].local));
		r->instance[i].has_begun = w->of[i].at;
		r->instance[i].has_ended = w->of[i].has_ended;
	}
}

static void concurrent(struct fl_lin_worlds *in, struct fl_lin_world *w, unsigned who)
{
	struct exploring *x = exploring_of(in);
	struct fl_lin_done done = { who, 0 };
	bool can_go_on = false;
	uint64_t before;

	if (is_over(x) || !is_new(x, w))
		return;
	if (who < x->in.n) {
		done.step = x->in.steps->of[x->in.operation[who]] + w->of[who].at - 1;
		if (vec_add(&x->ret->path, done)) {
			x->is_out_of_memory = x->is_over = true;
			return;
		}
	}
	for (unsigned i = 0; i < x->in.n && !is_over(x); i++) {
		if (w->of[i].has_ended)
			continue;
		before = x->n_seen;
		fl_lin_world_next(&x->in, w, i, concurrent);
		can_go_on |= x->n_seen != before;
	}
	// Where all that can follow is known already, what it ends in was looked at, too: to look
	// once more costs little.
	if (!can_go_on && !is_over(x)) {
		bool is_explained = false;

		for (size_t k = 0; k < x->sequences.size && !is_explained; k++)
			is_explained = explains(x, &x->sequences.data[k], w);
		for (unsigned i = 0; i < x->in.n && !is_explained; i++)
			if (w->of[i].has_ended) {
				tell(x, w);
				return; // the path stays
			}
	}
	if (who < x->in.n && !x->ret->is_broken)
		x->ret->path.size--;
}

/* ---- which operations, on what --------------------------------------------------------------------------- */

/* The chosen operations with one choice of arguments. */
static void explore_arguments(struct exploring *x, struct fl_lin_world *w, unsigned i,
			      size_t arg)
{
	const struct spec_structure_operation *o;

	if (is_over(x))
		return;
	if (i == x->in.n) {
		struct fl_lin_world copy = *w;

		x->sequences.size = x->n_seen = 0;
		memset(x->seen, 0, x->capacity * sizeof(*x->seen));
		for (unsigned j = 0; j < x->in.n; j++)
			begin_sequential(x, w, j);
		x->n_seen = 0;
		memset(x->seen, 0, x->capacity * sizeof(*x->seen));
		x->ret->path.size = 0;
		concurrent(&x->in, &copy, x->in.n);
		return;
	}
	o = &x->in.s->operations[x->in.operation[i]];
	if (arg == o->n_args) {
		explore_arguments(x, w, i + 1, 0);
		return;
	}
	w->of[i].bound = (uint16_t)((1u << o->n_args) - 1);
	for (int16_t value = 1; value <= (o->locals[arg].type < 0 ? 2 : 0); value++) {
		w->of[i].local[arg] = value;
		explore_arguments(x, w, i, arg + 1);
	}
}

static void explore_operations(struct exploring *x, unsigned i, size_t from)
{
	struct fl_lin_world w;

	if (is_over(x))
		return;
	if (i == x->in.n) {
		if (fl_lin_world_begin(&x->in, &w))
			explore_arguments(x, &w, 0, 0);
		return;
	}
	for (size_t o = from; o < x->in.s->n_operations; o++) {
		x->in.operation[i] = o;
		explore_operations(x, i + 1, o);
	}
}

struct err *fl_lin_explore(const struct fl_lin_steps *steps, unsigned most,
			   uint64_t most_states, struct fl_lin_executions *ret)
{
	struct exploring x = { .ret = ret, .most = most_states };
	bool is_out_of_memory;

	*ret = (struct fl_lin_executions){ .n_operations = 0 };
	x.capacity = 4096;
	x.seen = calloc(x.capacity, sizeof(*x.seen));
	if (!x.seen)
		return &err_nomem;
	fl_lin_worlds_make(steps, &x.in);
	if (!x.in.over && !steps->s->initialize)
		x.in.over = "not looked at: no Initialize() says what there is at first";
	for (x.in.n = 2; x.in.n <= most && !is_over(&x); x.in.n++) {
		explore_operations(&x, 0, 0);
		if (!is_over(&x) || ret->is_broken)
			ret->n_operations = x.in.n;
	}
	ret->is_complete = !is_over(&x);
	if (x.in.over && !ret->is_broken)
		snprintf(ret->why, sizeof(ret->why), "%s", x.in.over);
	is_out_of_memory = x.is_out_of_memory;
	vec_deinit(&x.sequences);
	free(x.seen);
	return is_out_of_memory ? &err_nomem : NULL;
}

void fl_lin_executions_deinit(struct fl_lin_executions *e)
{
	vec_deinit(&e->path);
}
