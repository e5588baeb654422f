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

enum { MEMORIES = 24, MOST_GUESSES = 6, NUMBERS = 4, ID_BASE = 50 };

/* All there is at a time; compared as bytes. */
struct world {
	int16_t global[LIN_MOST_VALUES];
	int16_t memory[MEMORIES][LIN_MOST_VALUES];
	int8_t type_of[LIN_MOST_VALUES]; ///< of each thing: its struct + 1
	uint8_t n_things;
	struct {
		int16_t local[LIN_MOST_VALUES];
		uint16_t bound;
		uint8_t at, before; ///< sub-operations done; who had ended when it began
		uint8_t as;	    ///< in a sequence: as which operation
		bool has_ended;
	} of[LIN_MOST_INSTANCES];
};

/* One sequential execution: who, and what each gave. */
struct sequence {
	uint8_t n, who[LIN_MOST_INSTANCES];
	int16_t gave[LIN_MOST_INSTANCES];
};

struct exploring {
	const struct fl_lin_steps *steps;
	const struct spec_structure *s;
	struct fl_lin_executions *ret;
	size_t operation[LIN_MOST_INSTANCES];
	unsigned n;
	VEC(struct sequence) sequences;
	uint64_t *seen;
	size_t n_seen, capacity;
	uint64_t most;
	bool is_over, is_out_of_memory;
};

static void give_up(struct exploring *x, const char *why)
{
	if (!x->is_over && !x->ret->is_broken)
		snprintf(x->ret->why, sizeof(x->ret->why), "%s", why);
	x->is_over = true;
}

/* ---- a step -------------------------------------------------------------------------------------- */

struct doing {
	struct exploring *x;
	struct world *w;
	unsigned i;
	bool is_wrong; ///< behind NULL, or outside
};

static int16_t *cell(struct doing *d, const struct spec_step_expr *e);

static bool is_so(const struct doing *d, enum spec_compare how, int64_t a, int64_t b)
{
	const bool is[] = { a == b, a != b, a<b, a <= b, a> b, a >= b };

	return is[how] && !d->is_wrong;
}

static int64_t value_of(struct doing *d, const struct spec_step_expr *e)
{
	int16_t *at;
	bool is = false;

	switch (e->op) {
	case STEP_NUMBER:
		return e->value;
	case STEP_ID:
		return ID_BASE + d->i;
	case STEP_COMPARE:
		return is_so(d, (enum spec_compare)e->value, value_of(d, e->a),
			     value_of(d, e->b));
	case STEP_BOTH:
		return value_of(d, e->a) && value_of(d, e->b);
	case STEP_ANY:
		// What is not made yet is as at first.
		for (int16_t k = 1; k < LIN_MOST_VALUES && !is; k++) {
			d->w->of[d->i].local[e->value] = k;
			is = value_of(d, e->a);
		}
		d->w->of[d->i].local[e->value] = 0;
		return is;
	case STEP_ADD:
		return value_of(d, e->a) + value_of(d, e->b);
	case STEP_SUB:
		return value_of(d, e->a) - value_of(d, e->b);
	default:
		at = cell(d, e);
		return at ? *at : 0;
	}
}

static int16_t *cell(struct doing *d, const struct spec_step_expr *e)
{
	int64_t at;

	if (e->op == STEP_LOCAL)
		return &d->w->of[d->i].local[e->value];
	if (e->op == STEP_GLOBAL)
		return &d->w->global[e->value];
	at = value_of(d, e->a);
	if (at < 0 || at >= LIN_MOST_VALUES)
		give_up(d->x, "an array is too long");
	if (at < 0 || at >= LIN_MOST_VALUES ||
	    (!at && d->x->s->memories[e->value].of != SPEC_TYPE_INT)) {
		d->is_wrong = true;
		return NULL;
	}
	return &d->w->memory[e->value][at];
}

static bool holds(struct doing *d, const struct spec_step_condition *c)
{
	return is_so(d, c->compare, value_of(d, c->a), value_of(d, c->b));
}

