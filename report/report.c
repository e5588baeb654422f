// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/report.h"
#include "faultlocate/fl_asked.h"
#include "report/dot.h"
#include "report/end.h"
#include "report/missing.h"
#include "report/names.h"
#include "report/source.h"

#include <ctype.h>
#include <string.h>

#define BINDINGS_SHOWN 3 // of one constraint; then their number
#define NODES_SHOWN 6
#define FAULTS_SHOWN 20
#define CALLERS_SHOWN 3
#define FIELDS_SHOWN 24
#define LINE_COLUMNS 88

struct report {
	const struct fl_analysis *a;
	FILE *out;
	const char *bold, *bad, *dim, *plain; ///< text.h's, or ""
};

/* ---- constraints and nodes -------------------------------------------------------------- */

// As the user wrote it, each line indented, without blank ones.
static void print_constraint_text(const struct report *r, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n"), skip = strspn(text, " \t");

		if (skip < n)
			fprintf(r->out, "      %.*s\n", (int)(n - skip), text + skip);
		text += n + (text[n] == '\n');
	}
}

static void print_binding(const struct report *r, const struct spec_constraint *c,
			  const struct spec_violation *v)
{
	const char *comma = "";

	fprintf(r->out, "    %sviolated for%s ", r->bad, r->plain);
	for (size_t i = 0; i < c->n_vars; i++) {
		if (!v->binding.node[i].v)
			continue;
		fprintf(r->out, "%s%s = n%u", comma, c->vars[i].name,
			v->binding.node[i].v);
		comma = ", ";
	}
	if (c->is_intra)
		fprintf(r->out, "%s%s = %lld", comma, c->index_name ? c->index_name : "I",
			(long long)v->binding.index);
	if (v->is_unreadable)
		fputs(" (a field in it cannot be read)", r->out);
	if (v->is_cyclic)
		fputs(" (an attribute in it runs in a cycle)", r->out);
	fputc('\n', r->out);
}

static void print_node_head(const struct report *r, const struct fl_namer *n,
			    struct hg_node_id id)
{
	const struct hg_node *h = hg_graph_node(n->graph, id);
	const struct spec_type *t = report_name_type(n, id, NULL);
	struct dec_place place = {};

	n->places->place(n->places->ctx, h->alloc_rip, &place);
	fprintf(r->out, "    %sn%u%s %s", r->bold, id.v, r->plain, t ? t->name : "");
	if (h->start >= DEC_HEAP_NOWHERE)
		fputs(", not always in memory", r->out);
	else
		fprintf(r->out, " at %#llx", (unsigned long long)h->start);
	fprintf(r->out, ", %llu bytes, %s at ", (unsigned long long)h->size,
		t && strcmp(t->name, FL_CHUNK_TYPE) == 0 ? "listed as free" :
		t && t->is_root				 ? "declared" :
							   "allocated");
	dec_place_print(&place, r->out);
	fprintf(r->out, " (time %llu)\n", (unsigned long long)h->born);
}

// Where what the node still points to was freed.
static void print_freed(const struct report *r, const struct fl_side *s,
			const struct hg_view *v, struct hg_node_id id, uint64_t time)
{
	struct dec_place place = {};
	struct fl_target t;
	struct dec_field f;
	char name[96];
	uint64_t raw;

	for (uint64_t i = 1; i <= FIELDS_SHOWN &&
			     report_name_field(&s->namer, id, i, &f, name, sizeof(name));
	     i++) {
		if (!f.is_pointer || f.size != 8 ||
		    !hg_view_read(v, id, f.offset, 8, &raw))
			continue;
		t = report_name_target(&s->namer, NULL, raw, time);
		if (t.kind != FL_TO_FREED)
			continue;
		s->namer.places->place(s->namer.places->ctx,
				       hg_graph_node(s->graph, t.node)->free_rip, &place);
		fprintf(r->out, "      n%u %s at ", t.node.v,
			report_name_is_root(&s->namer, t.node) ? "ended" : "was freed");
		dec_place_print(&place, r->out);
		fprintf(r->out, " (time %llu)\n",
			(unsigned long long)hg_graph_node(s->graph, t.node)->died);
	}
}

