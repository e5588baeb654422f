// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_int.h"

#include <assert.h>
#include <string.h>

struct err *hg_graph_create(struct hg_graph **ret)
{
	struct hg_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return &err_nomem;
	*ret = g;
	return NULL;
}

void hg_graph_destroy(struct hg_graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->types.size; i++)
		vec_deinit(&g->types.data[i]);
	vec_deinit(&g->types);
	vec_deinit(&g->members);
	map_deinit(&g->clusters);
	vec_deinit(&g->nodes);
	hg_log_deinit(&g->log);
	hg_image_deinit(&g->image);
	hg_index_deinit(&g->live);
	free(g->hints);
	free(g);
}

void hg_graph_destroyp(struct hg_graph **g)
{
	hg_graph_destroy(*g);
}

/* ---- building ------------------------------------------------------------------- */

// Node number id; ids are checked by whoever made them.
static struct hg_node *graph_node(struct hg_graph *g, uint32_t id)
{
	assert(id >= 1 && id <= g->nodes.size);
	return &g->nodes.data[id - 1];
}

// A node ends: stores that come to where it was do not meet it.
static void hints_forget(struct hg_graph *g, uint32_t id)
{
	const struct hg_node *n = graph_node(g, id);
	uint64_t first = n->start / HG_HINT_BYTES;
	uint64_t slots = (n->start + n->size) / HG_HINT_BYTES - first + 1;

	for (uint64_t i = 0; g->hints && i < slots && i < HG_HINTS; i++)
		if (g->hints[(first + i) % HG_HINTS].id == id)
			g->hints[(first + i) % HG_HINTS].id = 0;
}

static struct err *graph_end_node(struct hg_graph *g, uint64_t time, uint32_t id,
				  uint64_t rip)
{
	struct hg_node *n = graph_node(g, id);

	if (hg_log_free(&g->log, time, id))
		return &err_nomem;
	n->died = time;
	n->free_rip = rip;
	hints_forget(g, id);
	hg_index_remove(&g->live, n->start);
	return NULL;
}

// What a node occupies: one of no bytes still has an address to itself.
static uint64_t node_extent(const struct hg_node *n)
{
	return n->size ? n->size : 1;
}

// End the nodes that [addr, addr + size) meets: somebody freed them unseen.
static struct err *graph_clear(struct hg_graph *g, uint64_t time, uint64_t addr,
			       uint64_t size, uint64_t rip)
{
	uint32_t id = hg_index_floor(&g->live, addr);
	struct err *err;

	if (id && addr - graph_node(g, id)->start >= node_extent(graph_node(g, id)))
		id = 0;
	for (;;) {
		if (!id)
			id = hg_index_ceil(&g->live, addr);
		if (!id || (graph_node(g, id)->start >= addr &&
			    graph_node(g, id)->start - addr >= size))
			return NULL;
		err = graph_end_node(g, time, id, rip);
		if (err)
			return err;
		id = 0;
	}
}

/** A walk over the words in which a new node's contents differ from the image. */
struct patch_walk {
	struct hg_graph *g;
	uint64_t start, size;
	const uint8_t *contents; ///< NULL: zeros
	uint64_t at;		 ///< offset of the next word
};

static uint64_t walk_bits(const struct patch_walk *w)
{
	uint64_t room = w->size - w->at < 8 ? w->size - w->at : 8;
	uint64_t old = 0, new = 0;

	hg_image_get(&w->g->image, w->start + w->at, &old, room);
	if (w->contents)
		memcpy(&new, w->contents + w->at, room);
	return old ^ new;
}

// Step over zeros that meet a page never written.
static bool walk_skip_page(struct patch_walk *w)
{
	uint64_t addr = w->start + w->at;
	uint64_t skip = (HG_PAGE_BYTES - addr % HG_PAGE_BYTES) & ~7ull;

	if (w->contents || !skip || hg_image_find(&w->g->image, addr / HG_PAGE_BYTES))
		return false;
	w->at += skip;
	return true;
}

// The next differing word: its offset and difference. False at the end.
static bool walk_next(struct patch_walk *w, uint64_t *offset, uint64_t *bits)
{
	while (w->at < w->size) {
		if (walk_skip_page(w))
			continue;
		*offset = w->at;
		*bits = walk_bits(w);
		w->at += 8;
		if (*bits)
			return true;
	}
	return false;
}

