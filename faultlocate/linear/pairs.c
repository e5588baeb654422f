// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Definitions 3 and 4 of paper 001, asked of Z3.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "faultlocate/linear/facts.h"
#include "faultlocate/linear/pairs.h"

/* a of u and b of v, in one order. */
struct order {
	struct state s;
	struct instance u, v;
	fl_lin_facts_seen by_u, by_v;
	smt_term first, then; ///< when the one can be done; the other, after it
};

/* Both operations will end: what that needs holds, before their sub-operations or behind them. */
static void keep_promises(struct facts *f, const struct order *o, size_t a,
			  bool is_a_done, size_t b, bool is_b_done)
{
	if (!is_a_done || !f->steps->data[a].is_last)
		fl_lin_facts_assert_promises(f, a + is_a_done, &o->u, &o->s);
	if (!is_b_done || !f->steps->data[b].is_last)
		fl_lin_facts_assert_promises(f, b + is_b_done, &o->v, &o->s);
}

static void order_run(struct facts *f, const struct question *q, bool is_reversed,
		      struct order *ret)
{
	size_t a = q->u.before, b = q->v.before;

	*ret = (struct order){ .s = fl_lin_facts_state_copy(f, &q->now),
			       .u = fl_lin_facts_instance_copy(f, &q->u),
			       .v = fl_lin_facts_instance_copy(f, &q->v) };
	if (f->is_out_of_memory)
		return;
	if (!is_reversed)
		keep_promises(f, ret, a, false, b, false);
	if (!is_reversed)
		ret->first = fl_lin_facts_do(f, a, &ret->u, &ret->s, &ret->by_u);
	else
		ret->first = fl_lin_facts_do(f, b, &ret->v, &ret->s, &ret->by_v);
	if (!is_reversed)
		keep_promises(f, ret, a, true, b, false);
	if (!is_reversed)
		ret->then = fl_lin_facts_do(f, b, &ret->v, &ret->s, &ret->by_v);
	else
		ret->then = fl_lin_facts_do(f, a, &ret->u, &ret->s, &ret->by_u);
	// Of the other order they are the same: what is false in between stays so.
	if (!is_reversed)
		keep_promises(f, ret, a, true, b, true);
}

static void order_deinit(struct order *o)
{
	vec_deinit(&o->by_u);
	vec_deinit(&o->by_v);
}

static uint64_t locals_in(const struct spec_step_expr *e)
{
	return !e ? 0 :
		    (e->op == STEP_LOCAL ? 1ull << e->value : 0) | locals_in(e->a) |
			       locals_in(e->b);
}

/* The locals that matter behind @p step: somebody reads them. Where no operation says what it gives,
 * all do. */
static uint64_t live_behind(const struct facts *f, size_t step)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);
	bool has_results = false;
	uint64_t live = o->result >= 0 ? 1ull << o->result : 0;

	for (size_t k = 0; k < f->s->n_operations; k++)
		has_results |= f->s->operations[k].result >= 0;
	for (size_t k = f->steps->data[step].end; k < o->n_steps; k++) {
		for (size_t c = 0; c < o->steps[k].n_conditions; c++)
			live |= locals_in(o->steps[k].conditions[c].a) |
				locals_in(o->steps[k].conditions[c].b);
		for (size_t c = 0; c < o->steps[k].n_statements; c++)
			live |= locals_in(o->steps[k].statements[c].value) |
				(o->steps[k].statements[c].target ?
					 locals_in(o->steps[k].statements[c].target->a) :
					 0);
	}
	return has_results ? live : UINT64_MAX;
}

static smt_term same_locals(struct facts *f, smt_term all, size_t step,
			    const struct instance *a, const struct instance *b)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);
	uint64_t live = live_behind(f, step);

	for (size_t k = 0; k < o->n_locals; k++)
		if (live >> k & 1)
			all = smt_and(f->smt, all,
				      smt_eq(f->smt, a->local[k], b->local[k]));
	return all;
}

/* Two memories that were one differ only where one was written. */
static smt_term same_memory(struct facts *f, smt_term all, const struct written *w,
			    const struct memory *a, const struct memory *b)
{
	for (; w; w = w->earlier)
		all = smt_and(f->smt, all,
			      smt_eq(f->smt, fl_lin_facts_memory_at(f, a, w->at),
				     fl_lin_facts_memory_at(f, b, w->at)));
	return all;
}

