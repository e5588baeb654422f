// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The order of suspicion: which suspect, changed alone, brings the witnesses nearest to what they
 * assert? Each small change is executed along each witness. Of several faults each does away with
 * its own part of what is wrong.
 */
#include <string.h>

#include "faultlocate/repair/changes.h"
#include "faultlocate/repair/ends.h"

#define BY_TRIAL 1000.0 ///< of what suspicion there was before, equals are ordered
#define NEARER 0.01	///< of two changes that do as much, the smaller

struct trial {
	struct rp_program p; ///< its operations are a copy
	const struct rp_witness *witnesses;
	size_t n_witnesses;
	unsigned wrong;	   ///< in the walk that is made
	unsigned at_first; ///< without a change
	double best; ///< of the operation: the share of it that a change does away with
	bool is_enough;
	bool has_failed;
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
	struct trial *t = w->user;

	t->wrong += count_steps(w);
	if (m->is_change)
		return;
	for (size_t i = 0; i < w->p->variables.size; i++)
		t->wrong += fl_rp_variable_ends(w, m, (unsigned)i, true) == RP_WRONG;
	t->wrong += count_fields(w, m);
}

static void at_end(struct rp_walk *w)
{
	struct trial *t = w->user;

	t->wrong += count_steps(w);
}

/* How much is otherwise than the witnesses assert. */
static unsigned execute(struct trial *t)
{
	t->wrong = 0;
	for (size_t i = 0; i < t->n_witnesses; i++) {
		struct rp_walk w = { .p = &t->p,
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

static void attempt(void *ctx, struct rp_edit edit, unsigned cost)
{
	struct trial *t = ctx;
	struct rp_op *op = &t->p.ops.data[edit.op], was = *op;
	double gain;
	unsigned wrong;

	if (edit.kind == RP_EDIT_REMOVE)
		op->is_removed = true;
	else
		*op = edit.now;
	wrong = execute(t);
	*op = was;
	t->is_enough |= !wrong;
	gain = 1 - (double)wrong / (double)t->at_first - NEARER * cost;
	if (gain > t->best)
		t->best = gain;
}

struct err *fl_rp_rank(const struct rp_program *p, const struct rp_witness *witnesses,
		       size_t n, struct rp_suspects *s)
{
	struct trial t = { .p = *p, .witnesses = witnesses, .n_witnesses = n };
	struct err *err = NULL;

	t.p.ops.data = calloc(p->ops.size + 1, sizeof(*t.p.ops.data));
	if (!t.p.ops.data)
		return &err_nomem;
	memcpy(t.p.ops.data, p->ops.data, p->ops.size * sizeof(*p->ops.data));
	t.at_first = execute(&t);
	for (size_t i = 0; t.at_first && !err && i < p->ops.size; i++) {
		if (!s->is_suspect[i])
			continue;
		t.best = 0;
		t.is_enough = false;
		err = fl_rp_changes_each(p, (int)i, attempt, &t);
		s->suspicion[i] = BY_TRIAL * t.best + s->suspicion[i];
		s->is_enough[i] = t.is_enough;
	}
	free(t.p.ops.data);
	return t.has_failed ? &err_nomem : err;
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
		qsort(list.data, list.size, sizeof(*list.data), by_suspicion);
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
