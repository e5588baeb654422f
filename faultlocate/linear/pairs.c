// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Definitions 3 and 4 of paper 001, asked of Z3.
 */
#include <stdio.h>
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
	struct state between;
};

/* Both operations will end: what that needs holds, before their sub-operations or behind them. */
static void keep_promises(struct facts *f, const struct order *o, size_t a,
			  bool is_a_done, size_t b, bool is_b_done)
{
	if (!is_a_done || !f->steps->data[a].is_last)
		fl_lin_promises_assert(f, a + is_a_done, &o->u, &o->s);
	if (!is_b_done || !f->steps->data[b].is_last)
		fl_lin_promises_assert(f, b + is_b_done, &o->v, &o->s);
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
	ret->between = fl_lin_facts_state_copy(f, &ret->s);
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

uint64_t fl_lin_live_behind(const struct facts *f, size_t step)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);
	bool has_results = false;
	uint64_t live = o->result >= 0 ? 1ull << o->result : 0;

	for (size_t k = 0; k < f->s->n_operations; k++)
		has_results |= f->s->operations[k].result >= 0;
	for (size_t k = f->steps->data[step].end; k < o->n_steps; k++) {
		for (size_t c = 0; c < o->steps[k].n_conditions; c++)
			live |= fl_lin_steps_locals(o->steps[k].conditions[c].a) |
				fl_lin_steps_locals(o->steps[k].conditions[c].b);
		for (size_t c = 0; c < o->steps[k].n_statements; c++)
			live |= fl_lin_steps_locals(o->steps[k].statements[c].value) |
				(o->steps[k].statements[c].target ?
					 fl_lin_steps_locals(
						 o->steps[k].statements[c].target->a) :
					 0);
	}
	return has_results ? live : UINT64_MAX;
}

/* What somebody learns the value of, in the end: bits by number. Where no operation says what it gives, that
 * is all. */
struct noticed {
	struct touched shared;
	uint64_t *locals; ///< of each operation
};

static bool is_noticed(const struct noticed *n, size_t o, const struct spec_step_expr *e)
{
	return e->op == STEP_GLOBAL ? n->shared.globals >> e->value & 1 :
	       e->op == STEP_MEMORY ? n->shared.memories >> e->value & 1 :
				      n->locals[o] >> e->value & 1;
}

/* Operation @p o learns what is in @p e. @return whether any of that was not noticed before. */
static bool notice(struct noticed *n, size_t o, const struct spec_step_expr *e)
{
	struct touched was = n->shared;
	uint64_t locals = n->locals[o];

	fl_lin_facts_touch(&n->shared, e);
	n->locals[o] |= fl_lin_steps_locals(e);
	return was.globals != n->shared.globals || was.memories != n->shared.memories ||
	       locals != n->locals[o];
}

static bool notice_in_step(struct noticed *n, size_t o, const struct spec_step *s)
{
	bool is_new = false;

	for (size_t c = 0; c < s->n_conditions; c++) {
		is_new |= notice(n, o, s->conditions[c].a);
		is_new |= notice(n, o, s->conditions[c].b);
	}
	for (size_t c = 0; c < s->n_statements; c++) {
		const struct spec_step_statement *t = &s->statements[c];

		if (t->is == STEP_READ || (t->target && t->target->op == STEP_MEMORY))
			is_new |= notice(n, o,
					 t->is == STEP_READ ? t->target : t->target->a);
		if (t->is == STEP_ASSIGN && is_noticed(n, o, t->target))
			is_new |= notice(n, o, t->value);
	}
	return is_new;
}

static void find_noticed(struct facts *f)
{
	const struct spec_structure *s = f->s;
	struct noticed n = { .locals = calloc(s->n_operations, sizeof(*n.locals)) };
	bool has_results = false, is_new = true;

	f->is_out_of_memory |= !n.locals;
	for (size_t o = 0; o < s->n_operations && n.locals; o++) {
		has_results |= s->operations[o].result >= 0;
		if (s->operations[o].result >= 0)
			n.locals[o] = 1ull << s->operations[o].result;
	}
	while (is_new && n.locals) {
		is_new = false;
		for (size_t o = 0; o < s->n_operations; o++)
			for (size_t k = 0; k < s->operations[o].n_steps; k++)
				is_new |=
					notice_in_step(&n, o, &s->operations[o].steps[k]);
	}
	f->noticed = has_results ? n.shared : (struct touched){ UINT64_MAX, UINT64_MAX };
	free(n.locals);
}

/* What must be the same behind both orders, and what it is called. */
struct equal {
	smt_term is;
	const char *what, *name, *of;
};

struct equals {
	struct facts *f;
	VEC(struct equal) all;
};

