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
 * assigns its entity does not change where the entity ends as it was asserted. Of those between,
 * which assign what others assign before and behind them, nothing is known (sandwiched).
 *
 * What has no witness of its own goes with what needs it: hidden variables and ones that no
 * asserted state has, with what is suspicious in their segment; conditions, with what they guard.
 * An entity that is wrong and that nothing assigned makes suspicious what assigns such.
 */
#include <string.h>

#include "faultlocate/repair/repair.h"
#include "faultlocate/repair/walk.h"

struct locator {
	struct rp_suspects *s;
	const struct rp_program *p;
	int function;
	bool is_wrong; ///< something asserted is not there
};

static void suspect(struct locator *l, int op)
{
	l->s->is_suspect[op] = true;
}

/* ---- a segment --------------------------------------------------------------------------------- */

enum known { NOT_ASKED, RIGHT, WRONG };

/* How entity @p place ends. */
static enum known ends(const struct rp_walk *w, const struct rp_mark *m, uint64_t place,
		       int type)
{
	int64_t is, asked;
	unsigned low = (unsigned)place;
	size_t node = (place >> 32) & 0x7fffffff;

	(void)type;
	if (place >> 63) {
		if (!node || node > m->state.nodes.size)
			return NOT_ASKED;
		asked = m->state.nodes.data[node - 1].fields[low];
		if (m->state.nodes.data[node - 1].is_freed)
			return NOT_ASKED;
		is = w->nodes.data[node - 1].fields[low].c;
	} else {
		const struct rp_variable *v = &w->p->variables.data[low];
		bool is_global = v->function == RP_NONE;

		if (!is_global && (int)(place >> 32) != w->frame_number + 1)
			return NOT_ASKED;
		if (v->is_hidden)
			return NOT_ASKED;
		asked = is_global ? m->state.globals.data[low] : m->state.frame.data[low];
		is = is_global ? w->globals[low].c : w->frame[low].c;
	}
	if (asked == RP_UNKNOWN)
		return NOT_ASKED;
	return is == asked ? RIGHT : WRONG;
}

static int times_assigned(const struct rp_walk *w, uint64_t place)
{
	int n = 0;

	for (size_t i = 0; i < w->steps.size; i++)
		n += w->steps.data[i].has_place && w->steps.data[i].place == place;
	return n;
}

/* What is wrong and nothing assigned: everything that could have. */
static bool find_unexplained(struct locator *l, const struct rp_walk *w,
			     const struct rp_mark *m, uint64_t place, int type)
{
	if (ends(w, m, place, type) != WRONG)
		return false;
	l->is_wrong = true;
	if (times_assigned(w, place))
		return true;
	for (size_t i = 0; i < w->steps.size; i++)
		if (w->steps.data[i].type == type)
			suspect(l, w->steps.data[i].op);
	return true;
}

static bool find_wrong(struct locator *l, const struct rp_walk *w,
		       const struct rp_mark *m)
{
	bool any = false;

	for (size_t i = 0; i < w->p->variables.size; i++)
		any |= find_unexplained(l, w, m, fl_rp_place_of_variable(w, (int)i),
					w->p->variables.data[i].type);
	for (size_t n = 0; n < m->state.nodes.size && n < w->nodes.size; n++) {
		const struct rp_record *r =
			&w->p->records.data[m->state.nodes.data[n].record];

		for (size_t k = 0; k < r->fields.size; k++)
			any |= find_unexplained(
				l, w, m, fl_rp_place_of_field((int64_t)n + 1, (int)k),
				r->fields.data[k].type);
		if ((w->nodes.data[n].freed.c != 0) != m->state.nodes.data[n].is_freed)
			any = l->is_wrong = true;
	}
	return any;
}

