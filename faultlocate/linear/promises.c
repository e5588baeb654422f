// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What must hold already of an operation that is to end. One that does not end, and has done nothing
 * that another could tell, is taken out of the history: what it promised need not hold.
 */
#include <string.h>

#include "faultlocate/linear/facts.h"

void fl_lin_promises_assert(struct facts *f, size_t step, const struct instance *i,
			    const struct state *s)
{
	for (size_t k = 0; k < f->promises.size && !f->is_out_of_memory; k++)
		if (f->promises.data[k].at == step)
			smt_assert(f->smt,
				   fl_lin_facts_condition(
					   f, f->promises.data[k].condition, i, s));
}

/* Can a step of any other operation make @p c true of one before @p at? */
static bool can_return(struct facts *f, size_t at, const struct spec_step_condition *c)
{
	struct touched reads = {};
	bool can = false;

	fl_lin_facts_touch(&reads, c->a);
	fl_lin_facts_touch(&reads, c->b);
	for (size_t v = 0; v < f->steps->size && !can && !f->is_out_of_memory; v++) {
		struct touched writes = fl_lin_facts_written(f, v);
		struct instance i;
		struct question q;
		struct state s;

		if (!(writes.globals & reads.globals) &&
		    !(writes.memories & reads.memories))
			continue;
		fl_lin_facts_ask(f, at, v, &q);
		s = fl_lin_facts_state_copy(f, &q.now);
		i = fl_lin_facts_instance_copy(f, &q.v);
		if (!f->is_out_of_memory) {
			smt_assert(f->smt, smt_not(f->smt, fl_lin_facts_condition(
								   f, c, &q.u, &s)));
			smt_assert(f->smt, fl_lin_facts_do(f, v, &i, &s, NULL));
			smt_assert(f->smt, fl_lin_facts_condition(f, c, &q.u, &s));
			can = smt_check(f->smt) != SMT_UNSAT;
		}
		fl_lin_facts_question_deinit(f, &q);
	}
	return can;
}

/* Do steps [@p from, @p to) of @p o assign a local of @p locals? */
static bool assigns(const struct spec_structure_operation *o, size_t from, size_t to,
		    uint64_t locals)
{
	for (size_t i = from; i < to; i++)
		for (size_t c = 0; c < o->steps[i].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[i].statements[c];

			if ((t->is == STEP_ASSIGN || t->is == STEP_MALLOC) &&
			    t->target->op == STEP_LOCAL && locals >> t->target->value & 1)
				return true;
		}
	return false;
}

/* Condition @p c of step number @p i of its operation, in sub-operation @p step: from where on is it
 * promised? */
static void find_from(struct facts *f, size_t step, size_t i,
		      const struct spec_step_condition *c)
{
	const struct spec_structure_operation *o = fl_lin_steps_operation(f->steps, step);
	uint64_t locals = fl_lin_steps_locals(c->a) | fl_lin_steps_locals(c->b);
	struct touched reads = {};

	fl_lin_facts_touch(&reads, c->a);
	fl_lin_facts_touch(&reads, c->b);
	for (size_t at = step; at > step - f->steps->data[step].index; at--) {
		struct touched own = fl_lin_facts_written(f, at);
		struct promise p = { at, c };

		// What it will do itself may make it true.
		if ((at != step && ((own.globals & reads.globals) ||
				    (own.memories & reads.memories))) ||
		    (locals & ~f->steps->data[at].bound) ||
		    assigns(o, f->steps->data[at].first, i, locals) ||
		    can_return(f, at, c))
			return;
		if (vec_add(&f->promises, p))
			f->is_out_of_memory = true;
	}
}

bool fl_lin_promises_is_minded_by_none(struct facts *f, size_t a)
{
	struct touched w = fl_lin_facts_written(f, a);
	__auto_type promised = f->promises;
	bool is = true;

	if (!w.globals && !w.memories)
		return true;
	if (f->minded[a])
		return f->minded[a] == MINDED_BY_NONE;
	memset(&f->promises, 0, sizeof(f->promises));
	for (size_t b = 0; b < f->steps->size && is && !f->is_out_of_memory; b++) {
		struct fl_lin_pair pair = {};

		fl_lin_pair_ask(f, a, b, NULL, NULL, &pair);
		is = !pair.is_orderable || pair.is_reversible;
	}
	f->promises = promised;
	f->minded[a] = is ? MINDED_BY_NONE : MINDED;
	return is;
}

void fl_lin_promises_find(struct facts *f)
{
	bool is_free = true; // what the operation did so far, nobody can tell

	for (size_t k = 0; k < f->steps->size && !f->is_out_of_memory; k++) {
		const struct fl_lin_step *it = &f->steps->data[k];
		const struct spec_structure_operation *o =
			fl_lin_steps_operation(f->steps, k);

		is_free |= !it->index;
		for (size_t i = it->first; i < it->end && is_free && it->index; i++) {
			for (size_t c = 0; c < o->steps[i].n_conditions; c++)
				find_from(f, k, i, &o->steps[i].conditions[c]);
			if (&o->steps[i] == it->shown)
				break;
		}
		is_free = is_free && !it->is_last &&
			  fl_lin_promises_is_minded_by_none(f, k);
	}
}
