// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pointers that lead to one node. In a tree no two children are one, and what a list's `next`
 * leads to, another's `prev` may lead to, too: which meet, the heap shows as it was last right.
 */
#include "faultlocate/fl_cure.h"

#define NODES_MAX 100000
#define PAST_HEAPS 16	// before the operation
#define POINTERS_MAX 16 // of a node; with more there, what is asked is common

/** Pointers into a node. */
struct kinds {
	struct fl_cures *c;
	struct hg_node_id to;
	const struct fl_alteration * not ; ///< NULL, or one that does not count
	uint64_t shape[POINTERS_MAX];
	size_t n;
	struct err *err;
};

static uint64_t pair_key(uint64_t a, uint64_t b)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return (low * 0x9e3779b97f4a7c15u ^ high) >> 1; // never MAP_EMPTY_KEY
}

static uint64_t shape_of(const struct fl_cures *c, uint32_t node, uint64_t offset)
{
	return fl_field_shape(c->s.t->spec, c->s.t->graph, (struct hg_node_id){ node },
			      offset);
}

// A pointer to the node that it is in goes with the node's own number.
static uint64_t self_key(uint64_t shape)
{
	return pair_key(shape, UINT64_MAX);
}

static void add_kind(void *ctx, uint32_t owner, uint64_t offset)
{
	struct kinds *k = ctx;

	if (k->n < POINTERS_MAX &&
	    !(k->not &&owner == k->not ->node.v && offset == k->not ->offset))
		k->shape[k->n++] = shape_of(k->c, owner, offset);
}

static void add_pairs(void *ctx, uint32_t owner, uint64_t offset)
{
	struct kinds *k = ctx;
	uint64_t shape = shape_of(k->c, owner, offset);

	if (!k->err && owner == k->to.v && map_put(&k->c->pairs, self_key(shape), 1))
		k->err = &err_nomem;
	for (size_t i = 0; i < k->n && !k->err; i++)
		if (map_put(&k->c->pairs, pair_key(shape, k->shape[i]), 1))
			k->err = &err_nomem;
	add_kind(k, owner, offset);
}

// Those of the heap as v shows it. @p left: nodes that may be looked at.
static struct err *add_heap(struct fl_cures *c, const struct hg_view *v, size_t *left)
{
	struct hg_node_id id = { 0 };
	struct spec_eval *eval;
	struct err *err = spec_eval_create(c->s.t->spec, c->s.t->graph, v, &eval);

	if (err)
		return err;
	for (; *left && !err; --*left) {
		struct kinds k = { .c = c };

		id = hg_view_next(v, 0, id);
		if (!id.v)
			break;
		k.to = id;
		if (fl_search_node(&c->s, id)->type)
			err = spec_pointers(eval, id, add_pairs, &k);
		if (!err)
			err = k.err;
	}
	spec_eval_destroy(eval);
	return err;
}

// Those of the heap as it was before the operation, when it was right, and before others that came
// before: what leads to one node may part and meet again.
static struct err *find_pairs(struct fl_cures *c)
{
	const fl_bounds *b = c->s.q->bounds;
	size_t left = NODES_MAX, n = vec_rank(b->size, i, b->data[i] < c->s.since);
	struct err *err = add_heap(c, c->before, &left);

	c->has_pairs = true;
	for (size_t i = 0; i < PAST_HEAPS && i < n && !err; i++) {
		struct hg_view *v;

		err = hg_view_create(c->s.t->graph, b->data[n - 1 - i], &v);
		if (err)
			return err;
		err = add_heap(c, v, &left);
		hg_view_destroy(v);
	}
	return err;
}

// Was it there before the store, or before the operation? Then the store would have been for
// nothing.
static bool is_former(const struct fl_cures *c, const struct fl_alteration *x)
{
	struct hg_op last = hg_graph_op(
		c->s.t->graph, hg_view_last_write(c->s.view, x->node, x->offset));
	uint64_t before;

	if (last.kind == HG_OP_STORE && last.before == x->value)
		return true;
	return hg_view_is_live(c->before, x->node) &&
	       hg_view_read(c->before, x->node, x->offset, x->size, &before) &&
	       before == x->value;
}

struct err *fl_cure_is_odd(struct fl_cures *c, const struct fl_alteration *x, bool *ret)
{
	struct kinds k = { .c = c, .not = x };
	struct err *err = NULL;
	uint64_t shape;

	*ret = false;
	if (x->size == 8)
		k.to = hg_view_find(c->s.view, x->value);
	if (!k.to.v || !fl_search_node(&c->s, k.to)->type)
		return NULL;
	*ret = is_former(c, x);
	if (!c->has_pairs)
		err = find_pairs(c);
	if (!err)
		err = spec_pointers(c->s.eval, k.to, add_kind, &k);
	shape = shape_of(c, x->node.v, x->offset);
	*ret |= k.to.v == x->node.v && !map_get(&c->pairs, self_key(shape));
	for (size_t i = 0; i < k.n; i++)
		*ret |= !map_get(&c->pairs, pair_key(shape, k.shape[i]));
	return err;
}
