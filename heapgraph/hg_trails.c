// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Of each word of the heap which operations wrote it, whatever node it was: what wrote it last before an instant is
 * looked up in these. Of each piece of its addresses which nodes were there. Views at equal distances: the one
 * before an instant is near it.
 */
#include "heapgraph/hg_int.h"

#include <assert.h>

#define VIEWS 64
#define GRAIN 256			// bytes of addresses
#define GRAINS_MOST 64			// that a node is listed at
#define VIEWS_BYTES ((size_t)256 << 20) // of all of them, about

/** Numbers by key, those of a key ascending, one array behind another. */
struct listing {
	struct map keys;     ///< key -> its own number, from 1
	VEC(uint64_t) first; ///< in items, of key number n; that of n + 1 ends them
	uint32_t *items;
};

struct hg_trails {
	const struct hg_graph *g;
	struct listing stores; ///< by address / 8: indices of operations
	struct listing
		covers;	     ///< by address / GRAIN: nodes, but for those that are large
	VEC(uint32_t) large; ///< nodes that cover more grains than GRAINS_MOST, ascending
	uint32_t *allocs;    ///< index of the operation with which a node began, by id
	struct hg_unpacker unpacker;
	uint64_t block; ///< which one is in `decoded`
	struct hg_decoded decoded[HG_BLOCK_OPS];
	VEC(struct hg_view *) views; ///< ascending
};

/* ---- listings: each key is counted, then there is room, then each number put where it belongs ------- */

static void listing_deinit(struct listing *l)
{
	map_deinit(&l->keys);
	vec_deinit(&l->first);
	free(l->items);
}

/* first[n + 2] counts those of key number n. */
static struct err *listing_count(struct listing *l, uint64_t key)
{
	const uint64_t *number = map_get(&l->keys, key);
	uint64_t next;

	while (l->first.size < 3)
		if (vec_add(&l->first, 0))
			return &err_nomem;
	next = l->first.size - 2;
	if (!number && (map_put(&l->keys, key, next) || vec_add(&l->first, 0)))
		return &err_nomem;
	l->first.data[(number ? *number : next) + 2]++;
	return NULL;
}

/* Where the next one of number n belongs is first[n + 1] from here on, which so becomes that of n + 1. */
static struct err *listing_make_room(struct listing *l)
{
	for (size_t k = 1; k < l->first.size; k++)
		l->first.data[k] += l->first.data[k - 1];
	l->items = malloc(((l->first.size ? l->first.data[l->first.size - 1] : 0) + 1) *
			  sizeof(*l->items));
	return l->items ? NULL : &err_nomem;
}

static void listing_put(struct listing *l, uint64_t key, uint32_t item)
{
	l->items[l->first.data[*map_get(&l->keys, key) + 1]++] = item;
}

/* Those of @p key, *@p n of them. */
static const uint32_t *listing_of(const struct listing *l, uint64_t key, uint64_t *n)
{
	const uint64_t *number = map_get(&l->keys, key);

	*n = number ? l->first.data[*number + 1] - l->first.data[*number] : 0;
	return number ? l->items + l->first.data[*number] : NULL;
}

void hg_trails_destroy(struct hg_trails *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->views.size; i++)
		hg_view_destroy(t->views.data[i]);
	vec_deinit(&t->views);
	listing_deinit(&t->stores);
	listing_deinit(&t->covers);
	vec_deinit(&t->large);
	hg_unpacker_deinit(&t->unpacker);
	free(t->allocs);
	free(t);
}

void hg_trails_destroyp(struct hg_trails **t)
{
	hg_trails_destroy(*t);
}

/* ---- made once ---------------------------------------------------------------------------------- */

static const struct hg_op *trails_op(struct hg_trails *t, uint64_t index)
{
	if (index / HG_BLOCK_OPS != t->block) {
		t->block = index / HG_BLOCK_OPS;
		hg_log_decode(t->g, t->block, &t->unpacker, t->decoded);
	}
	return &t->decoded[index % HG_BLOCK_OPS].op;
}

/** A store's words. */
static uint64_t first_word(const struct hg_op *op)
{
	return op->addr / 8;
}

