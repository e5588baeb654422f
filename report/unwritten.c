// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/names.h"
#include "report/report.h"

#define UNWRITTEN_SHOWN 8

void report_unwritten_field(const struct fl_analysis *a, const struct fl_unwritten *u,
			    char *name, size_t name_bytes)
{
	const struct fl_namer *n = &a->sides[FL_SIDE_APP].namer;
	struct dec_field f;
	char field[96];
	uint64_t i = 1;

	while (report_name_field(n, u->node, i, &f, field, sizeof(field)) &&
	       f.offset != u->offset)
		i++;
	snprintf(name, name_bytes, "n%u%s%s", u->node.v, field[0] == '[' ? "" : ".",
		 field);
}

void report_unwritten(const struct fl_analysis *a, FILE *out)
{
	const struct fl_side *s = &a->sides[FL_SIDE_APP];
	size_t n = a->unwritten.size;

	for (size_t i = 0; i < n && i < UNWRITTEN_SHOWN; i++) {
		const struct fl_unwritten *u = &a->unwritten.data[i];
		const struct hg_node *h = hg_graph_node(s->graph, u->node);
		struct dec_place place = {};
		char name[128];

		a->places.place(a->places.ctx, h->alloc_rip, &place);
		report_unwritten_field(a, u, name, sizeof(name));
		fprintf(out, "%s was never written since its allocation at ", name);
		dec_place_print(&place, out);
		fprintf(out, " (time %llu), and %s reads it at %s (time %llu)",
			(unsigned long long)h->born,
			spec_constraint(a->spec, u->constraint)->name,
			fl_cpoints_get(a->cpoints, u->cpoint)->name,
			(unsigned long long)u->time);
		if (u->n_nodes > 1)
			fprintf(out, "; so it is for %u more node%s", u->n_nodes - 1,
				u->n_nodes == 2 ? "" : "s");
		fputc('\n', out);
	}
	if (n > UNWRITTEN_SHOWN)
		fprintf(out, "and %zu more fields (all with --json)\n",
			n - UNWRITTEN_SHOWN);
	if (n)
		fputc('\n', out);
}
