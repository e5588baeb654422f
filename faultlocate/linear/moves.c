// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Operations that have read, of two versions (paper 001, section 6.5, has versions by how variables are
 * related): what was read holds still when the operation goes on, or no longer.
 *
 * x is the operation's sub-operations up to `next`, Z what others did between, a row of prefixes.
 *
 * LATE. What x read holds before next. Then x may have read there: nobody tells, for it wrote nothing,
 * or what nobody minds (whatever comes behind can come before, and is the same). Z stands before both.
 * Until next an operation has as good as not begun: of what comes between the sub-operations of x
 * nothing need be asked. One that never comes to next is left out.
 *
 * SPLIT. What x read holds no longer. There is a last prefix of Z before which it did: x may have read
 * there. Of that prefix and those behind, next must be able to come before each sub-operation, in
 * states in which what x read does not hold, before or behind it; of that prefix it must in any
 * state that comes before the sub-operation that ends it.
 */
#include "faultlocate/linear/facts.h"

enum { MOST_STEPS = 65 };

/* What is asked of an operation before `next`. */
struct moving {
	const struct fl_lin_pairs *pairs;
	size_t first, next;
	uint64_t assigned; ///< locals, by x
};

static bool is_free(const struct fl_lin_pair *p)
{
	return !p->is_orderable || p->is_reversible;
}

/* Whatever others do behind @p a can be done before it. */
static bool is_minded_by_none(const struct moving *m, size_t a)
{
	for (size_t b = 0; b < m->pairs->n; b++)
		if (!is_free(fl_lin_pair(m->pairs, a, b)))
			return false;
	return true;
}

static bool has_written(const struct facts *f, size_t step)
{
	struct touched w = fl_lin_facts_written(f, step);

	return w.globals || w.memories;
}

static bool is_same_place(const struct spec_step_expr *a, const struct spec_step_expr *b)
{
	return a == b || (a && b && a->op == b->op && a->value == b->value &&
			  is_same_place(a->a, b->a) && is_same_place(a->b, b->b));
}

/* Does @p s say that @p place is what a variable is, or a number? */
static bool says_what(const struct spec_step *s, const struct spec_step_expr *place)
{
	for (size_t c = 0; c < s->n_conditions; c++) {
		const struct spec_step_condition *it = &s->conditions[c];

		if (it->compare != STEP_EQ)
			continue;
		if ((is_same_place(it->a, place) &&
		     (it->b->op == STEP_LOCAL || it->b->op == STEP_NUMBER)) ||
		    (is_same_place(it->b, place) &&
		     (it->a->op == STEP_LOCAL || it->a->op == STEP_NUMBER)))
			return true;
	}
	return false;
}

/* Is memory number @p memory written of what the same sub-operation allocates, and never else? */
static bool is_constant(const struct facts *f, int64_t memory)
{
	for (size_t step = 0; step < f->steps->size; step++) {
		const struct fl_lin_step *it = &f->steps->data[step];
		const struct spec_structure_operation *o =
			fl_lin_steps_operation(f->steps, step);
		uint64_t fresh = 0;

		for (size_t k = it->first; k < it->end; k++)
			for (size_t c = 0; c < o->steps[k].n_statements; c++) {
				const struct spec_step_statement *t =
					&o->steps[k].statements[c];

				if (t->is == STEP_MALLOC)
					fresh |= 1ull << t->target->value;
				if (t->is == STEP_ASSIGN && t->target->op == STEP_LOCAL)
					fresh &= ~(1ull << t->target->value);
				if (t->is == STEP_ASSIGN &&
				    t->target->op == STEP_MEMORY &&
				    t->target->value == memory &&
				    (t->target->a->op != STEP_LOCAL ||
				     !(fresh >> t->target->a->value & 1)))
					return false;
			}
	}
	return true;
}

