// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What people should know about an analysis: what was inferred, what is missing.
 */
#include "faultlocate/fl_stages.h"

#include <stdarg.h>
#include <string.h>

#include "faultlocate/fl_asked.h"

#define FL_NOTE_GAP "gap: " ///< begins what the machine notes of one

// Two replays may note the same, and once is enough.
struct err *fl_note_add(struct fl_analysis *a, const char *fmt, ...)
{
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	err = lines_add_list(&a->notes, fmt, ap);
	va_end(ap);
	return err;
}

// What the machine says of a gap, the manifest has said.
static bool is_known_gap(const struct fl_analysis *a, const char *line)
{
	const struct cap_info *info = capture_info(a->capture);
	size_t n = strlen(FL_NOTE_GAP);

	for (size_t i = 0; i < info->n_missing && !strncmp(line, FL_NOTE_GAP, n); i++)
		if (text_has_line(line + n, text_line(info->missing[i])))
			return true;
	return false;
}

// Each line of text is a note about what.
static struct err *add_notes(struct fl_analysis *a, const char *what, const char *text)
{
	struct err *err = NULL;

	while (text && *text && !err) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, n);

		if (!line)
			return &err_nomem;
		if (n && !is_known_gap(a, line))
			err = fl_note_add(a, "%s%s", what, line);
		text += n + (text[n] == '\n');
	}
	return err;
}

// The first declared type that no allocation has, though some have none. NULL: there is none.
static const char *type_without_nodes(const struct fl_analysis *a)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;

	for (size_t i = 0; i < spec_types(a->spec) && a->typing.n_untyped; i++) {
		bool found = (int)i == fl_types_chunk(a->spec) ||
			     spec_type(a->spec, i)->is_root;

		for (uint32_t id = 1; id <= hg_graph_nodes(g) && !found; id++) {
			uint32_t type = hg_graph_node(g, (struct hg_node_id){ id })->type;

			found = type == i + 1 ||
				(type && spec_type(a->spec, type - 1)->base == i + 1);
		}
		// Those of another's second name are its.
		if (!found && spec_type(a->spec, i)->same_as < 0)
			return spec_type(a->spec, i)->name;
	}
	return NULL;
}

static struct err *note_types(struct fl_analysis *a)
{
	const struct fl_typing *t = &a->typing;
	uint64_t n_typed = t->n_by_site + t->n_by_dwarf + t->n_by_size;
	struct err *err = NULL;
	bool has_chunks = a->sides[FL_SIDE_CHUNKS].graph &&
			  hg_graph_nodes(a->sides[FL_SIDE_CHUNKS].graph);
	const char *unseen = n_typed && !has_chunks ? type_without_nodes(a) : NULL;

	if (t->n_by_size)
		err = fl_note_add(
			a,
			"inferred: the type of %llu of %llu nodes, from their size "
			"(name the sites with AT file:line to be sure)",
			(unsigned long long)t->n_by_size, (unsigned long long)n_typed);
	if (!err && !n_typed && !has_chunks && spec_constraints(a->spec) &&
	    !a->roots.size)
		err = fl_note_add(
			a, "no allocation has a declared type (is the program built with "
			   "-g? else name the allocation sites: AT file:line)");
	if (!err && unseen)
		err = fl_note_add(a,
				  "no allocation has the declared type '%s', and %llu "
				  "have none that is known: name its sites with AT "
				  "file:line if there should be some",
				  unseen, (unsigned long long)t->n_untyped);
	return err;
}

// Constraints that applied to nothing, while others did.
static struct err *note_never_asked(struct fl_analysis *a)
{
	bool is_partial = !a->visit && !fl_asked_nothing(a);
	struct err *err = NULL;

	for (size_t i = 0; is_partial && i < spec_constraints(a->spec) && !err; i++) {
		const struct spec_constraint *c = spec_constraint(a->spec, i);

		if (!a->n_asked[i])
			err = fl_note_add(a, "%s (%s:%d) was asked of nothing: %s",
					  c->name, c->file, c->line,
					  fl_asked_why_not(a, i));
	}
	return err;
}

static bool has_typed_nodes(const struct hg_graph *g, bool *are_gone)
{
	bool found = false;

	*are_gone = true;
	for (uint32_t id = 1; id <= hg_graph_nodes(g); id++) {
		const struct hg_node *n = hg_graph_node(g, (struct hg_node_id){ id });

		found |= n->type != 0;
		*are_gone &= !n->type || n->died != UINT64_MAX;
	}
	return found;
}

// Programs that clean up before they exit have nothing left that could be wrong there.
static struct err *note_empty_end(struct fl_analysis *a)
{
	bool are_gone;

	if (a->visit || !spec_constraints(a->spec) ||
	    fl_cpoints_visits(a->cpoints) != 1 || fl_types_chunk(a->spec) >= 0 ||
	    !has_typed_nodes(a->sides[FL_SIDE_APP].graph, &are_gone) || !are_gone)
		return NULL;
	return fl_note_add(a,
			   "at the end, the only C-point, no node of a declared type is "
			   "left: name a function after which the structure must hold, "
			   "with --cpoint");
}

