// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Localisation (paper 004, section 5, Algorithm 2), between each asserted state and the next.
 *
 * The backward execution sets what a statement assigns back to what it was before all (when
 * nothing before assigns it), or splits over all values that there are (when something does). So
 * the states of the two executions differ, entity by entity, in 0 or 1 where there was no split,
 * in (N-1)/N of all final states where there was: the sum over all states, times M/|Omega|, needs
 * no states. The difference changes at a statement only by what it assigns; that of one which alone
 * assigns its entity does not change where the entity ends as it was asserted.
 *
 * So of a segment in which something is wrong these are suspects: (1) what assigned an entity that
 * ends otherwise than asserted, or that others assigned too (sandwiched); (2) where an entity
 * is wrong, what assigned another of its type and changed nothing, or nothing that is asserted, as it
 * may belong there; (3) conditions with a branch, not taken, that assigns such, and what is in
 * that branch; those with a break, continue or return in them; (4) what crashed, and conditions
 * that had to be forced. And all that these were led by, as far as nothing witnesses it: the
 * conditions around them, and what assigned the values that they used where those are not asserted.
 *
 * And what used a value that is wrong: the two may hide each other.
 *
 * Of several faults one can give a right value by chance, or keep another from being executed. So the
 * wide set has also (5) what assigned a value that is missing elsewhere, (6) what used an entity that is
 * wrong because nothing assigned it, (7) what a suspicious condition asked about, and doubt.c's.
 *
 * A suspect that used nothing suspicious is more so than one that did: the order of suspicion, until
 * trial.c has a better one.
 */
#include <string.h>

#include "faultlocate/repair/doubt.h"
#include "faultlocate/repair/ends.h"
#include "faultlocate/repair/repair.h"

/* The type of whether a node is freed. */
enum { FREED = -4 };

/* What is asserted otherwise. */
struct wrong {
	int type;
	int64_t asked;
};

struct locator {
	struct rp_suspects *s;
	const struct rp_program *p;
	int function;
	bool is_wide;
	bool is_wrong; ///< something asserted is not there
	const struct rp_statement *
		*around; ///< of each operation, the branch that it is in
	const struct rp_statement **outer; ///< of each branch, by its id
	VEC(struct wrong) wrong;	   ///< such entities, of this segment
	bool *was_executed;		   ///< one an operation, in any segment
	VEC(char) state;		   ///< of its steps: enum
	bool has_failed;
};

enum { INNOCENT, SUSPECT, DONE };

/* ---- the function ------------------------------------------------------------------------------ */

static void place_ops(struct locator *l, const int *ops, size_t n,
		      const struct rp_statement *around)
{
	for (size_t i = 0; i < n; i++)
		l->around[ops[i]] = around;
}

static void place_condition(struct locator *l, const struct rp_condition *c,
			    const struct rp_statement *around)
{
	if (!c)
		return;
	place_ops(l, c->ops.data, c->ops.size, around);
	place_condition(l, c->left, around);
	place_condition(l, c->right, around);
}

static void place_block(struct locator *l, const struct rp_block *b,
			const struct rp_statement *around)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];
		const struct rp_statement *in = s->shape == RP_IF ? s : around;

		place_ops(l, s->ops.data, s->ops.size, around);
		place_ops(l, s->step.data, s->step.size, around);
		place_condition(l, s->condition, around);
		if (s->shape == RP_IF)
			l->outer[s->id] = around;
		place_block(l, s->body, in);
		place_block(l, s->otherwise, in);
	}
}

size_t fl_rp_gap(const struct rp_program *p, int block, int index)
{
	size_t n = 0;

	for (int i = 0; i < block; i++)
		n += p->blocks.data[i]->list.size + 1;
	return n + (size_t)index;
}

static void allow_type(struct locator *l, int type)
{
	if (type >= RP_INT)
		l->s->is_type[type + 1] = true;
}

