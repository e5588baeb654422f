// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_forest.h"

/* Node 0 does not exist; to read it is to read nothing. */
static struct hg_forest_node *node_of(const struct hg_forest *f, uint32_t number)
{
	return &f->nodes.data[number];
}

static bool is_top(const struct hg_forest *f, uint32_t x)
{
	const struct hg_forest_node *parent = node_of(f, node_of(f, x)->parent);

	return parent->child[0] != x && parent->child[1] != x;
}

static void sum_up(const struct hg_forest *f, uint32_t x)
{
	struct hg_forest_node *n = node_of(f, x);

	n->has_marked = n->is_marked || node_of(f, n->child[0])->has_marked ||
			node_of(f, n->child[1])->has_marked;
}

// x goes up, its parent in the splay tree down.
static void rotate(const struct hg_forest *f, uint32_t x)
{
	uint32_t up = node_of(f, x)->parent, top = node_of(f, up)->parent, between;
	int side = node_of(f, up)->child[1] == x;

	if (!is_top(f, up))
		node_of(f, top)->child[node_of(f, top)->child[1] == up] = x;
	between = node_of(f, x)->child[!side];
	node_of(f, up)->child[side] = between;
	if (between)
		node_of(f, between)->parent = up;
	node_of(f, x)->child[!side] = up;
	node_of(f, up)->parent = x;
	node_of(f, x)->parent = top;
	sum_up(f, up);
	sum_up(f, x);
}

static void splay(const struct hg_forest *f, uint32_t x)
{
	while (!is_top(f, x)) {
		uint32_t up = node_of(f, x)->parent, top = node_of(f, up)->parent;

		if (!is_top(f, up))
			rotate(f, (node_of(f, top)->child[1] == up) ==
						  (node_of(f, up)->child[1] == x) ?
					  up :
					  x);
		rotate(f, x);
	}
}

// The path from x's root to x, and nothing else, becomes one splay tree with x on top.
static void expose(const struct hg_forest *f, uint32_t x)
{
	uint32_t below = 0;

	if (!node_of(f, x)->parent && !node_of(f, x)->child[1])
		return;
	for (uint32_t at = x; at; below = at, at = node_of(f, at)->parent) {
		splay(f, at);
		node_of(f, at)->child[1] = below;
		sum_up(f, at);
	}
	splay(f, x);
}

void hg_forest_deinit(struct hg_forest *f)
{
	vec_deinit(&f->nodes);
}

uint32_t hg_forest_add(struct hg_forest *f, uint32_t parent)
{
	struct hg_forest_node *n = f->nodes.size ? NULL : vec_push(&f->nodes);

	n = f->nodes.size ? vec_push(&f->nodes) : n;
	if (!n)
		return 0;
	n->parent = parent;
	return f->nodes.size - 1;
}

void hg_forest_move(struct hg_forest *f, uint32_t node, uint32_t parent)
{
	struct hg_forest_node *n = node_of(f, node);

	expose(f, node);
	if (n->child[0])
		node_of(f, n->child[0])->parent = 0;
	n->child[0] = 0;
	sum_up(f, node);
	n->parent = parent;
}

bool hg_forest_is_below(const struct hg_forest *f, uint32_t node, uint32_t other)
{
	if (node == other)
		return false;
	// Is other on the path from node's root to node? Then that has another top now.
	expose(f, node);
	splay(f, other);
	return node_of(f, node)->parent != 0;
}

void hg_forest_mark(struct hg_forest *f, uint32_t node, bool is_marked)
{
	expose(f, node);
	node_of(f, node)->is_marked = is_marked;
	sum_up(f, node);
}

uint32_t hg_forest_marked(const struct hg_forest *f, uint32_t node)
{
	uint32_t at = node;

	expose(f, node);
	if (!node_of(f, at)->has_marked)
		return 0;
	if (node_of(f, at)->is_marked)
		return at;
	// The deepest one of the path.
	at = node_of(f, at)->child[0];
	while (true) {
		const struct hg_forest_node *n = node_of(f, at);

		if (node_of(f, n->child[1])->has_marked)
			at = n->child[1];
		else if (n->is_marked)
			break;
		else
			at = n->child[0];
	}
	splay(f, at);
	return at;
}
