// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Trees that grow and change, and questions about who is below whom, however deep they are:
 * the link-cut trees of Sleator and Tarjan (A Data Structure for Dynamic Trees, 1983; with
 * splay trees, 1985). Everything is O(log n) amortised. Private to heapgraph/.
 *
 * Numbers are indices + 1, 0 is none. A question changes how the forest lies in memory, not
 * the forest.
 */
#ifndef HEAPGRAPH_HG_FOREST_H
#define HEAPGRAPH_HG_FOREST_H

#include <stdint.h>

#include "base/base.h"

/* A path of a tree is a splay tree, in the order of depth; its top's parent is what the path
 * hangs on. */
struct hg_forest_node {
	uint32_t parent, child[2];
	bool is_marked;
	bool has_marked; ///< it, or what is below it in the splay tree
};

struct hg_forest {
	VEC(struct hg_forest_node) nodes;
};

void hg_forest_deinit(struct hg_forest *f);

/** @return the number of a new node below @p parent (0: a root), 0 without memory. */
uint32_t hg_forest_add(struct hg_forest *f, uint32_t parent);

/** @p node, with all that is below it, goes below @p parent, which is not below it. */
void hg_forest_move(struct hg_forest *f, uint32_t node, uint32_t parent);

/** @return whether @p node is somewhere below @p other. */
bool hg_forest_is_below(const struct hg_forest *f, uint32_t node, uint32_t other);

void hg_forest_mark(struct hg_forest *f, uint32_t node, bool is_marked);

/** @return the first node that is marked, from @p node upwards; 0: none. */
uint32_t hg_forest_marked(const struct hg_forest *f, uint32_t node);

#endif
