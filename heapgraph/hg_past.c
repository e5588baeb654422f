// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which node had this address last? The nodes are painted over each other in the order of
 * their birth: what is seen of them is pieces, each from its start to the next one's, or to
 * its node's end. A node hides what lies under it, or its middle: then there is a piece more
 * behind it. So n nodes make at most 2 n pieces, and none is looked at after it was hidden.
 */
#include "heapgraph/hg_int.h"

/** A part of a node that no younger one covered. */
struct seen {
	uint64_t start;
	uint32_t node;
};

struct hg_past {
	const struct hg_graph *g;
	uint64_t time;		  ///< of the last question
	uint32_t n_nodes;	  ///< painted
	VEC(struct seen) seen;	  ///< all that ever were; room for all to come
	struct hg_index by_start; ///< index into seen + 1, of those that are
};

struct err *hg_past_create(const struct hg_graph *g, struct hg_past **ret)
{
	_cleanup_(hg_past_destroyp) struct hg_past *p = calloc(1, sizeof(*p));
	uint64_t most = 2 * (uint64_t)g->nodes.size;

	if (!p)
		return &err_nomem;
	p->g = g;
	if (vec_reserve(&p->seen, most + 1) || hg_index_reserve(&p->by_start, most))
		return &err_nomem;
	*ret = take_ptr(&p);
	return NULL;
}

void hg_past_destroy(struct hg_past *p)
{
	if (!p)
		return;
	vec_deinit(&p->seen);
	hg_index_deinit(&p->by_start);
	free(p);
}

void hg_past_destroyp(struct hg_past **p)
{
	hg_past_destroy(*p);
}

static void add(struct hg_past *p, uint64_t start, uint32_t node)
{
	p->seen.data[p->seen.size++] = (struct seen){ start, node };
	hg_index_insert(&p->by_start, start, p->seen.size);
}

static const struct seen *seen_at(const struct hg_past *p, uint32_t number)
{
	return number ? &p->seen.data[number - 1] : NULL;
}

static uint64_t end_of(const struct hg_past *p, uint32_t node)
{
	return p->g->nodes.data[node - 1].start + p->g->nodes.data[node - 1].size;
}

static void paint(struct hg_past *p, uint32_t node)
{
	uint64_t start = p->g->nodes.data[node - 1].start, end = end_of(p, node);
	const struct seen *under, *s;
	uint32_t behind;

	if (start == end)
		return;
	under = seen_at(p, hg_index_floor(&p->by_start, end - 1));
	behind = under && end_of(p, under->node) > end ? under->node : 0;
	while ((s = seen_at(p, hg_index_ceil(&p->by_start, start))) && s->start < end)
		hg_index_remove(&p->by_start, s->start);
	if (behind && (!s || s->start > end))
		add(p, end, behind);
	add(p, start, node);
}

struct hg_node_id hg_past_find(struct hg_past *p, uint64_t addr, uint64_t time)
{
	const struct seen *s;

	if (time < p->time) {
		hg_index_clear(&p->by_start);
		p->seen.size = p->n_nodes = 0;
	}
	p->time = time;
	while (p->n_nodes < p->g->nodes.size && p->g->nodes.data[p->n_nodes].born <= time)
		paint(p, ++p->n_nodes);
	s = seen_at(p, hg_index_floor(&p->by_start, addr));
	return (struct hg_node_id){ s && addr < end_of(p, s->node) ? s->node : 0 };
}
