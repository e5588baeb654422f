// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_faults.h"

#include <string.h>

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool fl_is_same_statement(const struct dec_place *a, const struct dec_place *b)
{
	if (!text_equal(a->function, b->function))
		return false;
	if (a->file && a->line)
		return a->line == b->line && text_equal(a->file, b->file);
	return !b->line && text_equal(a->module, b->module) && a->offset == b->offset;
}

static struct fl_fault *faults_find(fl_faults *f, const struct dec_place *p)
{
	for (size_t i = 0; i < f->size; i++)
		if (!f->data[i].missing && fl_is_same_statement(&f->data[i].place, p))
			return &f->data[i];
	return NULL;
}

static void fault_merge(struct fl_fault *f, const struct fl_contribution *c,
			uint64_t time, const struct hg_graph *g,
			const struct dec_place *place)
{
	f->instances++;
	f->introduces += c->introduces;
	f->n_errors += c->n_errors;
	f->n_ready += c->n_ready;
	f->n_same += c->n_same;
	f->n_stale += c->is_stale;
	if (c->cure.grade > f->cure.grade)
		f->cure = c->cure;
	if (!f->graph || c->introduces > f->op_introduces) {
		f->graph = g;
		f->op = c->op;
		f->place = *place;
		f->op_introduces = c->introduces;
	}
	if (time > f->time)
		f->time = time;
}

struct err *fl_faults_add(fl_faults *ret, const struct hg_graph *g,
			  const fl_contributions *c, const struct fl_places *places)
{
	for (size_t i = 0; i < c->size; i++) {
		struct hg_op op = hg_graph_op(g, c->data[i].op);
		struct dec_place place = {};
		struct fl_fault *f;

		places->place(places->ctx, op.rip, &place);
		f = faults_find(ret, &place);
		if (!f) {
			f = vec_push(ret);
			if (!f)
				return &err_nomem;
			f->place = place;
		}
		fault_merge(f, &c->data[i], op.time, g, &place);
	}
	return NULL;
}

enum fl_because fl_fault_because(const struct fl_fault *f)
{
	return f->missing    ? FL_BECAUSE_MISSING :
	       f->n_stale    ? FL_BECAUSE_STALE :
	       f->introduces ? FL_BECAUSE_INTRODUCED :
	       f->n_errors   ? FL_BECAUSE_CHANGED :
	       f->n_ready    ? FL_BECAUSE_STORED :
	       f->n_same     ? FL_BECAUSE_SAME :
			       FL_BECAUSE_MOVED;
}

// What never did right is more suspicious, what others had to mend always, less; then what did right
// less often.
static int compare_past(const struct fl_cure *x, const struct fl_cure *y)
{
	int more = (x->n_before != 0) - (y->n_before != 0);

	more = more ? more : x->is_opening - y->is_opening;
	return more ? more : (x->n_before > y->n_before) - (x->n_before < y->n_before);
}

static int compare_faults(const void *a, const void *b)
{
	const struct fl_fault *x = a, *y = b;
	int more = (int)fl_fault_because(y) - (int)fl_fault_because(x);
	int cure = (int)y->cure.grade - (int)x->cure.grade;

	if (fl_fault_because(x) >= FL_BECAUSE_STALE ||
	    fl_fault_because(y) >= FL_BECAUSE_STALE)
		cure = 0;
	else if (!cure && x->cure.grade)
		cure = compare_past(&x->cure, &y->cure);
	if (cure)
		return cure;
	if (!more && x->missing && y->missing)
		more = x->missing->is_second - y->missing->is_second;
	return more ? more : (x->time < y->time) - (x->time > y->time);
}

void fl_faults_rank(fl_faults *f)
{
	vec_sort(f, compare_faults);
}