static void equal(struct equals *e, smt_term a, smt_term b, struct equal it)
{
	it.is = smt_eq(e->f->smt, a, b);
	if (vec_add(&e->all, it))
		e->f->is_out_of_memory = true;
}

static void same_locals(struct equals *e, size_t step, const struct instance *a,
			const struct instance *b)
{
	const struct spec_structure_operation *o =
		fl_lin_steps_operation(e->f->steps, step);
	uint64_t live = fl_lin_live_behind(e->f, step);

	for (size_t k = 0; k < o->n_locals; k++)
		if (live >> k & 1)
			equal(e, a->local[k], b->local[k],
			      (struct equal){ .what = "", o->locals[k].name, o->name });
}

/* Two memories that were one differ only where one was written. */
static void same_memory(struct equals *e, const char *name, const struct written *w,
			const struct memory *a, const struct memory *b)
{
	for (; w; w = w->earlier)
		equal(e, fl_lin_facts_memory_at(e->f, a, w->at),
		      fl_lin_facts_memory_at(e->f, b, w->at),
		      (struct equal){ .what = "a ", name });
}

static void same_seen(struct equals *e, const struct facts *f, size_t step,
		      const fl_lin_facts_seen *a, const fl_lin_facts_seen *b)
{
	for (size_t k = 0; k < a->size; k++)
		equal(e, a->data[k], b->data[k],
		      (struct equal){ .what = "what is ",
				      "READ",
				      fl_lin_steps_operation(f->steps, step)->name });
}

static void same(struct equals *e, const struct order *a, const struct order *b)
{
	struct facts *f = e->f;

	for (size_t k = 0; k < f->s->n_globals; k++)
		if (f->noticed.globals >> k & 1)
			equal(e, a->s.global[k], b->s.global[k],
			      (struct equal){ .what = "", f->s->globals[k].name });
	for (size_t k = 0; k < f->s->n_memories; k++) {
		const struct memory *m = &a->s.memory[k], *n = &b->s.memory[k];

		if (!(f->noticed.memories >> k & 1))
			continue;
		same_memory(e, f->s->memories[k].name, m->last, m, n);
		same_memory(e, f->s->memories[k].name, n->last, m, n);
	}
	same_seen(e, f, a->u.before, &a->by_u, &b->by_u);
	same_seen(e, f, a->v.before, &a->by_v, &b->by_v);
	same_locals(e, a->u.before, &a->u, &b->u);
	same_locals(e, a->v.before, &a->v, &b->v);
}

/* Condition number @p index in the text of @p step: it ends in ';'. */
static void condition_text(const struct spec_step *step, size_t index, char *buf,
			   size_t size)
{
	const char *at = step->text + strcspn(step->text, "<");

	at += *at != 0;
	while (index-- && strchr(at, ';'))
		at = strchr(at, ';') + 1;
	at += strspn(at, " ");
	snprintf(buf, size, "%.*s", (int)strcspn(at, ";"), at);
}

/* In the state that Z3 found: what is in the way of the other order? */
static void explain(struct facts *f, const struct order *back,
		    const fl_lin_facts_conditions *conditions, const struct equals *e,
		    struct fl_lin_pair *ret)
{
	ret->why = !smt_is_true(f->smt, back->first) ? PAIR_SECOND_FIRST :
		   !smt_is_true(f->smt, back->then)  ? PAIR_THEN_FIRST :
						       PAIR_DIFFERS;
	for (size_t k = 0; ret->why != PAIR_DIFFERS && k < conditions->size; k++)
		if (!smt_is_true(f->smt, conditions->data[k].holds)) {
			condition_text(conditions->data[k].of, conditions->data[k].index,
				       ret->what, sizeof(ret->what));
			return;
		}
	for (size_t k = 0; ret->why == PAIR_DIFFERS && k < e->all.size; k++) {
		const struct equal *it = &e->all.data[k];

		if (smt_is_true(f->smt, it->is))
			continue;
		snprintf(ret->what, sizeof(ret->what), "%s%s%s%s", it->what, it->name,
			 it->of ? " of " : "", it->of ?: "");
		return;
	}
}

/** What one sub-operation gives others that is new to them, and what another guesses: locals, as bits. */
struct guess {
	const struct spec_structure_operation *u, *v;
	uint64_t given, guessed;
};

static struct guess guess_of(const struct facts *f, size_t a, size_t b)
{
	return (struct guess){ fl_lin_steps_operation(f->steps, a),
			       fl_lin_steps_operation(f->steps, b),
			       fl_lin_steps_given(f->steps, a),
			       fl_lin_steps_guessed(f->steps, b) };
}

