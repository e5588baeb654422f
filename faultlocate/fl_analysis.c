// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The specification, and the stages of an analysis one after the other.
 */
#include "faultlocate/fl_analysis.h"

#include <string.h>

#include "faultlocate/fl_stages.h"
#include "heapgraph/hg_infer.h"

static void place_of(void *ctx, uint64_t rip, struct dec_place *ret)
{
	const struct fl_analysis *a = ctx;

	if (rip - DEC_HEAP_ROOT < a->variables.size)
		*ret = a->variables.data[rip - DEC_HEAP_ROOT].place;
	else if (rip == DEC_HEAP_BEFORE)
		*ret = (struct dec_place){ .module = "before the recorded window" };
	else if (rip == DEC_HEAP_UNSEEN)
		*ret = (struct dec_place){ .module = "a store that was not recovered" };
	else
		dec_symbols_place(a->symbols, rip, ret);
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
	if (!err && o->text)
		err = spec_add_text(a->spec, "proposal", o->text, strlen(o->text));
	if (err)
		return err;
	err = spec_mistakes(a);
	if (!err && o->n_specs && !spec_constraints(a->spec) && !o->is_heap_only &&
	    !o->with_accesses && !o->may_be_fine)
		err = err_new(ERR_SPEC,
			      "cannot analyze: the specification has no constraint");
	return err;
}

/* ---- C-points of the command line ------------------------------------------------------ */

// A function's name as the program has it, which need be no word: List<int>::insert.
static bool is_function(const char *text)
{
	const char *colon = strrchr(text, ':');
	bool is_line = colon && colon > text && colon[-1] != ':' &&
		       colon[1 + strspn(colon + 1, "0123456789")] == 0;

	return *text && !strpbrk(text, " \t\"") && !is_line && strcmp(text, "CRASH") &&
	       strcmp(text, "EXIT");
}

// What stands behind CPOINT in a specification.
static struct err *add_cpoint(struct fl_analysis *a, const char *text)
{
	const char *quote = is_function(text) ? "\"" : "";
	size_t n_errors = spec_errors(a->spec);
	_cleanup_free_ char *statement = NULL;
	struct err *err;

	if (asprintf(&statement, "CPOINT %s%s%s;", quote, text, quote) < 0)
		return &err_nomem;
	err = spec_add_text(a->spec, "--cpoint", statement, strlen(statement));
	if (err || spec_errors(a->spec) == n_errors)
		return err;
	return err_new(ERR_SPEC, "cannot analyze: '%s' is no C-point", text);
}

static struct err *create_cpoints(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = NULL;

	for (size_t i = 0; i < o->n_cpoints && !err; i++)
		err = add_cpoint(a, o->cpoints[i]);
	return err ? err : fl_cpoints_create(a->spec, &a->cpoints);
}

static struct err *bind_spec(struct fl_analysis *a)
{
	char unknown[256] = "";
	struct err *err = fl_types_bind(a->spec, a->symbols, &a->variables, unknown,
					sizeof(unknown));

