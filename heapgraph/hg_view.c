// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_int.h"

#include <assert.h>
#include <string.h>

#define BLOCK_NONE UINT64_MAX

/** Everything is made at creation, so that steps cannot fail. */
struct hg_view {
	const struct hg_graph *g;
	uint64_t n_ops;
	uint8_t *slab; ///< the pages, in the order of the graph's slots
	uint8_t **pages;
	struct hg_index live;
	uint64_t *is_live; ///< a bit a node
	struct hg_unpacker unpacker;
	uint64_t block; ///< which one is in ops, or BLOCK_NONE
	struct hg_decoded ops[HG_BLOCK_OPS];
};

static size_t live_words(const struct hg_graph *g)
{
	return g->nodes.size / 64 + 1;
}

static void view_set_live(struct hg_view *v, uint32_t id, bool is_live)
{
	uint64_t bit = 1ull << id % 64;

	if (is_live) {
		hg_index_insert(&v->live, v->g->nodes.data[id - 1].start, id);
		v->is_live[id / 64] |= bit;
	} else {
		hg_index_remove(&v->live, v->g->nodes.data[id - 1].start);
		v->is_live[id / 64] &= ~bit;
	}
}

static void view_set_all_live(struct hg_view *v, const struct hg_index *live)
{
	for (size_t i = 0; i < live->leaves.size; i++) {
		const struct hg_leaf *l = live->leaves.data[i].leaf;

		for (uint32_t k = 0; k < l->n; k++)
			view_set_live(v, l->id[k], true);
	}
}

// Go to the graph's very beginning, or to its end, at once.
static void view_reset(struct hg_view *v, bool at_end)
{
	const struct hg_graph *g = v->g;

	hg_index_clear(&v->live);
	memset(v->is_live, 0, live_words(g) * sizeof(*v->is_live));
	v->n_ops = at_end ? g->log.n_ops : 0;
	if (!at_end) {
		memset(v->slab, 0, g->image.pages.size * HG_PAGE_BYTES);
		return;
	}
	for (size_t i = 0; i < g->image.pages.size; i++)
		memcpy(v->pages[i], g->image.pages.data[i], HG_PAGE_BYTES);
	view_set_all_live(v, &g->live);
}

/* An empty one. */
static struct err *view_make(const struct hg_graph *g, struct hg_view **ret)
{
	size_t n_pages = g->image.pages.size;
	_cleanup_(hg_view_destroyp) struct hg_view *v = calloc(1, sizeof(*v));

	if (!v)
		return &err_nomem;
	v->g = g;
	v->block = BLOCK_NONE;
	v->slab = malloc(n_pages * HG_PAGE_BYTES + 1);
	v->pages = calloc(n_pages + 1, sizeof(*v->pages));
	v->is_live = calloc(live_words(g), sizeof(*v->is_live));
	if (!v->slab || !v->pages || !v->is_live ||
	    hg_index_reserve(&v->live, g->peak_live) ||
	    hg_log_unpacker(&g->log, &v->unpacker))
		return &err_nomem;
	for (size_t i = 0; i < n_pages; i++)
		v->pages[i] = v->slab + i * HG_PAGE_BYTES;
	*ret = take_ptr(&v);
	return NULL;
}

struct err *hg_view_create(const struct hg_graph *g, uint64_t n_ops, struct hg_view **ret)
{
	struct err *err = view_make(g, ret);

	if (err)
		return err;
	view_reset(*ret, n_ops > g->log.n_ops / 2);
	hg_view_seek(*ret, n_ops);
	return NULL;
}

struct err *hg_view_copy(const struct hg_view *v, struct hg_view **ret)
{
	struct err *err = view_make(v->g, ret);

	if (err)
		return err;
	memcpy((*ret)->slab, v->slab, v->g->image.pages.size * HG_PAGE_BYTES);
	view_set_all_live(*ret, &v->live);
	(*ret)->n_ops = v->n_ops;
	return NULL;
}

