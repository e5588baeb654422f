// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: the nodes of declared types and the pointers between them, at the
 * position of a view. Follows the view: a few operations are applied one by one, many by
 * reading all nodes again.
 *
 * Invariants, after edges_refresh():
 *  1. A slot's target is the live node that covers the slot's value, 0 when there is none.
 *  2. node.out counts its slots with a target; node.in the slots of all nodes whose target
 *     it is.
 */
#ifndef SPECDSL_SPEC_EDGES_H
#define SPECDSL_SPEC_EDGES_H

#include "specdsl/spec_ast.h"

struct edge_node {
	struct hg_node_id id;
	uint32_t type;		///< index among the spec's types
	uint32_t first_slot, n_slots;
	uint32_t in, out;
	uint64_t start, end;	///< addresses
	bool is_live;
};

/** Where the pointers of a type are: offsets within an element, and the element's size. */
struct edge_layout {
	uint32_t *offsets;
	uint32_t n_offsets;
	uint64_t element_bytes;
};

struct edges {
	const struct spec *s;
	const struct hg_graph *g;
	const struct hg_view *v;
	struct edge_layout *layouts;	 ///< one a type
	uint32_t *place;		 ///< by node id: index into nodes + 1; 0: not there
	uint32_t n_places;
	VEC(struct edge_node) nodes;
	size_t n_dead;
	VEC(uint64_t) values;		 ///< one a slot
	VEC(uint32_t) targets;		 ///< one a slot: node ids
	uint64_t position;
	bool is_valid;

	// Reachability, computed when asked; dropped when the graph changes.
	struct map rows;		 ///< index of a node -> its bit set
	size_t row_bytes;
	// What points to a node, computed when asked: sources of nodes[i] are
	// sources[first_source[i]] .. sources[first_source[i + 1]], indices, ascending.
	VEC(uint32_t) first_source;
	VEC(uint32_t) sources;
	bool has_sources;
};

struct err *edges_init(struct edges *e, const struct spec *s, const struct hg_graph *g,
		       const struct hg_view *v);
void edges_deinit(struct edges *e);

/** Bring @p e to the view's position. @p has_moved: set when anything may be different. */
struct err *edges_refresh(struct edges *e, bool *has_moved);

/** @return the live node of a declared type @p id, or NULL. */
const struct edge_node *edges_node(const struct edges *e, struct hg_node_id id);

/** What a store does to the pointers of the node that it changes. */
enum edge_touch {
	EDGE_TOUCH_NONE,  ///< it reaches none
	EDGE_TOUCH_WHOLE, ///< it is exactly one: its value is the pointer
	EDGE_TOUCH_PART,
};

enum edge_touch edges_touch(const struct edges *e, const struct hg_op *op);

/** @return whether a pointer of @p from holds an address in @p to. */
bool edges_has(const struct edges *e, const struct edge_node *from, struct hg_node_id to);

/** The nodes of declared types that one or more edges lead to from @p from, a bit for each
 * index in nodes. Valid until the next edges_reach() or edges_refresh(). @return NULL when
 * memory is out. */
const uint64_t *edges_reach(struct edges *e, const struct edge_node *from);

/** Forget what edges_reach() computed. */
void edges_drop_rows(struct edges *e);

/** Compute sources. @return 0, or -1 when memory is out. */
int edges_find_sources(struct edges *e);

static inline bool bit_get(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline size_t edges_index(const struct edges *e, const struct edge_node *n)
{
	return n - e->nodes.data;
}

#endif
