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

/** A node that covers some of a grain. */
struct cover {
	uint32_t node;
	uint32_t before; ///< of the same grain: index of the next older one + 1; 0: none
};

struct hg_trails {
	const struct hg_graph *g;
	struct map words;    ///< address / 8 -> its number, from 1
	uint32_t *stores;    ///< indices of operations, word by word, ascending
	VEC(uint64_t) first; ///< in stores, of word number n; that of n + 1 ends them
	uint32_t *allocs;    ///< index of the operation with which a node began, by id
	struct hg_unpacker unpacker;
	uint64_t block; ///< which one is in `decoded`
	struct hg_decoded decoded[HG_BLOCK_OPS];
	VEC(struct hg_view *) views; ///< ascending
	struct map grains;	     ///< grain -> index of its last entry + 1
	VEC(struct cover) covers;
	VEC(uint32_t) large; ///< nodes that cover more grains, ascending
};

void hg_trails_destroy(struct hg_trails *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->views.size; i++)
		hg_view_destroy(t->views.data[i]);
	vec_deinit(&t->views);
	vec_deinit(&t->covers);
	vec_deinit(&t->large);
	map_deinit(&t->grains);
	hg_unpacker_deinit(&t->unpacker);
	map_deinit(&t->words);
	free(t->stores);
	free(t->allocs);
	vec_deinit(&t->first);
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

/* Number the words, and count the stores of each. first[n + 2] counts those of number n. */
static struct err *count_stores(struct hg_trails *t, uint64_t *n_stores)
{
	struct err *err = NULL;

	for (int i = 0; i < 3 && !err; i++)
		err = vec_add(&t->first, 0);
	for (uint64_t i = 0; i < t->g->log.n_ops && !err; i++) {
		const struct hg_op *op = trails_op(t, i);

		if (op->kind == HG_OP_ALLOC)
			t->allocs[op->node.v] = i;
		for (uint64_t word = first_word(op);
		     op->kind == HG_OP_STORE && word <= last_word(op) && !err; word++) {
			const uint64_t *number = map_get(&t->words, word);
			uint64_t next = t->first.size - 2;

			if (!number) {
				err = map_put(&t->words, word, next) ?
					      &err_nomem :
					      vec_add(&t->first, 0);
				number = &next;
			}
			if (!err)
				t->first.data[*number + 2]++;
			*n_stores += 1;
		}
	}
	return err;
}

static struct err *list_stores(struct hg_trails *t)
{
	uint64_t n = t->g->log.n_ops, n_stores = 0;
	struct err *err;

	if (n > UINT32_MAX)
		return err_new(ERR_RANGE, "more than %u changes of the heap", UINT32_MAX);
	t->allocs = calloc(t->g->nodes.size + 1, sizeof(*t->allocs));
	err = t->allocs ? count_stores(t, &n_stores) : &err_nomem;
	if (err)
		return err;
	t->stores = malloc((n_stores + 1) * sizeof(*t->stores));
	if (!t->stores)
		return &err_nomem;
	for (size_t k = 1; k < t->first.size; k++)
		t->first.data[k] += t->first.data[k - 1];
	// Where the next one of number n belongs is first[n + 1], which so becomes that of n + 1.
	for (uint64_t i = 0; i < n; i++) {
		const struct hg_op *op = trails_op(t, i);

		for (uint64_t word = first_word(op);
		     op->kind == HG_OP_STORE && word <= last_word(op); word++)
			t->stores[t->first.data[*map_get(&t->words, word) + 1]++] = i;
	}
	return NULL;
}

/* Where each node was, in the order of birth. */
static struct err *list_grains(struct hg_trails *t)
{
	struct err *err = NULL;

	for (uint32_t id = 1; id <= t->g->nodes.size && !err; id++) {
		const struct hg_node *n = &t->g->nodes.data[id - 1];
		uint64_t grain = n->start / GRAIN;
		uint64_t last = n->size ? (n->start + n->size - 1) / GRAIN : 0;

		if (n->size && last - grain >= GRAINS_MOST) {
			err = vec_add(&t->large, id);
			continue;
		}
		for (; n->size && grain <= last && !err; grain++) {
			const uint64_t *older = map_get(&t->grains, grain);

			err = vec_add(&t->covers,
				      (struct cover){ id, older ? *older : 0 });
			if (!err && map_put(&t->grains, grain, t->covers.size))
				err = &err_nomem;
		}
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
		err = list_grains(t);
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

static bool covered(const struct hg_trails *t, uint32_t id, uint64_t addr, uint64_t time)
{
	const struct hg_node *n = &t->g->nodes.data[id - 1];

	return n->born <= time && addr >= n->start && addr - n->start < n->size;
}

struct hg_node_id hg_trails_find(const struct hg_trails *t, uint64_t addr, uint64_t time)
{
	const uint64_t *last = map_get(&t->grains, addr / GRAIN);
	uint32_t at = last ? *last : 0, i = t->large.size;

	while (at && !covered(t, t->covers.data[at - 1].node, addr, time))
		at = t->covers.data[at - 1].before;
	at = at ? t->covers.data[at - 1].node : 0;
	// Ids are in order of birth: only a younger one hides it.
	while (i && t->large.data[i - 1] > at &&
	       !covered(t, t->large.data[i - 1], addr, time))
		i--;
	return (struct hg_node_id){ i && t->large.data[i - 1] > at ?
					    t->large.data[i - 1] :
					    at };
}

/* How many stores to word number @p n are before operation number @p end. */
static uint64_t stores_before(const struct hg_trails *t, uint64_t n, uint64_t end)
{
	const uint32_t *stores = t->stores + t->first.data[n];
	uint64_t low = 0, high = t->first.data[n + 1] - t->first.data[n];

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (stores[middle] < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last store before operation number @p end into node @p id, to one of the @p size bytes at @p addr that
 * are of @p word; 0: none. */
static uint64_t last_store(struct hg_trails *t, uint32_t id, uint64_t word, uint64_t addr,
			   uint32_t size, uint64_t end)
{
	const uint64_t *n = map_get(&t->words, word);
	uint64_t k = n ? stores_before(t, *n, end) : 0;

	while (k--) {
		uint64_t index = t->stores[t->first.data[*n] + k];
		const struct hg_op *op;

		if (index < t->allocs[id])
			break;
		op = trails_op(t, index);
		if (op->node.v == id && addr < op->addr + op->size &&
		    op->addr < addr + size)
			return index;
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

void hg_trails_last_writes(struct hg_trails *t, uint64_t n_ops, struct hg_written *w,
			   size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = hg_graph_node(t->g, w[i].node)->start + w[i].offset;
		const struct hg_op *op;

		w[i].index = hg_trails_last_write(t, n_ops, w[i].node, addr, 1);
		op = trails_op(t, w[i].index);
		w[i].time = op->time;
		w[i].rip = op->rip;
	}
}
