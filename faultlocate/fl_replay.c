// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From a capture to the heap's history, with visits of C-points and types of nodes.
 */
#include "decode/past/flight.h"
#include "faultlocate/fl_stages.h"

// Comments may name further sources only once their statements were seen to run.
#define REPLAYS_MAX 2

static bool is_site(void *ctx, uint64_t rip)
{
	struct fl_analysis *a = ctx;

	return fl_types_is_site(a->spec, a->symbols, rip);
}

static const struct dec_struct *layout_of(void *ctx, const struct hg_node *n)
{
	const struct fl_analysis *a = ctx;

	return fl_types_layout(a->spec, a->symbols, n->alloc_rip, n->size);
}

static struct err *on_end(void *ctx, struct frames *f, struct dec_machine *m,
			  const struct dec_where *w)
{
	struct fl_analysis *a = ctx;
	struct err *err = fl_end_keep(a, f);

	return err || !a->is_checking ? err : fl_check_end(a->check, m, f, w);
}

/* @p finder: NULL, or it looks at the accesses. */
static struct err *trace(const struct fl_options *o, struct fl_analysis *a,
			 struct hg_recorder *r, struct hg_finder *finder)
{
	bool is_stepping = finder && !a->is_at_end;
	const char *progress = is_stepping ? "looked at the accesses of" : "analysed";
	struct dec_heap_options options = {
		.progress = o->with_progress ? progress : NULL,
		.resolve = fl_cpoints_resolve,
		.resolve_ctx = a->cpoints,
		.is_site = fl_types_have_sites(a->spec) ? is_site : NULL,
		.is_site_ctx = a,
		.step = is_stepping ? hg_access_step : NULL,
		.glance = is_stepping && !hg_access_wants_steps(finder) ?
				  hg_access_glance :
				  NULL,
		.stretch = is_stepping && !hg_access_wants_steps(finder) ?
				   hg_access_stretch :
				   NULL,
		.glance_bytes = hg_glance_bytes,
		.state = is_stepping ? hg_access_state : NULL,
		.lend = finder ? hg_access_lend : NULL,
		.step_ctx = finder,
		.vars = a->variables.data,
		.n_vars = a->variables.size,
		.skips_inert = true,
		.skips_allocator = a->is_without_history,
		.skips_stores = (a->is_at_end || !finder) && a->is_without_history,
		.ended = on_end,
		.ended_ctx = a,
	};
	struct dec_heap_events events;
	struct err *err;

	hg_recorder_events(r, &events);
	if (capture_info(a->capture)->mode != CAP_MODE_FLIGHT)
		return dec_heap_trace(a->capture, a->symbols, &options, &events, &a->run);
	if (a->variables.size)
		return err_new(
			ERR_UNSUPPORTED,
			"cannot follow the program's variables (ROOT) in a capture "
			"of the flight recorder: its start is missing");
	err = dec_flight_heap_trace(a->capture, a->symbols, &options, &events, &a->run);
	return err || !finder ?
		       err :
		       err_new(ERR_UNSUPPORTED,
			       "cannot look at the accesses in a capture of the flight "
			       "recorder: its start is missing");
}

/* Is it a program's start that was recorded, not a process that had run (attached to, forked)? The kernel
 * starts programs with registers that are empty. */
bool fl_replay_is_from_start(const struct capture *c, uint64_t *rsp)
{
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(c, &core);
	uint64_t any = !!err;

	for (int r = 0; r < 16 && !err; r++)
		any |= r == CAP_RSP ? 0 : core->regs.gpr[r];
	*rsp = err ? 0 : core->regs.gpr[CAP_RSP];
	cap_core_close(core);
	err_destroy(err);
	return !any;
}

/* Does nobody ask what memory held, unless something is found? */
static bool needs_no_history(const struct fl_options *o)
{
	return !o->n_specs && !o->text && !o->n_cpoints && !o->is_heap_only &&
	       !o->with_allocator && !o->without_allocator;
}

/* What was found is explained by what was stored before; so is the end. */
static bool wants_history(const struct fl_analysis *a)
{
	return a->is_without_history &&
	       (a->accesses.size || fl_check_has_chains(a->check) || a->run.has_unseen ||
		a->run.end == CAP_END_SIGNAL);
}