// Record the contents at birth and bring the image up to them.
static struct err *graph_write_patch(struct hg_graph *g, uint64_t time, uint32_t id,
				     const void *contents)
{
	const struct hg_node *n = graph_node(g, id);
	struct patch_walk count = { g, n->start, n->size, contents, 0 }, walk = count;
	uint64_t n_words = 0, offset, bits, expected = 0;

	while (walk_next(&count, &offset, &bits))
		n_words++;
	if (hg_log_alloc(&g->log, time, id, n_words))
		return &err_nomem;
	while (walk_next(&walk, &offset, &bits)) {
		uint64_t addr = n->start + offset;
		uint64_t room = n->size - offset < 8 ? n->size - offset : 8, value;

		if (hg_log_patch(&g->log, (offset - expected) / 8, bits))
			return &err_nomem;
		hg_image_get(&g->image, addr, &value, room);
		value ^= bits;
		if (hg_image_put(&g->image, addr, &value, room))
			return &err_nomem;
		expected = offset + 8;
	}
	return NULL;
}

// A node appears: what it touches is no gap any more.
static void gaps_forget(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < HG_GAPS; i++)
		if (addr < g->gaps[i].end && addr + size > g->gaps[i].start)
			g->gaps[i] = (struct hg_gap){};
}

// A node without contents yet.
static struct err *graph_add_node(struct hg_graph *g, uint64_t time, uint64_t addr,
				  uint64_t size, uint64_t rip)
{
	struct hg_node *n;
	struct err *err;

	if (addr + size < addr)
		return err_new(ERR_RANGE,
			       "cannot add a heap node: %#llx bytes at %#llx leave the "
			       "address space",
			       (unsigned long long)size, (unsigned long long)addr);
	if (g->nodes.size == UINT32_MAX)
		return err_new(ERR_RANGE,
			       "cannot add a heap node: over 4 billion of them");
	err = graph_clear(g, time, addr, size ? size : 1, rip);
	if (err)
		return err;
	gaps_forget(g, addr, size);
	if (hg_index_prepare(&g->live))
		return &err_nomem;
	n = vec_push(&g->nodes);
	if (!n)
		return &err_nomem;
	*n = (struct hg_node){ .start = addr,
			       .size = size,
			       .born = time,
			       .died = UINT64_MAX,
			       .alloc_rip = rip };
	hg_index_insert(&g->live, addr, g->nodes.size);
	if (g->live.size > g->peak_live)
		g->peak_live = g->live.size;
	return NULL;
}

struct err *hg_graph_alloc(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint64_t size, uint64_t rip, const void *contents,
			   struct hg_node_id *ret)
{
	struct err *err = graph_add_node(g, time, addr, size, rip);

	if (err)
		return err;
	if (ret)
		ret->v = g->nodes.size;
	return graph_write_patch(g, time, g->nodes.size, contents);
}

struct err *hg_graph_alloc_kept(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t size, uint64_t rip, struct hg_node_id *ret)
{
	struct err *err = graph_add_node(g, time, addr, size, rip);

	if (err)
		return err;
	if (ret)
		ret->v = g->nodes.size;
	return hg_log_alloc(&g->log, time, g->nodes.size, 0) ? &err_nomem : NULL;
}

struct err *hg_graph_free(struct hg_graph *g, uint64_t time, uint64_t addr, uint64_t rip)
{
	uint32_t id = hg_index_floor(&g->live, addr);

	if (!id || graph_node(g, id)->start != addr) {
		g->unknown_frees++;
		return NULL;
	}
	return graph_end_node(g, time, id, rip);
}

static bool node_covers(const struct hg_node *n, uint64_t addr)
{
	return addr >= n->start && addr - n->start < n->size;
}

// Small gaps, between two nodes, would drive out the large ones: data segments, arenas.
static void gap_remember(struct hg_graph *g, uint64_t addr, uint64_t start, uint64_t end)
{
	if (end - start >= HG_PAGE_BYTES)
		g->gaps[addr / HG_PAGE_BYTES % HG_GAPS] = (struct hg_gap){ start, end };
}

// The live node with the lowest address that reaches into [addr, addr + size), 0: none;
// and where there is none around it.
static uint32_t graph_search(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	uint32_t id = hg_index_floor(&g->live, addr);
	uint64_t start = 0, at = addr;

	if (id && node_covers(graph_node(g, id), addr))
		return id;
	if (id)
		start = graph_node(g, id)->start + graph_node(g, id)->size;
	while (size && (id = hg_index_ceil(&g->live, at))) {
		uint64_t skip = graph_node(g, id)->start - at;

		if (skip >= size) {
			gap_remember(g, addr, start, at + skip);
			return 0;
		}
		if (graph_node(g, id)->size)
			return id;
		at += skip + 1; // a node of no bytes takes no store
		size -= skip + 1;
	}
	if (size)
		gap_remember(g, addr, start, UINT64_MAX);
	return 0;
}

