// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/heap.h"
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
	map_deinit(&g->whose);
	vec_deinit(&g->nodes);
	vec_deinit(&g->ended);
	vec_deinit(&g->unknown);
	hg_log_deinit(&g->log);
	hg_image_deinit(&g->image);
	hg_index_deinit(&g->live);
	hg_memory_destroy(g->memory);
	vec_deinit(&g->patch);
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

static struct err *graph_end_node(struct hg_graph *g, uint64_t time, uint32_t id,
				  uint64_t rip)
{
	struct hg_node *n = graph_node(g, id);

	if (hg_log_free(&g->log, time, id))
		return &err_nomem;
	n->died = time;
	g->ended.data[(id - 1) / 64] |= UINT64_C(1) << (id - 1) % 64;
	n->free_rip = rip;
	g->n_empty -= !n->size || n->is_bare;
	hg_owners_remove(g, id);
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
	struct err *err;
	uint32_t id;

	if (!g->n_empty && hg_owners_none(g, addr, size))
		return NULL;
	id = hg_index_floor(&g->live, addr);
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

// A node without contents yet.
static struct err *graph_add_node(struct hg_graph *g, uint64_t time, uint64_t addr,
				  uint64_t size, uint64_t rip, bool is_bare)
{
	struct hg_node *n;
	struct err *err;

	if (addr + size < addr)
		return err_new(ERR_RANGE,
			       "cannot add a heap node: %#llx bytes at %#llx leave the "
			       "address space",
			       (unsigned long long)size, (unsigned long long)addr);
	if (g->nodes.size >= HG_CROWDED - 1)
		return err_new(ERR_RANGE,
			       "cannot add a heap node: over 4 billion of them");
	err = graph_clear(g, time, addr, size ? size : 1, rip);
	if (err)
		return err;
	if (hg_index_prepare(&g->live) || hg_memory_make(g) ||
	    vec_reserve(&g->memory->extents, g->nodes.size + 1))
		return &err_nomem;
	if (g->ended.size <= g->nodes.size / 64 && !vec_push(&g->ended))
		return &err_nomem;
	n = vec_push(&g->nodes);
	if (!n)
		return &err_nomem;
	g->memory->extents.data[g->memory->extents.size++] =
		(struct hg_extent){ addr, is_bare ? 0 : size };
	*n = (struct hg_node){ .start = addr,
			       .size = size,
			       .born = time,
			       .died = UINT64_MAX,
			       .alloc_rip = rip,
			       .is_bare = is_bare };
	g->n_empty += !size || is_bare;
	hg_index_insert(&g->live, addr, g->nodes.size);
	hg_owners_add(g, g->nodes.size);
	if (g->live.size > g->peak_live)
		g->peak_live = g->live.size;
	return NULL;
}

static struct err *graph_alloc(struct hg_graph *g, uint64_t time, uint64_t addr,
			       uint64_t size, uint64_t rip, enum hg_contents how,
			       const void *contents, struct hg_node_id *ret)
{
	struct err *err = graph_add_node(g, time, addr, size, rip, how == HG_BARE);

	if (err)
		return err;
	if (ret)
		ret->v = g->nodes.size;
	return hg_patch_add(g, time, how, contents);
}

struct err *hg_graph_alloc(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint64_t size, uint64_t rip, const void *contents,
			   struct hg_node_id *ret)
{
	return graph_alloc(g, time, addr, size, rip, HG_AS_GIVEN, contents, ret);
}

struct err *hg_graph_alloc_kept(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t size, uint64_t rip, struct hg_node_id *ret)
{
	return graph_alloc(g, time, addr, size, rip, HG_AS_KEPT, NULL, ret);
}

struct err *hg_graph_alloc_found(struct hg_graph *g, uint64_t time, uint64_t addr,
				 uint64_t size, uint64_t rip, struct hg_node_id *ret)
{
	return graph_alloc(g, time, addr, size, rip, HG_AS_FOUND, NULL, ret);
}

struct err *hg_graph_alloc_bare(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t size, uint64_t rip)
{
	return graph_alloc(g, time, addr, size, rip, HG_BARE, NULL, NULL);
}

void hg_graph_set_raw(struct hg_graph *g, struct hg_node_id id)
{
	graph_node(g, id.v)->is_raw = true;
}

struct err *hg_graph_set_whose(struct hg_graph *g, struct hg_node_id id, uint64_t whose)
{
	return map_put(&g->whose, id.v, whose) ? &err_nomem : NULL;
}

bool hg_graph_is_together(const struct hg_graph *g, struct hg_node_id a,
			  struct hg_node_id b, bool share_scope)
{
	const uint64_t *x = map_get(&g->whose, a.v), *y = map_get(&g->whose, b.v);

	if (!x || !y || *x == *y)
		return true;
	return (*x ^ *y) & DEC_HEAP_OF_THREAD ||
	       (!(*x & DEC_HEAP_OF_THREAD) && !share_scope);
}

uint32_t hg_graph_node_at(struct hg_graph *g, uint64_t addr)
{
	uint32_t id = hg_owners_at(g, addr);

	if (id || (!g->n_empty && hg_owners_none(g, addr, 1)))
		return id;
	id = hg_index_floor(&g->live, addr);
	return id && g->nodes.data[id - 1].start == addr ? id : 0;
}

struct hg_node_id hg_graph_covers(const struct hg_graph *g, uint64_t addr)
{
	uint32_t id = hg_index_floor(&g->live, addr);
	const struct hg_node *n = id ? &g->nodes.data[id - 1] : NULL;

	// No address is an empty block's own, but a pointer to it there is.
	return (struct hg_node_id){ n && addr - n->start < n->size + !n->size ? id : 0 };
}

uint32_t hg_graph_ended_at(const struct hg_graph *g, uint64_t addr)
{
	for (uint32_t id = g->nodes.size; id; id--)
		if (g->nodes.data[id - 1].start == addr)
			return id;
	return 0;
}

// What is freed, so many times the nodes are looked at one by one; and so many statements are told.
#define RELEASES_LOOKED_AT 256
#define RELEASES_TOLD 64

struct err *hg_graph_free_wrong(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t rip)
{
	struct hg_release first = { time, addr, rip, {}, 1 }, *r;

	g->unknown_frees++;
	// Of nodes that were merged it cannot be told what is inside.
	if (!g->n_clusters)
		first.node = hg_graph_covers(g, addr);
	if (!first.node.v && g->unknown_frees <= RELEASES_LOOKED_AT)
		first.node.v = hg_graph_ended_at(g, addr);
	r = vec_find(&g->unknown, k, k->rip == rip && !k->node.v == !first.node.v);
	if (r)
		r->count++;
	else if (g->unknown.size < RELEASES_TOLD && vec_add(&g->unknown, first))
		return &err_nomem;
	return NULL;
}

struct err *hg_graph_free(struct hg_graph *g, uint64_t time, uint64_t addr, uint64_t rip)
{
	uint32_t id = hg_graph_node_at(g, addr);

	return id ? graph_end_node(g, time, id, rip) :
		    hg_graph_free_wrong(g, time, addr, rip);
}

void hg_graph_keep_outside(struct hg_graph *g)
{
	g->keeps_outside = true;
}

// One piece of a store: within one node and page, up to 8 bytes.
static struct err *graph_store_bytes(struct hg_graph *g, uint64_t start,
				     struct hg_page *p, struct hg_op *op,
				     const uint8_t *data)
{
	uint8_t *bytes = p->bytes ? p->bytes : hg_memory_bytes(g, p);

	if (!bytes)
		return &err_nomem;
	bytes += op->addr % HG_PAGE_BYTES;
	op->before = op->after = 0;
	hg_bytes_copy(&op->after, data, op->size);
	hg_bytes_copy(&op->before, bytes, op->size);
	hg_bytes_copy(bytes, data, op->size);
	return hg_log_store(&g->log, op, start) ? &err_nomem : NULL;
}

// The same across the end of a page.
static struct err *graph_store_torn(struct hg_graph *g, uint64_t start, struct hg_op *op,
				    const uint8_t *data)
{
	op->before = op->after = 0;
	memcpy(&op->after, data, op->size);
	for (uint32_t i = 0; i < op->size; i++) {
		uint64_t addr = op->addr + i;
		struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);
		uint8_t *bytes = p ? hg_memory_bytes(g, p) : NULL;

		if (!bytes)
			return &err_nomem;
		op->before |= (uint64_t)bytes[addr % HG_PAGE_BYTES] << 8 * i;
		bytes[addr % HG_PAGE_BYTES] = data[i];
	}
	return hg_log_store(&g->log, op, start) ? &err_nomem : NULL;
}

