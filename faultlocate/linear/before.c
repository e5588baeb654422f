// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A wrong history may be long: what matters of its beginning?
 *
 * Of what came before the last rest, that is a moment at which no operation was under way, those matter
 * who may have written last: each of them overlaps the others, and any may have been the last.
 *
 * Of a machine of the user's one of them stands for all, where it was in one state only.
 *
 * A counter needs no rest: at any moment it is the sum of what had returned by then, and of what was under
 * way and had happened. One that had returned stands for all of them; what was under way may have
 * happened or not, with any result. That is less than what is known, and if it is wrong still, so is all.
 */
#include <string.h>

#include "faultlocate/linear/fewer.h"
#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"

enum {
	AT_ONCE = 256,	    ///< operations that fl_lin_fewer() makes fewer in no time
	LOOKED_AT = 1 << 22 ///< configurations, at most
};

/* ---- what can be written over ---------------------------------------------------------------- */

/* @return who wrote @p value last of the first @p n of @p few, by its return; LIN_NO_OP: nobody. */
static size_t last_writer(const struct fl_lin_history *h, const struct fl_lin_few *few,
			  size_t n, int64_t value)
{
	size_t last = LIN_NO_OP;

	for (size_t i = 0; i < n; i++) {
		const struct fl_lin_op *op = &h->ops.data[few->ops[i]];

		if (fl_lin_op_leaves(op) == value &&
		    (last == LIN_NO_OP || op->end > h->ops.data[last].end))
			last = few->ops[i];
	}
	return last;
}

/* The last writers of @p values, and what was called since the last rest of @p s: is that wrong by itself, at
 * the same return? Then it is what stays of @p few. */
static struct err *try_since_rest(const struct fl_lin_object *o,
				  const struct fl_lin_history *h,
				  const struct fl_lin_search *s, const int64_t *values,
				  size_t n_values, struct fl_lin_few *few, bool *ret)
{
	size_t kept = 0;
	_cleanup_free_ size_t *less = calloc(few->n + n_values + 1, sizeof(*less));
	struct fl_lin_search again;
	struct err *err;

	*ret = false;
	if (!less)
		return &err_nomem;
	for (size_t i = 0; i < n_values; i++) {
		size_t writer = last_writer(h, few, s->rest, values[i]);

		if (writer != LIN_NO_OP)
			less[kept++] = writer;
	}
	fl_lin_sort(less, kept);
	memcpy(less + kept, few->ops + s->rest, (few->n - s->rest) * sizeof(*less));
	kept += few->n - s->rest;
	err = fl_lin_search(o, h, less, kept, NULL, &again);
	*ret = !err && kept < few->n && again.answer == LIN_WRONG &&
	       less[again.at] == few->at;
	if (*ret) {
		memcpy(few->ops, less, kept * sizeof(*less));
		few->n = kept;
	}
	return err;
}

/* But for the last writers who wrote what is read and not explained stays: whoever reads this wants to know
 * where that comes from. */
static struct err *before_rest(const struct fl_lin_object *o,
			       const struct fl_lin_history *h,
			       const struct fl_lin_search *s, struct fl_lin_few *few)
{
	int64_t values[5], read = h->ops.data[few->at].ret;
	size_t n_values = s->n_rest_states;
	bool is_known = read == LIN_NONE || o->kind == LIN_SET, is_less;
	struct err *err;

	memcpy(values, s->rest_states, n_values * sizeof(*values));
	for (size_t i = 0; i < n_values; i++)
		is_known |= values[i] == read;
	values[n_values] = read;
	err = try_since_rest(o, h, s, values, n_values + !is_known, few, &is_less);
	if (!err && !is_less && !is_known)
		err = try_since_rest(o, h, s, values, n_values, few, &is_less);
	return err;
}

/* ---- what can be added up -------------------------------------------------------------------- */

/* What had returned of @p few at @p moment: the last of it, and what the counter was by that. */
static const struct fl_lin_op *sum_up(const struct fl_lin_history *h,
				      const struct fl_lin_few *few, uint64_t moment,
				      int64_t *ret)
{
	const struct fl_lin_op *last = NULL;
	uint64_t sum = 0;

	for (size_t i = 0; i < few->n; i++) {
		const struct fl_lin_op *op = &h->ops.data[few->ops[i]];

		if (op->end >= moment)
			continue;
		if (op->is_settled)
			sum = (uint64_t)fl_lin_op_settles(op);
		else if (op->does == LIN_ADD)
			sum += (uint64_t)op->arg[0];
		last = !last || op->end > last->end ? op : last;
	}
	*ret = (int64_t)sum;
	return last;
}