// Releases of what is not known. What is is a result (fl_release()).
static struct err *note_releases(struct fl_analysis *a)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	uint64_t n = hg_graph_unknown_frees(g);
	const struct hg_release *r, *first = NULL;
	_cleanup_free_ char *text = NULL;
	struct dec_place place = {};
	bool is_first_known = false;
	size_t size;
	FILE *out;

	for (size_t i = 0; (r = hg_graph_unknown_free(g, i)); i++) {
		bool is_known = r->node.v || fl_release_is_allocators(a, r);

		if (is_known)
			n -= r->count;
		if (!first || (is_first_known && !is_known)) {
			first = r;
			is_first_known = is_known;
		}
	}
	// Rules judge what they can.
	if (a->check && a->check != a->own_check)
		n = fl_check_unknown(a->check);
	if (!n || !first)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return &err_nomem;
	a->places.place(a->places.ctx, first->rip, &place);
	dec_place_print(&place, out);
	if (fclose(out))
		return &err_nomem;
	return fl_note_add(
		a,
		"%llu release%s of memory that was not seen to be allocated, the first "
		"at %s (time %llu)",
		(unsigned long long)n, n == 1 ? "" : "s", text,
		(unsigned long long)first->time);
}

static struct err *note_childs(struct fl_analysis *a)
{
	uint64_t n = a->check ? fl_check_childs(a->check) : 0;

	return n ? fl_note_add(
			   a,
			   "%llu release%s of what a vfork child may have allocated in "
			   "the program's memory %s not judged: nobody followed it",
			   (unsigned long long)n, n == 1 ? "" : "s",
			   n == 1 ? "was" : "were") :
		   NULL;
}

/* Of each function once. */
static struct err *note_looks(struct fl_analysis *a)
{
	const char *last = NULL;
	struct err *err = NULL;
	uint64_t pc;

	for (size_t i = 0; (pc = fl_check_look(a->check, i)) && !err; i++) {
		struct dec_place place = {};

		dec_symbols_place(a->symbols, pc, &place);
		if (last && place.outer && !strcmp(last, place.outer))
			continue;
		last = place.outer;
		err = fl_note_add(a,
				  "%s looks through the stack, as collectors do: what it "
				  "reads counts as having a value",
				  last ? last : "an instruction");
	}
	return err;
}

struct err *fl_notes_add(struct fl_analysis *a, const struct fl_options *o)
{
	const struct cap_info *info = capture_info(a->capture);
	const char *in_flight = fl_cpoints_in_flight(a->cpoints, a->held != NULL);
	struct err *err = note_types(a);

	if (!err && !o->is_heap_only)
		err = fl_roots_note(a);

	for (size_t i = 0; i < info->n_missing && !err; i++)
		err = fl_note_add(a, "the capture is not complete: %s", info->missing[i]);
	if (!err)
		err = add_notes(a, "", a->run.notes);
	if (!err && !a->run.has_allocator && !o->without_allocator)
		err = fl_note_add(
			a, "no allocator function was found (a static program without "
			   "symbols?): no allocation is known; --no-allocator looks for "
			   "nodes without");
	if (!err && !o->is_heap_only)
		err = add_notes(a, "C-point ", fl_cpoints_notes(a->cpoints, a->symbols));
	if (!err && a->check && fl_check_has_threads(a->check) &&
	    !dec_symbols_has_debug(a->symbols, 0))
		err = fl_note_add(
			a, "races are looked for in code with line information alone, as "
			   "without it atomic accesses look like others: the program has "
			   "none (-g)");
	if (!err && a->check)
		err = note_looks(a);
	if (!err && a->check && fl_check_left_out(a->check))
		err = fl_note_add(
			a,
			"%s were not looked at, as the run is long: name "
			"the rules for that with --only (STACK-OVERFLOW, UNINIT-USE ..)",
			fl_check_left_out(a->check));
	if (!err && a->check && fl_check_values_until(a->check))
		err = fl_note_add(
			a,
			"values were looked at up to instruction %llu alone, as the run is "
			"long: name the rules for that with --only (UNINIT-USE ..)",
			(unsigned long long)fl_check_values_until(a->check));
	if (!err && fl_cpoints_is_overrun(a->cpoints))
		err = fl_note_add(a,
				  "no C-point was named, and the functions that change "
				  "the structure are called too often to infer one: "
				  "name one with --cpoint");
	if (!err && !o->is_heap_only)
		err = note_never_asked(a);
	if (!err && !o->is_heap_only)
		err = fl_uncounted_note(a);
	if (!err)
		err = note_empty_end(a);
	if (!err)
		err = note_releases(a);
	if (!err)
		err = note_childs(a);
	if (!err && !dec_symbols_has_debug(a->symbols, 0))
		err = fl_note_add(
			a, "the program has no debug information: statements are shown "
			   "as function+offset or module+address");
	if (!err && a->visit && a->run.end == CAP_END_SIGNAL && in_flight &&
	    a->visit ==
		    fl_cpoints_visit_at(a->cpoints, fl_cpoints_visits(a->cpoints) - 1))
		err = fl_note_add(
			a,
			"the crash is inside %s: violations may be temporary ones "
			"that it would have repaired",
			in_flight);
	return err;
}
