// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The first C-point at which a constraint does not hold, named or inferred.
 */
#include <string.h>

#include "faultlocate/fl_infer.h"
#include "faultlocate/fl_stages.h"
#include "faultlocate/fl_statements.h"

#define PROGRESS_AFTER_S 2

/* ---- the first violation ------------------------------------------------------------------ */

/** A side's graph moving forward from C-point to C-point. */
struct checker {
	struct hg_view *view;
	struct spec_eval *eval;
	struct spec_checker *checker;
	struct fl_tracker *tracker; ///< NULL: not wanted
};

static void checkers_deinit(struct checker (*c)[FL_SIDES])
{
	for (size_t side = 0; side < FL_SIDES; side++) {
		spec_checker_destroy((*c)[side].checker);
		fl_tracker_destroy((*c)[side].tracker);
		spec_eval_destroy((*c)[side].eval);
		hg_view_destroy((*c)[side].view);
	}
}

bool fl_side_checks(const struct fl_side *s, const struct spec *spec, size_t i, int type)
{
	const struct spec_constraint *c = spec_constraint(spec, i);
	bool is_typed = type < 0;

	for (size_t k = 0; k < c->n_vars && !is_typed; k++)
		is_typed = (int)c->vars[k].type == type;
	return s->is_checked[i] && is_typed;
}

// In the middle of an operation, where a crash is, what it is about to write may be unwritten.
static struct err *track_reads(const struct fl_analysis *a, struct checker *c,
			       const struct fl_visit *visit, uint64_t n_ops)
{
	bool is_crash = fl_cpoints_get(a->cpoints, visit->cpoint)->kind ==
				FL_CPOINT_END &&
			a->run.end == CAP_END_SIGNAL;

	if (!c->tracker)
		return NULL;
	spec_on_read(c->eval, is_crash ? NULL : fl_tracker_read, c->tracker);
	return fl_tracker_advance(c->tracker, n_ops, visit->cpoint, visit->at.time);
}

static struct err *check_side(struct fl_analysis *a, struct checker *c, size_t side,
			      const struct fl_visit *visit)
{
	int type = fl_cpoints_get(a->cpoints, visit->cpoint)->type;
	struct fl_side *s = &a->sides[side];
	struct err *err = NULL;

	s->n_ops = fl_visit_ops(visit, side);
	s->errors.size = 0;
	if (!spec_constraints(a->spec)) // going through the history takes its time
		return NULL;
	err = spec_eval_seek(c->eval, c->view, s->n_ops);
	if (!err)
		err = track_reads(a, c, visit, s->n_ops);
	for (size_t i = 0; i < spec_constraints(a->spec) && !err; i++) {
		if (!fl_side_checks(s, a->spec, i, type))
			continue;
		if (c->tracker)
			fl_tracker_constraint(c->tracker, i);
		err = spec_checker_check(c->checker, i, &s->errors);
	}
	return !err && c->tracker ? fl_tracker_error(c->tracker) : err;
}

static struct err *check_visit(struct fl_analysis *a, struct checker (*c)[FL_SIDES],
			       const struct fl_visit *visit)
{
	struct err *err = NULL;

	a->n_errors = 0;
	for (size_t side = 0; side < FL_SIDES && !err; side++) {
		if (!a->sides[side].graph)
			continue;
		err = check_side(a, &(*c)[side], side, visit);
		a->n_errors += a->sides[side].errors.size;
	}
	return err;
}

// Nothing happened since the last C-point, and that one checked no less.
static bool is_unchanged(const struct fl_analysis *a, size_t i)
{
	const struct fl_visit *now = fl_cpoints_visit_at(a->cpoints, i), *last;

	if (!i)
		return false;
	last = fl_cpoints_visit_at(a->cpoints, i - 1);
	return now->at.app_ops == last->at.app_ops &&
	       now->at.chunk_ops == last->at.chunk_ops &&
	       (fl_cpoints_get(a->cpoints, last->cpoint)->type < 0 ||
		fl_cpoints_get(a->cpoints, last->cpoint)->type ==
			fl_cpoints_get(a->cpoints, now->cpoint)->type);
}

// A line on a terminal when it takes over two seconds; it ends when is_end.
static void show_checks(const struct fl_analysis *a, const struct fl_options *o,
			size_t done, double since_s, bool is_end)
{
	if (!o->with_progress || clock_now_s() - since_s < PROGRESS_AFTER_S)
		return;
	if (is_end || done % 64 == 0)
		fprintf(stderr, TEXT_AGAIN "faultline: checked %zu of %zu C-points%s",
			done, fl_cpoints_visits(a->cpoints), is_end ? "\n" : "");
}

// What the program allocates, as far as the capture knows how.
static struct err *add_tracker(struct fl_analysis *a, struct checker *c)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;

	return g && !a->run.is_recovered ?
		       fl_tracker_create(a->spec, g, &a->unwritten, &c->tracker) :
		       NULL;
}

static struct err *checkers_create(struct fl_analysis *a, struct checker (*c)[FL_SIDES])
{
	struct err *err = NULL;

