// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Of each value the write and its reads are a *cluster*: they happen one behind the other. From the
 * first return among them to the last call is its *zone*: forward when the return comes first, so
 * that the value is there all the while, else backward: one gap in it will do for all. An order
 * exists when no read returns before its write is called, no two forward zones overlap, and no
 * backward zone lies in a forward one.
 */
#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"

struct zone {
	int64_t value;
	uint64_t call;	///< of the write; 0 and is_first: it was there at the beginning
	uint64_t first; ///< return
	uint64_t last;	///< call
	bool is_first, is_written, is_read_early;
	bool may_be_first; ///< a read may have seen what was there before all writes
};

typedef VEC(struct zone) zones;

static bool is_forward(const struct zone *z)
{
	return z->first < z->last;
}

static uint64_t low(const struct zone *z)
{
	return is_forward(z) ? z->first : z->last;
}

static uint64_t high(const struct zone *z)
{
	return is_forward(z) ? z->last : z->first;
}

static int by_low(const void *a, const void *b)
{
	const struct zone *x = a, *y = b;

	return low(x) < low(y) ? -1 : low(x) > low(y);
}

static struct zone *zone_of(zones *all, struct map *by_value, int64_t value)
{
	const uint64_t *at = map_get(by_value, value);
	struct zone *z;

	if (at)
		return &all->data[*at];
	if (map_put(by_value, value, all->size))
		return NULL;
	z = vec_push(all);
	if (z)
		*z = (struct zone){ .value = value, .first = LIN_PENDING };
	return z;
}

/* Moments count from 1 here: 0 is before all. */
static void widen(struct zone *z, const struct fl_lin_op *op)
{
	if (op->end != LIN_PENDING && op->end + 1 < z->first)
		z->first = op->end + 1;
	if (op->call + 1 > z->last)
		z->last = op->call + 1;
}

/* @return whether it is a read or a write that is for a monitor. */
static struct err *collect(const struct fl_lin_object *o, const struct fl_lin_history *h,
			   const size_t *ops, size_t n, zones *all, bool *is_distinct)
{
	struct map by_value = {};
	uint64_t first_written = LIN_PENDING; // the first return of a write
	struct err *err = NULL;
	struct zone *z;

	if (o->kind == LIN_REGISTER && o->initial != LIN_ANY) {
		z = zone_of(all, &by_value, o->initial);
		if (z)
			z->is_first = z->is_written = true, z->first = 0;
	}
	for (size_t i = 0; !err && *is_distinct && i < n; i++) {
		const struct fl_lin_op *op = &h->ops.data[ops[i]];

		*is_distinct = op->does == LIN_WRITE || op->does == LIN_READ;
		if (op->does != LIN_WRITE)
			continue;
		z = zone_of(all, &by_value, op->arg[0]);
		if (!z) {
			err = &err_nomem;
			break;
		}
		*is_distinct &= !z->is_written;
		z->is_written = true;
		z->call = op->call;
		first_written = op->end < first_written ? op->end : first_written;
		widen(z, op);
	}
	for (size_t i = 0; !err && *is_distinct && i < n; i++) {
		const struct fl_lin_op *op = &h->ops.data[ops[i]];

		if (op->does != LIN_READ || op->ret == LIN_NONE || op->end == LIN_PENDING)
			continue;
		z = zone_of(all, &by_value, op->ret);
		if (!z) {
			err = &err_nomem;
			break;
		}
		z->is_read_early |= op->end < z->call;
		z->may_be_first |= op->call < first_written;
		widen(z, op);
	}
	map_deinit(&by_value);
	return err;
}

/* A write that did not return, and that nobody saw, need not have happened. */
static void drop_unseen(zones *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->size; i++)
		if (all->data[i].first != LIN_PENDING)
			all->data[kept++] = all->data[i];
	all->size = kept;
}

/* What was read and never written was there at the beginning: one value can have been. */
static bool begin_with(const struct fl_lin_object *o, zones *all, int64_t wrong[2])
{
	struct zone *first = NULL;

	for (size_t i = 0; i < all->size; i++) {
		struct zone *z = &all->data[i];

		if (z->is_written)
			continue;
		if (first || o->initial != LIN_ANY) {
			wrong[0] = z->value;
			wrong[1] = first ? first->value : LIN_NONE;
			return false;
		}
		first = z;
		z->is_first = true;
		z->first = 0;
	}
	return true;
}

