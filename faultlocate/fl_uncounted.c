// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * X.INDEGREE counts pointers of nodes of declared types alone. Who declares no more than what a
 * constraint is about is told of a pointer that it would have to count.
 */
#include "faultlocate/fl_stages.h"

// So many bytes of so many nodes are looked at.
#define BYTES_MAX 4096
#define NODES_MAX 100000

static bool is_of(const struct spec_violation *v, struct hg_node_id id)
{
	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		if (id.v && v->binding.node[i].v == id.v)
			return true;
	return false;
}

/* @return to which node of @p v a pointer in @p from leads; {0}: to none. */
static struct hg_node_id leads_to(const struct hg_view *view,
				  const struct spec_violation *v, struct hg_node_id from,
				  uint64_t size)
{
	for (uint64_t at = 0; at + 8 <= size && at < BYTES_MAX; at += 8) {
		struct hg_node_id to;
		uint64_t value;

		if (!hg_view_read(view, from, at, 8, &value))
			continue;
		to = hg_view_find(view, value);
		if (is_of(v, to))
			return to;
	}
	return (struct hg_node_id){ 0 };
}

static struct err *note(struct fl_analysis *a, const struct hg_node *from,
			uint32_t from_id, uint32_t to_id)
{
	bool is_sure;
	const char *type = dec_symbols_alloc_type(a->symbols, from->alloc_rip + 1,
						  from->size, &is_sure);

	if (type)
		return fl_note_add(a,
				   "n%u.INDEGREE does not count a pointer in n%u, as its "
				   "type '%s' is not declared: `%s;' does so",
				   to_id, from_id, type, type);
	return fl_note_add(a,
			   "n%u.INDEGREE does not count a pointer in n%u, as that has no "
			   "declared type",
			   to_id, from_id);
}

struct err *fl_uncounted_note(struct fl_analysis *a)
{
	const struct fl_side *side = &a->sides[FL_SIDE_APP];
	const struct spec_violation *v = vec_find(
		&side->errors, e, spec_constraint_counts(a->spec, e->constraint));
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	struct hg_node_id id = { 0 };
	struct err *err;

	if (!a->visit || !v)
		return NULL;
	err = hg_view_create(side->graph, side->n_ops, &view);
	for (uint32_t i = 0; !err && i < NODES_MAX; i++) {
		const struct hg_node *n;
		struct hg_node_id to;

		id = hg_view_next(view, 0, id);
		if (!id.v)
			break;
		n = hg_graph_node(side->graph, id);
		to = n->type ? (struct hg_node_id){ 0 } : leads_to(view, v, id, n->size);
		if (to.v)
			return note(a, n, id.v, to.v);
	}
	return err;
}