void hg_view_destroy(struct hg_view *v)
{
	if (!v)
		return;
	hg_index_deinit(&v->live);
	hg_unpacker_deinit(&v->unpacker);
	free(v->slab);
	free(v->pages);
	free(v->is_live);
	free(v);
}

void hg_view_destroyp(struct hg_view **v)
{
	hg_view_destroy(*v);
}

const struct hg_graph *hg_view_graph(const struct hg_view *v)
{
	return v->g;
}

uint64_t hg_view_ops(const struct hg_view *v)
{
	return v->n_ops;
}

/* ---- steps ---------------------------------------------------------------------- */

static const struct hg_decoded *view_decode(struct hg_view *v, uint64_t index)
{
	if (index / HG_BLOCK_OPS != v->block) {
		v->block = index / HG_BLOCK_OPS;
		hg_log_decode(v->g, v->block, &v->unpacker, v->ops);
	}
	return &v->ops[index % HG_BLOCK_OPS];
}

static void view_patch(struct hg_view *v, const struct hg_decoded *d)
{
	const struct hg_node *n = hg_graph_node(v->g, d->op.node);

	hg_log_apply_patch(d->patch, n->start, n->size, &v->g->image.slots, v->pages);
}

static void view_write(struct hg_view *v, const struct hg_op *op, uint64_t value)
{
	uint8_t *page =
		hg_image_page(&v->g->image.slots, v->pages, op->addr / HG_PAGE_BYTES);
	uint64_t off = op->addr % HG_PAGE_BYTES;

	if (off + op->size <= HG_PAGE_BYTES)
		memcpy(page + off, &value, op->size);
	else
		hg_image_write(&v->g->image.slots, v->pages, op->addr, &value, op->size);
}

void hg_view_peek(struct hg_view *v, struct hg_op *ret)
{
	assert(v->n_ops);
	*ret = view_decode(v, v->n_ops - 1)->op;
}

void hg_view_back(struct hg_view *v, struct hg_op *ret)
{
	const struct hg_decoded *d;

	assert(v->n_ops);
	d = view_decode(v, --v->n_ops);
	switch (d->op.kind) {
	case HG_OP_ALLOC:
		view_set_live(v, d->op.node.v, false);
		view_patch(v, d);
		break;
	case HG_OP_FREE:
		view_set_live(v, d->op.node.v, true);
		break;
	case HG_OP_STORE:
		view_write(v, &d->op, d->op.before);
		break;
	}
	if (ret)
		*ret = d->op;
}

bool hg_view_forward(struct hg_view *v, struct hg_op *ret)
{
	const struct hg_decoded *d;

	if (v->n_ops == v->g->log.n_ops)
		return false;
	d = view_decode(v, v->n_ops++);
	switch (d->op.kind) {
	case HG_OP_ALLOC:
		view_patch(v, d);
		view_set_live(v, d->op.node.v, true);
		break;
	case HG_OP_FREE:
		view_set_live(v, d->op.node.v, false);
		break;
	case HG_OP_STORE:
		view_write(v, &d->op, d->op.after);
		break;
	}
	if (ret)
		*ret = d->op;
	return true;
}

void hg_view_seek(struct hg_view *v, uint64_t n_ops)
{
	uint64_t total = v->g->log.n_ops;
	uint64_t way = n_ops > v->n_ops ? n_ops - v->n_ops : v->n_ops - n_ops;
	// A reset costs a page copy a page, about as much as a hundred steps.
	uint64_t reset = 100 * (uint64_t)v->g->image.pages.size + v->g->live.size;

	assert(n_ops <= total);
	if (n_ops < v->n_ops && n_ops + reset < way)
		view_reset(v, false);
	else if (n_ops > v->n_ops && total - n_ops + reset < way)
		view_reset(v, true);
	while (v->n_ops > n_ops)
		hg_view_back(v, NULL);
	while (v->n_ops < n_ops)
		hg_view_forward(v, NULL);
}

/* ---- questions -------------------------------------------------------------------- */

bool hg_view_is_live(const struct hg_view *v, struct hg_node_id id)
{
	return id.v && id.v <= v->g->nodes.size && v->is_live[id.v / 64] >> id.v % 64 & 1;
}

