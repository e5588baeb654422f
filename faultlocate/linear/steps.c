// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which steps does another operation notice?
 */
#include <stdlib.h>

#include "base/err.h"
#include "faultlocate/linear/steps.h"

uint64_t fl_lin_steps_locals(const struct spec_step_expr *e)
{
	if (!e)
		return 0;
	if (e->op == STEP_LOCAL)
		return 1ull << e->value;
	return (fl_lin_steps_locals(e->a) | fl_lin_steps_locals(e->b)) &
	       (e->op == STEP_ANY ? ~(1ull << e->value) : ~0ull);
}

static uint64_t locals_of(const struct spec_step *s)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->n_conditions; i++)
		all |= fl_lin_steps_locals(s->conditions[i].a) |
		       fl_lin_steps_locals(s->conditions[i].b);
	for (size_t i = 0; i < s->n_statements; i++)
		all |= fl_lin_steps_locals(s->statements[i].target) |
		       fl_lin_steps_locals(s->statements[i].value);
	return all;
}

uint64_t fl_lin_steps_used(const struct fl_lin_steps *steps, size_t i)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(steps, i);
	uint64_t all = 0;

	for (size_t k = steps->data[i].first; k < steps->data[i].end; k++)
		all |= locals_of(&o->steps[k]);
	return all;
}

uint64_t fl_lin_steps_guessed(const struct fl_lin_steps *steps, size_t i)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(steps, i);
	uint64_t bound = steps->data[i].bound, guessed = 0;

	for (size_t k = steps->data[i].first; k < steps->data[i].end; k++) {
		const struct spec_step *s = &o->steps[k];

		for (size_t c = 0; c < s->n_conditions; c++)
			guessed |= (fl_lin_steps_locals(s->conditions[c].a) |
				    fl_lin_steps_locals(s->conditions[c].b)) &
				   ~bound;
		bound |= guessed;
		for (size_t c = 0; c < s->n_statements; c++) {
			const struct spec_step_statement *t = &s->statements[c];

			guessed |= fl_lin_steps_locals(t->value) & ~bound;
			if (t->is == STEP_READ || t->is == STEP_FREE ||
			    t->target->op == STEP_MEMORY)
				guessed |= fl_lin_steps_locals(t->target) & ~bound;
			bound |= guessed | fl_lin_steps_locals(t->target);
		}
	}
	return guessed;
}

/* Is @p e the operation's own? @p fresh: locals whose things nobody else can reach. */
static bool is_own(const struct spec_step_expr *e, uint64_t fresh)
{
	if (!e || e->op == STEP_NUMBER || e->op == STEP_ID || e->op == STEP_LOCAL)
		return true;
	if (e->op == STEP_GLOBAL)
		return false;
	if (e->op == STEP_MEMORY)
		return e->a->op == STEP_LOCAL && fresh >> e->a->value & 1;
	return is_own(e->a, fresh) && is_own(e->b, fresh);
}

uint64_t fl_lin_steps_looked_for(const struct spec_structure *s)
{
	uint64_t all = 0;

	for (size_t o = 0; o < s->n_operations; o++) {
		const struct spec_structure_operation *op = &s->operations[o];

		for (size_t i = 0; i < op->n_steps; i++)
			for (size_t k = 0; k < op->steps[i].n_conditions; k++) {
				const struct spec_step_expr *e =
					op->steps[i].conditions[k].a;

				if (e->op == STEP_ANY)
					all |= 1ull << op->locals[e->value].type;
			}
	}
	return all;
}

/* Which locals have things that the operation made, and of which others know. */
struct made {
	uint64_t made, given;
	uint64_t looked_for; ///< types
	bool has_stored;     ///< something that others can reach
};

static void make(struct made *m, const struct spec_step_statement *t)
{
	uint64_t to = t->target->op == STEP_LOCAL ? 1ull << t->target->value : 0;
	uint64_t from = t->is == STEP_ASSIGN && t->value->op == STEP_LOCAL ?
				1ull << t->value->value :
				0;
	bool is_given = t->is == STEP_MALLOC ? m->looked_for >> t->type & 1 :
					       (m->given & from) != 0;

	if (t->is == STEP_ASSIGN && !to) {
		if (is_own(t->target, m->made & ~m->given))
			return;
		m->given |= from & m->made;
		m->has_stored = true;
		return;
	}
	if (t->is != STEP_ASSIGN && t->is != STEP_MALLOC)
		return;
	m->has_stored |= t->is == STEP_MALLOC && is_given;
	m->given = is_given ? m->given | to : m->given & ~to;
	m->made = t->is == STEP_MALLOC || (m->made & from) ? m->made | to : m->made & ~to;
}