	for (size_t side = 0; side < FL_SIDES && !err; side++) {
		const struct hg_graph *g = a->sides[side].graph;

		if (!g)
			continue;
		err = hg_view_create(g, 0, &(*c)[side].view);
		if (!err)
			err = spec_eval_create(a->spec, g, (*c)[side].view,
					       &(*c)[side].eval);
		if (!err)
			err = spec_checker_create((*c)[side].eval, false,
						  &(*c)[side].checker);
	}
	return err;
}

static void count_asked(struct fl_analysis *a, const struct checker c[FL_SIDES])
{
	for (size_t side = 0; side < FL_SIDES; side++)
		for (size_t i = 0; c[side].eval && i < spec_constraints(a->spec); i++)
			a->n_asked[i] += spec_eval_asked(c[side].eval, i);
}

struct err *fl_violation_find(struct fl_analysis *a, const struct fl_options *o)
{
	_cleanup_(checkers_deinit) struct checker c[FL_SIDES] = {};
	double start_s = clock_now_s();
	struct err *err = checkers_create(a, &c);
	size_t i;

	if (!err)
		err = add_tracker(a, &c[FL_SIDE_APP]);

	for (i = 0; i < fl_cpoints_visits(a->cpoints) && !err && !a->visit; i++) {
		const struct fl_visit *visit = fl_cpoints_visit_at(a->cpoints, i);

		if (is_unchanged(a, i))
			continue;
		show_checks(a, o, i, start_s, false);
		err = check_visit(a, &c, visit);
		if (!err && a->n_errors)
			a->visit = visit;
	}
	show_checks(a, o, i, start_s, true);
	count_asked(a, c);
	return err;
}

struct err *fl_violation_complete(struct fl_analysis *a, const struct fl_options *o)
{
	struct err *err;

	if (!fl_replay_wants_whole(o, a))
		return NULL;
	a->visit = NULL;
	a->unwritten.size = 0;
	memset(a->n_asked, 0, spec_constraints(a->spec) * sizeof(*a->n_asked));
	err = fl_replay_once(o, a);
	if (!err)
		err = fl_replay_types(a);
	return err ? err : fl_violation_find(a, o);
}

/* ---- C-points that nobody named ------------------------------------------------------------ */

// Nobody said where the structure must hold, and at the end it does not, or the program
// crashed over something that is gone.
bool fl_violation_is_unplaced(const struct fl_analysis *a, const struct fl_options *o)
{
	size_t n = fl_cpoints_visits(a->cpoints);

	if (!o->with_inference || a->run.is_recovered || !a->sides[FL_SIDE_APP].graph ||
	    a->sides[FL_SIDE_CHUNKS].errors.size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (fl_cpoints_get(a->cpoints, fl_cpoints_visit_at(a->cpoints, i)->cpoint)
			    ->kind != FL_CPOINT_END)
			return false; // somebody named one, and the program was there
	return a->visit || a->run.end == CAP_END_SIGNAL;
}

// Go to the C-point that was inferred, or back to the end.
static struct err *take_inferred(struct fl_analysis *a, const struct fl_inferred *found,
				 bool was_violated)
{
	_cleanup_(checkers_deinit) struct checker c[FL_SIDES] = {};
	size_t n = fl_cpoints_visits(a->cpoints);
	struct err *err = NULL;

	a->visit = found->visit;
	a->has_inferred = found->visit != NULL;
	a->held = found->visit ? NULL : found->held;
	if (!a->visit && was_violated)
		a->visit = fl_cpoints_visit_at(a->cpoints, n - 1);
	if (!a->visit)
		return NULL;
	err = checkers_create(a, &c);
	if (!err)
		err = check_visit(a, &c, a->visit);
	if (err || !found->visit)
		return err;
	return fl_note_add(
		a,
		"no C-point was named: taken for one is %s, where all held %llu "
		"times before",
		fl_cpoints_get(a->cpoints, a->visit->cpoint)->name,
		(unsigned long long)found->n_held);
}

// No function will do: the statements of main itself.
static struct err *place_in_main(struct fl_analysis *a, const struct fl_infer *in,
				 struct fl_inferred *found)
{
	size_t n = 0;
	struct err *err;

	if (fl_cpoints_is_overrun(a->cpoints))
		return NULL;
	err = fl_statements_add(a->cpoints, in->graph, &a->places, &n);
	return err || !n ? err : fl_infer_violated(in, found);
}

struct err *fl_violation_place(struct fl_analysis *a, const struct fl_options *o)
{
	struct fl_infer in = {
		.spec = a->spec,
		.is_checked = a->sides[FL_SIDE_APP].is_checked,
		.cpoints = a->cpoints,
		.is_healed = !a->visit,
	};
	bool was_violated = a->visit != NULL;
	struct fl_inferred found = { 0 };
	double start_s = clock_now_s();
	size_t n = 0;
	struct err *err = fl_infer_candidates(a->cpoints, a->sides[FL_SIDE_APP].graph,
					      &a->places, &n);

	if (err || !n)
		return err;
	a->visit = NULL; // the replay makes the visits anew
	err = fl_replay_visits(o, a);
	clock_lap_s(&start_s);
	in.graph = a->sides[FL_SIDE_APP].graph;
	if (!err)
		err = fl_infer_violated(&in, &found);
	if (!err && !found.visit && was_violated)
		err = place_in_main(a, &in, &found);
	if (!err)
		err = take_inferred(a, &found, was_violated);
	a->phases.match_s += clock_lap_s(&start_s);
	return err;
}
