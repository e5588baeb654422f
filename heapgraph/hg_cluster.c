// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which nodes became which: splits and clusters (paper 001, section 3.1.2). A node never
 * changes its extent; one that is split ends, and its parts are new nodes with it as their
 * source; nodes that are merged end, and the cluster is a new node with them as members. So
 * rollback joins what was split and separates what was merged by the FREE and ALLOC
 * operations that every view undoes anyway (Algorithm 1, lines 7 and 8).
 */
#include "heapgraph/hg_int.h"

#include <assert.h>

void hg_graph_set_source(struct hg_graph *g, struct hg_node_id id,
			 struct hg_node_id source)
{
	assert(id.v >= 1 && id.v <= g->nodes.size && source.v < id.v);
	g->n_split += source.v && !g->nodes.data[id.v - 1].source;
	g->nodes.data[id.v - 1].source = source.v;
}

struct err *hg_graph_set_members(struct hg_graph *g, const struct hg_node_id *members,
				 size_t n)
{
	struct hg_node_id cluster = { g->nodes.size };
	struct hg_member *last = NULL;

	assert(n && (!g->members.size ||
		     g->members.data[g->members.size - 1].cluster.v < cluster.v));
	for (size_t i = 0; i < n; i++) {
		assert(members[i].v >= 1 && members[i].v < cluster.v);
		assert(!last || hg_graph_node(g, last->node)->start <
					hg_graph_node(g, members[i])->start);
		last = vec_push(&g->members);
		if (!last || map_put(&g->clusters, members[i].v, cluster.v))
			return &err_nomem;
		*last = (struct hg_member){ cluster, members[i] };
	}
	g->n_clusters++;
	return NULL;
}

const struct hg_member *hg_graph_members(const struct hg_graph *g, struct hg_node_id id,
					 size_t *n)
{
	const struct hg_member *m = g->members.data;
	size_t from = vec_rank(g->members.size, i, m[i].cluster.v < id.v);

	*n = vec_rank(g->members.size, i, m[i].cluster.v <= id.v) - from;
	return *n ? m + from : NULL;
}

struct hg_node_id hg_graph_cluster(const struct hg_graph *g, struct hg_node_id id)
{
	const uint64_t *cluster = map_get(&g->clusters, id.v);

	return (struct hg_node_id){ cluster ? *cluster : 0 };
}

// Whether node number `before` covered addr until id was born.
static bool hands_on(const struct hg_graph *g, uint32_t before, uint32_t id,
		     uint64_t addr)
{
	const struct hg_node *n = &g->nodes.data[before - 1];

	return addr >= n->start && addr - n->start < n->size &&
	       n->died == g->nodes.data[id - 1].born;
}

uint32_t hg_graph_before(const struct hg_graph *g, uint32_t id, uint64_t addr)
{
	uint32_t source = g->nodes.data[id - 1].source;
	const struct hg_member *m;
	size_t n;

	if (source && hands_on(g, source, id, addr))
		return source;
	m = hg_graph_members(g, (struct hg_node_id){ id }, &n);
	for (size_t i = 0; i < n; i++)
		if (hands_on(g, m[i].node.v, id, addr))
			return m[i].node.v;
	return 0;
}

/* ---- measures ----------------------------------------------------------------------- */

static struct err *count_edges(const struct hg_graph *g, uint64_t *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(g, 0, &v);
	struct hg_op op;

	*ret = 0;
	while (!err && hg_view_forward(v, &op))
		*ret += op.kind == HG_OP_STORE && op.size == 8 && op.after &&
			hg_view_find(v, op.after).v;
	return err;
}

struct err *hg_graph_measure(const struct hg_graph *g, struct hg_measure *ret)
{
	*ret = (struct hg_measure){
		.nodes = g->nodes.size,
		.changes = g->log.n_ops,
		.clusters = g->n_clusters,
		.splits = g->n_split,
		.log_bytes = hg_graph_log_bytes(g),
		.node_bytes = g->nodes.size * sizeof(struct hg_node) +
			      g->members.size * sizeof(struct hg_member) +
			      g->clusters.capacity * sizeof(struct map_slot),
		.all_bytes = hg_graph_bytes(g),
	};
	return count_edges(g, &ret->edges);
}