static void print_node(const struct report *r, const struct fl_side *s,
		       const struct hg_view *v, struct hg_node_id id)
{
	uint64_t time = hg_view_ops(v) ? hg_graph_op(s->graph, hg_view_ops(v) - 1).time :
					 0;
	char name[96], text_name[96], value[64], item[192];
	struct dec_field f;
	int column = 0;
	uint64_t i, shown = 0;

	print_node_head(r, &s->namer, id);
	for (i = 1; shown < FIELDS_SHOWN &&
		    report_name_field(&s->namer, id, i, &f, name, sizeof(name));
	     i++, shown++) {
		uint64_t chars, raw;
		int n;

		if (!f.size || f.size > 8 || !hg_view_read(v, id, f.offset, f.size, &raw))
			continue;
		chars = report_name_text(&s->namer, v, id, i, text_name,
					 sizeof(text_name), value, sizeof(value));
		if (chars)
			i += chars - 1;
		else
			report_name_value(&s->namer, NULL, &f, raw, time, value,
					  sizeof(value));
		n = snprintf(item, sizeof(item), "%s = %s", chars ? text_name : name,
			     value);
		if (column && column + n + 3 > LINE_COLUMNS) {
			fputc('\n', r->out);
			column = 0;
		}
		fprintf(r->out, "%s%s", column ? "   " : "      ", item);
		column += n + 3 + (column ? 0 : 3);
	}
	if (report_name_field(&s->namer, id, i, &f, name, sizeof(name)))
		fputs("   ...", r->out);
	if (column)
		fputc('\n', r->out);
	print_freed(r, s, v, id, time);
}

static void print_nodes(const struct report *r, const struct fl_side *s,
			const struct hg_view *v, size_t first, size_t end)
{
	struct hg_node_id shown[NODES_SHOWN];
	size_t n = 0;

	for (size_t i = first; i < end; i++)
		for (size_t k = 0; k < SPEC_MAX_VARS && n < NODES_SHOWN; k++) {
			struct hg_node_id id = s->errors.data[i].binding.node[k];
			bool is_new = id.v && hg_view_is_live(v, id);

			for (size_t m = 0; m < n; m++)
				is_new &= shown[m].v != id.v;
			if (!is_new)
				continue;
			shown[n++] = id;
			print_node(r, s, v, id);
		}
}

// The errors of one constraint: number first and those behind it.
static size_t print_violation(const struct report *r, const struct fl_side *s,
			      const struct hg_view *v, size_t first)
{
	uint32_t number = s->errors.data[first].constraint;
	const struct spec_constraint *c = spec_constraint(r->a->spec, number);
	size_t end = first, shown;

	while (end < s->errors.size && s->errors.data[end].constraint == number)
		end++;
	shown = end - first < BINDINGS_SHOWN ? end - first : BINDINGS_SHOWN;
	fprintf(r->out, "\n  %s%s%s (%s:%d)\n", r->bold, c->name, r->plain, c->file,
		c->line);
	print_constraint_text(r, c->text);
	for (size_t i = first; i < first + shown; i++)
		print_binding(r, c, &s->errors.data[i]);
	if (end - first > shown)
		fprintf(r->out, "    and for %zu more\n", end - first - shown);
	print_nodes(r, s, v, first, first + shown);
	return end;
}

static struct err *print_violations(const struct report *r)
{
	const struct fl_analysis *a = r->a;
	const struct fl_cpoint *point = fl_cpoints_get(a->cpoints, a->visit->cpoint);

	fprintf(r->out, "%s%zu violation%s%s at C-point: %s (time %llu)\n", r->bad,
		a->n_errors, a->n_errors == 1 ? "" : "s", r->plain, point->name,
		(unsigned long long)a->visit->at.time);
	for (size_t side = 0; side < FL_SIDES; side++) {
		const struct fl_side *s = &a->sides[side];
		_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
		struct err *err;

		if (!s->errors.size)
			continue;
		err = hg_view_create(s->graph, s->n_ops, &v);
		if (err)
			return err;
		for (size_t i = 0; i < s->errors.size;)
			i = print_violation(r, s, v, i);
	}
	return NULL;
}

/* ---- faults --------------------------------------------------------------------------------- */