static smt_term same(struct facts *f, const struct order *a, const struct order *b)
{
	smt_term all = smt_truth(f->smt, true);

	for (size_t k = 0; k < f->s->n_globals; k++)
		all = smt_and(f->smt, all,
			      smt_eq(f->smt, a->s.global[k], b->s.global[k]));
	for (size_t k = 0; k < f->s->n_memories; k++) {
		all = same_memory(f, all, a->s.memory[k].last, &a->s.memory[k],
				  &b->s.memory[k]);
		all = same_memory(f, all, b->s.memory[k].last, &a->s.memory[k],
				  &b->s.memory[k]);
	}
	for (size_t k = 0; k < a->by_u.size; k++)
		all = smt_and(f->smt, all,
			      smt_eq(f->smt, a->by_u.data[k], b->by_u.data[k]));
	for (size_t k = 0; k < a->by_v.size; k++)
		all = smt_and(f->smt, all,
			      smt_eq(f->smt, a->by_v.data[k], b->by_v.data[k]));
	all = same_locals(f, all, a->u.before, &a->u, &b->u);
	return same_locals(f, all, a->v.before, &a->v, &b->v);
}

static void ask_reversible(struct facts *f, const struct order *forth,
			   const struct question *q, struct fl_lin_pair *ret)
{
	struct order back;
	smt_term equal;
	enum smt_answer answer;

	order_run(f, q, true, &back);
	if (f->is_out_of_memory)
		return;
	equal = same(f, forth, &back);
	smt_assert(f->smt, smt_not(f->smt, smt_and(f->smt, back.first,
						   smt_and(f->smt, back.then, equal))));
	f->n_questions++;
	answer = smt_check(f->smt);
	ret->is_undecided |= answer == SMT_UNKNOWN;
	ret->is_reversible = answer == SMT_UNSAT;
	if (answer == SMT_SAT)
		ret->why = !smt_is_true(f->smt, back.first) ? PAIR_SECOND_FIRST :
			   !smt_is_true(f->smt, back.then)  ? PAIR_THEN_FIRST :
							      PAIR_DIFFERS;
	order_deinit(&back);
}

static void ask_pair(struct facts *f, size_t a, size_t b, struct fl_lin_pair *ret)
{
	struct question q;
	struct order forth = {};
	enum smt_answer answer;

	ret->is_boundary = f->steps->data[a].is_last && !f->steps->data[b].index;
	smt_push(f->smt);
	fl_lin_facts_ask(f, a, b, &q);
	if (!f->is_out_of_memory)
		order_run(f, &q, false, &forth);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, forth.first);
		smt_assert(f->smt, forth.then);
		answer = smt_check(f->smt);
		ret->is_undecided = answer == SMT_UNKNOWN;
		ret->is_orderable = answer != SMT_UNSAT;
		if (ret->is_orderable && !ret->is_boundary)
			ask_reversible(f, &forth, &q, ret);
	}
	smt_pop(f->smt);
	order_deinit(&forth);
	fl_lin_facts_question_deinit(&q);
}

/* Can it be done at all? */
static bool is_never(struct facts *f, size_t step)
{
	struct question q;
	bool is = false;

	smt_push(f->smt);
	fl_lin_facts_ask(f, FACT_ALWAYS, step, &q);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, fl_lin_facts_do(f, step, &q.v, &q.now, NULL));
		is = smt_check(f->smt) == SMT_UNSAT;
	}
	smt_pop(f->smt);
	fl_lin_facts_question_deinit(&q);
	return is;
}

struct err *fl_lin_pairs_derive(const struct fl_lin_steps *steps,
				struct fl_lin_pairs *ret)
{
	struct facts f;
	struct err *err = fl_lin_facts_find(steps, &f);

	ret->n = steps->size;
	ret->data = calloc(steps->size * steps->size, sizeof(*ret->data));
	ret->is_never = calloc(steps->size, sizeof(*ret->is_never));
	if (!err && (!ret->data || !ret->is_never))
		err = &err_nomem;
	for (size_t a = 0; a < steps->size && !err; a++)
		ret->is_never[a] = is_never(&f, a);
	for (size_t a = 0; a < steps->size && !err; a++)
		for (size_t b = 0; b < steps->size; b++) {
			struct fl_lin_pair *pair = &ret->data[a * ret->n + b];

			ask_pair(&f, a, b, pair);
			ret->n_undecided += pair->is_undecided;
		}
	for (size_t k = 0; k < f.all.size; k++)
		ret->n_facts += !f.all.data[k].is_off;
	ret->n_questions = f.n_questions;
	if (!err && f.is_out_of_memory)
		err = &err_nomem;
	fl_lin_facts_deinit(&f);
	return err;
}

void fl_lin_pairs_deinit(struct fl_lin_pairs *pairs)
{
	free(pairs->data);
	free(pairs->is_never);
	*pairs = (struct fl_lin_pairs){};
}