/* Would a later READ of @p place by @p s give the same? */
static bool can_read_later(const struct facts *f, const struct spec_step *s,
			   const struct spec_step_expr *place)
{
	return place->op == STEP_LOCAL || says_what(s, place) ||
	       (place->op == STEP_MEMORY && place->a->op == STEP_LOCAL &&
		is_constant(f, place->value));
}

/* Done once more from its end, would @p step do the same? Not if it allocates, READs what it does not
 * remember, or has forgotten what a variable was. */
static bool can_repeat(const struct facts *f, size_t step, struct moving *m)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);
	uint64_t had = f->steps->data[step].bound;

	for (size_t k = f->steps->data[step].first; k < f->steps->data[step].end; k++)
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];
			uint64_t local;

			if (t->is == STEP_MALLOC ||
			    (t->is == STEP_READ &&
			     !can_read_later(f, &o->steps[k], t->target)))
				return false;
			if (t->is != STEP_ASSIGN || t->target->op != STEP_LOCAL)
				continue;
			local = 1ull << t->target->value;
			had |= fl_lin_steps_locals(t->value);
			for (size_t i = 0; i < o->steps[k].n_conditions; i++)
				had |= fl_lin_steps_locals(o->steps[k].conditions[i].a) |
				       fl_lin_steps_locals(o->steps[k].conditions[i].b);
			if (had & local)
				return false;
			had |= local;
			m->assigned |= local;
		}
	return true;
}

/* Has x read, or done what nobody minds? @p has_only_read: no more. */
static bool can_move(const struct facts *f, struct moving *m, bool *has_only_read)
{
	*has_only_read = true;
	m->assigned = 0;
	for (size_t k = m->first; k < m->next; k++) {
		if (!can_repeat(f, k, m))
			return false;
		if (!has_written(f, k))
			continue;
		*has_only_read = false;
		if (!is_minded_by_none(m, k))
			return false;
	}
	return true;
}

/* @p now as it was before @p i did @p step: what that wrote is what the facts say of one before it. */
static struct state undone(struct facts *f, size_t step, const struct instance *i,
			   const struct state *now)
{
	struct instance again = fl_lin_facts_instance_copy(f, i);
	struct state s = fl_lin_facts_state_copy(f, now),
		     ret = fl_lin_facts_state_copy(f, now);
	struct touched w = fl_lin_facts_written(f, step);

	if (f->is_out_of_memory)
		return ret;
	fl_lin_facts_do(f, step, &again, &s, NULL);
	for (size_t k = 0; k < f->s->n_globals; k++)
		if (w.globals >> k & 1)
			ret.global[k] =
				fl_lin_facts_var(f, f->s->globals[k].type, "undone");
	for (size_t k = 0; k < f->s->n_memories; k++)
		for (const struct written *at = s.memory[k].last;
		     at != now->memory[k].last; at = at->earlier)
			fl_lin_facts_memory_write(
				f, &ret.memory[k], at->at,
				fl_lin_facts_var(f, f->s->memories[k].type, "undone"));
	fl_lin_facts_assert_of(f, step, i, &ret);
	return ret;
}

/* When what x read holds of @p i, which stands before next, in @p now. */
static smt_term holds(struct facts *f, const struct moving *m, const struct instance *i,
		      const struct state *now)
{
	struct instance again = fl_lin_facts_instance_copy(f, i);
	struct state when[MOST_STEPS];
	uint64_t live = m->assigned & fl_lin_live_behind(f, m->next - 1);
	smt_term all = smt_truth(f->smt, true);

	when[m->next - m->first] = *now;
	for (size_t k = m->next; k-- > m->first;)
		when[k - m->first] = has_written(f, k) ?
					     undone(f, k, i, &when[k - m->first + 1]) :
					     when[k - m->first + 1];
	for (size_t k = m->first; k < m->next && !f->is_out_of_memory; k++) {
		struct state s = fl_lin_facts_state_copy(f, &when[k - m->first]);

		if (!has_written(f, k) && !f->is_out_of_memory)
			all = smt_and(f->smt, all,
				      fl_lin_facts_do(f, k, &again, &s, NULL));
	}
	for (int k = 0; k < 64 && !f->is_out_of_memory; k++)
		if (live >> k & 1)
			all = smt_and(f->smt, all,
				      smt_eq(f->smt, again.local[k], i->local[k]));
	return all;
}

