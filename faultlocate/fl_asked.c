// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_asked.h"

bool fl_asked_nothing(const struct fl_analysis *a)
{
	size_t n = spec_constraints(a->spec);

	for (size_t i = 0; i < n; i++)
		if (a->n_asked[i])
			return false;
	return n && !a->visit;
}

uint64_t fl_asked_nodes(const struct fl_analysis *a, size_t type)
{
	bool is_chunk = (int)type == fl_types_chunk(a->spec);
	const struct hg_graph *g =
		a->sides[is_chunk ? FL_SIDE_CHUNKS : FL_SIDE_APP].graph;
	uint64_t n = 0;

	for (uint32_t id = 1; g && id <= hg_graph_nodes(g); id++)
		n += hg_graph_node(g, (struct hg_node_id){ id })->type == type + 1;
	return n;
}

const char *fl_asked_why_not(const struct fl_analysis *a, size_t i)
{
	const struct spec_constraint *c = spec_constraint(a->spec, i);

	for (size_t k = 0; k < c->n_vars; k++)
		if (c->vars[k].kind == SPEC_VAR_ALL &&
		    !fl_asked_nodes(a, c->vars[k].type))
			return "there was no node for it in the run";
	return c->has_guard ? "its guard was true of no node at a C-point" :
			      "no node was there for it at a C-point";
}
