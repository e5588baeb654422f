// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/reduce/tree.h"

#include <string.h>

#include "faultlocate/inputs/inputs.h"
#include "faultlocate/reduce/text.h"

/* The candidates of the first step: bytes that have one of these roles; strong ones alone first. */
#define STRONG_ONES 3
static const uint8_t proposals[] = {
	FL_ROLE_DERIVED_STRONG,
	FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG,
	FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL_STRONG | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL | FL_ROLE_ADDRESS,
};

/* @p is_strong: what is left had strong roles alone. */
static struct err *remove_irrelevant(struct fl_reduce *r, const struct fl_tree *t,
				     bool *is_found, bool *is_strong)
{
	_cleanup_free_ bool *keep = calloc(t->n_bytes + 1, sizeof(*keep));
	struct err *err = keep ? NULL : &err_nomem;

	*is_found = *is_strong = false;
	for (size_t i = 0; i < sizeof(proposals) && !*is_found && !err; i++) {
		size_t n = 0;

		for (size_t k = 0; k < t->n_bytes; k++) {
			keep[k] = t->roles[k] & proposals[i];
			n += keep[k];
		}
		if (n && n < t->n_bytes)
			err = fl_reduce_try(r, keep, is_found);
		*is_strong = *is_found && i < STRONG_ONES;
	}
	return err;
}

/* ---- the tree of what is left ------------------------------------------------------------------ */

/*
 * Of the tree of dependences those nodes count that lead to a byte that is left, and of these those
 * that have more than one child, bytes being children, too. A byte's depth is the number of such
 * nodes above it.
 */
struct levels {
	const struct fl_tree *t;
	uint32_t *children; ///< of each node
	uint32_t
		*depth; ///< of each node: of what is below it; only where it has children
	uint32_t *
		up; ///< the next node above, or itself, with more than one child; 0: none
	uint32_t deepest;
	uint32_t *group;	      ///< of each byte, on the level at hand
	uint32_t *before;	      ///< .. on the level above
	uint32_t *size, *size_before; ///< of each group
};

static void levels_deinit(struct levels *l)
{
	free(l->children);
	free(l->depth);
	free(l->up);
	free(l->group);
	free(l->before);
	free(l->size);
	free(l->size_before);
}

static struct err *make_levels(struct levels *l, const uint32_t *kept, size_t n)
{
	const struct fl_tree *t = l->t;

	l->children = calloc(t->n_nodes, sizeof(*l->children));
	l->depth = calloc(t->n_nodes, sizeof(*l->depth));
	l->up = calloc(t->n_nodes, sizeof(*l->up));
	l->group = calloc(t->n_bytes + 1, sizeof(*l->group));
	l->before = calloc(t->n_bytes + 1, sizeof(*l->before));
	l->size = calloc(t->n_bytes + 1, sizeof(*l->size));
	l->size_before = calloc(t->n_bytes + 1, sizeof(*l->size_before));
	if (!l->children || !l->depth || !l->up || !l->group || !l->before || !l->size ||
	    !l->size_before)
		return &err_nomem;
	for (size_t i = 0; i < n; i++)
		l->children[t->nodes[kept[i]]]++;
	for (size_t i = t->n_nodes; i-- > 2;)
		if (l->children[i])
			l->children[t->parents[i]]++;
	for (size_t i = 1; i < t->n_nodes; i++) {
		uint32_t up = i > 1 ? l->up[t->parents[i]] : 0;

		l->up[i] = l->children[i] > 1 ? i : up;
		l->depth[i] = (up ? l->depth[up] : 0) + (l->children[i] > 1);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t depth = l->depth[t->nodes[kept[i]]];

		l->deepest = depth > l->deepest ? depth : l->deepest;
	}
	return NULL;
}

/* The node that @p byte is below at depth @p level; 0: it is at that depth itself, or above. */
static uint32_t ancestor(const struct levels *l, uint32_t byte, uint32_t level)
{
	uint32_t at = l->up[l->t->nodes[byte]];

	if (!at || l->depth[at] <= level)
		return 0;
	while (l->depth[at] > level + 1)
		at = l->up[l->t->parents[at]];
	return at;
}

