// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Paths, computed when a constraint asks and kept until the graph changes. The nodes of a
 * strongly connected component reach the same: a ring of a thousand nodes is searched
 * once. Components are found by Tarjan's algorithm and followed by spec_order.c; what one
 * reaches has lower labels: most questions against the direction, and all within a
 * component, are answered by two numbers.
 */
#include <string.h>

#include "specdsl/spec_edges.h"

// Rows beyond this are dropped and computed again when asked: 64 MiB are all the rows of
// 20,000 nodes, and a check asks for one row many times in a row.
#define MAX_ROW_BYTES (UINT64_C(64) << 20)

void spec_edges_drop_rows(struct edges *e)
{
	for (size_t i = 0; i < e->rows.capacity; i++)
		if (e->rows.slots[i].key != MAP_EMPTY_KEY)
			free((void *)(uintptr_t)e->rows.slots[i].value);
	map_deinit(&e->rows);
	e->row_bytes = 0;
}

/** @return the index + 1 of the node that slot @p k of @p n leads to; 0: none of ours. */
static uint32_t slot_place(const struct edges *e, const struct edge_node *n, uint32_t k)
{
	uint32_t id = e->slots.data[n->first_slot + k].target;

	return id < e->n_places ? e->place[id] : 0;
}

/* ---- components ---------------------------------------------------------------------------- */

/** A node being visited. */
struct frame {
	uint32_t node, next_slot;
};

/** Tarjan's algorithm with a stack of its own (lists are a million nodes deep). */
struct tarjan {
	const struct edges *e;
	uint32_t *component; ///< the result
	uint64_t *ring;	     ///< bit set of components: do their nodes reach themselves?
	uint32_t *order;     ///< of the first visit, from 1; 0: not visited
	uint32_t *low;	     ///< the earliest node of the stack that it leads to
	uint32_t *stack;     ///< visited, component not known yet
	struct frame *frames;
	uint8_t *has_loop; ///< does the node point to itself?
	size_t n_stack, n_frames;
	uint32_t n_visited, n_components;
};

#define NO_COMPONENT UINT32_MAX

static void tarjan_enter(struct tarjan *t, uint32_t node)
{
	t->order[node] = t->low[node] = ++t->n_visited;
	t->stack[t->n_stack++] = node;
	t->frames[t->n_frames++] = (struct frame){ node, 0 };
}

static void tarjan_leave(struct tarjan *t)
{
	uint32_t node = t->frames[--t->n_frames].node, top;

	if (t->n_frames) {
		uint32_t parent = t->frames[t->n_frames - 1].node;

		if (t->low[node] < t->low[parent])
			t->low[parent] = t->low[node];
	}
	if (t->low[node] != t->order[node])
		return;
	do {
		top = t->stack[--t->n_stack];
		t->component[top] = t->n_components;
		if (top != node)
			bit_set(t->ring, t->n_components);
	} while (top != node);
	if (t->has_loop[node])
		bit_set(t->ring, t->n_components);
	t->n_components++;
}

static void tarjan_visit(struct tarjan *t, uint32_t root)
{
	tarjan_enter(t, root);
	while (t->n_frames) {
		struct frame *f = &t->frames[t->n_frames - 1];
		const struct edge_node *n = &t->e->nodes.data[f->node];
		uint32_t to;

		if (f->next_slot == n->n_slots) {
			tarjan_leave(t);
			continue;
		}
		to = slot_place(t->e, n, f->next_slot++);
		if (!to)
			continue;
		t->has_loop[f->node] |= to - 1 == f->node;
		if (!t->order[to - 1])
			tarjan_enter(t, to - 1);
		else if (t->component[to - 1] == NO_COMPONENT &&
			 t->order[to - 1] < t->low[f->node])
			t->low[f->node] = t->order[to - 1];
	}
}