/** A live node, all that a store needs to know of it. */
struct live_node {
	uint32_t id; ///< 0: none
	uint64_t start, size;
};

static struct live_node graph_first_in(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	const struct hg_gap *gap = &g->gaps[addr / HG_PAGE_BYTES % HG_GAPS];
	struct hg_hint *hint = g->hints ? &g->hints[addr / HG_HINT_BYTES % HG_HINTS] :
					  NULL;
	const struct hg_node *n;
	uint32_t id;

	if (hint && hint->id && addr - hint->start < hint->size)
		return (struct live_node){ hint->id, hint->start, hint->size };
	if (addr >= gap->start && addr < gap->end && size <= gap->end - addr)
		return (struct live_node){};
	id = graph_search(g, addr, size);
	if (!id)
		return (struct live_node){};
	n = graph_node(g, id);
	if (hint && n->size <= UINT32_MAX && node_covers(n, addr))
		*hint = (struct hg_hint){ n->start, n->size, id };
	return (struct live_node){ id, n->start, n->size };
}

enum hg_part hg_graph_meets(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	struct live_node n = graph_first_in(g, addr, size);

	if (!n.id)
		return HG_NONE;
	return addr - n.start < n.size && size <= n.size - (addr - n.start) ? HG_ONE :
									      HG_SOME;
}

uint64_t hg_graph_size_at(const struct hg_graph *g, uint64_t addr)
{
	uint32_t id = hg_index_floor(&g->live, addr);

	return id && g->nodes.data[id - 1].start == addr ? g->nodes.data[id - 1].size : 0;
}

struct err *hg_graph_copy_live(struct hg_graph *g, uint64_t addr, uint64_t size,
			       struct hg_image *to)
{
	uint64_t end = addr + size;

	while (addr < end) {
		struct live_node n = graph_first_in(g, addr, end - addr);

		if (!n.id)
			return NULL;
		if (hg_image_copy(to, &g->image, n.start, n.size))
			return &err_nomem;
		addr = n.start + n.size;
	}
	return NULL;
}

// One piece of a store: within one node, up to 8 bytes.
static struct err *graph_store_piece(struct hg_graph *g, const struct live_node *n,
				     struct hg_op *op, const uint8_t *data)
{
	uint64_t at = op->addr % HG_PAGE_BYTES;
	uint8_t *page = hg_image_find(&g->image, op->addr / HG_PAGE_BYTES);

	op->node.v = n->id;
	op->before = op->after = 0;
	memcpy(&op->after, data, op->size);
	if (page && at + op->size <= HG_PAGE_BYTES) { // as good as always
		memcpy(&op->before, page + at, op->size);
		memcpy(page + at, data, op->size);
	} else {
		hg_image_get(&g->image, op->addr, &op->before, op->size);
		if (hg_image_put(&g->image, op->addr, data, op->size))
			return &err_nomem;
	}
	return hg_log_store(&g->log, op, n->start) ? &err_nomem : NULL;
}

// What one node gets of a store, [op->addr, stop).
static struct err *graph_store_node(struct hg_graph *g, const struct live_node *n,
				    struct hg_op *op, uint64_t stop, bool is_large,
				    const uint8_t *from)
{
	while (op->addr < stop) {
		// Large stores (vectors, system calls) are cut at words, so that no pointer
		// field is torn over two operations.
		uint64_t piece = is_large ? 8 - op->addr % 8 : 8;
		struct err *err;

		op->size = piece < stop - op->addr ? piece : stop - op->addr;
		err = graph_store_piece(g, n, op, from);
		if (err)
			return err;
		op->addr += op->size;
		from += op->size;
	}
	return NULL;
}

struct err *hg_graph_store(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint32_t size, const void *data, uint64_t rip)
{
	struct hg_op op = { .time = time, .kind = HG_OP_STORE, .rip = rip, .addr = addr };
	uint64_t end = addr + size < addr ? UINT64_MAX : addr + size;
	struct err *err = NULL;

	if (!g->hints) // without memory for them it is slower, that is all
		g->hints = calloc(HG_HINTS, sizeof(*g->hints));
	while (op.addr < end && !err) {
		struct live_node n = graph_first_in(g, op.addr, end - op.addr);
		uint64_t stop = end - n.start < n.size ? end : n.start + n.size;

		if (!n.id)
			return NULL;
		if (n.start > op.addr)
			op.addr = n.start;
		err = graph_store_node(g, &n, &op, stop, size > 8,
				       (const uint8_t *)data + (op.addr - addr));
	}
	return err;
}