static void at_mark(struct rp_walk *w, const struct rp_mark *m)
{
	struct locator *l = w->user;
	bool any = find_wrong(l, w, m);

	if (m->is_change)
		return;
	for (size_t i = 0; i < w->steps.size; i++) {
		const struct rp_step *s = &w->steps.data[i];
		enum known end;

		if (s->has_crashed) {
			suspect(l, s->op);
			any = l->is_wrong = true;
		}
		if (w->p->ops.data[s->op].kind != RP_ASSIGN)
			continue;
		end = s->has_place ? ends(w, m, s->place, s->type) : NOT_ASKED;
		if (end != NOT_ASKED &&
		    (end == WRONG || times_assigned(w, s->place) > 1)) {
			suspect(l, s->op);
			any = true;
		}
	}
	for (size_t i = 0; any && i < w->steps.size; i++) {
		const struct rp_step *s = &w->steps.data[i];

		if (!s->has_place || ends(w, m, s->place, s->type) == NOT_ASKED)
			suspect(l, s->op);
	}
}

static void suspect_condition(struct locator *l, const struct rp_condition *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ops.size; i++)
		suspect(l, c->ops.data[i]);
	suspect_condition(l, c->left);
	suspect_condition(l, c->right);
}

/* Forced: the condition is wrong, or what it reads; behind the last mark nothing else tells. */
static void otherwise(struct rp_walk *w, const struct rp_statement *s)
{
	struct locator *l = w->user;

	l->is_wrong = true;
	suspect_condition(l, s->condition);
	for (size_t i = 0; w->mark >= w->w->marks.size && i < w->steps.size; i++)
		suspect(l, w->steps.data[i].op);
}

/* ---- conditions ----------------------------------------------------------------------------------- */

struct found {
	bool any, leaves; ///< something suspicious; a break, continue or return
};

static struct found look_into(struct locator *l, const struct rp_block *b,
			      bool any_at_all)
{
	struct found all = {}, in;

	for (size_t i = 0; b && i < b->list.size; i++) {
		const struct rp_statement *s = b->list.data[i];

		for (size_t k = 0; k < s->ops.size; k++)
			all.any |= l->s->is_suspect[s->ops.data[k]];
		for (size_t k = 0; k < s->step.size; k++)
			all.any |= l->s->is_suspect[s->step.data[k]];
		all.leaves |= s->shape == RP_BREAK || s->shape == RP_CONTINUE ||
			      s->shape == RP_RETURN;
		in = look_into(l, s->body, any_at_all);
		if (s->otherwise) {
			struct found more = look_into(l, s->otherwise, any_at_all);

			in.any |= more.any;
			in.leaves |= more.leaves;
		}
		if (s->shape == RP_IF && (in.any || (in.leaves && any_at_all)))
			suspect_condition(l, s->condition);
		all.any |= in.any;
		all.leaves |= in.leaves;
	}
	return all;
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

		l->s->is_suspect[i] = counts && (everything || l->s->is_suspect[i]);
		l->s->n_ops += counts;
		l->s->n += l->s->is_suspect[i];
	}
}

struct err *fl_rp_locate(const struct rp_program *p, const struct rp_witness *witnesses,
			 size_t n, int function, struct rp_suspects *ret)
{
	struct locator l = { .s = ret, .p = p, .function = function };
	struct err *err = NULL;
	bool any = false;

	*ret = (struct rp_suspects){ .is_suspect =
					     calloc(p->ops.size + 1, sizeof(bool)) };
	if (!ret->is_suspect)
		return &err_nomem;
	for (size_t i = 0; i < n && !err; i++) {
		struct rp_walk w = { .p = p,
				     .w = &witnesses[i],
				     .at_mark = at_mark,
				     .otherwise = otherwise,
				     .user = &l };

		fl_rp_walk(&w);
		l.is_wrong |= w.is_contradictory;
		if (w.has_failed)
			err = &err_nomem;
		fl_rp_walk_deinit(&w);
	}
	for (size_t i = 0; i < p->ops.size; i++)
		any |= ret->is_suspect[i];
	look_into(&l, p->functions.data[function].body, any);
	count(&l, l.is_wrong && !any);
	return err;
}

void fl_rp_suspects_deinit(struct rp_suspects *s)
{
	free(s->is_suspect);
}