/* Trace, and the first time look at the accesses, if they are asked for. */
static struct err *look(const struct fl_options *o, struct fl_analysis *a,
			struct hg_recorder *r)
{
	bool is_looking = o->with_accesses && !a->has_accesses &&
			  fl_check_is_along(a->check);
	bool is_again = a->is_without_history;
	double start_s = clock_now_s();
	struct hg_finder *finder = NULL;
	uint64_t rsp;
	const struct hg_judge *judge =
		is_looking ? fl_check_begin(a->check, hg_recorder_graph(r),
					    fl_replay_is_from_start(a->capture, &rsp)) :
			     NULL;
	struct err *err = is_looking ? hg_access_create(r, layout_of, a, judge,
							&a->accesses, &finder) :
				       NULL;

	if (is_looking)
		fl_check_finder(a->check, finder);
	else if (a->has_accesses)
		fl_check_graph(a->check, hg_recorder_graph(r));
	// What led to a signal is explained by what was stored before.
	a->is_without_history =
		finder && needs_no_history(o) &&
		!(a->is_at_end && capture_info(a->capture)->end == CAP_END_SIGNAL);
	// Who looks for races alone wants to know the blocks that they are in.
	if (o->check && !finder && !is_again && needs_no_history(o))
		a->is_without_history = fl_check_is_about_races(a->check) &&
					capture_info(a->capture)->end != CAP_END_SIGNAL;
	if (finder && a->is_without_history)
		hg_access_without_history(finder);
	if (finder && a->is_at_end)
		hg_access_nodes_alone(finder);
	a->is_checking = is_looking;
	if (!err)
		err = trace(o, a, r, finder);
	if (finder && !err)
		hg_access_finish(finder);
	hg_access_destroy(finder);
	a->has_accesses |= is_looking;
	*(is_looking ? &a->phases.access_s : &a->phases.replay_s) +=
		clock_lap_s(&start_s);
	return err;
}

/* So many instructions are quickly replayed with all stores. */
#define WHOLE_MAX (UINT64_C(1) << 28)

/* Does a specification say of which nodes anything is asked? How a signal ended the program is asked of
 * all; so are accesses, and the allocator. */
static bool asks_of_types(const struct fl_options *o, const struct fl_analysis *a)
{
	const struct cap_info *info = capture_info(a->capture);

	return !a->is_whole && (o->n_specs || o->text) && !o->with_accesses &&
	       !o->is_heap_only && !o->with_allocator && !o->without_allocator &&
	       fl_types_chunk(a->spec) < 0 && info->mode != CAP_MODE_FLIGHT &&
	       info->end != CAP_END_SIGNAL;
}

bool fl_replay_wants_whole(const struct fl_options *o, struct fl_analysis *a)
{
	bool is_so = asks_of_types(o, a) && a->run.instructions <= WHOLE_MAX;

	a->is_whole |= is_so;
	return is_so;
}

static bool is_asked(void *ctx, uint64_t rip, uint64_t size)
{
	return fl_typer_has(ctx, rip, size);
}

struct err *fl_replay_once(const struct fl_options *o, struct fl_analysis *a)
{
	_cleanup_(fl_typer_destroyp) struct fl_typer *typer = NULL;
	_cleanup_(hg_recorder_destroyp) struct hg_recorder *r = NULL;
	struct hg_position end;
	struct err *err =
		hg_recorder_create(fl_types_chunk(a->spec) >= 0 || o->with_allocator, &r);

	if (err)
		return err;
	for (size_t side = 0; side < FL_SIDES; side++)
		hg_graph_destroy(take_ptr(&a->sides[side].graph));
	dec_run_deinit(&a->run);
	fl_cpoints_rewind(a->cpoints);
	if (asks_of_types(o, a)) {
		typer = fl_typer_create(a->spec, a->symbols);
		if (!typer)
			return &err_nomem;
		hg_recorder_ask(r, is_asked, typer);
	}
	if (o->with_allocator)
		hg_recorder_with_internals(r);
	hg_recorder_on_watch(r, fl_cpoints_visit, a->cpoints);
	err = o->without_allocator ? hg_recorder_follow(r, &a->plan) : NULL;
	if (!err)
		err = look(o, a, r);
	if (err)
		return err;
	hg_recorder_position(r, &end);
	end.time = a->run.instructions;
	vec_deinit(&a->internals);
	hg_recorder_internals(r, &a->internals);
	vec_deinit(&a->roots);
	vec_deinit(&a->root_gaps);
	hg_recorder_roots(r, &a->roots, &a->root_gaps);
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
	if (!cap_end_is_own(a->run.end))
		return NULL;
	return fl_cpoints_end(a->cpoints, &end, a->run.end == CAP_END_SIGNAL);
}

/* ---- visits alone ------------------------------------------------------------------------- */

/** A replay that looks at calls alone: the history that there is says how far it was then. */
struct visiting {
	struct fl_analysis *a;
	struct hg_view *view; ///< behind `next`
	struct hg_op next;
	bool has_next;
	uint64_t app_ops; ///< before `next`
};