uint64_t fl_lin_steps_given(const struct fl_lin_steps *steps, size_t i)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(steps, i);
	struct made m = { .looked_for = fl_lin_steps_looked_for(steps->s) };
	uint64_t before = 0;

	for (size_t k = 0; k < steps->data[i].end; k++)
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];

			if (k < steps->data[i].first) {
				make(&m, t);
				before = m.given;
				m.has_stored = false;
				continue;
			}
			make(&m, t);
			if (t->is == STEP_MALLOC)
				before &= ~(1ull << t->target->value);
		}
	return m.has_stored ? m.made & ~before : 0;
}

/* What @p s allocates, and gives away. */
static uint64_t fresh_after(const struct spec_step *s, uint64_t fresh, uint64_t seen)
{
	for (size_t i = 0; i < s->n_statements; i++) {
		const struct spec_step_statement *t = &s->statements[i];

		if (t->is == STEP_MALLOC && !(seen >> t->type & 1))
			fresh |= 1ull << t->target->value;
		else if (t->is == STEP_ASSIGN && t->value->op == STEP_LOCAL &&
			 (t->target->op == STEP_LOCAL || !is_own(t->target, fresh)))
			fresh &= ~(1ull << t->value->value);
		if (t->is == STEP_ASSIGN && t->target->op == STEP_LOCAL)
			fresh &= ~(1ull << t->target->value);
	}
	return fresh;
}

static bool is_local(const struct spec_step *s, uint64_t fresh, uint64_t seen)
{
	if (s->n_conditions)
		return false;
	for (size_t i = 0; i < s->n_statements; i++) {
		const struct spec_step_statement *t = &s->statements[i];

		// Of a READ of a local that has no value yet, that is when it gets one.
		if (t->is == STEP_READ)
			return false;
		if (t->is == STEP_MALLOC && !(seen >> t->type & 1))
			fresh |= 1ull << t->target->value;
		else if (t->is != STEP_FREE && t->is != STEP_MALLOC &&
			 (!is_own(t->target, fresh) || !is_own(t->value, fresh)))
			return false;
	}
	return true;
}

static size_t take_operation(struct fl_lin_steps *steps, size_t o, size_t n)
{
	const struct spec_structure_operation *op = &steps->s->operations[o];
	uint64_t fresh = 0, bound = (1ull << op->n_args) - 1,
		 seen = fl_lin_steps_looked_for(steps->s);
	struct fl_lin_step *last = NULL, now = { .operation = o, .bound = bound };

	for (size_t i = 0; i < op->n_steps; i++) {
		bool is_seen = !is_local(&op->steps[i], fresh, seen);

		fresh = fresh_after(&op->steps[i], fresh, seen);
		bound |= locals_of(&op->steps[i]);
		if (!is_seen && (i + 1 < op->n_steps || last))
			continue;
		now.end = i + 1;
		now.shown = &op->steps[i];
		if (!is_seen) // behind the last, or all there is
			break;
		last = &steps->data[n++];
		*last = now;
		now = (struct fl_lin_step){ .operation = o,
					    .index = now.index + 1,
					    .first = i + 1,
					    .bound = bound };
	}
	if (!last) {
		now.end = op->n_steps;
		now.shown = op->steps;
		last = &steps->data[n++];
		*last = now;
	}
	last->end = op->n_steps;
	last->is_last = true;
	return n;
}

struct err *fl_lin_steps_make(const struct spec_structure *s, struct fl_lin_steps *ret)
{
	size_t most = 1;

	for (size_t o = 0; o < s->n_operations; o++)
		most += s->operations[o].n_steps;
	ret->s = s;
	ret->data = calloc(most, sizeof(*ret->data));
	ret->of = calloc(s->n_operations + 1, sizeof(*ret->of));
	if (!ret->data || !ret->of)
		return &err_nomem;
	for (size_t o = 0; o < s->n_operations; o++) {
		ret->of[o] = ret->size;
		ret->size = take_operation(ret, o, ret->size);
	}
	ret->of[s->n_operations] = ret->size;
	return NULL;
}

void fl_lin_steps_deinit(struct fl_lin_steps *steps)
{
	free(steps->data);
	free(steps->of);
	*steps = (struct fl_lin_steps){};
}
