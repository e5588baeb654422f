// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What matters later of a container's values, when all is right so far and it is known what those took that are
 * under way. Be a value *gone* when its push and its pop have returned. Operations that are called from now on
 * come behind all of these, so that
 *  queue:    nothing of what is gone can be wrong with what comes;
 *  priority: neither, as smaller values that are gone are in no gap to come;
 *  stack:    wherever something not gone is inside without a gap at a time to come, none that is gone can be
 *	      below all others there. But it may begin without a gap before the other does, and who is below all
 *	      must have been pushed before that. So of those that are gone some stay that cover what is before a
 *	      push's return: as few as can be, by taking the one that begins first of those that reach so far.
 *	      They are of operations that overlap, so that they are not many.
 * And a pop of something that is under way, that found it empty or took what may be the smallest, needs a gap:
 * where it has had one, nothing more is asked; else it waits, and comes behind all, too.
 */
#include <string.h>

#include "faultlocate/linear/monitor.h"

static bool is_gone(const struct fl_lin_item *i)
{
	return !i->is_empty && i->pushed != LIN_PENDING && i->popped != LIN_PENDING;
}

static int by_begin(const void *a, const void *b)
{
	const struct fl_lin_item *const *x = a, *const *y = b;

	return (*x)->pushed < (*y)->pushed ? -1 : (*x)->pushed > (*y)->pushed;
}

/* ---- stacks ------------------------------------------------------------------------------------ */

/* Values that are gone and were certainly inside, by when that began, and up to when one of those up to here
 * was. */
struct gone {
	const struct fl_lin_item **items;
	uint64_t *reach;
	size_t n;
};

static struct err *gone_make(const fl_lin_items *items, struct gone *ret)
{
	ret->items = calloc(items->size + 1, sizeof(*ret->items));
	ret->reach = calloc(items->size + 1, sizeof(*ret->reach));
	if (!ret->items || !ret->reach)
		return &err_nomem;
	for (size_t i = 0; i < items->size; i++)
		if (is_gone(&items->data[i]) &&
		    items->data[i].pushed < items->data[i].pop)
			ret->items[ret->n++] = &items->data[i];
	qsort(ret->items, ret->n, sizeof(*ret->items), by_begin);
	for (size_t i = 0; i < ret->n; i++)
		ret->reach[i] = i && ret->reach[i - 1] > ret->items[i]->pop ?
					ret->reach[i - 1] :
					ret->items[i]->pop;
	return NULL;
}

/* Cover what is before @p moment as far as can be. */
static void cover(const struct gone *g, uint64_t moment, bool *needed)
{
	for (;;) {
		size_t i = vec_rank(g->n, k, g->reach[k] < moment);

		if (i == g->n || g->items[i]->pushed >= moment ||
		    needed[g->items[i]->push_op])
			return;
		needed[g->items[i]->push_op] = needed[g->items[i]->pop_op] = true;
		moment = g->items[i]->pushed;
	}
}

static struct err *needed_of_stack(const fl_lin_items *items, bool *needed)
{
	struct gone g = {};
	struct err *err = gone_make(items, &g);

	for (size_t i = 0; !err && i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (!item->is_empty && !is_gone(item) && item->pushed != LIN_PENDING)
			cover(&g, item->pushed, needed);
	}
	free(g.items);
	free(g.reach);
	return err;
}

struct err *fl_lin_needed(enum fl_lin_object_kind kind, const fl_lin_items *items,
			  bool *needed)
{
	struct err *err = kind == LIN_STACK ? needed_of_stack(items, needed) : NULL;

	for (size_t i = 0; !err && i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (item->is_empty || is_gone(item))
			continue;
		if (item->push_op != LIN_NO_OP)
			needed[item->push_op] = true;
		if (item->pop_op != LIN_NO_OP)
			needed[item->pop_op] = true;
	}
	return err;
}

/* ---- what is under way -------------------------------------------------------------------------- */

/* Is there a gap of [@p from, @p now) in which nothing is certainly inside that is less than @p than (NULL:
 * nothing at all)? *@p ret. */
static struct err *has_gap(const fl_lin_items *items, uint64_t from, uint64_t now,
			   const struct fl_lin_item *than, bool *ret)
{
	_cleanup_free_ const struct fl_lin_item **in =
		calloc(items->size + 1, sizeof(*in));
	size_t n = 0;

	if (!in)
		return &err_nomem;
	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (!item->is_empty && (!than || item->value < than->value) &&
		    item->pushed < item->pop && item->pop > from)
			in[n++] = item;
	}
	qsort(in, n, sizeof(*in), by_begin);
	for (size_t i = 0; i < n && in[i]->pushed <= from; i++)
		from = in[i]->pop > from ? in[i]->pop : from;
	*ret = from < now;
	return NULL;
}

struct err *fl_lin_item_waits(enum fl_lin_object_kind kind, const fl_lin_items *items,
			      const struct fl_lin_item *item, uint64_t now, bool *ret)
{
	struct err *err = NULL;
	bool has = true;

	if (item->pop_op == LIN_NO_OP || item->popped != LIN_PENDING)
		has = true;
	else if (item->is_empty)
		err = has_gap(items, item->pop, now, NULL, &has);
	else if (kind == LIN_PRIORITY)
		err = has_gap(items, item->pop > item->push ? item->pop : item->push, now,
			      item, &has);
	*ret = !has;
	return err;
}