/** Take over what @p t found. */
static void set_order(struct edges *e, const struct tarjan *t)
{
	uint32_t *sizes = e->component_sizes.data;

	e->component_sizes.size = t->n_components + 1;
	memset(sizes, 0, e->component_sizes.size * sizeof(*sizes));
	for (size_t i = 0; i < e->nodes.size; i++) {
		struct edge_node *n = &e->nodes.data[i];
		uint32_t component = t->component[i];
		bool reaches_itself = bit_get(t->ring, component);

		n->component = component + 1;
		n->label = (component + 1) * ORDER_LABEL_STEP;
		sizes[n->component]++;
		if (n->is_live && n->reaches_itself != reaches_itself)
			spec_edges_tell(e, EDGE_RING, n->id.v);
		n->reaches_itself = reaches_itself;
	}
}

int spec_order_make(struct edges *e)
{
	size_t n = e->nodes.size;
	_cleanup_free_ uint32_t *words = calloc(4 * n + 1, sizeof(*words));
	_cleanup_free_ struct frame *frames = calloc(n + 1, sizeof(*frames));
	_cleanup_free_ uint8_t *has_loop = calloc(n + 1, 1);
	_cleanup_free_ uint64_t *ring = calloc(n / 64 + 1, sizeof(*ring));
	struct tarjan t = {
		.e = e, .frames = frames, .has_loop = has_loop, .ring = ring
	};

	if (!words || !frames || !has_loop || !ring ||
	    vec_reserve(&e->component_sizes, n + 1))
		return -1;
	t.order = words;
	t.low = words + n;
	t.stack = words + 2 * n;
	t.component = words + 3 * n;
	memset(t.component, 0xff, n * sizeof(*t.component));
	for (size_t i = 0; i < n; i++)
		if (!t.order[i])
			tarjan_visit(&t, i);
	set_order(e, &t);
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/** Mark what can be reached from node @p from, by depth-first search. */
static int search(const struct edges *e, size_t from, uint64_t *row)
{
	VEC(uint32_t) stack = {};
	uint32_t *top = vec_push(&stack);

	if (top)
		*top = from;
	while (top && stack.size) {
		const struct edge_node *n = &e->nodes.data[stack.data[--stack.size]];

		for (uint32_t k = 0; k < n->n_slots; k++) {
			uint32_t place = slot_place(e, n, k);

			if (!place || bit_get(row, place - 1))
				continue;
			bit_set(row, place - 1);
			top = vec_push(&stack);
			if (!top)
				break;
			*top = place - 1;
		}
	}
	vec_deinit(&stack);
	return top ? 0 : -1;
}

const uint64_t *spec_edges_reach(struct edges *e, const struct edge_node *from)
{
	size_t index = edges_index(e, from), bytes = (e->nodes.size + 63) / 64 * 8;
	const uint64_t *known;
	uint32_t component;
	uint64_t *row;

	if (spec_order_update(e))
		return NULL;
	component = from->component;
	known = map_get(&e->rows, component);
	if (known)
		return (const uint64_t *)(uintptr_t)*known;
	if (e->row_bytes + bytes > MAX_ROW_BYTES)
		spec_edges_drop_rows(e);
	row = calloc(1, bytes);
	if (!row || search(e, index, row) ||
	    map_put(&e->rows, component, (uintptr_t)row)) {
		free(row);
		return NULL;
	}
	e->row_bytes += bytes;
	return row;
}

int spec_edges_find_ring(struct edges *e, const struct edge_node *n)
{
	return spec_order_update(e) ? -1 : n->reaches_itself;
}

int spec_edges_find_path(struct edges *e, const struct edge_node *from,
			 const struct edge_node *to)
{
	const uint64_t *row;

	if (spec_order_update(e))
		return -1;
	if (from->component == to->component)
		return from->reaches_itself;
	if (from->label <= to->label)
		return 0;
	row = spec_edges_reach(e, from);
	return row ? bit_get(row, edges_index(e, to)) : -1;
}
