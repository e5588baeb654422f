// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A C-point that is no boundary of operations, like the return of a rotation, does not hold
 * every few visits, and holds again at the next. A true one holds from the first visit to
 * the fault. It may hold again after it, when what is wrong happens to be removed: then
 * once a fault, which is seldom.
 *
 * Where too little was done to tell them apart so, operations are known by their calls
 * (fl_outer.h). And whatever does not hold in the midst of one that ends with all well was
 * temporary: it counts as if it had held there again.
 */
#include "faultlocate/fl_infer.h"

#include <string.h>

#include "faultlocate/fl_outer.h"

#define FUNCTIONS_MAX 32
#define HELD_MIN 8	  // visits that held before a C-point is trusted
#define HELD_PER_LAPSE 80 // and as many for each time that it did not, in between
#define HELD_LATELY 16	  // visits since the last time that it did not
#define HELD_OUTER 2	  // visits, all there were, of a bound of operations; or of all
#define HELD_OUTERS 8	  // such bounds together so many
#define LAPSES_TRIED 12	  // after so many its visits are not checked any more

// A function that is called more often than so, and than so many times the one that is
// called least (but not rarely), works inside of operations.
#define VISITS_CHECKED 2000
#define VISITS_RATIO 4
#define VISITS_RARE 64

// All pairs of nodes at all calls: that is what it must not come to.
#define EVALUATIONS_MAX UINT64_C(30000000)

/* ---- candidates ------------------------------------------------------------------------- */

/** A function and how often it changed the structure. */
struct changer {
	const char *name;
	uint64_t n;
};

typedef VEC(struct changer) changers;

static struct err *count(changers *c, const char *name, uint64_t n)
{
	if (!name)
		return NULL;
	for (size_t i = 0; i < c->size; i++)
		if (strcmp(c->data[i].name, name) == 0) {
			c->data[i].n += n;
			return NULL;
		}
	return vec_add(c, (struct changer){ name, n });
}

static int compare_changers(const void *a, const void *b)
{
	const struct changer *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->name, y->name);
}

// How often each statement changed a node of a declared type.
static struct err *count_statements(const struct hg_graph *g, struct map *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(g, 0, &v);
	struct hg_op op;

	while (!err && hg_view_forward(v, &op)) {
		const uint64_t *n = map_get(ret, op.rip);

		if (hg_graph_node(g, op.node)->type && op.rip != MAP_EMPTY_KEY &&
		    map_put(ret, op.rip, n ? *n + 1 : 1))
			err = &err_nomem;
	}
	return err;
}

struct err *fl_infer_candidates(struct fl_cpoints *c, const struct hg_graph *g,
				const struct fl_places *places, size_t *n)
{
	_cleanup_(map_deinit) struct map statements = {};
	changers found = {};
	struct err *err = count_statements(g, &statements);

	for (size_t i = 0; i < statements.capacity && !err; i++) {
		struct dec_place p = {};
		bool is_nested;

		if (statements.slots[i].key == MAP_EMPTY_KEY)
			continue;
		places->place(places->ctx, statements.slots[i].key, &p);
		is_nested = p.outer && p.function && strcmp(p.outer, p.function) != 0;
		err = count(&found, p.function, statements.slots[i].value);
		if (!err && is_nested)
			err = count(&found, p.outer, statements.slots[i].value);
	}
	vec_sort(&found, compare_changers);
	*n = found.size < FUNCTIONS_MAX ? found.size : FUNCTIONS_MAX;
	for (size_t i = 0; i < *n && !err; i++)
		err = fl_cpoints_add_candidate(c, found.data[i].name);
	vec_deinit(&found);
	return err;
}

/* ---- judging ------------------------------------------------------------------------------ */

/** Where a C-point came not to hold. */
struct broken {
	const struct fl_visit *first; ///< NULL: nowhere yet
	uint64_t n_held;	      ///< visits before at which all held
	uint64_t n_lately;	      ///< since the last lapse before
	bool is_outer;		      ///< it is a bound of an operation
};

