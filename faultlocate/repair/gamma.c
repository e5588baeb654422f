// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The numbers of Algorithm 2, as figures 5 and 7 of paper 004 have them: of the statements between
 * two asserted states the difference Gamma between the forward and the backward execution behind each.
 * An entity differs where it is not as asserted; where the backward execution has split over the
 * N values that a node can be, in (N-1)/N of its states. All states together are N to the number of
 * splits.
 */
#include "faultlocate/repair/ends.h"
#include "faultlocate/repair/repair.h"

enum { MOST_SPLITS = 12 };

struct table {
	FILE *out;
	int function;
	unsigned wanted; ///< the how manyth mark
};

/* Is the entity of step @p at assigned before it, since the last state? */
static bool is_split(const struct rp_walk *w, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (w->steps.data[i].has_place &&
		    w->steps.data[i].place == w->steps.data[at].place)
			return true;
	return false;
}

static bool counts(const struct rp_walk *w, const struct rp_mark *m, size_t at)
{
	return w->steps.data[at].has_place &&
	       fl_rp_ends(w, m, w->steps.data[at].place) != RP_NOT_ASKED;
}

/* In how many of @p states states the entities differ behind step @p at; -1: before all. */
static double difference(const struct rp_walk *w, const struct rp_mark *m, long at,
			 double states, double n)
{
	double sum = 0;

	for (size_t i = 0; i < w->steps.size; i++) {
		long before = -1,
		     behind = -1; // assignments of the same, up to here and after
		const struct rp_step *s = &w->steps.data[i];

		if (!counts(w, m, i) || is_split(w, i))
			continue;
		for (size_t k = 0; k < w->steps.size; k++)
			if (w->steps.data[k].has_place &&
			    w->steps.data[k].place == s->place) {
				if ((long)k <= at)
					before = (long)k;
				else if (behind < 0)
					behind = (long)k;
			}
		if (before >= 0 && behind >= 0)
			sum += states * (n - 1) / n;
		else if (before >= 0 && fl_rp_ends(w, m, s->place) == RP_WRONG)
			sum += states;
	}
	return sum;
}

/* What is asserted otherwise, and nothing assigned: it differs all along. */
static double constant(const struct rp_walk *w, const struct rp_mark *m)
{
	double n = 0;

	for (size_t i = 0; i < w->p->variables.size; i++)
		n += fl_rp_variable_ends(w, m, (unsigned)i, true) == RP_WRONG;
	for (size_t i = 1; i <= m->state.nodes.size && i <= w->nodes.size; i++)
		for (size_t k = 0;
		     k <
		     w->p->records.data[m->state.nodes.data[i - 1].record].fields.size;
		     k++)
			n += fl_rp_field_ends(w, m, i, (unsigned)k) == RP_WRONG;
	return n;
}

static void print(struct rp_walk *w, const struct rp_mark *m)
{
	struct table *t = w->user;
	double n = (double)w->nodes.size + 1, states = 1, all, last;
	unsigned splits = 0, line = 0;

	if (t->wanted--)
		return;
	for (size_t i = 0; i < w->steps.size; i++)
		if (counts(w, m, i) && is_split(w, i) && splits++ < MOST_SPLITS)
			states *= n;
	if (splits > MOST_SPLITS) {
		fprintf(t->out, "%u splits: too many states to count\n", splits);
		return;
	}
	all = constant(w, m) - difference(w, m, (long)w->steps.size - 1, 1, n);
	fprintf(t->out, "M = %.0f\n", states);
	last = all * states;
	fprintf(t->out, "  0        Gamma = %.0f\n", last);
	for (size_t i = 0; i < w->steps.size; i++) {
		const struct rp_op *op = &w->p->ops.data[w->steps.data[i].op];
		double gamma = all * states + difference(w, m, (long)i, states, n);

		if (op->kind == RP_TEST || !counts(w, m, i))
			continue;
		fprintf(t->out, "%3u %c line %d  Gamma = %.0f  ", ++line,
			gamma == last ? ' ' : '*', op->line, gamma);
		fl_rp_op_print(w->p, op, t->out);
		fputc('\n', t->out);
		last = gamma;
	}
}

struct err *fl_rp_gamma_print(const struct rp_program *p, const struct rp_witness *w,
			      FILE *out)
{
	struct table t = { .out = out,
			   .function = w->function,
			   .wanted = (unsigned)w->marks.size - 1 };
	struct rp_walk walk = { .p = p, .w = w, .at_mark = print, .user = &t };

	fl_rp_walk(&walk);
	fl_rp_walk_deinit(&walk);
	return walk.has_failed ? &err_nomem : NULL;
}