static uint64_t last_word(const struct hg_op *op)
{
	return (op->addr + op->size - 1) / 8;
}

static struct err *list_stores(struct hg_trails *t)
{
	uint64_t n = t->g->log.n_ops;
	struct err *err = NULL;

	if (n > UINT32_MAX)
		return err_new(ERR_RANGE, "more than %u changes of the heap", UINT32_MAX);
	t->allocs = calloc(t->g->nodes.size + 1, sizeof(*t->allocs));
	if (!t->allocs)
		return &err_nomem;
	for (int is_put = 0; is_put < 2 && !err; is_put++) {
		for (uint64_t i = 0; i < n && !err; i++) {
			const struct hg_op *op = trails_op(t, i);

			if (op->kind == HG_OP_ALLOC)
				t->allocs[op->node.v] = i;
			for (uint64_t word = first_word(op);
			     op->kind == HG_OP_STORE && word <= last_word(op) && !err;
			     word++)
				if (is_put)
					listing_put(&t->stores, word, i);
				else
					err = listing_count(&t->stores, word);
		}
		if (!err && !is_put)
			err = listing_make_room(&t->stores);
	}
	return err;
}

/* Where each node was, in the order of birth. */
static struct err *list_covers(struct hg_trails *t)
{
	struct err *err = NULL;

	for (int is_put = 0; is_put < 2 && !err; is_put++) {
		for (uint32_t id = 1; id <= t->g->nodes.size && !err; id++) {
			const struct hg_node *n = &t->g->nodes.data[id - 1];
			uint64_t grain = n->start / GRAIN;
			uint64_t end = n->size ? (n->start + n->size - 1) / GRAIN + 1 :
						 grain;
			bool is_large = end - grain > GRAINS_MOST;

			if (is_large && is_put)
				err = vec_add(&t->large, id);
			for (; !is_large && grain < end && !err; grain++)
				if (is_put)
					listing_put(&t->covers, grain, id);
				else
					err = listing_count(&t->covers, grain);
		}
		if (!err && !is_put)
			err = listing_make_room(&t->covers);
	}
	return err;
}

static struct err *lay_views(struct hg_trails *t)
{
	size_t bytes =
		t->g->image.pages.size * HG_PAGE_BYTES + t->g->nodes.size / 8 + 4096;
	uint64_t n = VIEWS_BYTES / bytes < VIEWS ? VIEWS_BYTES / bytes : VIEWS;
	_cleanup_(hg_view_destroyp) struct hg_view *going = NULL;
	struct err *err = n ? hg_view_create(t->g, 0, &going) : NULL;

	for (uint64_t i = 1; i < n && !err; i++) {
		struct hg_view *at;

		hg_view_seek(going, t->g->log.n_ops / n * i);
		err = hg_view_copy(going, &at);
		if (!err && vec_add(&t->views, at)) {
			hg_view_destroy(at);
			err = &err_nomem;
		}
	}
	return err;
}

struct err *hg_trails_create(const struct hg_graph *g, struct hg_trails **ret)
{
	_cleanup_(hg_trails_destroyp) struct hg_trails *t = calloc(1, sizeof(*t));
	struct err *err;

	if (!t)
		return &err_nomem;
	t->g = g;
	t->block = UINT64_MAX;
	err = hg_log_unpacker(&g->log, &t->unpacker) ? &err_nomem : list_stores(t);
	if (!err)
		err = list_covers(t);
	if (!err)
		err = lay_views(t);
	if (err)
		return err;
	*ret = take_ptr(&t);
	return NULL;
}

/* ---- asked ----------------------------------------------------------------------------------------- */

struct err *hg_trails_view(const struct hg_trails *t, uint64_t n_ops,
			   struct hg_view **ret)
{
	const struct hg_view *near = NULL;
	struct err *err;

	for (size_t i = 0; i < t->views.size && hg_view_ops(t->views.data[i]) <= n_ops;
	     i++)
		near = t->views.data[i];
	if (!near)
		return hg_view_create(t->g, n_ops, ret);
	err = hg_view_copy(near, ret);
	if (!err)
		hg_view_seek(*ret, n_ops);
	return err;
}