static int16_t allocate(struct doing *d, int type)
{
	struct world *w = d->w;
	int16_t at = ++w->n_things;

	if (at >= LIN_MOST_VALUES) {
		give_up(d->x, "too many things are allocated");
		d->is_wrong = true;
		return 0;
	}
	w->type_of[at] = (int8_t)(type + 1);
	for (size_t m = 0; m < d->x->s->n_memories; m++)
		if (d->x->s->memories[m].of == type)
			w->memory[m][at] = (int16_t)d->x->s->memories[m].initial;
	return at;
}

static void do_statement(struct doing *d, const struct spec_step_statement *t)
{
	int64_t value = t->is == STEP_ASSIGN ? value_of(d, t->value) : 0;
	int16_t *to;

	if (t->is == STEP_FREE)
		return;
	if (t->is == STEP_READ) {
		value_of(d, t->target);
		return;
	}
	to = cell(d, t->target);
	if (d->is_wrong)
		return;
	*to = t->is == STEP_MALLOC ? allocate(d, t->type) : (int16_t)value;
}

/* Steps [first, end) of @p o, by instance @p i. @return whether they can be done. */
static bool do_steps(struct exploring *x, struct world *w, unsigned i,
		     const struct spec_structure_operation *o, size_t first, size_t end)
{
	struct doing d = { x, w, i, false };

	for (size_t k = first; k < end; k++) {
		for (size_t c = 0; c < o->steps[k].n_conditions; c++)
			if (!holds(&d, &o->steps[k].conditions[c]))
				return false;
		for (size_t c = 0; c < o->steps[k].n_statements && !d.is_wrong; c++)
			do_statement(&d, &o->steps[k].statements[c]);
	}
	return !d.is_wrong;
}

/* ---- variables that have any value ---------------------------------------------------------------- */

static uint16_t read_in(const struct spec_step_expr *e)
{
	if (!e)
		return 0;
	return (uint16_t)fl_lin_steps_locals(e);
}

/* The locals that steps [first, end) read before they assign them. */
static uint16_t wanted(const struct spec_structure_operation *o, size_t first, size_t end,
		       uint16_t bound)
{
	uint16_t want = 0;

	for (size_t k = first; k < end; k++) {
		for (size_t c = 0; c < o->steps[k].n_conditions; c++)
			want |= (read_in(o->steps[k].conditions[c].a) |
				 read_in(o->steps[k].conditions[c].b)) &
				~bound;
		bound |= want;
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];

			want |= read_in(t->value) & ~bound;
			if (t->is == STEP_READ || t->target->op == STEP_MEMORY)
				want |= read_in(t->target) & ~bound;
			bound |= want | read_in(t->target);
		}
	}
	return want;
}

static bool may_be(const struct world *w, int type, int value)
{
	return type < 0 ?
		       value < NUMBERS :
		       !value || (value <= w->n_things && w->type_of[value] == type + 1);
}

typedef void (*with_world)(struct exploring *x, struct world *w, unsigned i);

/* Sub-operation @p k of instance @p i, in all ways in which it can be done. */
static void each_way(struct exploring *x, const struct world *from, unsigned i,
		     uint16_t want, const struct world *guessed, with_world then)
{
	const struct fl_lin_step *k =
		&x->steps->data[x->steps->of[x->operation[i]] + from->of[i].at];
	const struct spec_structure_operation *o = &x->s->operations[x->operation[i]];
	struct world w = *guessed;

	if (want) {
		int local = __builtin_ctz(want);

		for (int value = 0; value < LIN_MOST_VALUES; value++)
			if (may_be(from, o->locals[local].type, value)) {
				w.of[i].local[local] = (int16_t)value;
				each_way(x, from, i, want & (want - 1), &w, then);
			}
		return;
	}
	if (!do_steps(x, &w, i, o, k->first, k->end))
		return;
	w.of[i].at++;
	if (k->is_last)
		w.of[i].has_ended = true;
	else
		w.of[i].bound = (uint16_t)k[1].bound;
	then(x, &w, i);
}

