// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/fold.h"

#include <stdlib.h>

// A chain of so many nodes is cut: its first and last ones are shown.
#define CHAIN_MIN 9
#define CHAIN_HEAD 3
#define CHAIN_TAIL 2

/* A tree over all nodes, each below the node that it was first reached from. */
struct forest {
	const struct fl_namer *n;
	const struct hg_view *view;
	VEC(uint32_t) ids;     ///< in breadth-first order, roots as they are begun
	VEC(uint32_t) parent;  ///< index + 1; 0: a root
	VEC(uint32_t) n_below; ///< nodes of the subtree, itself included
	VEC(uint32_t) depth;
	VEC(uint32_t) n_children;
	VEC(uint32_t) child; ///< index + 1 of the last one found; 0: none
	// Index + 1 of the first node of the chain's middle that it is in; 0: it is in none.
	VEC(uint32_t) middle;
	struct map index; ///< id -> index + 1
	struct map is_target;
};

/* Where pointer field @p f of node @p id leads to. @return {0} for no live node. */
static struct hg_node_id target_of(const struct hg_view *view, uint32_t id,
				   const struct dec_field *f)
{
	uint64_t addr;

	if (!f->is_pointer || f->size != 8 ||
	    !hg_view_read(view, (struct hg_node_id){ id }, f->offset, 8, &addr))
		return (struct hg_node_id){ 0 };
	return hg_view_find(view, addr);
}

/* The next node of a declared type that a field of @p id leads to; @p i: the field. */
static uint32_t next_target(const struct forest *f, uint32_t id, uint64_t *i)
{
	struct hg_node_id node = { id };
	struct dec_field field;
	char name[8];

	while (report_name_field(f->n, node, ++*i, &field, name, sizeof(name))) {
		struct hg_node_id to = target_of(f->view, id, &field);

		if (to.v && to.v != id && hg_graph_node(f->n->graph, to)->type)
			return to.v;
	}
	return 0;
}

static int forest_add(struct forest *f, uint32_t id, uint32_t parent)
{
	uint32_t *id_slot = vec_push(&f->ids), *parent_slot = vec_push(&f->parent),
		 *below = vec_push(&f->n_below), *depth = vec_push(&f->depth),
		 *children = vec_push(&f->n_children), *child = vec_push(&f->child),
		 *middle = vec_push(&f->middle);

	if (!id_slot || !parent_slot || !below || !depth || !children || !child ||
	    !middle || map_put(&f->index, id, f->ids.size))
		return -1;
	*id_slot = id;
	*parent_slot = parent;
	*below = *depth = 1;
	*children = *child = *middle = 0;
	if (parent) {
		f->n_children.data[parent - 1]++;
		f->child.data[parent - 1] = f->ids.size;
	}
	return 0;
}

/* Everything that can be reached from @p root and is in no tree yet. */
static int forest_grow(struct forest *f, uint32_t root)
{
	size_t done = f->ids.size;

	if (forest_add(f, root, 0))
		return -1;
	for (; done < f->ids.size; done++) {
		uint32_t to;

		for (uint64_t i = 0; (to = next_target(f, f->ids.data[done], &i));)
			if (!map_get(&f->index, to) && forest_add(f, to, done + 1))
				return -1;
	}
	return 0;
}

typedef int (*node_fn)(struct forest *f, uint32_t id);

static int each_node(struct forest *f, node_fn fn)
{
	for (size_t type = 1; type <= spec_types(f->n->spec); type++) {
		struct hg_node_id id = { 0 };

		while ((id = hg_view_next(f->view, type, id)).v)
			if (fn(f, id.v))
				return -1;
	}
	return 0;
}

static int note_targets(struct forest *f, uint32_t id)
{
	uint32_t to;

	for (uint64_t i = 0; (to = next_target(f, id, &i));)
		if (map_put(&f->is_target, to, 1))
			return -1;
	return 0;
}

static int grow_root(struct forest *f, uint32_t id)
{
	return map_get(&f->is_target, id) ? 0 : forest_grow(f, id);
}

/* What no root leads to: rings. */
static int grow_rest(struct forest *f, uint32_t id)
{
	return map_get(&f->index, id) ? 0 : forest_grow(f, id);
}

/* The chain that begins at node @p i: nodes with one below them, and the last one's. */
static void cut_chain(struct forest *f, size_t i)
{
	uint32_t n = 1, at = i, first;

	while (f->n_children.data[at] == 1) {
		at = f->child.data[at] - 1;
		n++;
	}
	if (n < CHAIN_MIN)
		return;
	for (uint32_t k = 0; k < CHAIN_HEAD; k++)
		i = f->child.data[i] - 1;
	first = i + 1;
	for (uint32_t k = CHAIN_HEAD; k < n - CHAIN_TAIL; k++) {
		f->middle.data[i] = first;
		i = f->child.data[i] - 1;
	}
}

static void cut_chains(struct forest *f)
{
	for (size_t i = 0; i < f->ids.size; i++) {
		uint32_t up = f->parent.data[i];

		if (!up || f->n_children.data[up - 1] != 1)
			cut_chain(f, i);
	}
}