/* @p few with a sum for all that had returned at @p moment: is that wrong, at the same return? Then @p few
 * becomes that. */
static struct err *try_sum(const struct fl_lin_object *o, const struct fl_lin_history *h,
			   struct fl_lin_few *few, uint64_t moment, bool *ret)
{
	_cleanup_free_ size_t *less = calloc(few->n + 1, sizeof(*less));
	_cleanup_free_ bool *may = calloc(few->n + 1, sizeof(*may));
	struct fl_lin_search_how how = { .work = LOOKED_AT, .may = may };
	struct fl_lin_search again;
	size_t kept = 0;
	struct err *err;

	*ret = false;
	if (!less || !may)
		return &err_nomem;
	how.settled = sum_up(h, few, moment, &how.left);
	for (size_t i = 0; i < few->n; i++) {
		const struct fl_lin_op *op = &h->ops.data[few->ops[i]];
		bool is_under_way = op->call < moment && op->end >= moment;

		if (op != how.settled &&
		    (op->end < moment || (is_under_way && op->does == LIN_READ)))
			continue;
		may[kept] = is_under_way && op->end != LIN_PENDING;
		less[kept++] = few->ops[i];
	}
	if (!how.settled)
		return NULL;
	err = fl_lin_search(o, h, less, kept, &how, &again);
	*ret = !err && again.answer == LIN_WRONG && less[again.at] == few->at;
	if (!*ret)
		return err;
	memcpy(few->ops, less, kept * sizeof(*less));
	memcpy(few->may, may, kept * sizeof(*may));
	few->n = kept;
	few->settled = how.settled;
	few->left = how.left;
	return NULL;
}

static struct err *before_sum(const struct fl_lin_object *o,
			      const struct fl_lin_history *h, struct fl_lin_few *few)
{
	uint64_t at = h->ops.data[few->at].call;
	struct err *err = NULL;
	bool is_less = false;

	// The later, the less is left; most are told by what came shortly before.
	for (size_t back = 0; !err && !is_less && back < few->n;
	     back = back ? back * 4 : 1) {
		uint64_t moment = h->ops.data[few->ops[few->n - 1 - back]].call;

		err = try_sum(o, h, few, moment < at ? moment : at, &is_less);
	}
	return err;
}

/* ---- what was known at a rest ------------------------------------------------------------------ */

/* Of a machine of which one state was possible at the last rest of @p s: who had returned last by then
 * stands for all before. */
static struct err *before_state(const struct fl_lin_object *o,
				const struct fl_lin_history *h,
				const struct fl_lin_search *s, struct fl_lin_few *few)
{
	const struct fl_lin_search_how how = { .at_rest = &few->row };
	const struct fl_lin_op *last = NULL;
	struct fl_lin_search again;
	size_t from = s->rest;
	struct err *err = fl_lin_search(o, h, few->ops, few->n, &how, &again);

	if (err || !few->row.at)
		return err;
	for (size_t i = 0; i < from; i++)
		if (!last || h->ops.data[few->ops[i]].end > last->end)
			last = &h->ops.data[few->ops[i]];
	few->settled = last;
	few->ops[--from] = (size_t)(last - h->ops.data);
	few->n -= from;
	memmove(few->ops, few->ops + from, few->n * sizeof(*few->ops));
	return NULL;
}

/* ---- all --------------------------------------------------------------------------------------- */

struct err *fl_lin_leave_out_before(const struct fl_lin_object *o,
				    const struct fl_lin_history *h,
				    const struct fl_lin_search *s, struct fl_lin_few *few)
{
	if (few->n <= AT_ONCE)
		return NULL;
	switch (o->kind) {
	case LIN_COUNTER:
		return before_sum(o, h, few);
	case LIN_MACHINE:
		return s->n_rest_states ? before_state(o, h, s, few) : NULL;
	case LIN_QUEUE:
	case LIN_STACK:
	case LIN_PRIORITY:
		return NULL; // each that went in may be what matters
	default:
		return s->n_rest_states ? before_rest(o, h, s, few) : NULL;
	}
}