/** What is known about a C-point. */
struct record {
	uint64_t n_visits;
	uint64_t n_held;	///< visits at which all held, of those checked
	uint64_t n_lapses;	///< times that it did not hold and then held again
	uint64_t n_held_lately; ///< visits since the last lapse
	struct broken at;	///< the first of the visits not holding that came last
	struct broken former;	///< what at was before it
	bool is_broken;		///< it does not hold now
};

static void record_add(struct record *r, const struct fl_visit *visit, bool holds,
		       bool is_outer)
{
	if (holds) {
		r->n_held++;
		r->n_lapses += r->is_broken;
		r->n_held_lately = r->is_broken ? 1 : r->n_held_lately + 1;
	} else if (!r->is_broken) {
		r->former = r->at;
		r->at = (struct broken){ visit, r->n_held, r->n_held_lately, is_outer };
	}
	r->is_broken = !holds;
}

// An operation ended, and all holds: what did not in the midst of it was temporary.
static void records_settle(struct record *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct record *r = &records[i];

		if (!r->is_broken || r->at.is_outer)
			continue;
		r->at = r->former;
		r->n_lapses++;
		r->n_held_lately = 0;
		r->is_broken = false;
	}
}

static void count_visits(const struct fl_cpoints *c, struct record *records)
{
	for (size_t i = 0; i < fl_cpoints_visits(c); i++)
		records[fl_cpoints_visit_at(c, i)->cpoint].n_visits++;
}

// How often a C-point may be reached to be looked at.
static uint64_t find_limit(const struct record *records, size_t n)
{
	uint64_t least = UINT64_MAX / VISITS_RATIO;

	for (size_t i = 0; i < n; i++)
		if (records[i].n_visits >= VISITS_RARE && records[i].n_visits < least)
			least = records[i].n_visits;
	return least * VISITS_RATIO > VISITS_CHECKED ? least * VISITS_RATIO :
						       VISITS_CHECKED;
}

// It works inside of operations, or will hardly come to be trusted.
static bool is_given_up(const struct record *r, uint64_t limit)
{
	return r->n_visits > limit ||
	       (r->n_lapses >= LAPSES_TRIED && r->n_held < r->n_lapses * HELD_PER_LAPSE);
}

// is_strict: it has not lapsed lately either.
static bool is_trusted(const struct record *r, bool is_strict, bool is_healed)
{
	// The one in question is no lapse.
	uint64_t lapses = r->n_lapses - (r->n_lapses && !r->is_broken);

	return r->at.first && (r->is_broken || is_healed) && r->at.n_held >= HELD_MIN &&
	       r->at.n_held >= lapses * HELD_PER_LAPSE &&
	       (!is_strict || !lapses || r->at.n_lately >= HELD_LATELY);
}

// Does everything hold at the view's position?
static struct err *check_all(const struct fl_infer *in, struct spec_checker *c,
			     bool *holds)
{
	spec_violations found = {};
	struct err *err = NULL;

	for (size_t i = 0; i < spec_constraints(in->spec) && !err && !found.size; i++)
		if (in->is_checked[i])
			err = spec_checker_check(c, i, &found);
	*holds = !found.size;
	vec_deinit(&found);
	return err;
}

/** The visits, one after the other. */
struct judge {
	const struct fl_infer *in;
	struct record *records; ///< a C-point each
	size_t n_records;
	bool *is_outer;		     ///< a visit each
	const struct fl_visit *held; ///< the last bound of an operation at which all held
	uint64_t n_held;	     ///< visits of such bounds at which all held
	bool is_broken;		     ///< at the last of them something did not
	bool has_lapsed;	     ///< at one it did not, and later it did again
	struct fl_inferred outer; ///< the first such bound behind it that can be trusted
};

static void judge_deinit(struct judge *j)
{
	free(j->records);
	free(j->is_outer);
}

