// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/missing.h"

#include <string.h>

static uint64_t find_field(const struct fl_namer *n, const struct fl_missing *m,
			   struct dec_field *f, char *name, size_t name_bytes)
{
	for (uint64_t i = 1; report_name_field(n, m->node, i, f, name, name_bytes); i++)
		if (f->offset == m->offset)
			return i;
	return 0;
}

uint64_t report_missing_field(const struct fl_namer *n, const struct fl_missing *m,
			      char *name, size_t name_bytes)
{
	struct dec_field f;
	char field[96];
	uint64_t i = find_field(n, m, &f, field, sizeof(field));

	if (i)
		snprintf(name, name_bytes, "n%u%s%s", m->node.v,
			 field[0] == '[' ? "" : ".", field);
	else
		snprintf(name, name_bytes, "n%u+%u", m->node.v, m->offset);
	return i;
}

static const char *value_text(const struct fl_namer *n, const struct fl_missing *m,
			      uint64_t raw, uint64_t time, char *buf, size_t bytes)
{
	struct dec_field f;
	char name[96];

	if (!find_field(n, m, &f, name, sizeof(name))) {
		snprintf(buf, bytes, "%#llx", (unsigned long long)raw);
		return buf;
	}
	return report_name_value(n, NULL, &f, raw, time, buf, bytes);
}

const char *report_missing_due(const struct fl_namer *n, const struct fl_missing *m,
			       char *buf, size_t bytes)
{
	return value_text(n, m, m->due, hg_graph_op(m->graph, m->trigger).time, buf,
			  bytes);
}

// Without its function, which is said once.
static void print_line(const struct dec_place *p, const char *function, FILE *out)
{
	if (p->file && p->line && p->function && function &&
	    !strcmp(p->function, function))
		fprintf(out, "%s:%d", p->file, p->line);
	else
		dec_place_print(p, out);
}

static void print_since(const struct fl_namer *n, const struct fl_missing *m, FILE *out)
{
	struct hg_op op = hg_graph_op(m->graph, m->last_op);
	struct dec_place place = {};

	n->places->place(n->places->ctx, op.rip, &place);
	fputs(op.kind == HG_OP_ALLOC ? "nothing stored it since the allocation at " :
				       "nothing stored it since ",
	      out);
	dec_place_print(&place, out);
	fprintf(out, " (time %llu)\n", (unsigned long long)op.time);
}

void report_missing(const struct fl_namer *n, const struct fl_missing *m,
		    const char *plain, FILE *out)
{
	char name[128], due[64];

	report_missing_field(n, m, name, sizeof(name));
	fprintf(out, "missing store: %s = %s", name,
		report_missing_due(n, m, due, sizeof(due)));
	if (m->function)
		fprintf(out, " in %s", m->function);
	fputs(", between ", out);
	if (m->has_after)
		print_line(&m->after, m->function, out);
	else
		fputs("its beginning", out);
	fputs(" and ", out);
	if (m->has_before)
		print_line(&m->before, m->function, out);
	else
		fputs("its end", out);
	fprintf(out, "%s\n       ", plain);
	print_since(n, m, out);
	if (m->n_kept) {
		fprintf(out, "       it was stored %u of %u other times, at ", m->n_kept,
			m->n_calls);
		dec_place_print(&m->usual, out);
		fputc('\n', out);
	} else {
		fputs("       no other time shows where it should be\n", out);
	}
	if (m->n_more)
		fprintf(out, "       so it is for %u more node%s\n", m->n_more,
			m->n_more == 1 ? "" : "s");
	fputs("       what made it necessary: ", out);
	report_name_change(n, m->trigger, out);
	fputc('\n', out);
}
