// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Paths, and edges against their direction: computed when a constraint asks, kept until
 * the graph changes.
 */
#include <string.h>

#include "specdsl/spec_edges.h"

// Rows beyond this are dropped and computed again when asked: 64 MiB are all the rows of
// 20,000 nodes, and a check asks for one row many times in a row.
#define MAX_ROW_BYTES (UINT64_C(64) << 20)

void edges_drop_rows(struct edges *e)
{
	for (size_t i = 0; i < e->rows.capacity; i++)
		if (e->rows.slots[i].key != MAP_EMPTY_KEY)
			free((void *)(uintptr_t)e->rows.slots[i].value);
	map_deinit(&e->rows);
	e->row_bytes = 0;
}

/** Mark what can be reached from node @p from, by depth-first search with a stack of its
 * own (lists are a million nodes deep). */
static int search(const struct edges *e, size_t from, uint64_t *row)
{
	VEC(uint32_t) stack = {};
	uint32_t *top = vec_push(&stack);

	if (top)
		*top = from;
	while (top && stack.size) {
		const struct edge_node *n = &e->nodes.data[stack.data[--stack.size]];

		for (uint32_t k = 0; k < n->n_slots; k++) {
			uint32_t id = e->targets.data[n->first_slot + k];
			uint32_t place = id < e->n_places ? e->place[id] : 0;

			if (!place || bit_get(row, place - 1))
				continue;
			row[(place - 1) / 64] |= UINT64_C(1) << ((place - 1) % 64);
			top = vec_push(&stack);
			if (!top)
				break;
			*top = place - 1;
		}
	}
	vec_deinit(&stack);
	return top ? 0 : -1;
}

const uint64_t *edges_reach(struct edges *e, const struct edge_node *from)
{
	size_t index = edges_index(e, from), bytes = (e->nodes.size + 63) / 64 * 8;
	const uint64_t *known = map_get(&e->rows, index);
	uint64_t *row;

	if (known)
		return (const uint64_t *)(uintptr_t)*known;
	if (e->row_bytes + bytes > MAX_ROW_BYTES)
		edges_drop_rows(e);
	row = calloc(1, bytes);
	if (!row || search(e, index, row) || map_put(&e->rows, index, (uintptr_t)row)) {
		free(row);
		return NULL;
	}
	e->row_bytes += bytes;
	return row;
}

int edges_find_sources(struct edges *e)
{
	size_t n = e->nodes.size, total = 0;

	if (e->has_sources)
		return 0;
	if (vec_reserve(&e->first_source, n + 2))
		return -1;
	// Counting sort by target: how many, where they begin, then who.
	for (size_t i = 0; i < n; i++) {
		e->first_source.data[i] = total;
		total += e->nodes.data[i].is_live ? e->nodes.data[i].in : 0;
	}
	if (vec_reserve(&e->sources, total + 1))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct edge_node *from = &e->nodes.data[i];

		for (uint32_t k = 0; k < from->n_slots; k++) {
			uint32_t id = e->targets.data[from->first_slot + k];
			uint32_t place = id < e->n_places ? e->place[id] : 0;

			if (place)
				e->sources.data[e->first_source.data[place - 1]++] = i;
		}
	}
	// Each beginning moved to the next one's: move them back.
	memmove(e->first_source.data + 1, e->first_source.data, n * sizeof(uint32_t));
	e->first_source.data[0] = 0;
	e->first_source.size = n + 1;
	e->has_sources = true;
	return 0;
}