bool hg_view_read(const struct hg_view *v, struct hg_node_id id, uint64_t offset,
		  uint32_t size, uint64_t *ret)
{
	const struct hg_node *n = hg_graph_node(v->g, id);

	assert(size >= 1 && size <= 8);
	if (!hg_view_is_live(v, id) || n->is_bare || size > n->size ||
	    offset > n->size - size)
		return false;
	*ret = 0;
	hg_image_read(&v->g->image.slots, v->pages, n->start + offset, ret, size);
	return true;
}

struct hg_node_id hg_view_find(const struct hg_view *v, uint64_t addr)
{
	struct hg_node_id id = { hg_index_floor(&v->live, addr) };

	if (id.v &&
	    addr - hg_graph_node(v->g, id)->start >= hg_graph_node(v->g, id)->size)
		id.v = 0;
	return id;
}

// The last operation of a block's first n that wrote the byte, or n.
static uint32_t block_last_write(const struct hg_decoded *ops, uint32_t n, uint32_t node,
				 uint64_t addr)
{
	for (uint32_t i = n; i--;) {
		const struct hg_op *op = &ops[i].op;

		if (op->node.v != node)
			continue;
		if (op->kind == HG_OP_ALLOC ||
		    (op->kind == HG_OP_STORE && addr >= op->addr &&
		     addr - op->addr < op->size))
			return i;
	}
	return n;
}

uint64_t hg_view_last_write(const struct hg_view *v, struct hg_node_id id,
			    uint64_t offset)
{
	struct hg_decoded ops[HG_BLOCK_OPS];
	uint64_t addr = hg_graph_node(v->g, id)->start + offset;
	uint64_t end = v->n_ops;
	uint32_t node = id.v;

	while (end) {
		uint64_t block = (end - 1) / HG_BLOCK_OPS;
		uint32_t n = end - block * HG_BLOCK_OPS, at, before;

		end = block * HG_BLOCK_OPS;
		if (!(v->g->log.blocks.data[block].node_filter >> node % 64 & 1))
			continue;
		hg_log_decode_aside(v->g, block, ops);
		at = block_last_write(ops, n, node, addr);
		if (at == n)
			continue;
		end += at;
		before = ops[at].op.kind == HG_OP_ALLOC ?
				 hg_graph_before(v->g, node, addr) :
				 0;
		if (!before)
			return end;
		node = before;
	}
	assert(!"a node without an ALLOC in the view");
	return 0;
}

uint64_t hg_view_last_write_of(const struct hg_view *v, struct hg_node_id id,
			       uint64_t addr, uint32_t size)
{
	const struct hg_node *n = hg_graph_node(v->g, id);
	uint64_t last = 0;

	for (uint64_t at = addr - n->start; size && at < n->size; at++, size--) {
		uint64_t index = hg_view_last_write(v, id, at);

		last = index > last ? index : last;
	}
	return last;
}

static struct hg_node_id view_next_any(const struct hg_view *v, uint32_t id)
{
	size_t words = live_words(v->g), word = id / 64;
	uint64_t bits = v->is_live[word] & ~0ull << id % 64;

	while (!bits && ++word < words)
		bits = v->is_live[word];
	return (struct hg_node_id){ bits ? word * 64 + __builtin_ctzll(bits) : 0 };
}

struct hg_node_id hg_view_next(const struct hg_view *v, uint32_t type,
			       struct hg_node_id prev)
{
	const struct hg_type_nodes *t;

	if (prev.v >= v->g->nodes.size)
		return (struct hg_node_id){ 0 };
	if (!type)
		return view_next_any(v, prev.v + 1);
	if (type > v->g->types.size)
		return (struct hg_node_id){ 0 };
	t = &v->g->types.data[type - 1];
	for (size_t k = vec_rank(t->size, i, t->data[i] <= prev.v); k < t->size; k++)
		if (hg_view_is_live(v, (struct hg_node_id){ t->data[k] }))
			return (struct hg_node_id){ t->data[k] };
	return (struct hg_node_id){ 0 };
}