	if (!err)
		err = spec_mistakes(a);
	if (err && unknown[0])
		log_note("the program has no struct %s", unknown);
	if (!err && unknown[0])
		err = fl_note_add(
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

	a->n_asked = calloc(n + 1, sizeof(*a->n_asked));
	if (!a->n_asked)
		return &err_nomem;
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

/* ---- all of it ---------------------------------------------------------------------------------- */

// Nothing is declared: the types of all allocations, as far as DWARF knows them.
static struct err *declare_all(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = fl_types_declare(
		a->spec, a->symbols, a->sides[FL_SIDE_APP].graph, o->with_allocator);

	return err ? err : bind_spec(a);
}

// Nothing was violated as far as the capture goes, but what happened then is not known.
static struct err *require_end(const struct fl_analysis *a)
{
	if (a->visit || cap_end_is_own(a->run.end))
		return NULL;
	return err_new(
		ERR_TRUNCATED,
		"cannot analyze to the end: the capture ends before the program does, "
		"after %llu instructions; no violation at %zu C-point%s until then",
		(unsigned long long)a->run.instructions, fl_cpoints_visits(a->cpoints),
		fl_cpoints_visits(a->cpoints) == 1 ? "" : "s");
}

// What is not known of the end is no reason to keep the rest from the user.
static struct err *explain_end(struct fl_analysis *a)
{
	double start_s = clock_now_s();
	_cleanup_err_ struct err *err = fl_end_explain(a);

	a->phases.end_s = clock_lap_s(&start_s);
	return err ? fl_note_add(a, "the end cannot be explained: %s", err->message) :
		     NULL;
}

// Nobody said what should hold, and the program ended as if all was well.
static struct err *require_question(const struct fl_analysis *a,
				    const struct fl_options *o)
{
	if (o->n_specs || o->with_accesses || o->may_be_fine || a->end.is_known ||
	    fl_releases(a))
		return NULL;
	if (a->run.end == CAP_END_SIGNAL)
		return err_new(ERR_UNSUPPORTED,
			       "cannot explain the end in a capture of the flight "
			       "recorder: give --spec FILE");
	return err_new(ERR_USAGE,
		       "cannot analyze: no signal ended the program (exit status %d): "
		       "what should hold? give --spec FILE, or --accesses",
		       a->run.end_value);
}

static struct err *infer_nodes(const struct fl_options *o, struct fl_analysis *a)
{
	if (capture_info(a->capture)->mode == CAP_MODE_FLIGHT)
		return err_new(ERR_UNSUPPORTED,
			       "cannot find nodes without the allocator in a capture of "
			       "the flight recorder: its start is missing");
	return hg_infer(a->capture, a->symbols,
			o->with_progress ? "looked for nodes in" : NULL, &a->plan);
}

static struct err *choose_rules(const struct fl_options *o, struct fl_analysis *a)
{
	const struct fl_check_options accesses = { .is_accesses = true };

	struct err *err = o->check ? NULL : fl_check_create(&accesses, &a->own_check);

	a->check = o->check ? o->check : a->own_check;
	return err;
}

struct err *fl_analysis_run(const struct fl_options *o, struct fl_analysis *a)
{
	struct err *err = read_specs(o, a);
	double start_s;

	if (!err)
		err = create_cpoints(o, a);
	if (!err)
		err = capture_open(o->capture, &a->capture);
	if (err)
		return err;
	err = dec_symbols_create(a->capture, &a->symbols);
	if (err)
		return err_prefix(err, "cannot analyze '%s'", o->capture);
	dec_symbols_sources(a->symbols, o->sources);
	a->places = (struct fl_places){ place_of, a };
	if (o->n_specs || o->text)
		err = bind_spec(a);
	if (!err)
		err = divide_constraints(a);
	if (!err && o->with_accesses)
		err = choose_rules(o, a);
	start_s = clock_now_s();
	if (!err && o->without_allocator)
		err = infer_nodes(o, a);
	a->phases.infer_s = clock_now_s() - start_s;
	if (!err)
		err = fl_replay_run(o, a);
	if (!err && !o->n_specs && !o->text)
		err = declare_all(o, a);
	if (!err)
		err = fl_replay_types(a);
	if (!err && o->is_heap_only)
		return fl_notes_add(a, o);
	if (!err)
		err = explain_end(a);
	if (!err && o->check)
		err = fl_check_bytes(o->check, a->capture, a->symbols,
				     a->run.instructions, &a->accesses, o->with_progress);
	if (!err && o->check)
		err = fl_check_fault(o->check, a->symbols, &a->end, &a->accesses);
	if (!err && o->check)
		err = fl_check_races(
			o->check, a->capture, a->symbols,
			&(struct fl_race_options){ .with_progress = o->with_progress });
	if (!err && o->check)
		err = fl_chains_find(a);
	start_s = clock_now_s();
	if (!err)
		err = fl_violation_find(a, o);
	a->phases.match_s = clock_lap_s(&start_s);
	if (!err && fl_violation_is_unplaced(a, o))
		err = fl_violation_place(a, o);
	// What realloc() makes a node of a type with sites was of no type before, as a rule.
	if (!err && (a->visit || fl_types_have_sites(a->spec)))
		err = fl_violation_complete(a, o);
	clock_lap_s(&start_s);
	if (!err && a->visit)
		err = fl_locate_run(a);
	a->phases.locate_s = clock_lap_s(&start_s);
	if (!err && a->visit)
		err = fl_callers_find(a);
	a->phases.replay_s += clock_lap_s(&start_s);
	if (!err)
		err = fl_notes_add(a, o);
	if (!err)
		err = require_end(a);
	return err ? err : require_question(a, o);
}

bool fl_release_is_allocators(const struct fl_analysis *a, const struct hg_release *r)
{
	const char *module = dec_symbols_module(a->symbols, r->rip), *allocators;
	struct dec_place place = {};
	uint64_t addr;

	if (dec_symbols_has_debug(a->symbols, r->rip))
		dec_symbols_place(a->symbols, r->rip, &place);
	if (place.line || !dec_symbols_entries(a->symbols, "free", &addr, 1))
		return false;
	allocators = dec_symbols_module(a->symbols, addr);
	return module && allocators && !strcmp(module, allocators);
}

const struct hg_release *fl_release(const struct fl_analysis *a, size_t i)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	const struct hg_release *r = g ? hg_graph_unknown_free(g, i) : NULL;

	return r && r->node.v && !fl_release_is_allocators(a, r) ? r : NULL;
}

size_t fl_releases(const struct fl_analysis *a)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	size_t n = 0;

	for (size_t i = 0; g && hg_graph_unknown_free(g, i); i++)
		n += fl_release(a, i) != NULL;
	return n;
}

void fl_analysis_deinit(struct fl_analysis *a)
{
	for (size_t side = 0; side < FL_SIDES; side++) {
		hg_graph_destroy(a->sides[side].graph);
		free(a->sides[side].is_checked);
		vec_deinit(&a->sides[side].errors);
	}
	lines_deinit(&a->notes);
	free(a->n_asked);
	vec_deinit(&a->faults);
	vec_deinit(&a->unwritten);
	fl_chains_deinit(&a->chains);
	vec_deinit(&a->accesses);
	fl_check_destroy(a->own_check);
	vec_deinit(&a->plan);
	vec_deinit(&a->variables);
	vec_deinit(&a->roots);
	vec_deinit(&a->root_gaps);
	vec_deinit(&a->internals);
	dec_run_deinit(&a->run);
	fl_end_deinit(&a->end);
	fl_cpoints_destroy(a->cpoints);
	spec_destroy(a->spec);
	dec_symbols_destroy(a->symbols);
	if (a->capture)
		capture_close(a->capture);
}
