// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_roots.h"

#include <string.h>

#include "faultlocate/fl_stages.h"

/* ---- mistakes ------------------------------------------------------------------------------- */

struct nearest {
	struct spec_nearest best;
	char name[256];
};

static void try_name(void *ctx, const char *name)
{
	struct nearest *n = ctx;

	spec_nearest_try(&n->best, name);
	// What it was given lives until we return.
	if (n->best.name == name) {
		snprintf(n->name, sizeof(n->name), "%s", name);
		n->best.name = n->name;
	}
}

static void report_unknown(struct spec *s, size_t i, struct dec_symbols *symbols)
{
	const struct spec_root *r = spec_root(s, i);
	struct nearest near = { .best.word = r->variable };
	char hint[300] = "is it in a module that was built with -g?";

	dec_symbols_variables(symbols, try_name, &near);
	if (near.best.name)
		snprintf(hint, sizeof(hint), "did you mean '%s'?", near.name);
	spec_root_mistake(s, i, hint, "no variable '%s' in the program", r->variable);
}

static void report(struct spec *s, size_t i, enum dec_var_fate fate, const char *others)
{
	const struct spec_root *r = spec_root(s, i);
	char hint[1200] = "";

	if (fate == DEC_VAR_ELSEWHERE) {
		snprintf(hint, sizeof(hint), "there is one at %s", others);
		spec_root_mistake(s, i, hint, "no variable '%s' in %s", r->variable,
				  r->source);
	} else if (fate == DEC_VAR_SEVERAL) {
		snprintf(hint, sizeof(hint),
			 "write its scope, or its file: ROOT %s IN FILE;%s%s",
			 r->variable, others ? " they are at " : "",
			 others ? others : "");
		spec_root_mistake(s, i, hint, "several variables are called '%s'",
				  r->variable);
	} else if (fate == DEC_VAR_IS_LOCAL) {
		snprintf(hint, sizeof(hint), "write 'ROOT %s;'", others);
		spec_root_mistake(s, i, hint,
				  "'%s' is a local variable: its function is missing",
				  r->variable);
	} else if (fate == DEC_VAR_UNPLACED) {
		spec_root_mistake(s, i,
				  "build with -O0; a local whose address is taken, or a "
				  "static that is read, stays in memory",
				  "'%s' was optimized out: it is nowhere", r->variable);
	} else if (fate == DEC_VAR_MOVES) {
		spec_root_mistake(s, i, "build with -O0",
				  "'%s' is in a frame of which it is not known where "
				  "it lies",
				  r->variable);
	} else if (fate == DEC_VAR_PER_THREAD) {
		spec_root_mistake(s, i, NULL,
				  "'%s' is a library's, once in each thread: such a "
				  "variable cannot be a root",
				  r->variable);
	} else if (fate == DEC_VAR_TOO_LARGE) {
		spec_root_mistake(
			s, i, NULL,
			"'%s' cannot be a root: it has no fields, or over 65536, "
			"or over 16 MiB",
			r->variable);
	}
}

/* ---- binding -------------------------------------------------------------------------------- */

/** The declared type that @p v has in the program; -1: none. AT says what is of a type. */
static int base_of(const struct spec *s, const struct dec_variable *v)
{
	int type = v->tag ? spec_type_find(s, v->tag) : -1;

	return type >= 0 && !spec_type(s, type)->n_sites &&
			       !spec_type(s, type)->is_array ?
		       type :
		       -1;
}

struct err *fl_roots_bind(struct spec *s, struct dec_symbols *symbols, fl_variables *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < spec_roots(s) && !err; i++) {
		const struct spec_root *r = spec_root(s, i);
		enum dec_var_fate fate = DEC_VAR_UNKNOWN;
		struct dec_variable v;
		const char *others;

		err = dec_symbols_variable_named(symbols, r->variable, r->source, &v,
						 &fate, &others);
		if (!err)
			err = vec_add(ret, v);
		if (err)
			return err;
		if (fate == DEC_VAR_FOUND)
			err = spec_bind_root(s, i, v.layout, v.is_struct, base_of(s, &v),
					     v.type);
		else if (fate == DEC_VAR_UNKNOWN)
			report_unknown(s, i, symbols);
		else
			report(s, i, fate, others);
	}
	return err;
}

/* ---- notes ------------------------------------------------------------------------------------ */

/** @return whether root @p i was there at a C-point. */
static bool was_seen(const struct fl_analysis *a, size_t i)
{
	size_t n = fl_cpoints_visits(a->cpoints);

	for (size_t k = 0; k < a->roots.size; k++) {
		struct hg_node_id id = { a->roots.data[k].node };
		const struct hg_node *h = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);
		size_t first;

		if (a->roots.data[k].index != i)
			continue;
		first = vec_rank(n, v,
				 fl_cpoints_visit_at(a->cpoints, v)->at.time < h->born);
		// The exit of its function is before its end, at the same time.
		if (first < n &&
		    fl_cpoints_visit_at(a->cpoints, first)->at.time <= h->died)
			return true;
	}
	return false;
}

/** @return at how many C-points root @p i had begun, but was optimized out. */
static size_t count_missing(const struct fl_analysis *a, size_t i)
{
	size_t n = fl_cpoints_visits(a->cpoints), ret = 0, last = n;

	for (size_t k = 0; k < a->root_gaps.size; k++) {
		uint64_t time = a->root_gaps.data[k].time;
		size_t at = vec_rank(n, v,
				     fl_cpoints_visit_at(a->cpoints, v)->at.time < time);

		if (a->root_gaps.data[k].index != i || at == n || at == last ||
		    fl_cpoints_visit_at(a->cpoints, at)->at.time != time)
			continue;
		last = at;
		ret++;
	}
	return ret;
}

struct err *fl_roots_note(struct fl_analysis *a)
{
	struct err *err = NULL;

	for (size_t i = 0; i < spec_roots(a->spec) && !err; i++) {
		const struct spec_root *r = spec_root(a->spec, i);
		const struct dec_variable *v = &a->variables.data[i];
		size_t n_missing = count_missing(a, i);

		if (v->n_unplaced)
			err = fl_note_add(a,
					  "root '%s' was optimized out of %zu cop%s of "
					  "its function: unchecked there",
					  r->variable, v->n_unplaced,
					  v->n_unplaced == 1 ? "y" : "ies");
		if (!err && n_missing)
			err = fl_note_add(a,
					  "root '%s' was optimized out at %zu C-point%s: "
					  "unchecked there",
					  r->variable, n_missing,
					  n_missing == 1 ? "" : "s");
		if (!err && spec_constraints(a->spec) && !was_seen(a, i))
			err = fl_note_add(a,
					  "root '%s' was there at no C-point: what is "
					  "said of it was not checked (name a function "
					  "that runs while it is, with --cpoint)",
					  r->variable);
	}
	return err;
}