/* Of all that operation @p number has to do with. */
static void allow_types(struct locator *l, int number)
{
	const struct rp_op *op = &l->p->ops.data[number];
	const struct rp_ref *refs[] = { &op->dst, &op->a, &op->b };

	allow_type(l, op->type);
	for (int i = 0; i < 3; i++)
		if (refs[i]->var != RP_NONE)
			allow_type(l, l->p->variables.data[refs[i]->var].type);
}

static void find_variables(struct locator *l)
{
	for (size_t i = 0; i < l->p->variables.size; i++)
		if (l->p->variables.data[i].function == l->function)
			l->s->is_variable[i] = true;
	for (size_t i = 0; i < l->p->ops.size; i++) {
		const struct rp_op *op = &l->p->ops.data[i];
		const struct rp_ref *refs[] = { &op->dst, &op->a, &op->b };

		for (int k = 0; op->function == l->function && !op->is_removed && k < 3;
		     k++)
			if (refs[k]->var != RP_NONE)
				l->s->is_variable[refs[k]->var] = true;
	}
}

/* ---- entities ---------------------------------------------------------------------------------- */

static int times_assigned(const struct rp_walk *w, uint64_t place)
{
	int n = 0;

	for (size_t i = 0; i < w->steps.size; i++)
		n += w->steps.data[i].has_place && w->steps.data[i].place == place;
	return n;
}

static void add_wrong(struct locator *l, int type, int64_t asked)
{
	if (vec_add(&l->wrong, ((struct wrong){ type, asked })))
		l->has_failed = true;
}

static void find_wrong(struct locator *l, const struct rp_walk *w,
		       const struct rp_mark *m)
{
	for (size_t i = 0; i < w->p->variables.size; i++)
		if (fl_rp_variable_ends(w, m, (unsigned)i, true) == RP_WRONG) {
			l->s->is_variable[i] = true;
			add_wrong(l, w->p->variables.data[i].type,
				  w->p->variables.data[i].function == RP_NONE ?
					  m->state.globals.data[i] :
					  m->state.frame.data[i]);
		}
	for (size_t n = 1; n <= m->state.nodes.size && n <= w->nodes.size; n++) {
		const struct rp_node *is = &m->state.nodes.data[n - 1];
		const struct rp_record *r = &w->p->records.data[is->record];

		for (size_t k = 0; k < r->fields.size; k++)
			if (fl_rp_field_ends(w, m, n, (unsigned)k) == RP_WRONG)
				add_wrong(l, r->fields.data[k].type, is->fields[k]);
		if ((w->nodes.data[n - 1].freed.c != 0) != is->is_freed)
			add_wrong(l, FREED, is->is_freed);
	}
}

/* ---- suspects of a segment ------------------------------------------------------------------------ */

static bool is_wrong_type(const struct locator *l, int type)
{
	for (size_t i = 0; i < l->wrong.size; i++)
		if (l->wrong.data[i].type == type)
			return true;
	return false;
}

/* Would @p value of @p type be right elsewhere? */
static bool is_missing(const struct locator *l, int type, int64_t value)
{
	for (size_t i = 0; i < l->wrong.size; i++)
		if (l->wrong.data[i].type == type && l->wrong.data[i].asked == value)
			return true;
	return false;
}

/* It assigns nothing but that. */
static bool is_hidden(const struct rp_walk *w, const struct rp_op *op)
{
	return op->dst.field == RP_NONE && w->p->variables.data[op->dst.var].is_hidden;
}

static bool assigns_wrongly(const struct locator *l, const struct rp_walk *w,
			    const struct rp_mark *m, const struct rp_step *s)
{
	const struct rp_op *op = &w->p->ops.data[s->op];

	if (s->has_crashed || s->is_forced)
		return true;
	if (op->kind == RP_FREE)
		return is_wrong_type(l, FREED);
	if (!s->has_place || op->kind == RP_TEST || !l->wrong.size)
		return false;
	if (fl_rp_ends(w, m, s->place) != RP_NOT_ASKED &&
	    (fl_rp_ends(w, m, s->place) == RP_WRONG || times_assigned(w, s->place) > 1))
		return true;
	if (!is_wrong_type(l, s->type) || is_hidden(w, op))
		return false;
	return s->before.c == s->after.c || fl_rp_ends(w, m, s->place) == RP_NOT_ASKED ||
	       (l->is_wide && is_missing(l, s->type, s->after.c));
}

