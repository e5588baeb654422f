// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/slice.h"

#include <seccomp.h>
#include <string.h>

void report_slice_value(const struct fl_view_made *made, char *buf, size_t size)
{
	int64_t value = made->value;

	*buf = 0;
	if (made->is_branch)
		snprintf(buf, size, "%s", made->is_taken ? "taken" : "not taken");
	if (!made->has_value)
		return;
	if (made->bytes < 8)
		value = (int64_t)(made->value << (64 - 8 * made->bytes)) >>
			(64 - 8 * made->bytes);
	// Addresses and masks are read as such.
	if (value < -100000 || value > 100000000)
		snprintf(buf, size, "%s = %#lx", made->name, made->value);
	else
		snprintf(buf, size, "%s = %ld", made->name, value);
}

static const char *input_text(const struct fl_view_statement *st, char *buf, size_t size)
{
	char *name = st->number >= 0 ? seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64,
									st->number) :
				       NULL;

	if (st->origin == FL_ORIGIN_START)
		snprintf(buf, size, "what was there at the beginning");
	else if (name)
		snprintf(buf, size, "%s by %s() (event %lu)",
			 st->origin == FL_ORIGIN_MAPPED ? "mapped" : "written", name,
			 st->event);
	else
		snprintf(buf, size, "%s (event %lu)", fl_origin_name(st->origin),
			 st->event);
	free(name);
	return buf;
}

const char *report_slice_place(const struct fl_view_statement *st, char *buf, size_t size)
{
	FILE *f;

	if (st->is_input)
		return input_text(st, buf, size);
	*buf = 0;
	f = fmemopen(buf, size, "w");
	if (!f)
		return buf;
	dec_place_print(&st->place, f);
	fclose(f);
	return buf;
}

char *report_slice_source(const struct report_slice *r,
			  const struct fl_view_statement *st)
{
	_cleanup_fclose_ FILE *f =
		st->place.line ? dec_symbols_source(r->symbols, &st->place) : NULL;
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;

	for (int i = 0; f && i < st->place.line; i++)
		if (getline(&line, &bytes, f) < 0)
			return NULL;
	if (!f || !line)
		return NULL;
	line[strcspn(line, "\r\n")] = 0;
	return strdup(line + strspn(line, " \t"));
}

/* ---- text ---------------------------------------------------------------------------------- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void head(const struct report_slice *r, FILE *out)
{
	const struct fl_slice_stats *st = fl_slice_stats(r->slice);
	size_t inputs = 0;

	for (size_t i = 0; i < r->view->statements.size; i++)
		inputs += r->view->statements.data[i].is_input;
	fprintf(out, "slice of %s at position %lu", text_line(r->at),
		r->question->position);
	if (r->question->instances)
		fprintf(out, " (instance %lu of %lu)", r->question->instance,
			r->question->instances);
	fprintf(out, ", thread %u\n", r->question->tid);
	fprintf(out,
		"%zu statement%s in %lu function%s, %zu input%s; %lu of %lu instructions "
		"that ran before\n",
		r->view->statements.size - inputs,
		plural(r->view->statements.size - inputs), r->view->n_functions,
		plural(r->view->n_functions), inputs, plural(inputs), st->n_instances,
		st->n_walked);
	if (r->view->n_folded)
		fprintf(out,
			"%lu instruction%s of libraries left out (--into-libraries)\n",
			r->view->n_folded, plural(r->view->n_folded));
	if (st->n_right)
		fprintf(out,
			"%lu instruction%s left out that made what is right "
			"(--right)\n",
			st->n_right, plural(st->n_right));
	if (st->is_full)
		fprintf(out, "incomplete: more memory was wanted at once than is kept "
			     "track of\n");
}

static void statement(const struct report_slice *r, size_t i, FILE *out)
{
	const struct fl_view_statement *st = &r->view->statements.data[i];
	_cleanup_free_ char *source = report_slice_source(r, st);
	char place[400], value[200], needer[400];

	report_slice_value(&st->made, value, sizeof(value));
	fprintf(out, "\n%s%s", text_line(report_slice_place(st, place, sizeof(place))),
		st->is_seed ? "   <- asked about" : "");
	if (!st->is_input && st->n > 1)
		fprintf(out, "   %lu times", st->n);
	fprintf(out, "\n");
	if (source && *source)
		fprintf(out, "    %s\n", text_line(source));
	if (*value)
		fprintf(out, "    %s\n", text_line(value));
	if (st->parent == FL_NONE)
		return;
	fprintf(out, "    %s for %s\n",
		st->edge == FL_EDGE_CONTROL ? "decides" : fl_edge_name(st->edge),
		text_line(report_slice_place(&r->view->statements.data[st->parent],
					     needer, sizeof(needer))));
}

static void potential(const struct fl_potentials *p, FILE *out)
{
	fprintf(out, "\nbranches that are not in it, and tried the other way: %lu",
		p->n_tried);
	if (p->n_others)
		fprintf(out, " (%lu further back were not)", p->n_others);
	fprintf(out, "; the value is another one with %zu", p->list.size);
	if (p->n_lost)
		fprintf(out, "; with %lu the place is not reached", p->n_lost);
	fprintf(out, "\n");
	for (size_t i = 0; i < p->list.size; i++) {
		const struct fl_potential *b = &p->list.data[i];

		fprintf(out, "    ");
		dec_place_print(&b->place, out);
		fprintf(out, ", %staken at position %lu\n", b->was_taken ? "" : "not ",
			b->position);
	}
}

void report_slice_text(const struct report_slice *r, FILE *out)
{
	size_t n = r->view->statements.size;
	size_t shown = r->max && n > r->max ? r->max : n;

	head(r, out);
	for (size_t i = 0; i < shown; i++)
		statement(r, i, out);
	if (shown < n)
		fprintf(out, "\n%zu more (--all)\n", n - shown);
	if (r->potential)
		potential(r->potential, out);
}