// What one node gets of a store, [op->addr, stop).
static struct err *graph_store_node(struct hg_graph *g, const struct hg_live *n,
				    struct hg_op *op, uint64_t stop, bool is_large,
				    const uint8_t *from)
{
	op->node.v = n->id;
	while (op->addr < stop) {
		// Large stores (vectors, system calls) are cut at words, so that no pointer
		// field is torn over two operations.
		uint64_t piece = is_large ? 8 - op->addr % 8 : 8;
		struct hg_page *p = hg_memory_page(g, op->addr / HG_PAGE_BYTES);
		struct err *err;

		op->size = piece < stop - op->addr ? piece : stop - op->addr;
		if (!p)
			return &err_nomem;
		if (op->addr % HG_PAGE_BYTES + op->size <= HG_PAGE_BYTES)
			err = graph_store_bytes(g, n->start, p, op, from);
		else
			err = graph_store_torn(g, n->start, op, from);
		if (err)
			return err;
		op->addr += op->size;
		from += op->size;
	}
	return NULL;
}

static struct err *graph_store_parts(struct hg_graph *g, struct hg_op *op, uint64_t end,
				     bool is_large, const uint8_t *from)
{
	struct err *err = NULL;

	while (op->addr < end && !err) {
		struct hg_live n = hg_owners_first(g, op->addr, end - op->addr);
		uint64_t outside = 0, stop = end, addr;

		if (!n.id)
			outside = end - op->addr;
		else if (n.start > op->addr)
			outside = n.start - op->addr;
		if (g->keeps_outside && hg_memory_put(g, op->addr, from, outside))
			return &err_nomem;
		if (!n.id)
			return NULL;
		addr = op->addr += outside;
		if (end - n.start > n.size)
			stop = n.start + n.size;
		err = graph_store_node(g, &n, op, stop, is_large, from + outside);
		from += outside + (op->addr - addr);
	}
	return err;
}

