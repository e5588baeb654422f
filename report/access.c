// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/report.h"
#include "report/source.h"

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

static void print_node(const struct fl_analysis *a, struct hg_node_id id, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, id);

	fprintf(out, "n%u (%llu bytes, allocated at ", id.v, (unsigned long long)n->size);
	report_place_print(a, n->alloc_rip, out);
	fputc(')', out);
}

static void print_chain(const struct fl_analysis *a, const struct hg_chain *c, FILE *out)
{
	for (uint32_t i = 0; i < c->n; i++) {
		fputs(i ? ", " : "called at ", out);
		report_place_print(a, c->rip[i], out);
	}
}

/* Where one access went, seen from the node that it was meant for. */
static void print_one(const struct hg_node *n, const struct hg_access *x, FILE *out)
{
	int64_t offset = x->addr - n->start;

	if (offset < 0)
		fprintf(out, "%lld bytes before ", -(long long)offset);
	else if ((uint64_t)offset >= n->size)
		fprintf(out, "%lld bytes behind the end of ",
			(long long)(offset - n->size));
	else if (x->kind == HG_ACCESS_BEYOND)
		fputs("across the end of ", out);
	else
		fprintf(out, "at byte %lld of ", (long long)offset);
}

/* Where all of them went. */
static void print_where(const struct hg_node *n, const struct hg_access *x, FILE *out)
{
	long long least = x->least, most = x->most, end = x->end;

	if (x->kind == HG_ACCESS_FIELD)
		fprintf(out, "bytes %lld to %lld of it, outside of %.*s, of ", least,
			end - 1, (int)x->field_length, x->field);
	else if (least == most)
		print_one(n, x, out);
	else if (x->is_behind && least < 0)
		fprintf(out, "across the end of, and up to %lld bytes behind ", end);
	else if (x->is_behind)
		fprintf(out, "%lld to %lld bytes behind the end of ", least, most);
	else if (x->kind == HG_ACCESS_BEYOND)
		fprintf(out, "%lld to %lld bytes before ", -most, -least);
	else
		fprintf(out, "at bytes %lld to %lld of ", least, end - 1);
}

/* "40 writes and 1 read of 4 bytes" */
static void print_what(const struct hg_access *x, FILE *out)
{
	unsigned long long writes = x->writes, reads = x->count - x->writes;

	if (x->count == 1)
		fputs(writes ? "write" : "read", out);
	else if (writes)
		fprintf(out, "%llu write%s", writes, writes == 1 ? "" : "s");
	if (writes && reads)
		fputs(" and ", out);
	if (x->count > 1 && reads)
		fprintf(out, "%llu read%s", reads, reads == 1 ? "" : "s");
	fputs(" of ", out);
	if (x->size_least < x->size_most)
		fprintf(out, "%u to ", x->size_least);
	fprintf(out, "%u byte%s", x->size_most, x->size_most == 1 ? "" : "s");
}

static void print_steps(const struct fl_analysis *a, const struct hg_access *x, FILE *out)
{
	for (size_t i = 1; i < x->n_steps; i++) {
		fprintf(out, "       the pointer became n%u%+lld at ", x->from.v,
			(long long)x->step[i].offset);
		report_place_print(a, x->step[i].rip, out);
		fprintf(out, " (the first time, %llu)\n",
			(unsigned long long)x->step[i].time);
	}
}

/* By which calls, and what else belongs to it. */
static void print_around(const struct fl_analysis *a, const struct hg_access *x,
			 FILE *out)
{
	for (uint64_t i = 0; i < x->n_chains && i < HG_ACCESS_CHAINS; i++) {
		if (!x->chain[i].n)
			continue;
		fputs(i ? "       also " : "       ", out);
		print_chain(a, &x->chain[i], out);
		fputc('\n', out);
	}
	if (x->n_chains > HG_ACCESS_CHAINS)
		fprintf(out, "       and by %llu other ways of calls\n",
			(unsigned long long)x->n_chains - HG_ACCESS_CHAINS);
	for (uint64_t i = 0; i < x->n_others && i < HG_ACCESS_OTHERS; i++) {
		const struct hg_access_other *o = &x->other[i];

		fprintf(out, "       %s%llu at ",
			o->is_part ? "of these " : "read again ",
			(unsigned long long)o->count);
		report_place_print(a, o->rip, out);
		fputc('\n', out);
	}
	if (x->n_others > HG_ACCESS_OTHERS)
		fprintf(out, "       and at %llu other statements\n",
			(unsigned long long)x->n_others - HG_ACCESS_OTHERS);
}

void report_access_print(const struct fl_analysis *a, size_t i, size_t number, FILE *out)
{
	const struct hg_access *x = &a->accesses.data[i];
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, x->from);

	fprintf(out, "\n  %zu. ", number);
	print_what(x, out);
	fputs(" at ", out);
	report_place_print(a, x->rip, out);
	fprintf(out, "  (%stime %llu)\n       ", x->count == 1 ? "" : "first at ",
		(unsigned long long)x->time);
	print_where(n, x, out);
	print_node(a, x->from, out);
	if (x->kind == HG_ACCESS_FREED) {
		fputs(", which was freed at ", out);
		report_place_print(a, n->free_rip, out);
		fprintf(out, " (time %llu)", (unsigned long long)n->died);
	}
	if (x->kind != HG_ACCESS_FIELD && x->to.v) {
		fputs("\n       in ", out);
		print_node(a, x->to, out);
	}
	fputc('\n', out);
	print_around(a, x, out);
	if (x->allocated.n) {
		fprintf(out, "       n%u's allocation: ", x->from.v);
		print_chain(a, &x->allocated, out);
		fputc('\n', out);
	}
	print_steps(a, x, out);
}

static void print_release(const struct fl_analysis *a, size_t i,
			  const struct hg_release *r, FILE *out)
{
	const struct hg_node *n = hg_graph_node(a->sides[FL_SIDE_APP].graph, r->node);
	bool is_again = n->start == r->addr && n->died <= r->time;

	fprintf(out, "\n  %zu. %s at ", i, is_again ? "freed again" : "freed");
	report_place_print(a, r->rip, out);
	fprintf(out, "  (%llu time%s, first at time %llu)\n       ",
		(unsigned long long)r->count, r->count == 1 ? "" : "s",
		(unsigned long long)r->time);
	if (!is_again)
		fprintf(out, "byte %llu of ", (unsigned long long)(r->addr - n->start));
	print_node(a, r->node, out);
	if (is_again) {
		fputs(", which was freed at ", out);
		report_place_print(a, n->free_rip, out);
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
		report_access_print(a, i, i + 1, out);
}
