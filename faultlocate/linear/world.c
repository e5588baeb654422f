// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a sub-operation does to a world.
 */
#include <stddef.h>
#include <string.h>

#include "faultlocate/linear/world.h"

enum { NUMBERS = 4, ID_BASE = 50 };

static void give_up(struct fl_lin_worlds *x, const char *why)
{
	if (!x->over)
		x->over = why;
}

/* ---- a step -------------------------------------------------------------------------------------- */

struct doing {
	struct fl_lin_worlds *x;
	struct fl_lin_world *w;
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
		return ID_BASE + d->i + d->w->of[d->i].others * LIN_MOST_INSTANCES;
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

/* Whoever has come by thing @p x has what its fields lead to. */
static void make_known(struct doing *d, int64_t x)
{
	const struct spec_structure *s = d->x->s;

	if (x <= 0 || x > d->w->n_things || d->w->known >> x & 1)
		return;
	d->w->known |= (uint16_t)(1u << x);
	for (size_t m = 0; m < s->n_memories; m++)
		if (s->memories[m].type >= 0 && s->memories[m].of == d->w->type_of[x] - 1)
			make_known(d, d->w->memory[m][x]);
}

/* @p value was stored at @p to: can others come by it? */
static void note_stored(struct doing *d, const struct spec_step_expr *to, int64_t value)
{
	const struct spec_structure *s = d->x->s;
	int64_t in = 0;

	if (to->op == STEP_LOCAL ||
	    (to->op == STEP_GLOBAL ? s->globals : s->memories)[to->value].type < 0)
		return;
	if (to->op == STEP_MEMORY && s->memories[to->value].of >= 0)
		in = value_of(d, to->a);
	if (!in || d->w->known >> in & 1)
		make_known(d, value);
}

static int16_t allocate(struct doing *d, int type)
{
	struct fl_lin_world *w = d->w;
	int16_t at = ++w->n_things;

	if (at >= LIN_MOST_VALUES) {
		give_up(d->x, "too many things are allocated");
		d->is_wrong = true;
		return 0;
	}
	w->type_of[at] = (int8_t)(type + 1);
	if (d->x->looked_for >> type & 1)
		w->known |= (uint16_t)(1u << at);
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
	note_stored(d, t->target, *to);
}

/* Steps [first, end) of @p o, by instance @p i. @return whether they can be done. */
static bool do_steps(struct fl_lin_worlds *x, struct fl_lin_world *w, unsigned i,
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

static bool may_be(const struct fl_lin_world *w, int type, int value)
{
	return type < 0 ?
		       value < NUMBERS :
		       !value || (w->known >> value & 1 && w->type_of[value] == type + 1);
}

/* Sub-operation @p k of instance @p i, in all ways in which it can be done. */
static void each_way(struct fl_lin_worlds *x, const struct fl_lin_world *from, unsigned i,
		     uint16_t want, const struct fl_lin_world *guessed,
		     fl_lin_world_fn then)
{
	const struct fl_lin_step *k =
		&x->steps->data[x->steps->of[x->operation[i]] + from->of[i].at];
	const struct spec_structure_operation *o = &x->s->operations[x->operation[i]];
	struct fl_lin_world w = *guessed;

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

void fl_lin_world_next(struct fl_lin_worlds *x, const struct fl_lin_world *w, unsigned i,
		       fl_lin_world_fn then)
{
	const struct fl_lin_step *k =
		&x->steps->data[x->steps->of[x->operation[i]] + w->of[i].at];
	struct fl_lin_world begun = *w;
	uint16_t want = (uint16_t)fl_lin_steps_guessed(x->steps, k - x->steps->data);

	if (!w->of[i].at)
		for (unsigned j = 0; j < x->n; j++)
			begun.of[i].before |= w->of[j].has_ended << j;
	each_way(x, w, i, want, &begun, then);
}

int64_t fl_lin_world_value(struct fl_lin_worlds *x, struct fl_lin_world *w, unsigned i,
			   const struct spec_step_expr *e)
{
	struct doing d = { x, w, i, false };
	int64_t at;

	// Behind NULL there is what there was at first: nobody writes that.
	if (e->op != STEP_MEMORY)
		return value_of(&d, e);
	at = fl_lin_world_value(x, w, i, e->a);
	return at < 0 || at >= LIN_MOST_VALUES ? 0 : w->memory[e->value][at];
}

bool fl_lin_world_holds(struct fl_lin_worlds *x, struct fl_lin_world *w, unsigned i,
			const struct spec_step_condition *c)
{
	struct doing d = { x, w, i, false };

	return is_so(&d, c->compare, fl_lin_world_value(x, w, i, c->a),
		     fl_lin_world_value(x, w, i, c->b));
}

/* ---- at first --------------------------------------------------------------------------------------- */

bool fl_lin_world_begin(struct fl_lin_worlds *x, struct fl_lin_world *w)
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

static const char *too_large(const struct spec_structure *s)
{
	if (s->n_globals > LIN_MOST_VALUES || s->n_memories > WORLD_MEMORIES)
		return "there are too many variables";
	for (size_t o = 0; o < s->n_operations; o++)
		if (s->operations[o].n_locals > LIN_MOST_VALUES)
			return "an operation has too many variables";
	if (s->initialize && s->initialize->n_locals > LIN_MOST_VALUES)
		return "an operation has too many variables";
	return NULL;
}

void fl_lin_worlds_make(const struct fl_lin_steps *steps, struct fl_lin_worlds *ret)
{
	*ret = (struct fl_lin_worlds){ .steps = steps,
				       .s = steps->s,
				       .looked_for = fl_lin_steps_looked_for(steps->s),
				       .over = too_large(steps->s) };
}