/* The last of the @p n nodes @p ids that was born at @p time or before and covers @p addr; 0: none. */
static uint32_t last_covering(const struct hg_trails *t, const uint32_t *ids, uint64_t n,
			      uint64_t addr, uint64_t time)
{
	const struct hg_node *nodes = t->g->nodes.data;
	uint64_t k = vec_rank(n, i, nodes[ids[i] - 1].born <= time);

	while (k--) {
		const struct hg_node *one = &nodes[ids[k] - 1];

		if (addr >= one->start && addr - one->start < one->size)
			return ids[k];
	}
	return 0;
}

struct hg_node_id hg_trails_find(const struct hg_trails *t, uint64_t addr, uint64_t time)
{
	uint64_t n;
	const uint32_t *ids = listing_of(&t->covers, addr / GRAIN, &n);
	uint32_t small = last_covering(t, ids, n, addr, time);
	uint32_t large = last_covering(t, t->large.data, t->large.size, addr, time);

	// Ids are in order of birth: the younger one hides the other.
	return (struct hg_node_id){ small > large ? small : large };
}

/* The last store before operation number @p end into node @p id, to one of the @p size bytes at @p addr that
 * are of @p word; 0: none. */
static uint64_t last_store(struct hg_trails *t, uint32_t id, uint64_t word, uint64_t addr,
			   uint32_t size, uint64_t end)
{
	uint64_t n;
	const uint32_t *stores = listing_of(&t->stores, word, &n);
	uint64_t k = vec_rank(n, i, stores[i] < end);

	while (k-- && stores[k] >= t->allocs[id]) {
		const struct hg_op *op = trails_op(t, stores[k]);

		if (op->node.v == id && addr < op->addr + op->size &&
		    op->addr < addr + size)
			return stores[k];
	}
	return 0;
}

uint64_t hg_trails_last_write(struct hg_trails *t, uint64_t n_ops, struct hg_node_id id,
			      uint64_t addr, uint32_t size)
{
	uint32_t node = id.v;
	uint64_t end = n_ops;

	for (;;) {
		const struct hg_node *n = &t->g->nodes.data[node - 1];
		uint64_t room = n->start + n->size - addr, last = 0;
		uint32_t bytes = size < room ? size : room;

		for (uint64_t word = addr / 8; word <= (addr + bytes - 1) / 8; word++) {
			uint64_t one = last_store(t, node, word, addr, bytes, end);

			last = one > last ? one : last;
		}
		if (last)
			return last;
		end = t->allocs[node];
		node = hg_graph_before(t->g, node, addr);
		if (!node)
			return end;
	}
}

/** One of several bytes that are asked about. */
struct question {
	uint64_t likely; ///< an operation near the answer
	size_t number;
};

static int by_likely(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return x->likely < y->likely ? -1 : x->likely > y->likely;
}

/* In the order of the log: operations that lie together are unpacked once. */
struct err *hg_trails_last_writes(struct hg_trails *t, uint64_t n_ops,
				  struct hg_written *w, size_t n)
{
	_cleanup_free_ struct question *q = calloc(n + 1, sizeof(*q));

	if (!q)
		return &err_nomem;
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = hg_graph_node(t->g, w[i].node)->start + w[i].offset, of,
			 k;
		const uint32_t *stores = listing_of(&t->stores, addr / 8, &of);

		k = vec_rank(of, j, stores[j] < n_ops);
		q[i] = (struct question){ k ? stores[k - 1] : t->allocs[w[i].node.v], i };
	}
	qsort(q, n, sizeof(*q), by_likely);
	for (size_t i = 0; i < n; i++) {
		struct hg_written *one = &w[q[i].number];
		uint64_t addr = hg_graph_node(t->g, one->node)->start + one->offset;
		const struct hg_op *op;

		one->index = hg_trails_last_write(t, n_ops, one->node, addr, 1);
		op = trails_op(t, one->index);
		one->time = op->time;
		one->rip = op->rip;
	}
	return NULL;
}
