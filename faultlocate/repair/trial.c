// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The order of suspicion: which suspect, changed alone, brings the witnesses nearest to what they
 * assert? Each small change is executed along each witness. Of several faults each does away with
 * its own part of what is wrong.
 */
#include <limits.h>
#include <stdlib.h>

#include "faultlocate/repair/changes.h"
#include "faultlocate/repair/ends.h"
#include "faultlocate/repair/together.h"

#define NEARER 0.01 ///< of two changes that do as much, the smaller

struct one {
	struct rp_trial t;
	unsigned at_first; ///< what is wrong without a change
	double best; ///< of the operation: the share of it that a change does away with
	bool is_enough;
};

static unsigned count_fields(const struct rp_walk *w, const struct rp_mark *m)
{
	unsigned wrong = 0;

	for (size_t n = 1; n <= m->state.nodes.size && n <= w->nodes.size; n++) {
		const struct rp_node *is = &m->state.nodes.data[n - 1];

		for (size_t k = 0; k < w->p->records.data[is->record].fields.size; k++)
			wrong += fl_rp_field_ends(w, m, n, (unsigned)k) == RP_WRONG;
		wrong += (w->nodes.data[n - 1].freed.c != 0) != is->is_freed;
	}
	return wrong;
}

static unsigned count_steps(const struct rp_walk *w)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < w->steps.size; i++)
		wrong += w->steps.data[i].has_crashed || w->steps.data[i].is_forced;
	return wrong;
}

static void at_mark(struct rp_walk *w, const struct rp_mark *m)
{
	struct rp_trial *t = w->user;

	t->wrong += count_steps(w);
	if (m->is_change)
		return;
	for (size_t i = 0; i < w->p->variables.size; i++)
		t->wrong += fl_rp_variable_ends(w, m, (unsigned)i, true) == RP_WRONG;
	t->wrong += count_fields(w, m);
	w->is_done = t->most_wrong && t->wrong >= t->most_wrong;
}

static void at_end(struct rp_walk *w)
{
	struct rp_trial *t = w->user;

	t->wrong += count_steps(w);
}

unsigned fl_rp_trial(struct rp_trial *t)
{
	t->wrong = 0;
	t->n++;
	for (size_t i = 0; i < t->n_witnesses; i++) {
		struct rp_walk w = { .p = t->p,
				     .w = &t->witnesses[i],
				     .at_mark = at_mark,
				     .at_end = at_end,
				     .user = t };
		unsigned before = t->wrong;

		fl_rp_walk(&w);
		if (w.is_contradictory && t->wrong == before)
			t->wrong++;
		t->has_failed |= w.has_failed;
		fl_rp_walk_deinit(&w);
	}
	return t->wrong;
}

unsigned fl_rp_trial_of(struct rp_trial *t, const struct rp_edit *edit)
{
	struct rp_patch patch = {};
	unsigned ret = UINT_MAX;

	if (vec_add(&patch.edits, *edit) || fl_rp_patch_apply(t->p, &patch)) {
		t->has_failed = true;
	} else {
		ret = fl_rp_trial(t);
		fl_rp_patch_undo(t->p, &patch);
	}
	fl_rp_patch_deinit(&patch);
	return ret;
}

static void attempt(void *ctx, struct rp_edit edit, unsigned cost)
{
	struct one *x = ctx;
	unsigned wrong = fl_rp_trial_of(&x->t, &edit);
	double gain = 1 - (double)wrong / (double)x->at_first - NEARER * cost;

	x->is_enough |= !wrong;
	if (gain > x->best)
		x->best = gain;
}

/* For their order alone. */
static struct err *rank_together(const struct rp_trial *t, int function,
				 unsigned most_trials, struct rp_suspects *s)
{
	struct rp_patch patch = {}, other = {};
	struct err *err = fl_rp_together(t, function, most_trials, s, &patch, &other);

	fl_rp_patch_deinit(&patch);
	fl_rp_patch_deinit(&other);
	return err;
}

struct err *fl_rp_rank(struct rp_program *p, const struct rp_witness *witnesses, size_t n,
		       int function, unsigned most_trials, struct rp_suspects *s)
{
	struct one x = { .t = { .p = p, .witnesses = witnesses, .n_witnesses = n } };
	bool any = false;
	struct err *err = NULL;

	x.at_first = fl_rp_trial(&x.t);
	for (size_t i = 0; x.at_first && !err && i < p->ops.size; i++) {
		if (!s->is_suspect[i])
			continue;
		x.best = 0;
		x.is_enough = false;
		err = fl_rp_changes_each(p, (int)i, attempt, &x);
		s->suspicion[i] += RP_BY_TRIAL * x.best;
		s->is_enough[i] = x.is_enough;
		any |= x.is_enough;
	}
	if (!err && !any && most_trials)
		err = rank_together(&x.t, function, most_trials, s);
	return x.t.has_failed ? &err_nomem : err;
}

/* ---- for people --------------------------------------------------------------------------------- */

struct ranked {
	size_t op;
	double suspicion;
};

static int by_suspicion(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->suspicion != y->suspicion)
		return x->suspicion > y->suspicion ? -1 : 1;
	return x->op < y->op ? -1 : 1;
}

struct err *fl_rp_suspects_print(const struct rp_program *p, const struct rp_suspects *s,
				 FILE *out)
{
	VEC(struct ranked) list = {};
	struct err *err = NULL;

	for (size_t i = 0; i < p->ops.size; i++)
		if (s->is_suspect[i] &&
		    vec_add(&list, ((struct ranked){ i, s->suspicion[i] })))
			err = &err_nomem;
	if (!err && list.size)
		vec_sort(&list, by_suspicion);
	fprintf(out, "%zu of %u operations are suspects%s\n", list.size, s->n_ops,
		list.size ? ", the first the most" : "");
	for (size_t i = 0; !err && i < list.size; i++) {
		fprintf(out, "  line %d: ", p->ops.data[list.data[i].op].line);
		fl_rp_op_print(p, &p->ops.data[list.data[i].op], out);
		fputs(s->is_enough[list.data[i].op] ?
			      " (changed alone, it can do all)\n" :
			      "\n",
		      out);
	}
	vec_deinit(&list);
	return err;
}
