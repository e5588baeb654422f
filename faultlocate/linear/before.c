// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A wrong history may be long: what matters of its beginning?
 *
 * Of what came before the last rest, that is a moment at which no operation was under way, those matter
 * who may have written last: each of them overlaps the others, and any may have been the last.
 *
 * Else the configurations at the call of the one that is not explained stand for all that had returned by then.
 */
#include <string.h>

#include "faultlocate/linear/fewer.h"
#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"

#define AT_ONCE 256 ///< operations that fl_lin_fewer() makes fewer in no time

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
		few->start = NULL;
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

/* ---- what was possible then ------------------------------------------------------------------- */

static struct err *before_call(const struct fl_lin_object *o,
			       const struct fl_lin_history *h, struct fl_lin_few *few)
{
	const uint64_t moment = h->ops.data[few->at].call;
	const struct fl_lin_search_how how = { .start = few->start,
					       .until = moment,
					       .save = &few->words };
	struct fl_lin_search s;
	struct err *err = fl_lin_search(o, h, few->ops, few->n, &how, &s);
	size_t kept = 0;

	if (err || !few->words.size)
		return err;
	few->start = few->words.data;
	for (size_t i = 0; i < few->n; i++)
		if (h->ops.data[few->ops[i]].end > moment)
			few->ops[kept++] = few->ops[i];
	few->n = kept;
	return NULL;
}

/* Of keys that are appended to, what was read later tells what they held: that is not known here. */
static bool has_append(const struct fl_lin_history *h, const struct fl_lin_few *few)
{
	for (size_t i = 0; i < few->n; i++)
		if (h->ops.data[few->ops[i]].does == LIN_APPEND)
			return true;
	return false;
}

/* ---- all --------------------------------------------------------------------------------------- */

struct err *fl_lin_leave_out_before(const struct fl_lin_object *o,
				    const struct fl_lin_history *h,
				    const struct fl_lin_search *s, struct fl_lin_few *few)
{
	bool is_number = o->kind == LIN_REGISTER || o->kind == LIN_SET ||
			 o->kind == LIN_MAP || o->kind == LIN_MUTEX;
	struct err *err = NULL;

	if (few->n > AT_ONCE && is_number && s->n_rest_states)
		err = before_rest(o, h, s, few);
	if (!err && few->n > AT_ONCE && !has_append(h, few))
		err = before_call(o, h, few);
	return err;
}
