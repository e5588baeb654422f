// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Does an operation that has written end? Algorithm 6 puts the sub-operations that were done in an order
 * of operations, also of one that stops in the middle; no whole operation is like that one. So it is
 * asked whether each that stops may be taken out of the history, or can end:
 *
 *  - of one that has only read, or written what nobody minds, everything others did can come before
 *    it: without it there is a history as well;
 *  - one whose next sub-operation can be done in every state that can be reached goes on;
 *  - so does one for which an operation that nobody began yet, done as a whole, makes it possible: that one
 *    comes behind all that have ended, and so does not disturb their order.
 *
 * Where none of these is so, the operation may wait for ever, and others see what it wrote.
 */
#include "faultlocate/linear/facts.h"

/* Locals that have no value before @p step have, where the first step says what they are equal to, that. */
static void choose(struct facts *f, size_t step, struct instance *i,
		   const struct state *s)
{
	const struct fl_lin_step *it = &f->steps->data[step];
	const struct spec_step *first =
		&fl_lin_steps_operation(f->steps, step)->steps[it->first];
	uint64_t had = it->bound;

	for (size_t c = 0; c < first->n_conditions; c++) {
		const struct spec_step_condition *is = &first->conditions[c];
		const struct spec_step_expr *local = is->a->op == STEP_LOCAL ? is->a :
									       is->b;
		const struct spec_step_expr *other = local == is->a ? is->b : is->a;

		if (is->compare != STEP_EQ || local->op != STEP_LOCAL ||
		    had >> local->value & 1 || fl_lin_steps_locals(other) & ~had)
			continue;
		i->local[local->value] = fl_lin_facts_value(f, other, local, i, s);
		had |= 1ull << local->value;
	}
}

static bool allocates(const struct facts *f, size_t step)
{
	const struct fl_lin_step *it = &f->steps->data[step];
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);

	for (size_t k = it->first; k < it->end; k++)
		for (size_t c = 0; c < o->steps[k].n_statements; c++)
			if (o->steps[k].statements[c].is == STEP_MALLOC)
				return true;
	return false;
}

/* A condition that there is no such thing is asked about some things alone: that it holds is not known then. */
static bool looks_for_none(const struct facts *f, size_t step)
{
	const struct fl_lin_step *it = &f->steps->data[step];
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);

	for (size_t k = it->first; k < it->end; k++)
		for (size_t c = 0; c < o->steps[k].n_conditions; c++)
			if (o->steps[k].conditions[c].a->op == STEP_ANY ||
			    o->steps[k].conditions[c].b->op == STEP_ANY)
				return true;
	return false;
}

/* When @p i can do @p step in @p s, for values of its own choice. Both change. */
static smt_term can_do(struct facts *f, size_t step, struct instance *i, struct state *s)
{
	choose(f, step, i, s);
	return fl_lin_facts_do(f, step, i, s, NULL);
}

static bool is_always_possible(struct facts *f, size_t step)
{
	struct question q;
	struct instance i;
	struct state s;
	bool is = false;

	fl_lin_facts_ask(f, FACT_ALWAYS, step, &q);
	i = fl_lin_facts_instance_copy(f, &q.v);
	s = fl_lin_facts_state_copy(f, &q.now);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, smt_not(f->smt, can_do(f, step, &i, &s)));
		is = smt_check(f->smt) == SMT_UNSAT;
	}
	fl_lin_facts_question_deinit(f, &q);
	return is;
}

/* Done as a whole where @p step is not possible, does operation @p o make it so? */
static bool is_made_possible(struct facts *f, size_t step, size_t o)
{
	size_t first = f->steps->of[o], end = f->steps->of[o + 1];
	struct question q;
	struct instance other, i;
	struct state s;
	smt_term all;
	bool is = false;

	for (size_t k = first; k < end; k++)
		if (looks_for_none(f, k) || (k > first && allocates(f, k)))
			return false;
	if (first == end)
		return false;
	fl_lin_facts_ask(f, first, step, &q);
	other = fl_lin_facts_instance_copy(f, &q.u);
	i = fl_lin_facts_instance_copy(f, &q.v);
	s = fl_lin_facts_state_copy(f, &q.now);
	if (!f->is_out_of_memory) {
		all = can_do(f, step, &i, &s);
		smt_assert(f->smt, smt_not(f->smt, all));
		s = fl_lin_facts_state_copy(f, &q.now);
		all = smt_truth(f->smt, true);
		for (size_t k = first; k < end; k++)
			all = smt_and(f->smt, all, can_do(f, k, &other, &s));
		i = fl_lin_facts_instance_copy(f, &q.v);
	}
	if (!f->is_out_of_memory) {
		all = smt_and(f->smt, all, can_do(f, step, &i, &s));
		smt_assert(f->smt, smt_not(f->smt, all));
		is = smt_check(f->smt) == SMT_UNSAT;
	}
	fl_lin_facts_question_deinit(f, &q);
	return is;
}

static bool is_possible(struct facts *f, size_t step)
{
	bool is;

	if (looks_for_none(f, step))
		return false;
	is = is_always_possible(f, step);
	for (size_t o = 0; o < f->s->n_operations && !is && !f->is_out_of_memory; o++)
		is = is_made_possible(f, step, o);
	return is;
}

/* Does somebody mind what the operation of @p step wrote before it? */
static bool is_minded(struct facts *f, size_t step)
{
	bool is = false;

	for (size_t k = step - f->steps->data[step].index; k < step && !is; k++)
		is = !fl_lin_promises_is_minded_by_none(f, k);
	return is;
}

void fl_lin_ends_find(struct facts *f, struct fl_lin_pairs *pairs)
{
	for (size_t k = 0; k < f->steps->size && !f->is_out_of_memory; k++)
		pairs->may_wait[k] = f->steps->data[k].index && is_minded(f, k) &&
				     !is_possible(f, k);
}
