// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * First half of all, then a quarter, .. one by one; what looks is left out, what changes something is
 * let happen or not, in the time that it took. What wrote a value that somebody saw, who is left, stays:
 * without it nobody would understand.
 */
#include "faultlocate/linear/fewer.h"

#include <string.h>

#include "faultlocate/linear/search.h"

enum {
	LOOKED_AT = 1 << 24, ///< configurations and operations, at most
	AMONG = 1 << 12,     ///< configurations at once
};

struct fewer {
	const struct fl_lin_object *o;
	const struct fl_lin_history *h;
	struct fl_lin_few *few;
	size_t *less; ///< scratch
	bool *less_may;
	struct map seen; ///< values, by who is left
	uint64_t looked_at;
	bool has_changed;
};

static const struct fl_lin_op *op_of(const struct fewer *w, size_t i)
{
	return &w->h->ops.data[w->few->ops[i]];
}

int64_t fl_lin_op_leaves(const struct fl_lin_op *op)
{
	switch (op->does) {
	case LIN_WRITE:
		return op->arg[0];
	case LIN_PUT:
		return op->arg[1];
	case LIN_CAS:
		return op->ret == 0	      ? LIN_NONE :
		       op->arg[2] != LIN_NONE ? op->arg[2] :
						op->arg[1];
	case LIN_REMOVE:
		return LIN_EMPTY;
	case LIN_SET_ADD:
	case LIN_LOCK:
		return 1;
	case LIN_TRY_LOCK:
		return op->ret == 0 ? LIN_NONE : 1;
	case LIN_SET_REMOVE:
	case LIN_UNLOCK:
		return 0;
	default:
		return LIN_NONE;
	}
}

/* Note which values those have seen that are left. */
static struct err *note_seen(struct fewer *w)
{
	struct err *err = NULL;

	map_deinit(&w->seen);
	for (size_t i = 0; !err && i < w->few->n; i++) {
		const struct fl_lin_op *op = op_of(w, i);
		bool is_read = op->does == LIN_READ || op->does == LIN_GET ||
			       op->does == LIN_POP || op->does == LIN_PEEK;
		bool is_cas = op->does == LIN_CAS && op->ret != 0;
		int64_t value = is_read ? op->ret :
				is_cas	? op->arg[op->arg[2] != LIN_NONE ? 1 : 0] :
					  LIN_NONE;

		if (!w->few->may[i] && value != LIN_NONE &&
		    map_put(&w->seen, (uint64_t)value, 1))
			err = &err_nomem;
	}
	return err;
}

/* Did @p op write or put in a value that one has seen who is left? */
static bool is_seen(const struct fewer *w, const struct fl_lin_op *op)
{
	int64_t value = op->does == LIN_PUSH ? op->arg[0] : fl_lin_op_leaves(op);

	return op->does != LIN_REMOVE && value != LIN_NONE &&
	       map_get(&w->seen, (uint64_t)value);
}

static bool can_go(const struct fewer *w, const struct fl_lin_model *m, size_t i,
		   bool looks)
{
	const struct fl_lin_op *op = op_of(w, i);

	if (w->few->ops[i] == w->few->at || w->few->may[i] || op->end == LIN_PENDING ||
	    fl_lin_model_observes(m, op) != looks)
		return false;
	return looks || !is_seen(w, op);
}

/* Try without those of [@p lo, @p hi) that can go. @return whether there is no order then, either. */
static struct err *try_without(struct fewer *w, size_t lo, size_t hi, bool looks,
			       bool *ret)
{
	const struct fl_lin_model m = { .object = w->o };
	struct fl_lin_few *few = w->few;
	const struct fl_lin_search_how how = { .most = AMONG,
					       .work = LOOKED_AT - w->looked_at,
					       .may = w->less_may,
					       .start = few->start };
	size_t kept = 0, tried = 0;
	struct fl_lin_search s;
	struct err *err;

	*ret = false;
	err = looks ? NULL : note_seen(w);
	if (err)
		return err;
	for (size_t i = 0; i < few->n; i++) {
		bool goes = i >= lo && i < hi && can_go(w, &m, i, looks);

		tried += goes;
		if (goes && looks)
			continue;
		w->less[kept] = few->ops[i];
		w->less_may[kept++] = few->may[i] || goes;
	}
	if (!tried)
		return NULL;
	err = fl_lin_search(w->o, w->h, w->less, kept, &how, &s);
	w->looked_at += kept + s.work;
	*ret = !err && s.answer == LIN_WRONG;
	if (!*ret)
		return err;
	w->has_changed = true;
	memcpy(few->ops, w->less, kept * sizeof(*few->ops));
	memcpy(few->may, w->less_may, kept * sizeof(*few->may));
	few->n = kept;
	return NULL;
}

static struct err *leave_out(struct fewer *w, bool looks)
{
	struct err *err = NULL;

	for (size_t chunk = w->few->n; !err && chunk; chunk /= 2)
		for (size_t lo = 0; !err && lo < w->few->n && w->looked_at < LOOKED_AT;) {
			bool is_without;

			err = try_without(w, lo, lo + chunk, looks, &is_without);
			// What may have happened keeps its place, what looked does not.
			if (!is_without || !looks)
				lo += chunk;
		}
	return err;
}

struct err *fl_lin_fewer(const struct fl_lin_object *o, const struct fl_lin_history *h,
			 struct fl_lin_few *few)
{
	_cleanup_free_ bool *less_may = calloc(few->n + 1, sizeof(*less_may));
	_cleanup_free_ size_t *less = calloc(few->n + 1, sizeof(*less));
	struct fewer w = {
		.o = o, .h = h, .few = few, .less = less, .less_may = less_may
	};
	struct err *err = less && less_may ? NULL : &err_nomem;
	size_t kept = 0;

	do {
		w.has_changed = false;
		if (!err)
			err = leave_out(&w, true);
		if (!err)
			err = leave_out(&w, false);
	} while (!err && w.has_changed && w.looked_at < LOOKED_AT);
	for (size_t i = 0; i < few->n; i++)
		if (!few->may[i])
			few->ops[kept++] = few->ops[i];
	few->n = kept;
	map_deinit(&w.seen);
	few->is_minimal = w.looked_at < LOOKED_AT;
	return err;
}