static void swap(uint32_t **a, uint32_t **b)
{
	uint32_t *was = *a;

	*a = *b;
	*b = was;
}

/* Group the bytes of @p kept as they are on level @p level, numbered by their first bytes; a group has
 * size 0 unless it has bytes of those. */
static struct err *group_level(struct levels *l, const uint32_t *kept, size_t n,
			       uint32_t level, bool is_star)
{
	struct map of_node = {};
	struct err *err = NULL;

	swap(&l->group, &l->before);
	swap(&l->size, &l->size_before);
	memset(l->size, 0, (l->t->n_bytes + 1) * sizeof(*l->size));
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t byte = kept[i], node = ancestor(l, byte, level);
		const uint64_t *known = node ? map_get(&of_node, node) : NULL;
		bool is_above = !node && l->t->nodes[byte] &&
				l->depth[l->t->nodes[byte]] < level;
		// What has no part in it goes with what is before it (a field with its length), and in the
		// end by itself.
		bool follows = i && !l->t->nodes[byte] && level < l->deepest;

		l->group[byte] = follows	      ? l->group[kept[i - 1]] :
				 is_above && !is_star ? FL_GROUP_STAYS :
				 known		      ? *known :
							byte;
		if (l->group[byte] != FL_GROUP_STAYS)
			l->size[l->group[byte]]++;
		if (node && !known && map_put(&of_node, node, byte))
			err = &err_nomem;
	}
	map_deinit(&of_node);
	return err;
}

/* Write to @p ret the groups of which something can be learnt: not those that could not go as they are
 * on the level above. (Groups of a level are parts of groups above.) */
static void leave_unchanged(const struct levels *l, const uint32_t *kept, size_t n,
			    uint32_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t byte = kept[i], g = l->group[byte];
		bool was_asked = g != FL_GROUP_STAYS && l->before[byte] == g &&
				 l->size_before[g] == l->size[g];

		ret[byte] = was_asked ? FL_GROUP_STAYS : g;
	}
}

/* Go down the levels of what is left. */
static struct err *reduce_levels(struct fl_reduce *r, struct levels *l, bool is_star)
{
	const uint32_t *now;
	size_t n;
	_cleanup_free_ uint32_t *kept = NULL;
	_cleanup_free_ uint32_t *group = calloc(l->t->n_bytes + 1, sizeof(*group));
	struct err *err;

	now = fl_reduce_kept(r, &n);
	kept = malloc((n + 1) * sizeof(*kept));
	if (!kept || !group)
		return &err_nomem;
	memcpy(kept, now, n * sizeof(*kept));
	err = make_levels(l, kept, n);
	for (uint32_t level = 1; level <= l->deepest && !err; level++) {
		bool is_last = level == l->deepest;

		err = group_level(l, kept, n, level, is_star);
		leave_unchanged(l, kept, n, group);
		// What is 1-minimal in the end is so of all.
		if (!err)
			err = fl_reduce_groups(r, is_star && is_last ? l->group : group,
					       true);
	}
	return err;
}

/* Each byte alone, until none can go. */
static struct err *make_minimal(struct fl_reduce *r)
{
	size_t before;
	struct err *err = NULL;

	do {
		before = fl_reduce_stats(r).n_units;
		err = fl_reduce_pass(r, NULL, 0);
	} while (!err && fl_reduce_stats(r).n_units < before);
	return err;
}

struct err *fl_tree_reduce(struct fl_reduce *r, const struct fl_tree *t, bool is_star,
			   size_t *step1)
{
	struct levels l = { .t = t };
	bool is_found = false, is_strong = false;
	struct err *err = t->roles ? remove_irrelevant(r, t, &is_found, &is_strong) :
				     NULL;

	*step1 = fl_reduce_stats(r).n_units;
	is_strong &= *step1 <= t->n_bytes / 2;
	if (!err && !is_strong && fl_text_is_one(t)) {
		err = fl_text_reduce(r, t);
		return err || !is_star ? err : make_minimal(r);
	}
	if (!err && t->roles)
		err = reduce_levels(r, &l, is_star);
	if (!err && !l.deepest)
		err = fl_reduce_ddmin(r, false);
	levels_deinit(&l);
	return err;
}