static void do_next(struct exploring *x, const struct world *w, unsigned i,
		    with_world then)
{
	const struct fl_lin_step *k =
		&x->steps->data[x->steps->of[x->operation[i]] + w->of[i].at];
	struct world begun = *w;
	uint16_t want = wanted(&x->s->operations[x->operation[i]], k->first, k->end,
			       (uint16_t)k->bound);

	if (!w->of[i].at)
		for (unsigned j = 0; j < x->n; j++)
			begun.of[i].before |= w->of[j].has_ended << j;
	each_way(x, w, i, want, &begun, then);
}

/* ---- one behind the other ----------------------------------------------------------------------------- */

static int16_t gave(const struct exploring *x, const struct world *w, unsigned i)
{
	int result = x->s->operations[x->operation[i]].result;

	return result < 0 ? 0 : w->of[i].local[result];
}

/* Where is it in the sequence? By who had ended: nothing else begins in between. */
static void note_sequence(struct exploring *x, const struct world *w)
{
	struct sequence q = {};

	for (unsigned i = 0; i < x->n; i++) {
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

static bool is_new(struct exploring *x, const struct world *w);
static void begin_sequential(struct exploring *x, struct world *w, unsigned i);

static void sequential(struct exploring *x, struct world *w, unsigned i)
{
	if (x->is_over || !is_new(x, w))
		return;
	if (!w->of[i].has_ended) {
		do_next(x, w, i, sequential);
		return;
	}
	note_sequence(x, w);
	for (unsigned j = 0; j < x->n; j++)
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

static void begin_sequential(struct exploring *x, struct world *w, unsigned i)
{
	size_t asked = x->operation[i];

	for (size_t o = 0; o < x->s->n_operations && !x->is_over; o++) {
		struct world as = *w;

		if (!is_same_method(&x->s->operations[asked], &x->s->operations[o]))
			continue;
		as.of[i].as = (uint8_t)o;
		x->operation[i] = o;
		do_next(x, &as, i, sequential);
		x->operation[i] = asked;
	}
}

/* Does sequence @p q explain @p w? */
static bool explains(const struct exploring *x, const struct sequence *q,
		     const struct world *w)
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
	for (unsigned i = 0; i < x->n; i++)
		if (w->of[i].has_ended && !(in >> i & 1))
			return false;
	return true;
}

/* ---- all at once ---------------------------------------------------------------------------------------- */

/* By a hash of 64 bits alone: where two states share one, something is missed, never made up. */
static bool is_new(struct exploring *x, const struct world *w)
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
		give_up(x, "there are too many states");
	return true;
}

static void tell(struct exploring *x, const struct world *w)
{
	struct fl_lin_executions *r = x->ret;

	r->is_broken = x->is_over = true;
	r->n_instances = x->n;
	for (unsigned i = 0; i < x->n; i++) {
		r->instance[i].operation = x->operation[i];
		memcpy(r->instance[i].local, w->of[i].local, sizeof(w->of[i].local));
		r->instance[i].has_begun = w->of[i].at;
		r->instance[i].has_ended = w->of[i].has_ended;
	}
}

static void concurrent(struct exploring *x, struct world *w, unsigned who)
{
	struct fl_lin_done done = { who, 0 };
	bool can_go_on = false;
	uint64_t before;

	if (x->is_over || !is_new(x, w))
		return;
	if (who < x->n) {
		done.step = x->steps->of[x->operation[who]] + w->of[who].at - 1;
		if (vec_add(&x->ret->path, done)) {
			x->is_out_of_memory = x->is_over = true;
			return;
		}
	}
	for (unsigned i = 0; i < x->n && !x->is_over; i++) {
		if (w->of[i].has_ended)
			continue;
		before = x->n_seen;
		do_next(x, w, i, concurrent);
		can_go_on |= x->n_seen != before;
	}
	// Where all that can follow is known already, what it ends in was looked at, too: to look
	// once more costs little.
	if (!can_go_on && !x->is_over) {
		bool is_explained = false;

		for (size_t k = 0; k < x->sequences.size && !is_explained; k++)
			is_explained = explains(x, &x->sequences.data[k], w);
		for (unsigned i = 0; i < x->n && !is_explained; i++)
			if (w->of[i].has_ended) {
				tell(x, w);
				return; // the path stays
			}
	}
	if (who < x->n && !x->ret->is_broken)
		x->ret->path.size--;
}

/* ---- which operations, on what --------------------------------------------------------------------------- */

static bool begin(struct exploring *x, struct world *w)
{
	const struct spec_structure_operation *o = x->s->initialize;

	memset(w, 0, sizeof(*w));
	for (size_t k = 0; k < x->s->n_globals; k++)
		w->global[k] = (int16_t)x->s->globals[k].initial;
	for (size_t m = 0; m < x->s->n_memories; m++)
		for (int k = 0; k < LIN_MOST_VALUES; k++)
			w->memory[m][k] = (int16_t)x->s->memories[m].initial;
	if (o && !do_steps(x, w, 0, o, 0, o->n_steps)) {
		give_up(x, "Initialize() cannot be done");
		return false;
	}
	memset(w->of, 0, sizeof(w->of));
	return true;
}

/* The chosen operations with one choice of arguments. */
static void explore_arguments(struct exploring *x, struct world *w, unsigned i,
			      size_t arg)
{
	const struct spec_structure_operation *o;

	if (x->is_over)
		return;
	if (i == x->n) {
		struct world copy = *w;

		x->sequences.size = x->n_seen = 0;
		memset(x->seen, 0, x->capacity * sizeof(*x->seen));
		for (unsigned j = 0; j < x->n; j++)
			begin_sequential(x, w, j);
		x->n_seen = 0;
		memset(x->seen, 0, x->capacity * sizeof(*x->seen));
		x->ret->path.size = 0;
		concurrent(x, &copy, x->n);
		return;
	}
	o = &x->s->operations[x->operation[i]];
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
	struct world w;

	if (x->is_over)
		return;
	if (i == x->n) {
		if (begin(x, &w))
			explore_arguments(x, &w, 0, 0);
		return;
	}
	for (size_t o = from; o < x->s->n_operations; o++) {
		x->operation[i] = o;
		explore_operations(x, i + 1, o);
	}
}

static const char *too_large(const struct spec_structure *s)
{
	if (s->n_globals > LIN_MOST_VALUES || s->n_memories > MEMORIES)
		return "there are too many variables";
	for (size_t o = 0; o < s->n_operations; o++)
		if (s->operations[o].n_locals > LIN_MOST_VALUES)
			return "an operation has too many variables";
	if (s->initialize && s->initialize->n_locals > LIN_MOST_VALUES)
		return "an operation has too many variables";
	return NULL;
}

struct err *fl_lin_explore(const struct fl_lin_steps *steps, unsigned most,
			   uint64_t most_states, struct fl_lin_executions *ret)
{
	struct exploring x = {
		.steps = steps, .s = steps->s, .ret = ret, .most = most_states
	};
	const char *why = too_large(x.s);
	bool is_out_of_memory;

	*ret = (struct fl_lin_executions){ .n_operations = 0 };
	x.capacity = 4096;
	x.seen = calloc(x.capacity, sizeof(*x.seen));
	if (!x.seen)
		return &err_nomem;
	if (why)
		give_up(&x, why);
	if (!x.s->initialize)
		give_up(&x, "not looked at: no Initialize() says what there is at first");
	for (x.n = 2; x.n <= most && !x.is_over; x.n++) {
		explore_operations(&x, 0, 0);
		if (!x.is_over || ret->is_broken)
			ret->n_operations = x.n;
	}
	ret->is_complete = !x.is_over;
	is_out_of_memory = x.is_out_of_memory;
	vec_deinit(&x.sequences);
	free(x.seen);
	return is_out_of_memory ? &err_nomem : NULL;
}

void fl_lin_executions_deinit(struct fl_lin_executions *e)
{
	vec_deinit(&e->path);
}
