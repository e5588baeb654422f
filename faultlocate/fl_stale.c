// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_stale.h"

/** Pointers into a node at its birth. */
struct stale {
	const struct hg_graph *graph;
	const struct hg_view *view; ///< at the birth
	const struct hg_view *end;  ///< at the C-point
	fl_contributions *ret;
	struct err *err;
};

static struct err *stale_add(struct stale *s, uint64_t op)
{
	for (size_t i = 0; i < s->ret->size; i++)
		if (s->ret->data[i].op == op && s->ret->data[i].is_stale)
			return NULL;
	return vec_add(s->ret, (struct fl_contribution){ .op = op, .is_stale = true });
}

// The operation that released node id.
static struct err *stale_add_release(struct stale *s, struct hg_node_id id)
{
	const struct hg_graph *g = s->graph;
	uint64_t died = hg_graph_node(g, id)->died;

	for (uint64_t i = hg_graph_op_after(g, died); i--;) {
		struct hg_op op = hg_graph_op(g, i);

		if (op.time < died)
			return NULL;
		if (op.kind == HG_OP_FREE && op.node.v == id.v)
			return stale_add(s, i);
	}
	return NULL;
}

static void stale_pointer(void *ctx, uint32_t owner, uint64_t offset)
{
	struct stale *s = ctx;
	const struct hg_graph *g = s->graph;
	struct hg_node_id id = { owner }, meant;
	uint64_t stored, value;

	if (s->err || !hg_view_read(s->view, id, offset, 8, &value))
		return;
	stored = hg_view_last_write(s->view, id, offset);
	// What an allocation left in the memory is nobody's pointer, and one that was stored
	// over is none any more.
	if (hg_graph_op(g, stored).kind != HG_OP_STORE || !hg_view_is_live(s->end, id) ||
	    hg_view_last_write(s->end, id, offset) != stored)
		return;
	s->err = stale_add(s, stored);
	meant = hg_graph_find(g, value, hg_graph_op(g, stored).time);
	if (!s->err && meant.v)
		s->err = stale_add_release(s, meant);
}

static bool is_in_error(const struct fl_pendings *p, struct hg_node_id id)
{
	for (size_t i = 0; i < p->all.size; i++) {
		const struct fl_pending *e = &p->all.data[i];

		for (size_t k = 0; e->is_used && !e->moves && k < SPEC_MAX_VARS; k++)
			if (e->v.binding.node[k].v == id.v)
				return true;
	}
	return false;
}

struct err *fl_stale_find(struct hg_view *v, struct spec_eval *e,
			  const struct fl_pendings *p, const struct fl_traceback *in,
			  struct hg_view **end, fl_contributions *ret)
{
	struct stale s = { .graph = in->graph, .view = v, .ret = ret };
	struct err *err = NULL;
	struct hg_op op;

	hg_view_peek(v, &op);
	if (op.kind != HG_OP_ALLOC || !is_in_error(p, op.node))
		return NULL;
	if (!*end)
		err = hg_view_create(in->graph, in->n_ops, end);
	s.end = *end;
	if (!err)
		err = spec_pointers(e, op.node, stale_pointer, &s);
	return err ? err : s.err;
}
