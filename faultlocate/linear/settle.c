// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What matters no more of a history of which more will come, part by part. Of containers of distinct values
 * monitors tell (needed.c). Of others the search ends here for now: what there may be is kept, as the start of
 * the next one, and what has returned goes. Of a part that is wrong what comes later does not matter.
 */

#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"

struct settling {
	const struct fl_lin_object *o;
	struct fl_lin_history *h;
	size_t most;
	struct fl_lin_starts starts; ///< become the history's
	size_t n_moved;		     ///< operations that are at another place, too
};

static struct fl_lin_op *op_of(const struct settling *s, const struct fl_lin_part *p,
			       size_t i)
{
	return &s->h->ops.data[p->ops[i]];
}

static bool has_returned(const struct fl_lin_op *op)
{
	return op->end < LIN_LATER;
}

/* What returned of @p p goes, but for what is @p needed (of the history; NULL: nothing). */
static void drop_returned(const struct settling *s, const struct fl_lin_part *p,
			  const bool *needed)
{
	for (size_t i = 0; i < p->n; i++)
		if (has_returned(op_of(s, p, i)) && !(needed && needed[p->ops[i]]))
			op_of(s, p, i)->does = -1;
}

/* @p p is wrong by what was called up to @p end: the rest does not matter. Nor does, of those under way, what only
 * reads, or takes what is not inside yet. */
static void keep_wrong(const struct settling *s, const struct fl_lin_part *p,
		       uint64_t end, const bool *takes_later)
{
	for (size_t i = 0; i < p->n; i++) {
		struct fl_lin_op *op = op_of(s, p, i);

		if (op->call > end && has_returned(op))
			op->does = -1;
		else if (op->call <= end && !(takes_later && takes_later[p->ops[i]]) &&
			 (has_returned(op) || op->does != LIN_READ))
			op->is_wrong = true;
	}
}

/* @p p was wrong before: what came since goes, when it has returned. */
static void drop_later(const struct settling *s, const struct fl_lin_part *p)
{
	for (size_t i = p->n; i < p->n + p->n_later; i++)
		if (has_returned(op_of(s, p, i)))
			op_of(s, p, i)->does = -1;
}

/* ---- what is searched ------------------------------------------------------------------------ */

/* What was read of a key later tells what appending made of it before: such a key is kept. */
static bool has_append(const struct settling *s, const struct fl_lin_part *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (op_of(s, p, i)->does == LIN_APPEND)
			return true;
	return false;
}

static struct err *settle_search(struct settling *s, const struct fl_lin_part *p)
{
	const struct fl_lin_search_how how = { .most = s->most,
					       .start = p->start,
					       .until = s->h->moments,
					       .save = &s->starts.words };
	size_t at = s->starts.words.size;
	struct fl_lin_search found;
	struct err *err;

	if (has_append(s, p))
		return NULL;
	err = fl_lin_search(s->o, s->h, p->ops, p->n, &how, &found);
	if (err)
		return err;
	if (found.answer == LIN_WRONG) {
		keep_wrong(s, p, op_of(s, p, found.at)->end, NULL);
		return NULL;
	}
	drop_returned(s, p, NULL);
	if (found.answer == LIN_UNKNOWN)
		err = fl_lin_start_unknown(&s->starts.words, how.until);
	if (!err && map_put(&s->starts.of, p->key, at))
		err = &err_nomem;
	return err;
}

/* ---- containers of distinct values --------------------------------------------------------------- */

/* Of a value that is put in later it is not known yet that it comes out. @param takes_later  of the history's
 * operations: gets true for those that take such. That it is put in later is not again. */
static void leave_later(const struct fl_lin_history *h, fl_lin_items *items,
			bool *takes_later)
{
	size_t kept = 0;

	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (item->is_empty || item->push_op != LIN_NO_OP ||
		    has_returned(&h->ops.data[item->pop_op])) {
			items->data[kept++] = *item;
		} else {
			takes_later[item->pop_op] = true;
			h->ops.data[item->pop_op].is_again = false;
		}
	}
	items->size = kept;
}

/* Does one that is under way take a value that comes out twice, or goes in again? Which of them takes what is in
 * it now is not known. */
static bool is_taken_twice(const struct fl_lin_history *h, const fl_lin_items *items)
{
	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *a = &items->data[i];

		if (a->is_empty || a->pop_op == LIN_NO_OP || a->popped != LIN_PENDING)
			continue;
		if ((a->push_op != LIN_NO_OP && h->ops.data[a->pop_op].is_again) ||
		    vec_find(items, b, b != a && !b->is_empty && b->value == a->value))
			return true;
	}
	return false;
}