static inline struct err *graph_put_outside(struct hg_graph *g, struct hg_page *p,
					    uint32_t at, const void *data, uint32_t size)
{
	if (!g->keeps_outside || hg_page_put_words(p, at, data, size))
		return NULL;
	return hg_page_put(p, at, data, size) ? &err_nomem : NULL;
}

/* Whether page @p p tells at once which node gets all of a store within it; ret->id 0: none
 * gets any. */
static inline bool page_tells(const struct hg_graph *g, const struct hg_page *p,
			      uint64_t addr, uint32_t size, struct hg_live *ret)
{
	uint32_t granule = addr % HG_PAGE_BYTES / HG_GRANULE;
	const struct hg_extent *n;

	ret->id = 0;
	if (p->owned == HG_OWNED_NOT)
		return true;
	if (p->owned == HG_OWNED_UNKNOWN)
		return false;
	ret->id = p->owned == HG_OWNED_WHOLE ? p->whole : p->owners[granule];
	if (p->owned == HG_OWNED_IN_PARTS &&
	    (addr % HG_GRANULE + size > HG_GRANULE || ret->id == HG_CROWDED))
		return false;
	if (!ret->id)
		return true;
	n = &g->memory->extents.data[ret->id - 1];
	ret->start = n->start;
	ret->size = n->size;
	if (addr >= n->start && addr - n->start < n->size)
		return size <= n->size - (addr - n->start);
	ret->id = 0;
	return addr >= n->start || n->start - addr >= size;
}

struct err *hg_graph_store_page(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint32_t size, const void *data, uint64_t rip,
				struct hg_page *p)
{
	struct hg_op op = { .time = time, .kind = HG_OP_STORE, .rip = rip, .addr = addr };
	uint32_t at = addr % HG_PAGE_BYTES;
	struct hg_live n;

	if (at + size <= HG_PAGE_BYTES && size &&
	    page_tells(g, p, addr, size, &n)) { // as good as always
		if (!n.id)
			return graph_put_outside(g, p, at, data, size);
		op.node.v = n.id;
		op.size = size;
		if (size <= 8)
			return graph_store_bytes(g, n.start, p, &op, data);
	}
	return graph_store_parts(g, &op, addr + size < addr ? UINT64_MAX : addr + size,
				 size > 8, data);
}

struct err *hg_graph_store_awaited(struct hg_graph *g, uint64_t time, uint64_t addr,
				   uint32_t size, const void *data, uint64_t rip,
				   const struct hg_awaited *at)
{
	const struct hg_extent *n = &g->memory->extents.data[at->id - 1];
	struct hg_op op = { .time = time,
			    .kind = HG_OP_STORE,
			    .node.v = at->id,
			    .rip = rip,
			    .addr = addr,
			    .size = size };

	if (addr >= n->start && addr - n->start < n->size &&
	    size <= n->size - (addr - n->start)) // as good as always
		return graph_store_bytes(g, n->start, at->page, &op, data);
	return hg_graph_store_page(g, time, addr, size, data, rip, at->page);
}

struct err *hg_graph_store(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint32_t size, const void *data, uint64_t rip)
{
	struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);

	return p ? hg_graph_store_page(g, time, addr, size, data, rip, p) : &err_nomem;
}

void hg_graph_trim(struct hg_graph *g)
{
	hg_memory_destroy(g->memory);
	g->memory = NULL;
	vec_deinit(&g->patch);
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

const struct hg_release *hg_graph_unknown_free(const struct hg_graph *g, size_t i)
{
	return i < g->unknown.size ? &g->unknown.data[i] : NULL;
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

bool hg_graph_statement(const struct hg_graph *g, size_t i, uint64_t *ret)
{
	if (i >= g->log.rips.size)
		return false;
	*ret = g->log.rips.data[i];
	return true;
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

static bool node_covers(const struct hg_node *n, uint64_t addr)
{
	return addr >= n->start && addr - n->start < n->size;
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
