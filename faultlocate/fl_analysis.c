// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "faultlocate"

#include "faultlocate/fl_analysis.h"
#include "faultlocate/fl_infer.h"

#include <stdarg.h>
#include <string.h>

#include "heapgraph/hg_infer.h"

// A wrong constraint is violated everywhere: from so many inconsistencies of each
// constraint is traced back.
#define ERRORS_TRACED_MAX 200

// From a C-point that somebody named, or that was inferred, to the one before it is about one
// operation on the structure. The end of the run may be far from anything.
#define MOVES_MAX 1

#define PROGRESS_AFTER_S 2

// Comments may name further sources only once their statements were seen to run.
#define REPLAYS_MAX 2

static struct err *add_note(struct fl_analysis *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static struct err *add_note(struct fl_analysis *a, const char *fmt, ...)
{
	char **slot = vec_push(&a->notes);
	va_list ap;
	int n;

	if (!slot)
		return &err_nomem;
	va_start(ap, fmt);
	n = vasprintf(slot, fmt, ap);
	va_end(ap);
	if (n >= 0)
		return NULL;
	a->notes.size--;
	return &err_nomem;
}

// Each line of text is a note.
static struct err *add_notes(struct fl_analysis *a, const char *text)
{
	struct err *err = NULL;

	while (text && *text && !err) {
		size_t n = strcspn(text, "\n");

		if (n)
			err = add_note(a, "%.*s", (int)n, text);
		text += n + (text[n] == '\n');
	}
	return err;
}

static void place_by_symbols(void *ctx, uint64_t rip, struct dec_place *ret)
{
	if (rip == DEC_HEAP_BEFORE)
		*ret = (struct dec_place){ .module = "before the recorded window" };
	else if (rip == DEC_HEAP_UNSEEN)
		*ret = (struct dec_place){ .module = "a store that was not recovered" };
	else
		dec_symbols_place(ctx, rip, ret);
}

// Seconds since *since_s, which is moved on to now.
static double lap(double *since_s)
{
	double was_s = *since_s;

	*since_s = clock_now_s();
	return *since_s - was_s;
}

/* ---- the specification --------------------------------------------------------------- */

static struct err *spec_mistakes(const struct fl_analysis *a)
{
	size_t n = spec_errors(a->spec);

	return n ? err_new(ERR_SPEC,
			   "cannot analyze: the specification has %zu mistake%s", n,
			   n == 1 ? "" : "s") :
		   NULL;
}

static struct err *read_specs(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = spec_create(&a->spec);

	for (size_t i = 0; i < o->n_specs && !err; i++)
		err = spec_add_file(a->spec, o->specs[i]);
	if (err)
		return err;
	err = spec_mistakes(a);
	if (!err && !spec_constraints(a->spec) && !o->is_heap_only && !o->with_accesses)
		err = err_new(ERR_SPEC,
			      "cannot analyze: the specification has no constraint");
	return err;
}

static struct err *bind_spec(struct fl_analysis *a)
{
	char unknown[256] = "";
	struct err *err = fl_types_bind(a->spec, a->symbols, unknown, sizeof(unknown));

	if (!err)
		err = spec_mistakes(a);
	if (!err && unknown[0])
		err = add_note(
			a,
			"no debug information about %s: its nodes are known by "
			"allocation sites (AT file:line) only, its fields are words",
			unknown);
	return err;
}

static bool is_about_chunks(const struct spec *s, const struct spec_constraint *c)
{
	int chunk = fl_types_chunk(s);

	for (size_t i = 0; i < c->n_vars; i++)
		if ((int)c->vars[i].type == chunk)
			return true;
	return false;
}

static struct err *divide_constraints(struct fl_analysis *a)
{
	size_t n = spec_constraints(a->spec);

	for (size_t side = 0; side < FL_SIDES; side++) {
		a->sides[side].is_checked = calloc(n, sizeof(bool));
		if (!a->sides[side].is_checked)
			return &err_nomem;
	}
	for (size_t i = 0; i < n; i++) {
		bool is_chunk = is_about_chunks(a->spec, spec_constraint(a->spec, i));

		a->sides[is_chunk ? FL_SIDE_CHUNKS : FL_SIDE_APP].is_checked[i] = true;
	}
	return NULL;
}

/* ---- the replay ------------------------------------------------------------------------ */

static struct err *replay_once(const struct fl_options *o, struct fl_analysis *a)
{
	_cleanup_(hg_recorder_destroyp) struct hg_recorder *r = NULL;
	struct dec_heap_options options = {
		.with_progress = o->with_progress,
		.resolve = fl_cpoints_resolve,
		.resolve_ctx = a->cpoints,
	};
	struct dec_heap_events events;
	struct hg_position end;
	struct err *err = hg_recorder_create(
		fl_types_chunk(a->spec) >= 0 || o->with_allocator, &r);

	if (err)
		return err;
	for (size_t side = 0; side < FL_SIDES; side++)
		hg_graph_destroy(take_ptr(&a->sides[side].graph));
	dec_run_deinit(&a->run);
	fl_cpoints_rewind(a->cpoints);
	err = fl_cpoints_resolve(a->cpoints, a->symbols, &options.watch,
				 &options.n_watch);
	if (err)
		return err;
	if (o->with_allocator)
		hg_recorder_with_internals(r);
	err = o->without_allocator ? hg_recorder_follow(r, &a->plan) : NULL;
	if (err)
		return err;
	hg_recorder_on_watch(r, fl_cpoints_visit, a->cpoints);
	hg_recorder_events(r, &events);
	err = dec_heap_trace(a->capture, a->symbols, &options, &events, &a->run);
	if (err)
		return err;
	hg_recorder_position(r, &end);
	end.time = a->run.instructions;
	vec_deinit(&a->internals);
	hg_recorder_internals(r, &a->internals);
	hg_recorder_finish(r, &a->sides[FL_SIDE_APP].graph,
			   &a->sides[FL_SIDE_CHUNKS].graph);
	if (!a->run.has_matched)
		return err_new(
			ERR_DIVERGED,
			"cannot analyze: the replay left the recorded path after %llu "
			"instructions: %s",
			(unsigned long long)a->run.instructions,
			a->run.divergence ? a->run.divergence : "no reason known");
	// Where only the capture ends the program may be in the middle of an operation.
	if (a->run.end != CAP_END_EXIT && a->run.end != CAP_END_SIGNAL)
		return NULL;
	return fl_cpoints_end(a->cpoints, &end, a->run.end == CAP_END_SIGNAL);
}

// The sources of all statements that changed the heap may have C-point comments.
static struct err *look_for_comments(struct fl_analysis *a, bool *is_new)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_(map_deinit) struct map seen = {};
	struct err *err = hg_view_create(g, 0, &v);
	struct hg_op op;

	*is_new = false;
	while (!err && hg_view_forward(v, &op)) {
		struct dec_place place = {};
		bool found = false;

		if (map_get(&seen, op.rip))
			continue;
		if (op.rip == MAP_EMPTY_KEY || map_put(&seen, op.rip, 1))
			continue; // looked at again, that is all
		dec_symbols_place(a->symbols, op.rip, &place);
		if (place.file)
			err = fl_cpoints_add_source(a->cpoints, place.file, &found);
		*is_new |= found;
	}
	return err;
}