static bool was_executed(const struct rp_walk *w, int op)
{
	for (size_t i = 0; i < w->steps.size; i++)
		if (w->steps.data[i].op == op)
			return true;
	return false;
}

static void suspect_steps(struct locator *l, const struct rp_walk *w, int op)
{
	for (size_t i = 0; i < w->steps.size; i++)
		if (w->steps.data[i].op == op && l->state.data[i] == INNOCENT)
			l->state.data[i] = SUSPECT;
}

static void suspect_condition(struct locator *l, const struct rp_walk *w,
			      const struct rp_condition *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ops.size; i++)
		suspect_steps(l, w, c->ops.data[i]);
	suspect_condition(l, w, c->left);
	suspect_condition(l, w, c->right);
}

/* Has @p b something that was not executed, and would have assigned what is wrong? Or nothing, and
 * something is missing? @p leaves: has it a break, continue or return. */
static bool could_mend(struct locator *l, const struct rp_walk *w,
		       const struct rp_block *b, bool *leaves)
{
	bool could = false, is_empty = true;

	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		for (size_t k = 0; k < s->ops.size; k++) {
			const struct rp_op *op = &w->p->ops.data[s->ops.data[k]];
			int type = op->kind == RP_FREE ? FREED : op->type;

			could |= !was_executed(w, s->ops.data[k]) &&
				 is_wrong_type(l, type);
		}
		is_empty = is_empty && !s->ops.size && !s->condition;
		*leaves |= s->shape == RP_BREAK || s->shape == RP_CONTINUE ||
			   s->shape == RP_RETURN;
		could |= could_mend(l, w, s->body, leaves);
		could |= could_mend(l, w, s->otherwise, leaves);
	}
	return could || (b && b->is_braced && is_empty);
}

/* What is in a branch that would be taken. */
static void suspect_block(struct locator *l, const struct rp_walk *w,
			  const struct rp_block *b)
{
	for (size_t i = 0; b && i <= b->list.size; i++)
		l->s->is_gap[fl_rp_gap(l->p, b->id, (int)i)] = true;
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		for (size_t k = 0; k < s->ops.size; k++)
			if (!was_executed(w, s->ops.data[k])) {
				l->s->suspicion[s->ops.data[k]] += RP_UNASKED;
				allow_types(l, s->ops.data[k]);
			}
		suspect_block(l, w, s->body);
		suspect_block(l, w, s->otherwise);
	}
}

/* Conditions that were asked, with what they kept from being done. */
static void suspect_branches(struct locator *l, const struct rp_walk *w,
			     const struct rp_block *b)
{
	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];
		bool leaves = false;

		suspect_branches(l, w, s->body);
		suspect_branches(l, w, s->otherwise);
		if (s->shape != RP_IF || s->is_heavy)
			continue;
		if (could_mend(l, w, s->body, &leaves) |
		    could_mend(l, w, s->otherwise, &leaves)) {
			suspect_condition(l, w, s->condition);
			suspect_block(l, w, s->body);
			suspect_block(l, w, s->otherwise);
		}
		if (leaves)
			suspect_condition(l, w, s->condition);
	}
}

/* The step before @p at that assigned @p place last; -1: none. */
static long assigner(const struct rp_walk *w, size_t at, uint64_t place)
{
	for (size_t i = at; i--;)
		if (w->steps.data[i].has_place && w->steps.data[i].place == place)
			return (long)i;
	return -1;
}