/* May what @p g guesses in local @p y be what is given in local @p x? */
static bool may_be_one(const struct guess *g, size_t x, size_t y)
{
	return g->given >> x & 1 && g->guessed >> y & 1 && g->v->locals[y].type >= 0 &&
	       g->u->locals[x].type == g->v->locals[y].type;
}

/* Does sub-operation @p b guess a thing of a type of which @p a gives others one that is new to them? */
static bool may_guess_new(const struct facts *f, size_t a, size_t b)
{
	struct guess g = guess_of(f, a, b);

	for (size_t x = 0; x < g.u->n_locals; x++)
		for (size_t y = 0; y < g.v->n_locals; y++)
			if (may_be_one(&g, x, y))
				return true;
	return false;
}

/* When the second could have guessed what it did before the first, too: that had not made it. */
static smt_term is_not_new(struct facts *f, const struct question *q)
{
	struct guess g = guess_of(f, q->u.before, q->v.before);
	smt_term all = smt_truth(f->smt, true);

	for (size_t x = 0; x < g.u->n_locals; x++)
		for (size_t y = 0; y < g.v->n_locals; y++) {
			smt_term made = q->u.has_fresh >> x & 1 ? q->u.fresh[x] :
								  q->u.local[x];

			if (may_be_one(&g, x, y))
				all = smt_and(f->smt, all,
					      smt_not(f->smt, smt_eq(f->smt, made,
								     q->v.local[y])));
		}
	return all;
}

static void ask_reversible(struct facts *f, const struct order *forth,
			   const struct question *q, struct fl_lin_pair *ret)
{
	fl_lin_facts_conditions conditions = {};
	struct equals e = { .f = f };
	struct order back;
	smt_term all;
	enum smt_answer answer;

	f->watched = &conditions;
	order_run(f, q, true, &back);
	f->watched = NULL;
	if (!f->is_out_of_memory)
		back.first = smt_and(f->smt, back.first, is_not_new(f, q));
	if (!f->is_out_of_memory)
		same(&e, forth, &back);
	if (!f->is_out_of_memory) {
		all = smt_and(f->smt, back.first, back.then);
		for (size_t k = 0; k < e.all.size; k++)
			all = smt_and(f->smt, all, e.all.data[k].is);
		smt_assert(f->smt, smt_not(f->smt, all));
		f->n_questions++;
		answer = smt_check(f->smt);
		ret->is_undecided |= answer == SMT_UNKNOWN;
		ret->is_reversible = answer == SMT_UNSAT;
		if (answer == SMT_SAT)
			explain(f, &back, &conditions, &e, ret);
	}
	vec_deinit(&conditions);
	vec_deinit(&e.all);
	order_deinit(&back);
}

/* What sub-operation @p step reads. */
static struct touched read_by(const struct facts *f, size_t step)
{
	const struct spec_structure_operation *o = fl_lin_facts_operation(f, step);
	struct touched all = {};

	for (size_t k = f->steps->data[step].first; k < f->steps->data[step].end; k++) {
		const struct spec_step *it = &o->steps[k];

		for (size_t c = 0; c < it->n_conditions; c++) {
			fl_lin_facts_touch(&all, it->conditions[c].a);
			fl_lin_facts_touch(&all, it->conditions[c].b);
		}
		for (size_t c = 0; c < it->n_statements; c++) {
			fl_lin_facts_touch(&all, it->statements[c].target);
			fl_lin_facts_touch(&all, it->statements[c].value);
		}
	}
	return all;
}

static bool is_apart(const struct touched *a, const struct touched *b)
{
	return !(a->globals & b->globals) && !(a->memories & b->memories);
}

/* Does neither of the two touch what the other writes, nor the second what the first made? Then they can
 * change places. */
static bool are_apart(const struct facts *f, size_t a, size_t b)
{
	struct touched read_a = read_by(f, a), read_b = read_by(f, b);
	struct touched wrote_a = fl_lin_facts_written(f, a),
		       wrote_b = fl_lin_facts_written(f, b);

	return !may_guess_new(f, a, b) && is_apart(&wrote_a, &read_b) &&
	       is_apart(&wrote_a, &wrote_b) && is_apart(&read_a, &wrote_b);
}

void fl_lin_pair_ask(struct facts *f, size_t a, size_t b, fl_lin_pair_when when, void *of,
		     struct fl_lin_pair *ret)
{
	struct question q;
	struct order forth = {};
	enum smt_answer answer;
	bool follows = !when && f->follows[a * f->steps->size + b];