static bool is_in_order(zones *all, int64_t wrong[2])
{
	const struct zone *forward = NULL; // that reaches furthest so far

	vec_sort(all, by_low);
	for (size_t i = 0; i < all->size; i++) {
		const struct zone *z = &all->data[i];

		wrong[0] = z->value;
		wrong[1] = LIN_NONE;
		if (z->is_read_early)
			return false;
		wrong[1] = forward ? forward->value : LIN_NONE;
		if (forward &&
		    (is_forward(z) ? low(z) < high(forward) : high(z) < high(forward)))
			return false;
		if (is_forward(z) && (!forward || high(z) > high(forward)))
			forward = z;
	}
	return true;
}

/* Of a register whose beginning is not known: can one of @p wrong, which was written, have been there at
 * first, too? Then its reads are of two clusters. Not where the other was read and never written: that was
 * there at first. */
static bool is_twice(const zones *all, const int64_t wrong[2])
{
	bool is_maybe = false;

	for (size_t i = 0; i < all->size; i++) {
		const struct zone *z = &all->data[i];

		if (z->value != wrong[0] && z->value != wrong[1])
			continue;
		if (!z->is_written)
			return false;
		is_maybe |= z->may_be_first;
	}
	return is_maybe;
}

struct err *fl_lin_monitor_register(const struct fl_lin_object *o,
				    const struct fl_lin_history *h, const size_t *ops,
				    size_t n, struct fl_lin_register *ret)
{
	zones all = {};
	struct err *err;

	*ret = (struct fl_lin_register){ .is_distinct = true,
					 .wrong = { LIN_NONE, LIN_NONE } };
	err = collect(o, h, ops, n, &all, &ret->is_distinct);
	if (!err && ret->is_distinct) {
		ret->is_right = begin_with(o, &all, ret->wrong);
		drop_unseen(&all);
		ret->is_right = ret->is_right && is_in_order(&all, ret->wrong);
		ret->is_distinct = ret->is_right || o->initial != LIN_ANY ||
				   !is_twice(&all, ret->wrong);
	}
	vec_deinit(&all);
	return err;
}

/* ---- what is shown -------------------------------------------------------------------------- */

/* Of the reads and writes of a value: what its zone follows from. */
struct zone_ops {
	size_t write, first, last; ///< indices of the history's; LIN_NO_OP
};

static void zone_ops_add(struct zone_ops *z, const struct fl_lin_history *h, size_t op)
{
	const struct fl_lin_op *of = &h->ops.data[op];

	if (of->does == LIN_WRITE)
		z->write = op;
	if (z->first == LIN_NO_OP || of->end < h->ops.data[z->first].end)
		z->first = op;
	if (z->last == LIN_NO_OP || of->call > h->ops.data[z->last].call)
		z->last = op;
}

size_t fl_lin_register_ops(const struct fl_lin_history *h, const size_t *ops, size_t n,
			   const int64_t wrong[2], size_t ret[7])
{
	struct zone_ops zones[] = { { LIN_NO_OP, LIN_NO_OP, LIN_NO_OP },
				    { LIN_NO_OP, LIN_NO_OP, LIN_NO_OP } };
	size_t all[7] = { LIN_NO_OP }, n_ret = 0;
	uint64_t first_written = LIN_PENDING;

	for (size_t i = 0; i < n; i++) {
		const struct fl_lin_op *op = &h->ops.data[ops[i]];
		int64_t value = op->does == LIN_WRITE ? op->arg[0] : op->ret;

		if (op->does == LIN_WRITE && op->end < first_written) {
			first_written = op->end;
			all[0] = ops[i];
		}
		for (int k = 0; k < 2 && value != LIN_NONE; k++)
			if (value == wrong[k])
				zone_ops_add(&zones[k], h, ops[i]);
	}
	for (int k = 0; k < 2; k++) {
		all[1 + 3 * k] = zones[k].write;
		all[2 + 3 * k] = zones[k].first;
		all[3 + 3 * k] = zones[k].last;
	}
	fl_lin_sort(all, 7);
	for (int i = 0; i < 7; i++)
		if (all[i] != LIN_NO_OP && (!i || all[i] != all[i - 1]))
			ret[n_ret++] = all[i];
	return n_ret;
}
