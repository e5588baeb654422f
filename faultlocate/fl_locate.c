// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "faultlocate"

/**
 * @file
 * From the violated C-point back to the statements.
 */
#include "faultlocate/fl_cure.h"
#include "faultlocate/fl_missing.h"
#include "faultlocate/fl_stages.h"
#include "faultlocate/fl_traceback.h"

// A wrong constraint is violated everywhere: from so many inconsistencies of each
// constraint is traced back.
#define ERRORS_TRACED_MAX 200

// From a C-point that somebody named, or that was inferred, to the one before it is about one
// operation on the structure. The end of the run may be far from anything.
#define MOVES_MAX 1

static void show_progress(void *ctx, uint64_t left)
{
	(void)ctx;
	log_info("traceback: %llu operations left", (unsigned long long)left);
}

// The first few errors of each constraint.
static struct err *errors_to_trace(const struct fl_side *s, spec_violations *ret,
				   bool *is_limited)
{
	size_t of_constraint = 0;

	for (size_t i = 0; i < s->errors.size; i++) {
		if (i && s->errors.data[i].constraint != s->errors.data[i - 1].constraint)
			of_constraint = 0;
		if (of_constraint++ >= ERRORS_TRACED_MAX) {
			*is_limited = true;
			continue;
		}
		if (vec_add(ret, s->errors.data[i]))
			return &err_nomem;
	}
	return NULL;
}

// Where the operation began that ended at the violated C-point: the C-point before it that
// checked as much. The end of a run has none, nor is there one where not all were kept.
static uint64_t operation_since(const struct fl_analysis *a, size_t side)
{
	const struct fl_cpoint *now = fl_cpoints_get(a->cpoints, a->visit->cpoint);
	uint64_t n_ops = fl_visit_ops(a->visit, side);
	size_t i = fl_cpoints_visits(a->cpoints);

	if (fl_cpoints_is_overrun(a->cpoints))
		return n_ops;
	if (a->held && side == FL_SIDE_APP)
		return a->held->at.app_ops;
	while (i && fl_cpoints_visit_at(a->cpoints, i - 1) >= a->visit)
		i--;
	for (; i; i--) {
		const struct fl_visit *v = fl_cpoints_visit_at(a->cpoints, i - 1);
		const struct fl_cpoint *last = fl_cpoints_get(a->cpoints, v->cpoint);

		if (fl_visit_ops(v, side) == n_ops)
			continue;
		if (a->has_inferred ? v->cpoint == a->visit->cpoint :
				      last->type < 0 || last->type == now->type)
			return fl_visit_ops(v, side);
	}
	return n_ops;
}

// Where operations on the structure begin and end, as far as C-points tell.
static struct err *find_bounds(const struct fl_analysis *a, size_t side, fl_bounds *ret)
{
	size_t n = fl_cpoints_is_overrun(a->cpoints) ? 0 : fl_cpoints_visits(a->cpoints);
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++) {
		const struct fl_visit *v = fl_cpoints_visit_at(a->cpoints, i);

		if (fl_cpoints_get(a->cpoints, v->cpoint)->kind != FL_CPOINT_END)
			err = vec_add(ret, fl_visit_ops(v, side));
	}
	return err;
}

// What had left nothing violated: another value of what was stored, or a store that is missing.
// Numbers that will do there are always many for.
static struct err *look_for_cures(struct fl_analysis *a, size_t side,
				  const struct fl_traceback *t, fl_contributions *c)
{
	struct fl_missing *m = a->missing[side];
	fl_contributions suspects = {};
	fl_bounds bounds = {};
	struct fl_missing_query q = { t, c, &a->places, &bounds,
				      fl_cpoints_function(a->cpoints, a->visit->cpoint) };
	size_t n_found = 0;
	struct err *err = NULL;

	// Histories that were recovered, and the allocator's, are not known well enough.
	if (side != FL_SIDE_APP || a->run.is_recovered || a->plan.size)
		return NULL;
	err = find_bounds(a, side, &bounds);
	if (!err)
		err = fl_missing_find(&q, m, &n_found, &suspects);
	for (size_t i = 0; i < suspects.size && !err; i++)
		if (!vec_find(c, k, k->op == suspects.data[i].op))
			err = vec_add(c, suspects.data[i]);
	if (!err)
		err = fl_cure_find(&q, c);
	if (m->is_loose && vec_find(c, k, k->cure.grade >= FL_CURE_LOOSE))
		n_found = 0;
	for (size_t i = 0; i < n_found && !err; i++)
		err = fl_missing_add(&a->faults, &m[i], &a->places);
	vec_deinit(&suspects);
	vec_deinit(&bounds);
	return err;
}

static struct err *trace_side(struct fl_analysis *a, size_t side)
{
	struct fl_side *s = &a->sides[side];
	int type = fl_cpoints_get(a->cpoints, a->visit->cpoint)->type;
	_cleanup_free_ bool *is_checked = calloc(spec_constraints(a->spec), sizeof(bool));
	fl_contributions contributions = {};
	spec_violations errors = {};
	bool is_limited = false;
	bool is_end = fl_cpoints_get(a->cpoints, a->visit->cpoint)->kind == FL_CPOINT_END;
	struct err *err = is_checked ? errors_to_trace(s, &errors, &is_limited) :
				       &err_nomem;
	struct fl_traceback t = {
		.spec = a->spec,
		.graph = s->graph,
		.n_ops = s->n_ops,
		.errors = errors.data,
		.n_errors = errors.size,
		.is_checked = is_checked,
		.since_ops = operation_since(a, side),
		.moves_max = is_end ? 0 : MOVES_MAX,
		.how = FL_TRACEBACK_PREDICT,
		.progress = show_progress,
	};

	for (size_t i = 0; !err && i < spec_constraints(a->spec); i++)
		is_checked[i] = fl_side_checks(s, a->spec, i, type);
	if (!err)
		err = fl_traceback_run(&t, &contributions);
	if (!err)
		err = look_for_cures(a, side, &t, &contributions);
	if (!err)
		err = fl_faults_add(&a->faults, s->graph, &contributions, &a->places);
	if (!err && is_limited)
		err = fl_note_add(
			a,
			"many violations: traced back from the first %d of each "
			"constraint",
			ERRORS_TRACED_MAX);
	vec_deinit(&contributions);
	vec_deinit(&errors);
	return err;
}

struct err *fl_locate_run(struct fl_analysis *a)
{
	struct err *err = NULL;

	for (size_t side = 0; side < FL_SIDES && !err; side++)
		if (a->sides[side].errors.size)
			err = trace_side(a, side);
	fl_faults_rank(&a->faults);
	return err;
}
