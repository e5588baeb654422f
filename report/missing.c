// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/missing.h"

#include <string.h>

static uint64_t find_field(const struct fl_namer *n, struct hg_node_id node,
			   uint32_t offset, struct dec_field *f, char *name,
			   size_t name_bytes)
{
	for (uint64_t i = 1; report_name_field(n, node, i, f, name, name_bytes); i++)
		if (f->offset == offset)
			return i;
	return 0;
}

static uint64_t field_text(const struct fl_namer *n, struct hg_node_id node,
			   uint32_t offset, char *name, size_t name_bytes)
{
	struct dec_field f;
	char field[96];
	uint64_t i = find_field(n, node, offset, &f, field, sizeof(field));

	if (i)
		snprintf(name, name_bytes, "n%u%s%s", node.v, field[0] == '[' ? "" : ".",
			 field);
	else
		snprintf(name, name_bytes, "n%u+%u", node.v, offset);
	return i;
}

uint64_t report_missing_field(const struct fl_namer *n, const struct fl_missing *m,
			      char *name, size_t name_bytes)
{
	return field_text(n, m->node, m->offset, name, name_bytes);
}

static const char *value_text(const struct fl_namer *n, struct hg_node_id node,
			      uint32_t offset, uint64_t raw, uint64_t time, char *buf,
			      size_t bytes)
{
	struct dec_field f;
	char name[96];

	if (!find_field(n, node, offset, &f, name, sizeof(name))) {
		snprintf(buf, bytes, "%#llx", (unsigned long long)raw);
		return buf;
	}
	return report_name_value(n, NULL, &f, raw, time, buf, bytes);
}

const char *report_missing_due(const struct fl_namer *n, const struct fl_missing *m,
			       char *buf, size_t bytes)
{
	return value_text(n, m->node, m->offset, m->due,
			  hg_graph_op(m->graph, m->trigger).time, buf, bytes);
}

void report_cure_field(const struct fl_namer *n, const struct fl_cure *c, char *name,
		       size_t name_bytes)
{
	field_text(n, c->node, c->offset, name, name_bytes);
}

const char *report_cure_value(const struct fl_namer *n, const struct fl_cure *c,
			      uint64_t time, char *buf, size_t bytes)
{
	return value_text(n, c->node, c->offset, c->value, time, buf, bytes);
}

void report_cure(const struct fl_namer *n, const struct fl_cure *c, uint64_t time,
		 FILE *out)
{
	char name[128], value[64];

	report_cure_field(n, c, name, sizeof(name));
	fprintf(out, "with %s = %s instead", name,
		report_cure_value(n, c, time, value, sizeof(value)));
	if (c->n_more)
		fprintf(out, ", and %u more altered", c->n_more);
	fputs(", nothing would be violated\n", out);
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