// main's source is known before the first replay; mostly it is all there is.
static struct err *look_into_main(struct fl_analysis *a)
{
	struct dec_place place = {};
	uint64_t addr;
	bool is_new;

	if (!dec_symbols_entries(a->symbols, "main", &addr, 1))
		return NULL;
	dec_symbols_place(a->symbols, addr, &place);
	return place.file ? fl_cpoints_add_source(a->cpoints, place.file, &is_new) : NULL;
}

static struct err *replay(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = look_into_main(a);
	bool is_new = true;

	for (int i = 0; i < REPLAYS_MAX && is_new && !err; i++) {
		err = replay_once(o, a);
		if (!err)
			err = look_for_comments(a, &is_new);
	}
	return err;
}

static struct err *assign_types(struct fl_analysis *a)
{
	struct fl_side *chunks = &a->sides[FL_SIDE_CHUNKS];
	struct err *err = fl_types_assign(a->spec, a->symbols,
					  a->sides[FL_SIDE_APP].graph, &a->typing);

	for (size_t side = 0; side < FL_SIDES; side++)
		a->sides[side].namer =
			(struct fl_namer){ a->spec, a->sides[side].graph, &a->places };
	if (!err && chunks->graph)
		err = fl_types_assign_chunks(a->spec, chunks->graph, &a->internals);
	return err;
}

/* ---- the first violation ------------------------------------------------------------------ */

/** A side's graph moving forward from C-point to C-point. */
struct checker {
	struct hg_view *view;
	struct spec_eval *eval;
	struct spec_checker *checker;
};

static void checkers_deinit(struct checker (*c)[FL_SIDES])
{
	for (size_t side = 0; side < FL_SIDES; side++) {
		spec_checker_destroy((*c)[side].checker);
		spec_eval_destroy((*c)[side].eval);
		hg_view_destroy((*c)[side].view);
	}
}