static int forest_make(struct forest *f)
{
	if (each_node(f, note_targets) || each_node(f, grow_root) ||
	    each_node(f, grow_rest))
		return -1;
	for (size_t i = f->ids.size; i-- > 0;) {
		uint32_t up = f->parent.data[i];

		if (!up)
			continue;
		f->n_below.data[up - 1] += f->n_below.data[i];
		if (f->depth.data[up - 1] <= f->depth.data[i])
			f->depth.data[up - 1] = f->depth.data[i] + 1;
	}
	return 0;
}

static void forest_deinit(struct forest *f)
{
	vec_deinit(&f->ids);
	vec_deinit(&f->parent);
	vec_deinit(&f->n_below);
	vec_deinit(&f->depth);
	vec_deinit(&f->n_children);
	vec_deinit(&f->child);
	vec_deinit(&f->middle);
	map_deinit(&f->index);
	map_deinit(&f->is_target);
}

/* ---- choosing ------------------------------------------------------------------------- */

/* Nodes of the trees in the order in which they are shown: breadth first over all trees
 * together, large trees first. */
struct order {
	uint32_t at; ///< index in the forest
	uint32_t level, tree_size;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->tree_size != y->tree_size && !x->level && !y->level)
		return x->tree_size < y->tree_size ? 1 : -1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static struct order *make_order(const struct forest *f)
{
	struct order *o = calloc(f->ids.size + 1, sizeof(*o));

	for (size_t i = 0; o && i < f->ids.size; i++) {
		uint32_t up = f->parent.data[i];

		o[i].at = i;
		o[i].level = up ? o[up - 1].level + 1 : 0;
		o[i].tree_size = f->n_below.data[i];
	}
	if (o)
		qsort(o, f->ids.size, sizeof(*o), compare_order);
	return o;
}

/* A box for node @p i and what is below it. */
static int fold_node(struct fl_fold *ret, const struct forest *f, uint32_t i,
		     uint32_t *roots_box)
{
	bool is_root = !f->parent.data[i];
	struct fl_folded *box;

	if (is_root && *roots_box) {
		box = &ret->folded.data[*roots_box - 1];
		box->n_nodes += f->n_below.data[i];
		return map_put(&ret->place, f->ids.data[i], *roots_box);
	}
	box = vec_push(&ret->folded);
	if (!box)
		return -1;
	*box = (struct fl_folded){ .first = f->ids.data[i],
				   .n_nodes = f->n_below.data[i],
				   .depth = f->depth.data[i],
				   .is_chain = f->n_below.data[i] == f->depth.data[i],
				   .is_roots = is_root };
	if (is_root)
		*roots_box = ret->folded.size;
	return map_put(&ret->place, f->ids.data[i], ret->folded.size);
}

/* Node @p i is in the middle of a chain, whose first node has a box already or makes it. */
static int fold_middle(struct fl_fold *ret, const struct forest *f, uint32_t i)
{
	uint32_t first = f->middle.data[i] - 1, at;
	struct fl_folded *box;

	if (i != first)
		return map_put(&ret->place, f->ids.data[i],
			       *(uint64_t *)map_get(&ret->place, f->ids.data[first]));
	box = vec_push(&ret->folded);
	if (!box)
		return -1;
	*box = (struct fl_folded){ .first = f->ids.data[i], .is_chain = true };
	for (at = i; f->middle.data[at] == first + 1; at = f->child.data[at] - 1)
		box->n_nodes++;
	box->depth = box->n_nodes;
	box->next = f->ids.data[at];
	return map_put(&ret->place, f->ids.data[i], ret->folded.size);
}

/* @return whether node @p i hangs on a box that it belongs to, which @p box gets. */
static bool hangs_on_box(const struct fl_fold *ret, const struct forest *f, uint32_t i,
			 uint64_t *box)
{
	uint32_t up = f->parent.data[i];
	const uint64_t *above = up ? map_get(&ret->place, f->ids.data[up - 1]) : NULL;

	*box = above ? *above : 0;
	return *box && ret->folded.data[*box - 1].next != f->ids.data[i];
}

static int choose(struct fl_fold *ret, const struct forest *f, const struct order *o,
		  size_t max_nodes)
{
	uint32_t roots_box = 0;

	for (size_t k = 0; k < f->ids.size; k++) {
		uint32_t i = o[k].at, id = f->ids.data[i], *slot;
		uint64_t box;

		if (hangs_on_box(ret, f, i, &box)) {
			if (map_put(&ret->place, id, box))
				return -1;
		} else if (f->middle.data[i]) {
			if (fold_middle(ret, f, i))
				return -1;
		} else if (ret->shown.size < max_nodes) {
			slot = vec_push(&ret->shown);
			if (!slot || map_put(&ret->place, id, 0))
				return -1;
			*slot = id;
		} else if (fold_node(ret, f, i, &roots_box)) {
			return -1;
		}
	}
	return 0;
}

struct err *report_fold_make(const struct fl_namer *n, const struct hg_view *view,
			     size_t max_nodes, struct fl_fold *ret)
{
	_cleanup_(forest_deinit) struct forest f = { .n = n, .view = view };
	_cleanup_free_ struct order *o = NULL;

	if (forest_make(&f))
		return &err_nomem;
	if (f.ids.size > max_nodes)
		cut_chains(&f);
	o = make_order(&f);
	return o && !choose(ret, &f, o, max_nodes) ? NULL : &err_nomem;
}

void report_fold_deinit(struct fl_fold *f)
{
	vec_deinit(&f->shown);
	vec_deinit(&f->folded);
	map_deinit(&f->place);
}