void hg_graph_trim(struct hg_graph *g)
{
	free(g->hints);
	g->hints = NULL;
	vec_trim(&g->nodes);
	vec_trim(&g->image.pages);
	hg_log_trim(&g->log);
}

/* ---- types ------------------------------------------------------------------------ */

static size_t type_rank(const struct hg_type_nodes *t, uint32_t id)
{
	return vec_rank(t->size, i, t->data[i] < id);
}

struct err *hg_graph_set_type(struct hg_graph *g, struct hg_node_id node, uint32_t type)
{
	struct hg_node *n = graph_node(g, node.v);
	struct hg_type_nodes *t;
	size_t at;

	if (n->type == type)
		return NULL;
	while (g->types.size < type)
		if (!vec_push(&g->types))
			return &err_nomem;
	if (type) {
		t = &g->types.data[type - 1];
		if (vec_reserve(t, t->size + 1))
			return &err_nomem;
		at = type_rank(t, node.v);
		memmove(&t->data[at + 1], &t->data[at],
			(t->size - at) * sizeof(*t->data));
		t->data[at] = node.v;
		t->size++;
	}
	if (n->type) {
		t = &g->types.data[n->type - 1];
		at = type_rank(t, node.v);
		t->size--;
		memmove(&t->data[at], &t->data[at + 1],
			(t->size - at) * sizeof(*t->data));
	}
	n->type = type;
	return NULL;
}

/* ---- reading ---------------------------------------------------------------------- */

uint32_t hg_graph_nodes(const struct hg_graph *g)
{
	return g->nodes.size;
}

uint64_t hg_graph_ops(const struct hg_graph *g)
{
	return g->log.n_ops;
}

uint64_t hg_graph_unknown_frees(const struct hg_graph *g)
{
	return g->unknown_frees;
}

uint64_t hg_graph_log_bytes(const struct hg_graph *g)
{
	return hg_log_bytes(&g->log);
}

uint64_t hg_graph_bytes(const struct hg_graph *g)
{
	uint64_t bytes = sizeof(*g) + hg_graph_log_bytes(g);

	bytes += g->image.slots.capacity * sizeof(struct map_slot);
	bytes += g->nodes.capacity * sizeof(struct hg_node);
	bytes += g->members.capacity * sizeof(struct hg_member);
	bytes += g->clusters.capacity * sizeof(struct map_slot);
	bytes += g->image.pages.size * HG_PAGE_BYTES;
	bytes += g->image.pages.capacity * sizeof(uint8_t *);
	for (size_t i = 0; i < g->types.size; i++)
		bytes += g->types.data[i].capacity * sizeof(uint32_t);
	return bytes + hg_index_bytes(&g->live);
}

const struct hg_node *hg_graph_node(const struct hg_graph *g, struct hg_node_id id)
{
	assert(id.v >= 1 && id.v <= g->nodes.size);
	return &g->nodes.data[id.v - 1];
}

struct hg_op hg_graph_op(const struct hg_graph *g, uint64_t index)
{
	struct hg_decoded ops[HG_BLOCK_OPS];

	assert(index < g->log.n_ops);
	hg_log_decode_aside(g, index / HG_BLOCK_OPS, ops);
	return ops[index % HG_BLOCK_OPS].op;
}

uint64_t hg_graph_op_after(const struct hg_graph *g, uint64_t time)
{
	struct hg_decoded ops[HG_BLOCK_OPS];
	uint64_t block;
	uint32_t n, i;

	if (!g->log.blocks.size)
		return 0;
	// The block before the first one whose predecessor's last operation is later.
	block = vec_rank(g->log.blocks.size, b,
			 !b || g->log.blocks.data[b].prev_time <= time) -
		1;
	n = hg_log_decode_aside(g, block, ops);
	for (i = 0; i < n && ops[i].op.time <= time; i++)
		;
	return block * HG_BLOCK_OPS + i;
}

struct hg_node_id hg_graph_find(const struct hg_graph *g, uint64_t addr, uint64_t time)
{
	// Ids are in order of birth; the youngest that covers addr is the one that lived.
	for (uint32_t id = g->nodes.size; id; id--) {
		const struct hg_node *n = &g->nodes.data[id - 1];

		if (n->born <= time && n->died > time && node_covers(n, addr))
			return (struct hg_node_id){ id };
	}
	return (struct hg_node_id){ 0 };
}