static struct err *judge_init(struct judge *j, const struct fl_infer *in)
{
	j->in = in;
	j->n_records = fl_cpoints_count(in->cpoints);
	j->records = calloc(j->n_records + 1, sizeof(*j->records));
	j->is_outer = calloc(fl_cpoints_visits(in->cpoints) + 1, sizeof(bool));
	if (!j->records || !j->is_outer)
		return &err_nomem;
	count_visits(in->cpoints, j->records);
	return fl_outer_find(in->cpoints, j->is_outer);
}

// Visit v is a bound of an operation.
static void judge_outer(struct judge *j, const struct fl_visit *v, bool holds)
{
	const struct record *r = &j->records[v->cpoint];

	if (holds) {
		j->held = v;
		j->n_held++;
		j->has_lapsed |= j->is_broken;
		j->outer = (struct fl_inferred){ 0 };
		records_settle(j->records, j->n_records);
	} else if (!j->outer.visit && !r->is_broken && !r->n_lapses &&
		   (r->n_held >= HELD_OUTER ||
		    (j->n_held >= HELD_OUTERS && !j->has_lapsed))) {
		j->outer = (struct fl_inferred){ .visit = v, .n_held = r->n_held };
	}
	j->is_broken = !holds;
}

static struct err *check_visits(struct judge *j)
{
	const struct fl_infer *in = j->in;
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	_cleanup_(spec_eval_destroyp) struct spec_eval *eval = NULL;
	_cleanup_(spec_checker_destroyp) struct spec_checker *checker = NULL;
	uint64_t n_ops = UINT64_MAX, limit = find_limit(j->records, j->n_records);
	struct err *err = hg_view_create(in->graph, 0, &view);
	bool holds = false;

	if (!err)
		err = spec_eval_create(in->spec, in->graph, view, &eval);
	if (!err)
		err = spec_checker_create(eval, false, &checker);
	for (size_t i = 0; i < fl_cpoints_visits(in->cpoints) && !err; i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(in->cpoints, i);

		if (fl_cpoints_get(in->cpoints, v->cpoint)->kind == FL_CPOINT_END ||
		    is_given_up(&j->records[v->cpoint], limit))
			continue;
		if (v->at.app_ops != n_ops) {
			n_ops = v->at.app_ops;
			err = spec_eval_seek(eval, view, n_ops);
			if (!err)
				err = check_all(in, checker, &holds);
			if (spec_checker_evaluations(checker) > EVALUATIONS_MAX) {
				j->held = j->outer.visit = NULL;
				return err;
			}
		}
		if (!err && j->is_outer[i])
			judge_outer(j, v, holds);
		if (!err)
			record_add(&j->records[v->cpoint], v, holds, j->is_outer[i]);
	}
	if (!err && in->is_healed)
		records_settle(j->records, j->n_records);
	return err;
}

static void choose(const struct judge *j, bool is_strict, struct fl_inferred *ret)
{
	for (size_t i = 0; i < j->n_records; i++) {
		const struct record *r = &j->records[i];

		if (!is_trusted(r, is_strict, j->in->is_healed) ||
		    (ret->visit && ret->visit <= r->at.first))
			continue;
		ret->visit = r->at.first;
		ret->n_held = r->at.n_held;
	}
}

struct err *fl_infer_violated(const struct fl_infer *in, struct fl_inferred *ret)
{
	_cleanup_(judge_deinit) struct judge j = {};
	struct err *err = NULL;

	*ret = (struct fl_inferred){ 0 };
	if (fl_cpoints_is_overrun(in->cpoints))
		return NULL;
	err = judge_init(&j, in);
	if (!err)
		err = check_visits(&j);
	if (err)
		return err;
	choose(&j, true, ret);
	if (!ret->visit)
		choose(&j, false, ret);
	if (!ret->visit && !in->is_healed)
		*ret = j.outer;
	ret->held = j.held;
	return NULL;
}