	ret->is_boundary = f->steps->data[a].is_last && !f->steps->data[b].index;
	ret->is_orderable = follows;
	ret->is_reversible = follows && !ret->is_boundary && are_apart(f, a, b);
	if (follows && (ret->is_boundary || ret->is_reversible))
		return;
	fl_lin_facts_ask(f, a, b, &q);
	if (!f->is_out_of_memory)
		order_run(f, &q, false, &forth);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, forth.first);
		smt_assert(f->smt, forth.then);
		if (when)
			smt_assert(f->smt, when(f, &q, &forth.between, of));
		answer = smt_check(f->smt);
		ret->is_undecided = answer == SMT_UNKNOWN;
		ret->is_orderable = answer != SMT_UNSAT;
		ret->is_reversible = ret->is_orderable && !ret->is_boundary &&
				     are_apart(f, a, b);
		if (ret->is_orderable && !ret->is_boundary && !ret->is_reversible)
			ask_reversible(f, &forth, &q, ret);
	}
	order_deinit(&forth);
	fl_lin_facts_question_deinit(f, &q);
}

/* Was it done, in some execution? */
static bool was_done(const struct facts *f, size_t step)
{
	bool was = false;

	for (size_t b = 0; b < f->steps->size; b++)
		was |= f->follows[step * f->steps->size + b];
	return was;
}

/* Can it be done at all? */
static bool is_never(struct facts *f, size_t step)
{
	struct question q;
	bool is = false;
	struct instance v;
	struct state s;

	if (was_done(f, step))
		return false;
	fl_lin_facts_ask(f, FACT_ALWAYS, step, &q);
	v = fl_lin_facts_instance_copy(f, &q.v);
	s = fl_lin_facts_state_copy(f, &q.now);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, fl_lin_facts_do(f, step, &v, &s, NULL));
		is = smt_check(f->smt) == SMT_UNSAT;
	}
	fl_lin_facts_question_deinit(f, &q);
	return is;
}

static void ask_all(struct facts *f, struct fl_lin_pairs *ret)
{
	for (size_t a = 0; a < ret->n; a++)
		ret->is_never[a] = is_never(f, a);
	// Of one second, one behind the other: they share what is asserted of it.
	for (size_t b = 0; b < ret->n; b++)
		for (size_t a = 0; a < ret->n && !f->is_out_of_memory; a++) {
			struct fl_lin_pair *pair = &ret->data[a * ret->n + b];

			fl_lin_pair_ask(f, a, b, NULL, NULL, pair);
			ret->n_undecided += pair->is_undecided;
		}
}

/* Where the pairs are no proof: is an operation that has read of two versions? */
static struct err *ask_moves(struct facts *f, struct fl_lin_pairs *ret)
{
	bool goes_on = true;
	struct err *err = NULL;

	while (goes_on && !err) {
		struct fl_lin_proof proof = {};

		err = fl_lin_prove(f->steps, ret, &proof);
		goes_on = !err && !proof.is_proven &&
			  fl_lin_move_find(f, ret, proof.next);
		if (!err && proof.is_proven)
			fl_lin_ends_find(f, ret);
		fl_lin_proof_deinit(&proof);
	}
	return err;
}

bool fl_lin_pairs_alloc(struct fl_lin_pairs *pairs, size_t n)
{
	pairs->n = n;
	pairs->data = calloc(n * n, sizeof(*pairs->data));
	pairs->is_never = calloc(n, sizeof(*pairs->is_never));
	pairs->may_wait = calloc(n, sizeof(*pairs->may_wait));
	pairs->move = calloc(n, sizeof(*pairs->move));
	return pairs->data && pairs->is_never && pairs->may_wait && pairs->move;
}

struct err *fl_lin_pairs_derive(const struct fl_lin_steps *steps,
				struct fl_lin_pairs *ret)
{
	struct facts f;
	struct err *err = fl_lin_facts_find(steps, &f);

	if (!err && !fl_lin_pairs_alloc(ret, steps->size))
		err = &err_nomem;
	if (!err)
		find_noticed(&f);
	if (!err)
		fl_lin_promises_find(&f);
	if (!err)
		fl_lin_facts_follow(&f);
	if (!err)
		ask_all(&f, ret);
	if (!err && !f.is_out_of_memory)
		err = ask_moves(&f, ret);
	for (size_t k = 0; k < f.all.size; k++)
		ret->n_facts += !f.all.data[k].is_off;
	ret->n_questions = f.n_questions;
	if (!err && f.is_out_of_memory)
		err = &err_nomem;
	fl_lin_facts_deinit(&f);
	return err;
}

size_t fl_lin_pairs_reservation(const struct fl_lin_pairs *pairs)
{
	size_t k = 0;

	while (k < pairs->n && !pairs->is_never[k] && !pairs->may_wait[k])
		k++;
	return k;
}

void fl_lin_pairs_deinit(struct fl_lin_pairs *pairs)
{
	free(pairs->data);
	free(pairs->is_never);
	free(pairs->may_wait);
	free(pairs->move);
	*pairs = (struct fl_lin_pairs){};
}