/* One that cannot have happened yet is as if it were called now: it comes behind all others. */
static struct err *call_now(struct settling *s, size_t op)
{
	struct fl_lin_op later = s->h->ops.data[op];

	later.call = s->h->moments++;
	s->h->ops.data[op].does = -1;
	s->n_moved++;
	return vec_add(&s->h->ops, later);
}

/* @p p is right, by @p items. */
static struct err *keep_needed(struct settling *s, const struct fl_lin_part *p,
			       const fl_lin_items *items, bool has_pending)
{
	const uint64_t now = s->h->moments;
	_cleanup_free_ bool *needed = calloc(s->h->ops.size + 1, sizeof(*needed));
	_cleanup_free_ bool *waits = calloc(items->size + 1, sizeof(*waits));
	struct err *err = needed && waits ? NULL : &err_nomem;
	bool is_waiting = false;

	if (!err)
		err = fl_lin_needed(s->o->kind, items, needed);
	for (size_t i = 0; !err && i < items->size; i++) {
		err = fl_lin_item_waits(s->o->kind, items, &items->data[i], now,
					&waits[i]);
		is_waiting |= waits[i];
	}
	// It may have happened, if one that is lost took something.
	if (err || (is_waiting && has_pending))
		return err;
	drop_returned(s, p, needed);
	for (size_t i = 0; !err && i < items->size; i++)
		if (waits[i])
			err = call_now(s, items->data[i].pop_op);
	return err;
}

static struct err *settle_container(struct settling *s, const struct fl_lin_part *p)
{
	fl_lin_items items = {}, tried = {}, pending = {};
	_cleanup_free_ bool *takes_later =
		calloc(s->h->ops.size + 1, sizeof(*takes_later));
	bool is_distinct, is_right = false;
	char why[256];
	struct err *err = fl_lin_items_make(s->h, p->ops, p->n, &items, &pending,
					    &is_distinct, why);

	if (!err && !takes_later)
		err = &err_nomem;
	is_distinct = is_distinct && !is_taken_twice(s->h, &items);
	if (!err && is_distinct)
		leave_later(s->h, &items, takes_later);
	for (size_t i = 0; !err && is_distinct && i < items.size; i++)
		err = vec_add(&tried, items.data[i]);
	if (!err && is_distinct)
		err = fl_lin_monitor(s->o->kind, &tried, &is_right); // numbers it anew
	if (!err && !is_distinct)
		err = settle_search(s, p);
	else if (!err && is_right)
		err = keep_needed(s, p, &items, pending.size);
	else if (!err && !pending.size)
		keep_wrong(s, p, s->h->moments, takes_later);
	vec_deinit(&items);
	vec_deinit(&tried);
	vec_deinit(&pending);
	return err;
}

/* ---- all --------------------------------------------------------------------------------------- */

static struct err *settle(struct settling *s, const struct fl_lin_part *p)
{
	if (op_of(s, p, 0)->is_wrong) {
		drop_later(s, p);
		return NULL;
	}
	switch (p->start ? LIN_OBJECTS : s->o->kind) {
	case LIN_QUEUE:
	case LIN_STACK:
	case LIN_PRIORITY:
		return settle_container(s, p);
	default:
		return settle_search(s, p);
	}
}

struct err *fl_lin_check_rest(const struct fl_lin_object *o, struct fl_lin_history *h,
			      size_t most)
{
	struct settling s = { .o = o, .h = h, .most = most };
	struct fl_lin_parts parts;
	struct err *err;

	fl_lin_history_drop(h); // what did not happen is not counted
	err = fl_lin_parts_make(o, h, &parts);
	for (size_t i = 0; !err && i < parts.ends.size; i++) {
		struct fl_lin_part p = fl_lin_parts_at(&parts, o, h, i);

		err = settle(&s, &p);
	}
	if (!err)
		err = fl_lin_starts_copy(&s.starts, &h->starts);
	if (!err) {
		struct fl_lin_starts old = h->starts;

		h->starts = s.starts;
		s.starts = old;
	}
	fl_lin_starts_deinit(&s.starts);
	fl_lin_parts_deinit(&parts);
	h->n_gone += fl_lin_history_drop(h) - s.n_moved;
	return err;
}