static bool has_type(const struct spec_constraint *c, int type)
{
	if (type < 0)
		return true;
	for (size_t i = 0; i < c->n_vars; i++)
		if ((int)c->vars[i].type == type)
			return true;
	return false;
}

static uint64_t side_ops(const struct hg_position *at, size_t side)
{
	return side == FL_SIDE_APP ? at->app_ops : at->chunk_ops;
}

static struct err *check_side(struct fl_analysis *a, struct checker *c, size_t side,
			      const struct fl_visit *visit)
{
	int type = fl_cpoints_get(a->cpoints, visit->cpoint)->type;
	struct fl_side *s = &a->sides[side];
	struct err *err = NULL;

	s->n_ops = side_ops(&visit->at, side);
	s->errors.size = 0;
	err = spec_eval_seek(c->eval, c->view, s->n_ops);
	for (size_t i = 0; i < spec_constraints(a->spec) && !err; i++)
		if (s->is_checked[i] && has_type(spec_constraint(a->spec, i), type))
			err = spec_checker_check(c->checker, i, &s->errors);
	return err;
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
		fprintf(stderr, "\rfaultline: checked %zu of %zu C-points%s", done,
			fl_cpoints_visits(a->cpoints), is_end ? "\n" : "");
}

static struct err *checkers_create(const struct fl_analysis *a,
				   struct checker (*c)[FL_SIDES])
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

static struct err *find_violation(struct fl_analysis *a, const struct fl_options *o)
{
	_cleanup_(checkers_deinit) struct checker c[FL_SIDES] = {};
	double start_s = clock_now_s();
	struct err *err = checkers_create(a, &c);
	size_t i;

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
	return err;
}

/* ---- C-points that nobody named ------------------------------------------------------------ */

// Nobody said where the structure must hold, and at the end it does not, or the program
// crashed over something that is gone.
static bool should_infer(const struct fl_analysis *a, const struct fl_options *o)
{
	size_t n = fl_cpoints_count(a->cpoints);

	if (!o->with_inference || a->run.is_recovered || !a->sides[FL_SIDE_APP].graph ||
	    a->sides[FL_SIDE_CHUNKS].errors.size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (fl_cpoints_get(a->cpoints, i)->kind != FL_CPOINT_END)
			return false;
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
	if (!a->visit && was_violated)
		a->visit = fl_cpoints_visit_at(a->cpoints, n - 1);
	if (!a->visit)
		return NULL;
	err = checkers_create(a, &c);
	if (!err)
		err = check_visit(a, &c, a->visit);
	if (err || !found->visit)
		return err;
	return add_note(a,
			"no C-point was named: taken for one is %s, where all held %llu "
			"times before",
			fl_cpoints_get(a->cpoints, a->visit->cpoint)->name,
			(unsigned long long)found->n_held);
}

static struct err *infer(struct fl_analysis *a, const struct fl_options *o)
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
	struct err *err = fl_infer_candidates(
		a->cpoints, a->sides[FL_SIDE_APP].graph, &a->places, &n);

	if (err || !n)
		return err;
	a->visit = NULL; // the replay makes the visits anew
	err = replay_once(o, a);
	if (!err)
		err = assign_types(a);
	a->phases.replay_s += lap(&start_s);
	in.graph = a->sides[FL_SIDE_APP].graph;
	if (!err)
		err = fl_infer_violated(&in, &found);
	if (!err)
		err = take_inferred(a, &found, was_violated);
	a->phases.match_s += lap(&start_s);
	return err;
}

/* ---- the way back --------------------------------------------------------------------------- */

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
		struct spec_violation *v;

		if (i && s->errors.data[i].constraint != s->errors.data[i - 1].constraint)
			of_constraint = 0;
		if (of_constraint++ >= ERRORS_TRACED_MAX) {
			*is_limited = true;
			continue;
		}
		v = vec_push(ret);
		if (!v)
			return &err_nomem;
		*v = s->errors.data[i];
	}
	return NULL;
}

static uint64_t ops_of(const struct fl_visit *v, size_t side)
{
	return side == FL_SIDE_CHUNKS ? v->at.chunk_ops : v->at.app_ops;
}