/* A suspect step: what led it there, unless a state witnesses it. @return how suspicious it is. */
static double follow(struct locator *l, const struct rp_walk *w, const struct rp_mark *m,
		     size_t at, bool *any)
{
	const struct rp_step *s = &w->steps.data[at];
	const struct rp_statement *around = l->around[s->op];
	double ret = s->has_place && fl_rp_ends(w, m, s->place) == RP_WRONG ? 2 : 1;

	if (s->is_forced)
		ret = 2;
	for (unsigned i = 0; i < s->n_reads; i++) {
		long from = assigner(w, at, s->reads[i]);

		if (from < 0)
			continue;
		if (l->state.data[from] == INNOCENT &&
		    ((l->is_wide && l->p->ops.data[s->op].kind == RP_TEST) ||
		     fl_rp_ends(w, m, s->reads[i]) == RP_NOT_ASKED ||
		     times_assigned(w, s->reads[i]) > 1)) {
			l->state.data[from] = SUSPECT;
			*any = true;
		}
		if (l->state.data[from] != INNOCENT && from != (long)at)
			ret = ret < 0.5 ? ret : 0.5;
	}
	for (; around; around = l->outer[around->id])
		if (!around->is_heavy)
			suspect_condition(l, w, around->condition);
	return ret;
}

static bool has_call(const struct rp_walk *w)
{
	for (size_t i = 0; i < w->steps.size; i++)
		if (w->p->ops.data[w->steps.data[i].op].kind == RP_CALL)
			return true;
	return false;
}

/* Of calls inside it is not known what they were given: all that no state witnesses. */
static void suspect_unknown(struct locator *l, const struct rp_walk *w,
			    const struct rp_mark *m)
{
	for (size_t i = 0; i < w->steps.size; i++) {
		const struct rp_step *s = &w->steps.data[i];

		if (!s->has_place || fl_rp_ends(w, m, s->place) == RP_NOT_ASKED)
			l->state.data[i] = SUSPECT;
	}
}

static void follow_all(struct locator *l, const struct rp_walk *w,
		       const struct rp_mark *m)
{
	for (bool any = true; any;) {
		any = false;
		for (size_t i = w->steps.size; i--;) {
			if (l->state.data[i] != SUSPECT)
				continue;
			l->state.data[i] = DONE;
			any = true;
			follow(l, w, m, i, &any);
		}
	}
}

static void weigh(struct locator *l, const struct rp_walk *w, const struct rp_mark *m)
{
	bool any;

	for (size_t i = 0; i < w->steps.size; i++)
		if (l->state.data[i] != INNOCENT) {
			l->s->suspicion[w->steps.data[i].op] += follow(l, w, m, i, &any);
			allow_types(l, w->steps.data[i].op);
		}
}

/* What used a wrong value may be wrong itself, and look right by that. */
static void taint(struct locator *l, const struct rp_walk *w, const struct rp_mark *m)
{
	for (size_t i = 0; i < w->steps.size; i++) {
		const struct rp_step *s = &w->steps.data[i];

		for (unsigned k = 0; k < s->n_reads && l->state.data[i] == INNOCENT;
		     k++) {
			long from = assigner(w, i, s->reads[k]);

			if ((from < 0 ? l->is_wide : l->state.data[from] != INNOCENT) &&
			    fl_rp_ends(w, m, s->reads[k]) == RP_WRONG)
				l->state.data[i] = SUSPECT;
		}
	}
}

static void segment(struct locator *l, struct rp_walk *w, const struct rp_mark *m)
{
	bool any = false;

	l->wrong.size = 0;
	l->state.size = 0;
	if (m)
		find_wrong(l, w, m);
	for (size_t i = 0; i < w->steps.size; i++)
		l->was_executed[w->steps.data[i].op] = true;
	for (size_t i = 0; i < w->steps.size; i++)
		if (vec_add(&l->state, INNOCENT))
			l->has_failed = true;
	if (l->has_failed)
		return;
	for (size_t i = 0; i < w->steps.size; i++) {
		if (assigns_wrongly(l, w, m, &w->steps.data[i]))
			l->state.data[i] = SUSPECT;
		any |= l->state.data[i] == SUSPECT;
	}
	any |= l->wrong.size > 0;
	l->is_wrong |= any;
	if (any && has_call(w))
		suspect_unknown(l, w, m);
	for (size_t i = 0; any && i < w->gaps.size; i++)
		l->s->is_gap[fl_rp_gap(l->p, w->gaps.data[i].block,
				       w->gaps.data[i].index)] = true;
	for (size_t i = 0; i < l->wrong.size; i++)
		allow_type(l, l->wrong.data[i].type);
	if (any)
		suspect_branches(l, w, l->p->functions.data[l->function].body);
	follow_all(l, w, m);
	taint(l, w, m);
	follow_all(l, w, m);
	weigh(l, w, m);
}

