// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A state is a row: the states that are no arrays, in their order; then three numbers for each element
 * of an array that is not as at first: which array, which element, and what it is, by the former two.
 */
#include "faultlocate/linear/machine.h"

#include <string.h>

/* An operation under way. */
struct doing {
	const struct spec_object *m;
	const struct fl_lin_op *op;
	VEC(int64_t) row;
	bool is_out_of_memory;
};

/* ---- what there is ------------------------------------------------------------------------- */

int fl_lin_machine_operation(const struct spec_object *m, const char *name, size_t n)
{
	for (size_t i = 0; i < m->n_operations; i++)
		if (strlen(m->operations[i].name) == n &&
		    !memcmp(m->operations[i].name, name, n))
			return i;
	return -1;
}

const char *fl_lin_machine_name(const struct spec_object *m, int i)
{
	return i < (int)m->n_operations ? m->operations[i].name : NULL;
}

unsigned fl_lin_machine_args(const struct spec_object *m, int i)
{
	return m->operations[i].n_args;
}

bool fl_lin_machine_observes(const struct spec_object *m, int i)
{
	for (size_t k = 0; k < m->operations[i].n_steps; k++)
		if (m->operations[i].steps[k].target)
			return false;
	return true;
}

int64_t fl_lin_machine_key(const struct spec_object *m, const struct fl_lin_op *op)
{
	return m->key < 0 ? LIN_NONE : op->arg[m->key];
}

/* ---- states ----------------------------------------------------------------------------------- */

/* Where element @p index of array @p state is in the row, or would be. */
static size_t element_at(const struct doing *d, int64_t state, int64_t index,
			 bool *is_there)
{
	size_t at = d->m->n_states;

	while (at < d->row.size &&
	       (d->row.data[at] < state ||
		(d->row.data[at] == state && d->row.data[at + 1] < index)))
		at += 3;
	*is_there = at < d->row.size && d->row.data[at] == state &&
		    d->row.data[at + 1] == index;
	return at;
}

static int64_t get(const struct doing *d, int64_t state, int64_t index)
{
	bool is_there;
	size_t at;

	if (!d->m->states[state].is_array)
		return d->row.data[state];
	at = element_at(d, state, index, &is_there);
	return is_there ? d->row.data[at + 2] : d->m->states[state].initial;
}

static void set(struct doing *d, int64_t state, int64_t index, int64_t value)
{
	bool is_there, is_first = value == d->m->states[state].initial;
	size_t at;

	if (!d->m->states[state].is_array) {
		d->row.data[state] = value;
		return;
	}
	at = element_at(d, state, index, &is_there);
	if (is_there && is_first) {
		d->row.size -= 3;
		memmove(&d->row.data[at], &d->row.data[at + 3],
			(d->row.size - at) * sizeof(*d->row.data));
		return;
	}
	if (!is_there && is_first)
		return;
	if (!is_there) {
		if (vec_reserve(&d->row, d->row.size + 3)) {
			d->is_out_of_memory = true;
			return;
		}
		memmove(&d->row.data[at + 3], &d->row.data[at],
			(d->row.size - at) * sizeof(*d->row.data));
		d->row.size += 3;
	}
	d->row.data[at] = state;
	d->row.data[at + 1] = index;
	d->row.data[at + 2] = value;
}

uint32_t fl_lin_machine_begin(const struct spec_object *m, struct fl_lin_states *s)
{
	int64_t row[SPEC_OBJECT_STATES];

	for (size_t i = 0; i < m->n_states; i++)
		row[i] = m->states[i].is_array ? 0 : m->states[i].initial;
	return fl_lin_state(s, row, m->n_states);
}

/* ---- expressions -------------------------------------------------------------------------------- */

/* Arithmetic wraps around. */
static int64_t compute(enum spec_object_op op, int64_t a, int64_t b)
{
	switch (op) {
	case OBJ_ADD:
		return (uint64_t)a + (uint64_t)b;
	case OBJ_SUB:
		return (uint64_t)a - (uint64_t)b;
	case OBJ_MUL:
		return (uint64_t)a * (uint64_t)b;
	case OBJ_DIV:
		return !b ? 0 : b == -1 ? (int64_t) - (uint64_t)a : a / b;
	case OBJ_REST:
		return !b || b == -1 ? 0 : a % b;
	case OBJ_EQ:
		return a == b;
	case OBJ_NE:
		return a != b;
	case OBJ_LT:
		return a < b;
	case OBJ_LE:
		return a <= b;
	case OBJ_GT:
		return a > b;
	case OBJ_GE:
		return a >= b;
	case OBJ_AND:
		return a && b;
	default:
		return a || b;
	}
}

/* @p is_unknown: set when the result is asked for, and nobody knows it. */
static int64_t evaluate(const struct doing *d, const struct spec_object_expr *e,
			bool *is_unknown)
{
	int64_t a;

	switch (e->op) {
	case OBJ_NUMBER:
		return e->value;
	case OBJ_STATE:
		return get(d, e->value, e->a ? evaluate(d, e->a, is_unknown) : 0);
	case OBJ_ARG:
		return d->op->arg[e->value];
	case OBJ_RESULT:
		*is_unknown |= d->op->ret == LIN_NONE;
		return d->op->ret;
	case OBJ_NEGATE:
		return -(uint64_t)evaluate(d, e->a, is_unknown);
	case OBJ_NOT:
		return !evaluate(d, e->a, is_unknown);
	case OBJ_CHOOSE:
		return evaluate(d, evaluate(d, e->a, is_unknown) ? e->b : e->c,
				is_unknown);
	default:
		a = evaluate(d, e->a, is_unknown);
		return compute(e->op, a, evaluate(d, e->b, is_unknown));
	}
}

/* @return whether the operation may be as it was. */
static bool do_step(struct doing *d, const struct spec_object_step *step)
{
	bool is_unknown = false;
	int64_t value = evaluate(d, step->value, &is_unknown);
	int64_t index;

	if (!step->target)
		return value || is_unknown;
	index = step->target->a ? evaluate(d, step->target->a, &is_unknown) : 0;
	set(d, step->target->value, index, value);
	return !d->is_out_of_memory;
}

bool fl_lin_machine_step(const struct spec_object *m, struct fl_lin_states *s,
			 uint32_t state, const struct fl_lin_op *op, uint32_t *ret)
{
	const struct spec_object_operation *o = &m->operations[op->does - LIN_STEP];
	const struct fl_lin_state *from = &s->all.data[state];
	struct doing d = { .m = m, .op = op };
	bool is_allowed = !vec_reserve(&d.row, from->n + 3);

	if (is_allowed) {
		memcpy(d.row.data, from->at, from->n * sizeof(*from->at));
		d.row.size = from->n;
	}
	s->is_out_of_memory |= !is_allowed;
	for (size_t i = 0; is_allowed && i < o->n_steps; i++)
		is_allowed = do_step(&d, &o->steps[i]);
	s->is_out_of_memory |= d.is_out_of_memory;
	if (is_allowed)
		*ret = fl_lin_state(s, d.row.data, d.row.size);
	vec_deinit(&d.row);
	return is_allowed;
}