// Where the operation began that ended at the violated C-point: the C-point before it that
// checked as much. The end of a run has none.
static uint64_t operation_since(const struct fl_analysis *a, size_t side)
{
	const struct fl_cpoint *now = fl_cpoints_get(a->cpoints, a->visit->cpoint);
	uint64_t n_ops = ops_of(a->visit, side);
	size_t i = fl_cpoints_visits(a->cpoints);

	while (i && fl_cpoints_visit_at(a->cpoints, i - 1) >= a->visit)
		i--;
	for (; i; i--) {
		const struct fl_visit *v = fl_cpoints_visit_at(a->cpoints, i - 1);
		const struct fl_cpoint *last = fl_cpoints_get(a->cpoints, v->cpoint);

		if (ops_of(v, side) == n_ops)
			continue;
		if (a->has_inferred ? v->cpoint == a->visit->cpoint :
				      last->type < 0 || last->type == now->type)
			return ops_of(v, side);
	}
	return n_ops;
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
		is_checked[i] = s->is_checked[i] &&
				has_type(spec_constraint(a->spec, i), type);
	if (!err)
		err = fl_traceback_run(&t, &contributions);
	if (!err)
		err = fl_faults_add(&a->faults, s->graph, &contributions, &a->places);
	if (!err && is_limited)
		err = add_note(a,
			       "many violations: traced back from the first %d of each "
			       "constraint",
			       ERRORS_TRACED_MAX);
	vec_deinit(&contributions);
	vec_deinit(&errors);
	return err;
}

static struct err *trace_back(struct fl_analysis *a)
{
	struct err *err = NULL;

	for (size_t side = 0; side < FL_SIDES && !err; side++)
		if (a->sides[side].errors.size)
			err = trace_side(a, side);
	fl_faults_rank(&a->faults);
	return err;
}

/* ---- notes ------------------------------------------------------------------------------------ */

static struct err *note_types(struct fl_analysis *a)
{
	const struct fl_typing *t = &a->typing;
	uint64_t n_typed = t->n_by_site + t->n_by_dwarf + t->n_by_size;
	struct err *err = NULL;
	bool has_chunks = a->sides[FL_SIDE_CHUNKS].graph &&
			  hg_graph_nodes(a->sides[FL_SIDE_CHUNKS].graph);

	if (t->n_by_size)
		err = add_note(
			a,
			"inferred: the type of %llu of %llu nodes, from their size "
			"(name the sites with AT file:line to be sure)",
			(unsigned long long)t->n_by_size, (unsigned long long)n_typed);
	if (!err && !n_typed && !has_chunks)
		err = add_note(
			a, "no allocation has a declared type: nothing was checked (is "
			   "the program built with -g? else name the allocation sites: "
			   "AT file:line)");
	return err;
}

static struct err *note_all(struct fl_analysis *a)
{
	const struct cap_info *info = capture_info(a->capture);
	uint64_t unknown = hg_graph_unknown_frees(a->sides[FL_SIDE_APP].graph);
	const char *in_flight = fl_cpoints_in_flight(a->cpoints);
	struct err *err = note_types(a);

	for (size_t i = 0; i < info->n_missing && !err; i++)
		err = add_note(a, "the capture is not complete: %s", info->missing[i]);
	if (!err)
		err = add_notes(a, a->run.notes);
	if (!err)
		err = add_notes(a, fl_cpoints_notes(a->cpoints));
	if (!err && unknown)
		err = add_note(a,
			       "%llu releases of memory that was not allocated (freed "
			       "twice?)",
			       (unsigned long long)unknown);
	if (!err && !dec_symbols_has_debug(a->symbols, 0))
		err = add_note(
			a, "the program has no debug information: statements are shown "
			   "as function+offset");
	if (!err && a->visit && a->run.end == CAP_END_SIGNAL && in_flight &&
	    a->visit ==
		    fl_cpoints_visit_at(a->cpoints, fl_cpoints_visits(a->cpoints) - 1))
		err = add_note(a,
			       "the crash is inside %s: violations may be temporary ones "
			       "that it would have repaired",
			       in_flight);
	return err;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

// Nothing is declared: the types of all allocations, as far as DWARF knows them.
static struct err *declare_all(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = fl_types_declare(a->spec, a->symbols,
					   a->sides[FL_SIDE_APP].graph,
					   o->with_allocator);

	return err ? err : bind_spec(a);
}

// Nothing was violated as far as the capture goes, but what happened then is not known.
static struct err *require_end(const struct fl_analysis *a)
{
	if (a->visit || a->run.end == CAP_END_EXIT || a->run.end == CAP_END_SIGNAL)
		return NULL;
	return err_new(
		ERR_TRUNCATED,
		"cannot analyze to the end: the capture ends before the program does, "
		"after %llu instructions; no violation at %zu C-point%s until then",
		(unsigned long long)a->run.instructions, fl_cpoints_visits(a->cpoints),
		fl_cpoints_visits(a->cpoints) == 1 ? "" : "s");
}

// Only where the site says what it allocates: that a struct has the size is not enough.
static const struct dec_struct *layout_of(void *ctx, struct hg_node_id id)
{
	const struct fl_analysis *a = ctx;
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
	const struct spec_type *t = n->type ? spec_type(a->spec, n->type - 1) : NULL;
	const char *name;
	bool is_sure;

	if (!t || t->n_sites)
		return t ? t->layout : NULL;
	name = dec_symbols_alloc_type(a->symbols, n->alloc_rip + 1, n->size, &is_sure);
	return name && is_sure && !strcmp(name, t->name) ? t->layout : NULL;
}

static void show_accesses(void *ctx, uint64_t time)
{
	fprintf(stderr, "\rfaultline: looked at the accesses of %llu million instructions",
		(unsigned long long)time / 1000000);
	(void)ctx;
}

static struct err *find_accesses(const struct fl_options *o, struct fl_analysis *a)
{
	const struct hg_access_options options = {
		.layout = layout_of,
		.layout_ctx = a,
		.progress = o->with_progress ? show_accesses : NULL,
	};