static void at_mark(struct rp_walk *w, const struct rp_mark *m)
{
	if (!m->is_change)
		segment(w->user, w, m);
}

static void at_end(struct rp_walk *w)
{
	segment(w->user, w, NULL);
}

/* ---- all ------------------------------------------------------------------------------------------- */

static bool is_of(const struct locator *l, const struct rp_op *op)
{
	return op->function == l->function && !op->is_fixed && !op->is_removed &&
	       (op->kind == RP_ASSIGN || op->kind == RP_TEST);
}

static void count(struct locator *l, bool everything)
{
	for (size_t i = 0; i < l->p->ops.size; i++) {
		bool counts = is_of(l, &l->p->ops.data[i]);

		l->s->is_suspect[i] = counts && (everything || l->s->suspicion[i] > 0);
		l->s->n_ops += counts;
		l->s->n += l->s->is_suspect[i];
	}
}

static struct err *locate(struct locator *l, const struct rp_witness *witnesses, size_t n)
{
	struct err *err = NULL;
	bool any = false;

	place_block(l, l->p->functions.data[l->function].body, NULL);
	find_variables(l);
	for (size_t i = 0; i < n && !err; i++) {
		struct rp_walk w = { .p = l->p,
				     .w = &witnesses[i],
				     .at_mark = at_mark,
				     .at_end = at_end,
				     .user = l };

		fl_rp_walk(&w);
		l->is_wrong |= w.is_contradictory;
		if (w.has_failed || l->has_failed)
			err = &err_nomem;
		fl_rp_walk_deinit(&w);
	}
	if (l->is_wide)
		fl_rp_doubt(l->p, l->function, l->was_executed, l->s->suspicion);
	for (size_t i = 0; i < l->p->ops.size; i++) {
		if (!is_of(l, &l->p->ops.data[i]) || l->s->suspicion[i] <= 0)
			continue;
		any = true;
		allow_types(l, (int)i);
	}
	count(l, l->is_wrong && !any);
	return err;
}

struct err *fl_rp_locate(const struct rp_program *p, const struct rp_witness *witnesses,
			 size_t n, int function, bool is_wide, struct rp_suspects *ret)
{
	struct locator l = { .s = ret, .p = p, .function = function, .is_wide = is_wide };
	struct err *err = &err_nomem;

	*ret = (struct rp_suspects){
		.is_suspect = calloc(p->ops.size + 1, sizeof(bool)),
		.suspicion = calloc(p->ops.size + 1, sizeof(double)),
		.is_enough = calloc(p->ops.size + 1, sizeof(bool)),
		.is_gap = calloc(fl_rp_gap(p, (int)p->blocks.size, 1), sizeof(bool)),
		.is_variable = calloc(p->variables.size + 1, sizeof(bool)),
		.is_type = calloc(p->records.size + 1, sizeof(bool)),
	};
	l.around = calloc(p->ops.size + 1, sizeof(*l.around));
	l.was_executed = calloc(p->ops.size + 1, sizeof(bool));
	l.outer = calloc((size_t)p->n_statements + 1, sizeof(*l.outer));
	if (ret->is_suspect && ret->suspicion && ret->is_enough && ret->is_gap &&
	    ret->is_type && ret->is_variable && l.around && l.outer && l.was_executed)
		err = locate(&l, witnesses, n);
	vec_deinit(&l.wrong);
	vec_deinit(&l.state);
	free(l.around);
	free(l.outer);
	free(l.was_executed);
	return err;
}

void fl_rp_suspects_deinit(struct rp_suspects *s)
{
	free(s->is_suspect);
	free(s->suspicion);
	free(s->is_enough);
	free(s->is_gap);
	free(s->is_variable);
	free(s->is_type);
}
