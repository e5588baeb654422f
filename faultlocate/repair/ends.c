// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/repair/ends.h"

static enum rp_ending compare(int64_t is, int64_t asked)
{
	return asked == RP_UNKNOWN ? RP_NOT_ASKED : is == asked ? RP_RIGHT : RP_WRONG;
}

enum rp_ending fl_rp_variable_ends(const struct rp_walk *w, const struct rp_mark *m,
				   unsigned var, bool is_of_frame)
{
	const struct rp_variable *v = &w->p->variables.data[var];

	if (v->function == RP_NONE)
		return compare(w->globals[var].c, m->state.globals.data[var]);
	if (!is_of_frame ||
	    (v->is_hidden && w->p->functions.data[w->function].result != (int)var))
		return RP_NOT_ASKED;
	return compare(w->frame[var].c, m->state.frame.data[var]);
}

enum rp_ending fl_rp_field_ends(const struct rp_walk *w, const struct rp_mark *m,
				size_t node, unsigned field)
{
	const struct rp_node *n;

	if (!node || node > m->state.nodes.size || node > w->nodes.size)
		return RP_NOT_ASKED;
	n = &m->state.nodes.data[node - 1];
	return n->is_freed ?
		       RP_NOT_ASKED :
		       compare(w->nodes.data[node - 1].fields[field].c, n->fields[field]);
}

enum rp_ending fl_rp_ends(const struct rp_walk *w, const struct rp_mark *m,
			  uint64_t place)
{
	if (!m)
		return RP_NOT_ASKED;
	if (place >> 63)
		return fl_rp_field_ends(w, m, (place >> 32) & 0x7fffffff,
					(unsigned)place);
	return fl_rp_variable_ends(w, m, (unsigned)place,
				   (int)(place >> 32) == w->frame_number + 1);
}