static const struct fl_namer *namer_of(const struct fl_analysis *a,
				       const struct hg_graph *g)
{
	return &a->sides[a->sides[FL_SIDE_APP].graph == g ? FL_SIDE_APP : FL_SIDE_CHUNKS]
			.namer;
}

// The nearest calls, to main at most.
static void print_callers(const struct report *r, const struct fl_fault *f)
{
	for (uint32_t i = 0; i < f->n_callers && i < CALLERS_SHOWN; i++) {
		const struct dec_inlined *c = &f->callers[i];

		fprintf(r->out, "%s%s:%d in %s", i ? ", " : "       called at ",
			c->file ? c->file : "?", c->line,
			c->function ? c->function : "?");
		if (c->function && strcmp(c->function, "main") == 0)
			break;
	}
	if (f->n_callers)
		fputc('\n', r->out);
}

static void print_fault(const struct report *r, size_t number, const struct fl_fault *f)
{
	struct hg_op op = hg_graph_op(f->graph, f->op);
	struct dec_place place = f->place;

	if (f->missing) {
		fprintf(r->out, "\n  %s%zu. ", r->bold, number);
		report_missing(namer_of(r->a, f->graph), f->missing, r->plain, r->out);
		print_callers(r, f);
		return;
	}

	fprintf(r->out, "\n  %s%zu. ", r->bold, number);
	dec_place_print(&place, r->out);
	fprintf(r->out, "%s  %s(", r->plain, r->dim);
	if (f->instances > 1)
		fprintf(r->out, "%u times, last at ", f->instances);
	fprintf(r->out, "time %llu)%s%s\n", (unsigned long long)f->time,
		dec_run_is_inferred(&r->a->run, f->time) ? " (inferred)" : "", r->plain);
	report_source_line(r->a, &place, r->out);
	fputs("       ", r->out);
	report_name_change(namer_of(r->a, f->graph), f->op, r->out);
	fputs(" at ", r->out);
	dec_place_print(&place, r->out);
	if (op.time != f->time)
		fprintf(r->out, " (time %llu)%s", (unsigned long long)op.time,
			dec_run_is_inferred(&r->a->run, op.time) ? " (inferred)" : "");
	fputc('\n', r->out);
	if (f->cure.grade) {
		fputs("       ", r->out);
		report_cure(namer_of(r->a, f->graph), &f->cure, f->time, r->out);
	}
	print_callers(r, f);
}

