// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Of a heap that is too large for somebody who waits: the part of it that a stretch of history is about.
 */
#include "report/page_parts.h"

#define NEAR_MOST 500

typedef VEC(uint32_t) node_list;

/** Somebody who is told what a node leads to. @return whether that is enough of this node. */
typedef bool lead_fn(void *ctx, uint32_t to);

static void follow(const struct page *w, uint32_t id, lead_fn *lead, void *ctx)
{
	struct dec_field f;
	char name[8];
	uint64_t raw;

	for (uint64_t i = 1; report_name_field(w->n, (struct hg_node_id){ id }, i, &f,
					       name, sizeof(name));
	     i++) {
		if (f.size != 8 || !f.is_pointer ||
		    !hg_view_read(w->view, (struct hg_node_id){ id }, f.offset, 8,
				  &raw) ||
		    !raw)
			continue;
		raw = hg_view_find(w->view, raw).v;
		if (raw && lead(ctx, raw))
			break;
	}
}

/** Nodes being gathered. */
struct gathering {
	struct page *w;
	node_list nodes;
	struct err *err;
};

/* A lead_fn. */
static bool gather(void *ctx, uint32_t id)
{
	struct gathering *g = ctx;
	const struct hg_graph *graph = g->w->n->graph;

	if (g->err || g->nodes.size >= NEAR_MOST)
		return true;
	if (map_get(&g->w->near, id) ||
	    !hg_graph_node(graph, (struct hg_node_id){ id })->type)
		return false;
	g->err = map_put(&g->w->near, id, 1) ? &err_nomem : vec_add(&g->nodes, id);
	return g->err;
}

/** Whether something leads to one of some nodes. */
struct asking {
	struct map of; ///< node -> 1
	bool is_so;
};

/* A lead_fn. */
static bool is_of(void *ctx, uint32_t to)
{
	struct asking *a = ctx;

	a->is_so = map_get(&a->of, to);
	return a->is_so;
}

/* What leads to those that are there; and count what there is. */
static struct err *gather_above(struct gathering *g)
{
	struct asking a = {};
	struct hg_node_id id = {};

	for (size_t i = 0; i < g->nodes.size && !g->err; i++)
		g->err = map_put(&a.of, g->nodes.data[i], 1) ? &err_nomem : NULL;
	while (!g->err && (id = hg_view_next(g->w->view, 0, id)).v) {
		g->w->n_far += hg_graph_node(g->w->n->graph, id)->type != 0;
		a.is_so = false;
		if (!map_get(&a.of, id.v))
			follow(g->w, id.v, is_of, &a);
		if (a.is_so)
			gather(g, id.v);
	}
	map_deinit(&a.of);
	return g->err;
}

struct err *report_page_find_near(struct page *w)
{
	struct gathering g = { .w = w };
	struct err *err;

	for (uint64_t i = w->p->from_op; i < w->p->to_op; i++)
		gather(&g, hg_graph_op(w->n->graph, i).node.v);
	err = g.err ?: gather_above(&g);
	// Breadth first, through nodes that grow more.
	for (size_t i = 0; i < g.nodes.size && !err; i++) {
		if (hg_view_is_live(w->view, (struct hg_node_id){ g.nodes.data[i] }))
			follow(w, g.nodes.data[i], gather, &g);
		err = g.err;
	}
	// Any, as long as there is room: of a small heap all.
	for (struct hg_node_id id = {};
	     !err && g.nodes.size < NEAR_MOST && (id = hg_view_next(w->view, 0, id)).v;) {
		gather(&g, id.v);
		err = g.err;
	}
	for (size_t i = 0; i < g.nodes.size; i++)
		w->n_far -=
			hg_view_is_live(w->view, (struct hg_node_id){ g.nodes.data[i] });
	vec_deinit(&g.nodes);
	return err;
}