	a->has_accesses = true;
	return hg_access_find(a->capture, a->symbols, a->sides[FL_SIDE_APP].graph,
			      &options, &a->accesses);
}

static void show_inferred(void *ctx, uint64_t time)
{
	fprintf(stderr, "\rfaultline: looked for nodes in %llu million instructions",
		(unsigned long long)time / 1000000);
	(void)ctx;
}

static struct err *infer_nodes(const struct fl_options *o, struct fl_analysis *a)
{
	const struct hg_infer_options options = {
		.progress = o->with_progress ? show_inferred : NULL,
	};

	if (capture_info(a->capture)->mode == CAP_MODE_FLIGHT)
		return err_new(ERR_UNSUPPORTED,
			       "cannot find nodes without the allocator in a capture of "
			       "the flight recorder: its start is missing");
	return hg_infer(a->capture, a->symbols, &options, &a->plan);
}

struct err *fl_analysis_run(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = read_specs(o, a);
	double start_s;

	if (!err)
		err = capture_open(o->capture, &a->capture);
	if (!err)
		err = dec_symbols_create(a->capture, &a->symbols);
	if (err)
		return err;
	a->places = (struct fl_places){ place_by_symbols, a->symbols };
	if (o->n_specs)
		err = bind_spec(a);
	if (!err)
		err = divide_constraints(a);
	if (!err)
		err = fl_cpoints_create(a->spec, &a->cpoints);
	for (size_t i = 0; i < o->n_cpoints && !err; i++)
		err = fl_cpoints_add_function(a->cpoints, o->cpoints[i]);
	start_s = clock_now_s();
	if (!err && o->without_allocator)
		err = infer_nodes(o, a);
	a->phases.infer_s = lap(&start_s);
	if (!err)
		err = replay(o, a);
	a->phases.replay_s = lap(&start_s);
	if (!err && !o->n_specs)
		err = declare_all(o, a);
	if (!err)
		err = assign_types(a);
	if (!err && o->is_heap_only)
		return note_all(a);
	lap(&start_s);
	if (!err && o->with_accesses)
		err = find_accesses(o, a);
	a->phases.access_s = lap(&start_s);
	if (!err)
		err = find_violation(a, o);
	a->phases.match_s = lap(&start_s);
	if (!err && should_infer(a, o))
		err = infer(a, o);
	lap(&start_s);
	if (!err && a->visit)
		err = trace_back(a);
	a->phases.locate_s = lap(&start_s);
	if (!err)
		err = note_all(a);
	return err ? err : require_end(a);
}

void fl_analysis_deinit(struct fl_analysis *a)
{
	for (size_t side = 0; side < FL_SIDES; side++) {
		hg_graph_destroy(a->sides[side].graph);
		free(a->sides[side].is_checked);
		vec_deinit(&a->sides[side].errors);
	}
	for (size_t i = 0; i < a->notes.size; i++)
		free(a->notes.data[i]);
	vec_deinit(&a->notes);
	vec_deinit(&a->faults);
	vec_deinit(&a->accesses);
	vec_deinit(&a->plan);
	vec_deinit(&a->internals);
	dec_run_deinit(&a->run);
	fl_cpoints_destroy(a->cpoints);
	spec_destroy(a->spec);
	dec_symbols_destroy(a->symbols);
	if (a->capture)
		capture_close(a->capture);
}
