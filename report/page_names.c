// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Types, nodes and statements of the page.
 */
#include "report/page_parts.h"

#include <string.h>

#include "report/script.h"

#define MEMBERS_MAX 8 // of one cluster

/* @return via @p ret the index of the statement at @p rip among the places. */
struct err *report_page_place(struct page *w, uint64_t rip, uint64_t *ret)
{
	const uint64_t *known = map_get(&w->place_numbers, rip);

	*ret = known ? *known - 1 : w->places.size;
	if (known)
		return NULL;
	if (map_put(&w->place_numbers, rip, *ret + 1))
		return &err_nomem;
	return vec_add(&w->places, rip);
}

static void print_place(struct page *w, uint64_t rip)
{
	struct dec_place place = {};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	w->n->places->place(w->n->places->ctx, rip, &place);
	if (f) {
		dec_place_print(&place, f);
		fclose(f);
	}
	fputc('[', w->out);
	report_script_string(w->out, text ? text : "?");
	fprintf(w->out, ",%d,%d]", report_sources_add(&w->sources, &place), place.line);
}

void report_page_print_places(struct page *w)
{
	fputs(",\n\"places\":[", w->out);
	for (size_t i = 0; i < w->places.size; i++) {
		fputs(i ? "," : "", w->out);
		print_place(w, w->places.data[i]);
	}
	fputs("],\n\"sources\":[", w->out);
	for (size_t i = 0; i < w->sources.files.size; i++) {
		fputs(i ? "," : "", w->out);
		report_sources_print(&w->sources, i, w->p->symbols, w->out);
	}
	fputc(']', w->out);
}

/* What the node was made of; an empty text for what was allocated. */
static void print_origin(const struct hg_graph *g, struct hg_node_id id, char *text,
			 size_t size)
{
	uint32_t source = hg_graph_node(g, id)->source;
	const struct hg_member *m;
	size_t n, used = 0;

	text[0] = '\0';
	m = hg_graph_members(g, id, &n);
	if (m)
		used = snprintf(text, size, "merged from");
	for (size_t i = 0; m && i < n && i < MEMBERS_MAX; i++)
		used += snprintf(text + used, size - used, " n%u", m[i].node.v);
	if (m && n > MEMBERS_MAX)
		snprintf(text + used, size - used, " and %zu more", n - MEMBERS_MAX);
	if (!m && source)
		snprintf(text, size, "split from n%u", source);
}

struct err *report_page_print_node(struct page *w, uint32_t id)
{
	const struct hg_node *h = hg_graph_node(w->n->graph, (struct hg_node_id){ id });
	char origin[32 + MEMBERS_MAX * 12];
	uint64_t place;
	struct err *err = report_page_place(w, h->alloc_rip, &place);

	print_origin(w->n->graph, (struct hg_node_id){ id }, origin, sizeof(origin));
	fprintf(w->out, "[%u,%llu,\"%#llx\",%llu,%llu%s", h->type - 1,
		(unsigned long long)place, (unsigned long long)h->start,
		(unsigned long long)h->size, (unsigned long long)h->born,
		origin[0] ? "," : "");
	if (origin[0])
		report_script_string(w->out, origin);
	fputc(']', w->out);
	return err;
}

// The names of a flexible array's fields, as `next[].key`.
static void print_tail(const struct dec_struct *l, FILE *out)
{
	char name[400];

	fputs(",\"tail\":[", out);
	for (uint32_t k = 0; k < l->n_tail; k++) {
		snprintf(name, sizeof(name), "%s[]%s", l->tail,
			 strchr(l->fields[l->n_fields + k].name + strlen(l->tail), ']') +
				 1);
		fputs(k ? "," : "", out);
		report_script_string(out, name);
	}
	fputc(']', out);
}

// Which fields are the elements of an array of char: [the first, how many], -1 for all that
// follow in a flexible array.
static void print_chars(const struct dec_struct *l, FILE *out)
{
	const struct dec_field *f = l->fields, *tail = &f[l->n_fields];
	const char *comma = "";

	fputs(",\"chars\":[", out);
	for (uint32_t k = 0, n; k < l->n_fields; k += n ?: 1) {
		for (n = 0; k + n < l->n_fields &&
			    report_name_is_char(&f[k + n], f[k + n].name, f[k].name, n);
		     n++)
			;
		if (n > 1) {
			fprintf(out, "%s[%u,%u]", comma, k, n);
			comma = ",";
		}
	}
	if (l->n_tail == 1 && report_name_is_char(tail, tail->name, tail->name, 0))
		fprintf(out, "%s[%u,-1]", comma, l->n_fields);
	fputc(']', out);
}

static void print_type(const struct spec_type *t, FILE *out)
{
	const struct dec_struct *l = t->layout;

	fputs("{\"name\":", out);
	report_script_string(out, t->name);
	fputs(",\"fields\":[", out);
	for (uint32_t k = 0; l && k < l->n_fields; k++) {
		fputs(k ? "," : "", out);
		report_script_string(out, l->fields[k].name);
	}
	fputc(']', out);
	if (l && l->n_tail && !t->is_array)
		print_tail(l, out);
	if (l)
		print_chars(l, out);
	fputc('}', out);
}

void report_page_print_types(const struct page *w)
{
	fputs(",\n\"types\":[", w->out);
	for (size_t i = 0; i < spec_types(w->n->spec); i++) {
		fputs(i ? "," : "", w->out);
		print_type(spec_type(w->n->spec, i), w->out);
	}
	fputs("],\n\"constraints\":[", w->out);
	for (size_t i = 0; i < spec_constraints(w->n->spec); i++) {
		const struct spec_constraint *c = spec_constraint(w->n->spec, i);

		fputs(i ? ",[" : "[", w->out);
		report_script_string(w->out, c->name);
		fputc(',', w->out);
		report_script_string(w->out, c->text);
		fputc(']', w->out);
	}
	fputc(']', w->out);
}
