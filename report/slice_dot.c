// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "base/file.h"
#include "report/slice.h"

static const char *const edge_style[] = { "solid", "dotted", "dashed", "solid" };

static void put(FILE *out, const char *text)
{
	text_put_markup(out, text, strlen(text));
}

static void dot_statement(const struct report_slice *r, size_t i, FILE *out)
{
	const struct fl_view_statement *st = &r->view->statements.data[i];
	_cleanup_free_ char *source = report_slice_source(r, st);
	char place[400], value[200];

	report_slice_value(&st->made, value, sizeof(value));
	fprintf(out, "\ts%zu [shape=%s%s, label=<", i, st->is_input ? "ellipse" : "box",
		st->is_seed ? ", penwidth=2" : "");
	put(out, report_slice_place(st, place, sizeof(place)));
	if (source && *source) {
		fprintf(out, "<br/>");
		put(out, source);
	}
	if (*value) {
		fprintf(out, "<br/>");
		put(out, value);
	}
	fprintf(out, ">];\n");
}

void report_slice_dot(const struct report_slice *r, FILE *out)
{
	fprintf(out, "digraph slice {\n\tnode [fontname=\"monospace\", fontsize=10];\n");
	for (size_t i = 0; i < r->view->statements.size; i++)
		dot_statement(r, i, out);
	for (size_t i = 0; i < r->view->edges.size; i++) {
		const struct fl_view_edge *e = &r->view->edges.data[i];

		fprintf(out, "\ts%u -> s%u [style=%s%s];\n", e->from, e->to,
			edge_style[e->edge], e->crosses ? ", color=red" : "");
	}
	fprintf(out, "}\n");
}

/* ---- a page ---------------------------------------------------------------------------------- */

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<title>slice</title>\n<style>\n"
	"body { font: 14px/1.4 sans-serif; margin: 2em; max-width: 70em; }\n"
	"li { margin: .4em 0; padding: .3em .6em; border-left: 3px solid #ccc; }\n"
	"li:target { border-color: #c60; background: #fff4e5; }\n"
	"li.asked { border-color: #06c; }\n"
	"code { display: block; white-space: pre-wrap; }\n"
	".value { color: #060; } .edge { color: #666; }\n"
	"</style></head><body>\n";

static void page_statement(const struct report_slice *r, size_t i, FILE *out)
{
	const struct fl_view_statement *st = &r->view->statements.data[i];
	_cleanup_free_ char *source = report_slice_source(r, st);
	char place[400], value[200];

	report_slice_value(&st->made, value, sizeof(value));
	fprintf(out, "<li id=\"s%zu\"%s>", i, st->is_seed ? " class=\"asked\"" : "");
	put(out, report_slice_place(st, place, sizeof(place)));
	if (!st->is_input)
		fprintf(out,
			" <span class=\"edge\">%lu&times;, position %lu, thread %u</span>",
			st->n, st->last, st->tid);
	if (source && *source) {
		fprintf(out, "<code>");
		put(out, source);
		fprintf(out, "</code>");
	}
	if (*value) {
		fprintf(out, "<span class=\"value\">");
		put(out, value);
		fprintf(out, "</span> ");
	}
	if (st->parent != FL_NONE) {
		fprintf(out, "<span class=\"edge\">%s for <a href=\"#s%u\">",
			fl_edge_name(st->edge), st->parent);
		put(out, report_slice_place(&r->view->statements.data[st->parent], place,
					    sizeof(place)));
		fprintf(out, "</a></span>");
	}
	fprintf(out, "</li>\n");
}

struct err *report_slice_page(const struct report_slice *r, const char *path)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, r->mode);

	if (err)
		return err;
	fputs(page_head, f.stream);
	fprintf(f.stream, "<h1>Slice of ");
	put(f.stream, r->at);
	fprintf(f.stream,
		"</h1>\n<p>%zu statements; %lu of %lu instructions that ran before "
		"position %lu.</p>\n<ol>\n",
		r->view->statements.size, fl_slice_stats(r->slice)->n_instances,
		fl_slice_stats(r->slice)->n_walked, r->question->position);
	for (size_t i = 0; i < r->view->statements.size; i++)
		page_statement(r, i, f.stream);
	fprintf(f.stream, "</ol>\n</body></html>\n");
	return new_file_commit(&f);
}
