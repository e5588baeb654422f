// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/reduce/tree.h"

#include <string.h>

#include "faultlocate/inputs/inputs.h"

#define LINES_LEAST 4 // fewer are not worth it

/* The candidates of the first step: bytes that have one of these roles. */
static const uint8_t proposals[] = {
	FL_ROLE_DERIVED_STRONG,
	FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG,
	FL_ROLE_DERIVED_STRONG | FL_ROLE_CONTROL_STRONG | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL_STRONG | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL | FL_ROLE_ADDRESS_STRONG,
	FL_ROLE_DERIVED | FL_ROLE_CONTROL | FL_ROLE_ADDRESS,
};

static struct err *remove_irrelevant(struct fl_reduce *r, const struct fl_tree *t,
				     bool *is_found)
{
	_cleanup_free_ bool *keep = calloc(t->n_bytes + 1, sizeof(*keep));
	struct err *err = keep ? NULL : &err_nomem;

	*is_found = false;
	for (size_t i = 0; i < sizeof(proposals) && !*is_found && !err; i++) {
		size_t n = 0;

		for (size_t k = 0; k < t->n_bytes; k++) {
			keep[k] = t->roles[k] & proposals[i];
			n += keep[k];
		}
		if (n && n < t->n_bytes)
			err = fl_reduce_try(r, keep, is_found);
	}
	return err;
}

/* ---- lines, the nearest first -------------------------------------------------------------------- */

/** A line of what is left. */
struct line {
	uint32_t number;
	uint32_t depth; ///< of its nearest byte in the tree; UINT32_MAX: none is in it
};

static int nearest_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/** The lines of an input. */
struct lines {
	VEC(struct line) all;
	uint32_t *of; ///< of each byte
};

static struct err *find_lines(const struct fl_tree *t, struct lines *ret)
{
	_cleanup_free_ uint32_t *depth = calloc(t->n_nodes, sizeof(*depth));
	struct err *err = NULL;

	ret->of = calloc(t->n_bytes + 1, sizeof(*ret->of));
	if (!ret->of || !depth)
		return &err_nomem;
	for (size_t i = 2; i < t->n_nodes; i++)
		depth[i] = depth[t->parents[i]] + 1;
	for (size_t i = 0; i < t->n_bytes && !err; i++) {
		struct line *l;

		if (!i || t->data[i - 1] == '\n')
			err = vec_add(&ret->all,
				      (struct line){ .number = ret->all.size + 1,
						     .depth = UINT32_MAX });
		if (err)
			break;
		ret->of[i] = ret->all.size - 1;
		l = &ret->all.data[ret->of[i]];
		if (t->roles[i] && depth[t->nodes[i]] < l->depth)
			l->depth = depth[t->nodes[i]];
	}
	return err;
}

/* Try the nearest line, the two nearest, four, ...; then leave out of them what can go. */
static struct err *keep_nearest(struct fl_reduce *r, const struct fl_tree *t,
				const struct lines *l)
{
	_cleanup_free_ bool *is_in = calloc(l->all.size + 1, sizeof(*is_in));
	_cleanup_free_ bool *keep = calloc(t->n_bytes + 1, sizeof(*keep));
	bool is_found = false;
	struct err *err = is_in && keep ? NULL : &err_nomem;

	for (size_t n = 1; n < l->all.size && !is_found && !err; n *= 2) {
		for (size_t i = n / 2; i < n; i++)
			is_in[l->all.data[i].number] = true;
		for (size_t i = 0; i < t->n_bytes; i++)
			keep[i] = is_in[l->of[i]];
		err = fl_reduce_try(r, keep, &is_found);
	}
	return err ?: fl_reduce_groups(r, l->of, false);
}

static struct err *reduce_lines(struct fl_reduce *r, const struct fl_tree *t)
{
	struct lines l = {};
	struct err *err = find_lines(t, &l);

	qsort(l.all.data, l.all.size, sizeof(*l.all.data), nearest_first);
	if (!err && l.all.size >= LINES_LEAST)
		err = keep_nearest(r, t, &l);
	vec_deinit(&l.all);
	free(l.of);
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

struct err *fl_tree_reduce(struct fl_reduce *r, const struct fl_tree *t, bool is_star,
			   size_t *step1)
{
	struct levels l = { .t = t };
	bool is_found;
	struct err *err = remove_irrelevant(r, t, &is_found);

	if (!err && fl_reduce_stats(r).n_units > t->n_bytes / 2)
		err = reduce_lines(r, t);
	*step1 = fl_reduce_stats(r).n_units;
	if (!err)
		err = reduce_levels(r, &l, is_star);
	if (!err && !l.deepest)
		err = fl_reduce_ddmin(r);
	levels_deinit(&l);
	return err;
}