/* Can next be done when what x read does not hold? */
static bool can_be_stale(struct facts *f, const struct moving *m)
{
	struct question q;
	struct instance i;
	struct state s;
	bool can = true;

	fl_lin_facts_ask(f, FACT_ALWAYS, m->next, &q);
	s = fl_lin_facts_state_copy(f, &q.now);
	i = fl_lin_facts_instance_copy(f, &q.v);
	if (!f->is_out_of_memory) {
		fl_lin_promises_assert(f, m->next, &q.v, &q.now);
		smt_assert(f->smt, fl_lin_facts_do(f, m->next, &i, &s, NULL));
		if (!f->steps->data[m->next].is_last)
			fl_lin_promises_assert(f, m->next + 1, &i, &s);
		smt_assert(f->smt, smt_not(f->smt, holds(f, m, &q.v, &q.now)));
		can = smt_check(f->smt) != SMT_UNSAT;
	}
	fl_lin_facts_question_deinit(f, &q);
	return can;
}

/* It does not hold before the first of the two, or behind it. */
static smt_term is_stale(struct facts *f, const struct question *q,
			 const struct state *between, void *of)
{
	return smt_not(f->smt, smt_and(f->smt, holds(f, of, &q->v, &q->now),
				       holds(f, of, &q->v, between)));
}

/* Can sub-operation @p b of another end that what x read holds? */
static bool can_end(struct facts *f, const struct moving *m, size_t b)
{
	struct instance i;
	struct question q;
	struct state s;
	bool can = true;

	fl_lin_facts_ask(f, b, m->next, &q);
	s = fl_lin_facts_state_copy(f, &q.now);
	i = fl_lin_facts_instance_copy(f, &q.u);
	if (!f->is_out_of_memory) {
		smt_assert(f->smt, holds(f, m, &q.v, &q.now));
		smt_assert(f->smt, fl_lin_facts_do(f, b, &i, &s, NULL));
		smt_assert(f->smt, smt_not(f->smt, holds(f, m, &q.v, &s)));
		can = smt_check(f->smt) != SMT_UNSAT;
	}
	fl_lin_facts_question_deinit(f, &q);
	return can;
}

static bool can_split(struct facts *f, struct moving *m)
{
	bool is_in_the_way = false; // a sub-operation of the same operation, before

	for (size_t b = 0; b < f->steps->size && !f->is_out_of_memory; b++) {
		struct fl_lin_pair pair = {};

		is_in_the_way &= f->steps->data[b].index != 0;
		if (is_in_the_way && can_end(f, m, b))
			return false;
		if (is_free(fl_lin_pair(m->pairs, b, m->next)))
			continue;
		fl_lin_pair_ask(f, b, m->next, is_stale, m, &pair);
		if (!is_free(&pair))
			return false;
		is_in_the_way = true;
	}
	return true;
}

bool fl_lin_move_find(struct facts *f, struct fl_lin_pairs *pairs, size_t next)
{
	const struct fl_lin_step *it = &f->steps->data[next];
	struct moving m = { .pairs = pairs, .first = next - it->index };
	size_t end = f->steps->of[it->operation + 1];
	bool has_only_read;

	for (m.next = next; m.next < end && can_move(f, &m, &has_only_read); m.next++)
		;
	while (m.next-- > next)
		if (can_move(f, &m, &has_only_read) && !can_be_stale(f, &m)) {
			for (size_t k = m.first + 1; k <= m.next; k++)
				pairs->move[k] = MOVE_LATE;
			return true;
		}
	m.next = next;
	if (!can_move(f, &m, &has_only_read) || !has_only_read || !can_split(f, &m))
		return false;
	pairs->move[next] = MOVE_SPLIT;
	return true;
}