static struct err *on_visit(void *ctx, uint64_t time, size_t index, bool is_return)
{
	struct visiting *v = ctx;
	struct hg_position at = { .time = time };

	// An allocation that returns by the same instruction comes before the visit; what the first
	// instruction of a function does comes behind it.
	while (v->has_next && v->next.time < time + is_return) {
		v->app_ops++;
		v->has_next = hg_view_forward(v->view, &v->next);
	}
	at.app_ops = v->app_ops;
	return fl_cpoints_visit(v->a->cpoints, &at, index, is_return);
}

/* Variables come and go with stores, the allocator's chunks have a history of their own. */
static bool can_visit(const struct fl_options *o, const struct fl_analysis *a)
{
	return a->sides[FL_SIDE_APP].graph && !a->sides[FL_SIDE_CHUNKS].graph &&
	       !a->variables.size && !o->without_allocator &&
	       capture_info(a->capture)->mode != CAP_MODE_FLIGHT;
}

static struct err *visit(const struct fl_options *o, struct fl_analysis *a)
{
	const struct dec_heap_options options = {
		.progress = o->with_progress ? "looked for C-points in" : NULL,
		.resolve = fl_cpoints_resolve,
		.resolve_ctx = a->cpoints,
	};
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	struct visiting v = { .a = a };
	const struct dec_heap_events events = { .ctx = &v, .watch = on_visit };
	const struct hg_position end = { .time = a->run.instructions,
					 .app_ops = hg_graph_ops(
						 a->sides[FL_SIDE_APP].graph) };
	double start_s = clock_now_s();
	struct dec_run run = {};
	struct err *err = hg_view_create(a->sides[FL_SIDE_APP].graph, 0, &view);

	if (err)
		return err;
	v.view = view;
	v.has_next = hg_view_forward(view, &v.next);
	fl_cpoints_rewind(a->cpoints);
	err = dec_heap_trace(a->capture, a->symbols, &options, &events, &run);
	a->phases.replay_s += clock_lap_s(&start_s);
	dec_run_deinit(&run);
	if (err || !cap_end_is_own(a->run.end))
		return err;
	return fl_cpoints_end(a->cpoints, &end, a->run.end == CAP_END_SIGNAL);
}

struct err *fl_replay_visits(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err;

	if (!fl_replay_wants_whole(o, a) && can_visit(o, a))
		return visit(o, a);
	err = fl_replay_once(o, a);
	return err ? err : fl_replay_types(a);
}

// The sources of all statements that changed the heap may have C-point comments.
static struct err *look_for_comments(struct fl_analysis *a, bool *is_new)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	struct err *err = NULL;
	uint64_t rip;

	*is_new = false;
	for (size_t i = 0; !err && hg_graph_statement(g, i, &rip); i++) {
		struct dec_place place = {};
		bool found = false;

		dec_symbols_place(a->symbols, rip, &place);
		if (place.file)
			err = fl_cpoints_add_source(a->cpoints, a->symbols, &place,
						    &found);
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
	return place.file ?
		       fl_cpoints_add_source(a->cpoints, a->symbols, &place, &is_new) :
		       NULL;
}

struct err *fl_replay_run(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = look_into_main(a);
	bool is_new = true, is_right = false;

	if (!err)
		err = fl_guard_ask(o, a, &is_right);
	if (err || is_right)
		return err;
	if (!err && a->is_at_end) {
		err = fl_replay_once(o, a);
		if (err || !a->run.has_unseen)
			return err;
		fl_check_forget(a->check);
		a->is_at_end = a->has_accesses = false;
	}
	for (int i = 0; i < REPLAYS_MAX && is_new && !err; i++) {
		err = fl_replay_once(o, a);
		if (!err)
			err = look_for_comments(a, &is_new);
	}
	return err || !wants_history(a) ? err : fl_replay_once(o, a);
}

struct err *fl_replay_types(struct fl_analysis *a)
{
	struct fl_side *chunks = &a->sides[FL_SIDE_CHUNKS];
	struct err *err = fl_types_assign(
		a->spec, a->symbols, a->sides[FL_SIDE_APP].graph, &a->roots, &a->typing);

	for (size_t side = 0; side < FL_SIDES; side++)
		a->sides[side].namer = (struct fl_namer){ .spec = a->spec,
							  .graph = a->sides[side].graph,
							  .places = &a->places };
	if (!err && chunks->graph)
		err = fl_types_assign_chunks(a->spec, chunks->graph, &a->internals);
	return err;
}