static void print_faults(const struct report *r)
{
	const fl_faults *f = &r->a->faults;
	size_t shown = f->size < FAULTS_SHOWN ? f->size : FAULTS_SHOWN;

	fprintf(r->out, "\n%sfaulty statements%s, most suspicious first:\n", r->bold,
		r->plain);
	for (size_t i = 0; i < shown; i++)
		print_fault(r, i + 1, &f->data[i]);
	if (f->size > shown)
		fprintf(r->out, "\n  and %zu more (all with --json)\n", f->size - shown);
	if (!f->size)
		fputs("  none: the structure was never otherwise\n", r->out);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void print_run(const struct report *r)
{
	const struct fl_analysis *a = r->a;

	if (a->run.is_recovered)
		fprintf(r->out, "recovered the last %llu instructions; ",
			(unsigned long long)a->run.instructions);
	else
		fprintf(r->out,
			"replayed %llu instructions, %llu system calls, all matched; ",
			(unsigned long long)a->run.instructions,
			(unsigned long long)a->run.syscalls);
	if (a->run.end == CAP_END_SIGNAL)
		fprintf(r->out, "killed by %s\n", text_signal(a->run.end_value));
	else if (a->run.end == CAP_END_EXIT)
		fprintf(r->out, "exit status %d\n", a->run.end_value);
	else if (a->run.end == CAP_END_EXEC)
		fputs("it executed another program\n", r->out);
	else
		fputs("the capture ends before the program does\n", r->out);
	if (a->run.end == CAP_END_SIGNAL && !a->end.is_known) {
		struct dec_place place = {};

		a->places.place(a->places.ctx, a->run.end_rip, &place);
		fputs("the end was at ", r->out);
		dec_place_print(&place, r->out);
		if (a->run.fault_addr)
			fprintf(r->out, ", address %#llx",
				(unsigned long long)a->run.fault_addr);
		fputc('\n', r->out);
	}
}

static void print_notes(const struct report *r)
{
	for (size_t i = 0; i < r->a->notes.size; i++)
		fprintf(r->out, "%snote: %s%s\n", r->dim, r->a->notes.data[i], r->plain);
}

// Why not, with counts.
static void print_nothing_asked(const struct report *r)
{
	const struct fl_analysis *a = r->a;

	fprintf(r->out, "%snothing was checked%s: no constraint applied to any node\n",
		r->bad, r->plain);
	for (size_t i = 0; i < spec_types(a->spec); i++) {
		unsigned long long n = fl_asked_nodes(a, i);

		fprintf(r->out, "  %s: %llu node%s in the run\n",
			spec_type(a->spec, i)->name, n, n == 1 ? "" : "s");
	}
	for (size_t i = 0; i < spec_constraints(a->spec); i++) {
		const struct spec_constraint *c = spec_constraint(a->spec, i);

		fprintf(r->out, "  %s (%s:%d): asked of 0 bindings: %s\n", c->name,
			c->file, c->line, fl_asked_why_not(a, i));
	}
}

static void print_no_violation(const struct report *r)
{
	size_t n = fl_cpoints_visits(r->a->cpoints),
	       n_constraints = spec_constraints(r->a->spec);

	if (fl_asked_nothing(r->a))
		print_nothing_asked(r);
	else if (n_constraints)
		fprintf(r->out, "no violation of %zu constraint%s at %zu C-point%s\n",
			n_constraints, n_constraints == 1 ? "" : "s", n,
			n == 1 ? "" : "s");
}

static struct report report_of(const struct fl_analysis *a, FILE *out, bool with_color)
{
	return with_color ? (struct report){ a,	       out,	 TEXT_BOLD,
					     TEXT_BAD, TEXT_DIM, TEXT_END } :
			    (struct report){ a, out, "", "", "", "" };
}

static void print_end(const struct report *r)
{
	print_run(r);
	print_notes(r);
	fputc('\n', r->out);
	if (r->a->end.is_known) {
		report_end(r->a, r->out);
		fputc('\n', r->out);
	}
}

struct err *report_end_text(const struct fl_analysis *a, FILE *out, bool with_color)
{
	struct report r = report_of(a, out, with_color);

	print_end(&r);
	return fflush(out) || ferror(out) ? err_errno("cannot write the result") : NULL;
}

struct err *report_text(const struct fl_analysis *a, FILE *out, bool with_color)
{
	struct report r = report_of(a, out, with_color);
	struct err *err = NULL;

	print_end(&r);
	report_releases(a, out);
	report_unwritten(a, out);
	if (a->visit) {
		err = print_violations(&r);
		if (err)
			return err;
		print_faults(&r);
	} else {
		print_no_violation(&r);
	}
	if (a->has_accesses)
		report_accesses(a, out);
	return fflush(out) || ferror(out) ? err_errno("cannot write the result") : NULL;
}

struct err *report_svg(const struct fl_analysis *a, const char *path)
{
	bool is_chunks = !a->sides[FL_SIDE_APP].errors.size &&
			 a->sides[FL_SIDE_CHUNKS].errors.size;
	const struct fl_side *s = &a->sides[is_chunks ? FL_SIDE_CHUNKS : FL_SIDE_APP];
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(s->graph, s->n_ops, &v);
	char title[256];
	struct fl_picture p = {
		.namer = &s->namer,
		.title = title,
		.mode = capture_mode(a->capture),
		.violations = s->errors.data,
		.n_violations = s->errors.size,
		.faults = &a->faults,
	};

	if (err)
		return err;
	p.view = v;
	if (a->visit)
		snprintf(title, sizeof(title), "%s violated at %s (time %llu)",
			 s->errors.size ?
				 spec_constraint(a->spec, s->errors.data[0].constraint)
					 ->name :
				 "constraint",
			 fl_cpoints_get(a->cpoints, a->visit->cpoint)->name,
			 (unsigned long long)a->visit->at.time);
	else
		snprintf(title, sizeof(title), "no violation: the heap at the end");
	return report_dot_draw_svg(&p, path);
}
