// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: the nodes of declared types and the pointers between them, at the
 * position of a view. Follows the view operation by operation, or reads all nodes again
 * when it went far unseen, and tells who asks what became different.
 *
 * Invariants, after spec_edges_refresh():
 *  1. A slot's target is the live node that covers the slot's value, 0 when there is none.
 *  2. node.out counts its slots with a target; node.in the slots of all nodes whose target
 *     it is.
 *  3. A slot whose value is not 0 is in the list of near[value / EDGE_NEAR_BYTES].
 *  4. Whatever a question below answers differently was told by an event before.
 */
#ifndef SPECDSL_SPEC_EDGES_H
#define SPECDSL_SPEC_EDGES_H

#include "specdsl/spec_ast.h"
#include "specdsl/spec_pointers.h"

struct edge_node {
	struct hg_node_id id;
	uint32_t type; ///< index among the spec's types
	uint32_t first_slot, n_slots;
	uint32_t in, out;
	uint64_t start, end; ///< addresses
	bool is_live;
	bool reaches_itself; ///< this and the next two: spec_order.c
	uint32_t component;  ///< 0: not known yet
	int64_t label;
	// What follows belongs to spec_track.c and spec_checker.c; 0 in a new node.
	uint32_t dependents[4]; ///< first link of each enum track_list about a node
	uint32_t n_ranged;	///< dependents on a range of a number of it
	uint32_t first_unit;	///< the checks whose first variable stands for it
};

/** A pointer field. */
struct edge_slot {
	uint64_t value;
	uint32_t target;     ///< node id
	uint32_t owner;	     ///< node id
	uint32_t next, prev; ///< slots with near values: index + 1; 0 ends
};

/** What happened since the order was right: a pointer changed, and led to `to` before it or
 * does since; or node `from` appeared or disappeared. */
struct edge_change {
	enum { EDGE_CHANGE, NODE_ADDED, NODE_REMOVED } kind;
	uint32_t from, to;
	uint32_t component; ///< NODE_REMOVED: which it was in
};

/** Slots are found by their values to this many bytes. */
#define EDGE_NEAR_BYTES 64

/** What became different; of which node. */
enum edge_event {
	EDGE_ALL,  ///< anything may have; all nodes were read anew
	EDGE_BORN, ///< it is entered
	EDGE_DIED, ///< it is about to be removed
	EDGE_NODE, ///< bytes of it
	EDGE_OUT,  ///< what the pointer in these bytes of it leads to
	EDGE_INTO, ///< the pointers into it
	EDGE_LIFE, ///< a node of any type, maybe of none, appeared or disappeared
	EDGE_RING, ///< whether it reaches itself
};

struct edges {
	const struct spec *s;
	const struct hg_graph *g;
	const struct hg_view *v;
	struct pointers *pointers; ///< one a type
	uint32_t *place;	   ///< by node id: index into nodes + 1; 0: not there
	uint32_t n_places;
	VEC(struct edge_node) nodes;
	size_t n_dead;
	VEC(struct edge_slot) slots;
	struct map near; ///< value / EDGE_NEAR_BYTES -> first slot's index + 1
	uint64_t position;
	bool is_valid;
	bool has_changed; ///< since spec_edges_refresh()
	bool is_silent, is_out_of_memory;
	/** May be NULL. offset and size: which bytes; size 0: no matter. */
	void (*on_event)(void *ctx, enum edge_event event, uint32_t id, uint64_t offset,
			 uint32_t size);
	void *on_event_ctx;

	// Which nodes reach each other (spec_order.c).
	VEC(struct edge_change) changes;
	VEC(uint32_t) component_sizes; ///< by number; 0 is not used
	bool has_order;		       ///< but for the changes

	// What a component reaches, computed when asked; dropped when the graph changes.
	struct map rows; ///< component -> the bit set of what it reaches
	size_t row_bytes;
};

/** No nodes until spec_edges_refresh(). All is borrowed until spec_edges_deinit(); layouts are bound
 * before. @return NULL or ERR_NOMEM. */
struct err *spec_edges_init(struct edges *e, const struct spec *s,
			    const struct hg_graph *g, const struct hg_view *v);
void spec_edges_deinit(struct edges *e);

/** Bring @p e to the view's position. @p has_moved: set when anything may be different. */
struct err *spec_edges_refresh(struct edges *e, bool *has_moved);

/** The view has just moved over @p op, from where @p e was and is_valid. */
struct err *spec_edges_follow(struct edges *e, const struct hg_op *op);

/** @return the live node of a declared type @p id, or NULL. */
const struct edge_node *spec_edges_node(const struct edges *e, struct hg_node_id id);

/** @return whether a pointer of @p from holds an address in @p to. */
bool spec_edges_has(const struct edges *e, const struct edge_node *from,
		    struct hg_node_id to);

/** Where address @p value, that the pointer at @p offset of @p from holds, leads: a live node
 * or {0}. @return false when that is not known here. */
bool spec_edges_target(const struct edges *e, struct hg_node_id from, uint64_t offset,
		       uint64_t value, struct hg_node_id *ret);

/** The nodes of declared types that one or more edges lead to from @p from, a bit for each
 * index in nodes. Valid until the next spec_edges_reach() or spec_edges_refresh(). @return NULL when
 * memory is out. */
const uint64_t *spec_edges_reach(struct edges *e, const struct edge_node *from);

/** @return whether one or more edges lead from @p from to @p to; -1 when memory is out. */
int spec_edges_find_path(struct edges *e, const struct edge_node *from,
			 const struct edge_node *to);

/** Forget what spec_edges_reach() computed. */
void spec_edges_drop_rows(struct edges *e);

/** @return whether one or more edges lead from @p n to itself; -1 when memory is out. */
int spec_edges_find_ring(struct edges *e, const struct edge_node *n);

/** Call @p fn with the pointers into @p to: whose, and at which offset. */
void spec_edges_pointers(struct edges *e, const struct edge_node *to,
			 void (*fn)(void *ctx, uint32_t id, uint64_t offset), void *ctx);

/** Call @p fn with the nodes that point to @p to; once for each slot. */
void spec_edges_sources(struct edges *e, const struct edge_node *to,
			void (*fn)(void *ctx, uint32_t id), void *ctx);

/** Tell who asked to be told. */
void spec_edges_tell(struct edges *e, enum edge_event event, uint32_t id);

/* ---- spec_order.c -------------------------------------------------------------------- */

/** Labels are between -this and this, and so far from each other at first. */
#define ORDER_LABEL_MAX (INT64_MAX / 4)
#define ORDER_LABEL_STEP (INT64_C(1) << 28)

/** Make components and labels right. Tells EDGE_RING. @return 0, or -1: memory is out. */
int spec_order_update(struct edges *e);

/** The same, of all nodes anew (spec_paths.c). */
int spec_order_make(struct edges *e);

/** A pointer of @p from does not lead to @p to any more, or does now; either may be 0. */
void spec_order_note_edge(struct edges *e, uint32_t from, uint32_t to);

/** @p n was entered, or is being removed. */
void spec_order_note_node(struct edges *e, const struct edge_node *n);

/** What changed is not known. */
void spec_order_forget(struct edges *e);

static inline bool bit_get(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, size_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline size_t edges_index(const struct edges *e, const struct edge_node *n)
{
	return n - e->nodes.data;
}

#endif
