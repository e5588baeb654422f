// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/report.h"

const char *report_access_kind(enum hg_access_kind kind)
{
	switch (kind) {
	case HG_ACCESS_BEYOND:
		return "beyond";
	case HG_ACCESS_FREED:
		return "freed";
	default:
		return "field";
	}
}

static void print_place(const struct fl_analysis *a, uint64_t rip, FILE *out)
{
	struct dec_place place = {};

	a->places.place(a->places.ctx, rip, &place);
	dec_place_print(&place, out);
}

static void print_node(const struct fl_analysis *a, struct hg_node_id id, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);

	fprintf(out, "n%u (%llu bytes, allocated at ", id.v, (unsigned long long)n->size);
	print_place(a, n->alloc_rip, out);
	fputc(')', out);
}

/* Where the access went, seen from the node that it was meant for. */
static void print_where(const struct hg_node *n, const struct hg_access *x, FILE *out)
{
	int64_t offset = x->addr - n->start;

	if (x->kind == HG_ACCESS_FIELD)
		fprintf(out, "bytes %lld to %lld of it, outside of ", (long long)offset,
			(long long)offset + x->size - 1);
	else if (offset < 0)
		fprintf(out, "%lld bytes before ", -(long long)offset);
	else if ((uint64_t)offset >= n->size)
		fprintf(out, "%lld bytes behind the end of ",
			(long long)(offset - n->size));
	else if (x->kind == HG_ACCESS_BEYOND)
		fputs("across the end of ", out);
	else
		fprintf(out, "at byte %lld of ", (long long)offset);
}

static void print_steps(const struct fl_analysis *a, const struct hg_access *x, FILE *out)
{
	for (size_t i = 1; i < x->n_steps; i++) {
		fprintf(out, "       the pointer became n%u%+lld at ", x->from.v,
			(long long)x->step[i].offset);
		print_place(a, x->step[i].rip, out);
		fprintf(out, " (time %llu)\n", (unsigned long long)x->step[i].time);
	}
}

static void print_access(const struct fl_analysis *a, size_t i, FILE *out)
{
	const struct hg_access *x = &a->accesses.data[i];
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, x->from);

	fprintf(out, "\n  %zu. %s of %u byte%s at ", i + 1,
		x->is_write ? "write" : "read", x->size, x->size == 1 ? "" : "s");
	print_place(a, x->rip, out);
	fprintf(out, "  (%llu time%s, first at time %llu)\n       ",
		(unsigned long long)x->count, x->count == 1 ? "" : "s",
		(unsigned long long)x->time);
	print_where(n, x, out);
	if (x->kind == HG_ACCESS_FIELD) {
		fprintf(out, "%.*s, of ", (int)x->field_length, x->field);
	}
	print_node(a, x->from, out);
	if (x->kind == HG_ACCESS_FREED) {
		fputs(", which was freed at ", out);
		print_place(a, n->free_rip, out);
		fprintf(out, " (time %llu)", (unsigned long long)n->died);
	}
	if (x->kind != HG_ACCESS_FIELD && x->to.v) {
		fputs("\n       in ", out);
		print_node(a, x->to, out);
	}
	fputc('\n', out);
	print_steps(a, x, out);
}

static void print_release(const struct fl_analysis *a, size_t i,
			  const struct hg_release *r, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, r->node);
	bool is_again = n->start == r->addr;

	fprintf(out, "\n  %zu. %s at ", i, is_again ? "freed again" : "freed");
	print_place(a, r->rip, out);
	fprintf(out, "  (%llu time%s, first at time %llu)\n       ",
		(unsigned long long)r->count, r->count == 1 ? "" : "s",
		(unsigned long long)r->time);
	if (!is_again)
		fprintf(out, "byte %llu of ", (unsigned long long)(r->addr - n->start));
	print_node(a, r->node, out);
	if (is_again) {
		fputs(", which was freed at ", out);
		print_place(a, n->free_rip, out);
		fprintf(out, " (time %llu)", (unsigned long long)n->died);
	}
	fputc('\n', out);
}

void report_releases(const struct fl_analysis *a, FILE *out)
{
	size_t n = fl_releases(a), told = 0;

	if (!n)
		return;
	fprintf(out, "%zu statement%s what cannot be freed:\n", n,
		n == 1 ? " frees" : "s free");
	for (size_t i = 0; told < n; i++) {
		const struct hg_release *r = fl_release(a, i);

		if (r)
			print_release(a, ++told, r, out);
	}
	fputc('\n', out);
}

void report_accesses(const struct fl_analysis *a, FILE *out)
{
	if (!a->accesses.size) {
		fputs("no access by a pointer to one allocation outside of it\n", out);
		return;
	}
	fprintf(out,
		"%zu kind%s of access outside the allocation that the pointer is to:\n",
		a->accesses.size, a->accesses.size == 1 ? "" : "s");
	for (size_t i = 0; i < a->accesses.size; i++)
		print_access(a, i, out);
}
