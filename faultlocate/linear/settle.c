// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What matters no more of a history of which more will come. Of a part that is one number, and of which no
 * operation is under way, that is all but the number: who wrote it last stays for all of them. It may be one
 * of several numbers; their last writers overlap, or one of them would not have been the last, so that
 * they alone may leave the same. Of a part that is wrong what came later does not matter.
 */
#include <string.h>

#include "faultlocate/linear/fewer.h"
#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"

/* ---- one number ---------------------------------------------------------------------------- */

/* What is known of a part. */
struct known {
	enum fl_lin_answer answer;
	uint64_t end; ///< WRONG: what was called later does not matter
	int64_t last[4];
	unsigned n_last; ///< RIGHT: what it may be now; 0: not known
};

static struct err *search(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const size_t *ops, size_t n, struct known *ret)
{
	struct fl_lin_search s;
	struct err *err = fl_lin_search(o, h, ops, n, NULL, &s);

	if (err)
		return err;
	ret->answer = s.answer;
	if (s.answer == LIN_WRONG)
		ret->end = h->ops.data[ops[s.at]].end;
	ret->n_last = s.answer == LIN_RIGHT && s.rest == n ? s.n_rest_states : 0;
	memcpy(ret->last, s.rest_states, sizeof(ret->last));
	return NULL;
}

static struct err *ask(const struct fl_lin_object *o, const struct fl_lin_history *h,
		       const struct fl_lin_part *p, struct known *ret)
{
	struct fl_lin_register r = {};
	struct err *err = NULL;
	size_t ops[7];

	if (o->kind == LIN_REGISTER)
		err = fl_lin_monitor_register(o, h, p->ops, p->n, &r);
	if (err || !r.is_distinct || (r.is_right && !r.n_last))
		return err ?: search(o, h, p->ops, p->n, ret);
	ret->answer = r.is_right ? LIN_RIGHT : LIN_WRONG;
	ret->n_last = r.is_right ? r.n_last : 0;
	memcpy(ret->last, r.last, sizeof(ret->last));
	ret->end = 0;
	for (size_t n = r.is_right ? 0 :
				     fl_lin_register_ops(h, p->ops, p->n, r.wrong, ops);
	     n--;)
		if (h->ops.data[ops[n]].end > ret->end)
			ret->end = h->ops.data[ops[n]].end;
	return NULL;
}

/* Can the part be told by a number, now? */
static bool is_number(const struct fl_lin_history *h, const struct fl_lin_part *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct fl_lin_op *op = &h->ops.data[p->ops[i]];

		if (op->end == LIN_PENDING || op->does == LIN_APPEND ||
		    (op->does == LIN_CAS && op->ret == LIN_NONE))
			return false;
	}
	return true;
}

/* @return who left @p value last, by its return, else who saw it last; LIN_NO_OP: nobody. */
static size_t last_of(const struct fl_lin_history *h, const struct fl_lin_part *p,
		      int64_t value)
{
	size_t last = LIN_NO_OP;
	bool is_writer = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct fl_lin_op *op = &h->ops.data[p->ops[i]];
		bool writes = fl_lin_op_leaves(op) == value;

		if ((!writes && (is_writer || fl_lin_op_settles(op) != value)) ||
		    (last != LIN_NO_OP && writes == is_writer &&
		     op->end < h->ops.data[last].end))
			continue;
		last = p->ops[i];
		is_writer = writes;
	}
	return last;
}

/* A counter is the sum of what was added: whoever returned last stays for that. */
static struct err *keep_sum(struct fl_lin_history *h, const struct fl_lin_part *p,
			    int64_t sum)
{
	size_t last = 0;

	for (size_t i = 1; i < p->n; i++)
		if (h->ops.data[p->ops[i]].end > h->ops.data[p->ops[last]].end)
			last = i;
	for (size_t i = 0; i < p->n; i++)
		if (i != last)
			h->ops.data[p->ops[i]].does = -1;
	h->ops.data[p->ops[last]].is_settled = true;
	h->ops.data[p->ops[last]].arg[2] = sum;
	return NULL;
}

static bool is_same(const struct known *a, const struct known *b)
{
	for (unsigned i = 0; i < a->n_last; i++) {
		bool is_there = false;

		for (unsigned k = 0; k < b->n_last; k++)
			is_there |= a->last[i] == b->last[k];
		if (!is_there)
			return false;
	}
	return a->n_last == b->n_last;
}

/* Leave of @p p who left the numbers of @p now. */
static struct err *keep_last(const struct fl_lin_object *o, struct fl_lin_history *h,
			     const struct fl_lin_part *p, const struct known *now)
{
	struct known then = {};
	bool were_settled[4];
	size_t kept[4], next = 0;
	struct err *err;

	for (unsigned i = 0; i < now->n_last; i++) {
		kept[i] = last_of(h, p, now->last[i]);
		if (kept[i] == LIN_NO_OP)
			return NULL;
	}
	fl_lin_sort(kept, now->n_last);
	for (unsigned i = 0; i < now->n_last; i++) {
		were_settled[i] = h->ops.data[kept[i]].is_settled;
		h->ops.data[kept[i]].is_settled = true;
	}
	err = search(o, h, kept, now->n_last, &then);
	if (err || !is_same(now, &then)) {
		for (unsigned i = 0; i < now->n_last; i++)
			h->ops.data[kept[i]].is_settled = were_settled[i];
		return err;
	}
	for (size_t i = 0; i < p->n; i++)
		if (next < now->n_last && kept[next] == p->ops[i])
			next++;
		else
			h->ops.data[p->ops[i]].does = -1;
	return NULL;
}

/* @p p is wrong by what was called up to @p end: the rest does not matter. */
static void keep_wrong(struct fl_lin_history *h, const struct fl_lin_part *p,
		       uint64_t end)
{
	for (size_t i = 0; i < p->n; i++) {
		struct fl_lin_op *op = &h->ops.data[p->ops[i]];

		if (op->call > end)
			op->does = -1;
		else
			op->is_wrong = true;
	}
}

/* @p p was wrong before: what came since goes, when it has returned. */
static void drop_later(struct fl_lin_history *h, const struct fl_lin_part *p)
{
	for (size_t i = p->n; i < p->n + p->n_later; i++)
		if (h->ops.data[p->ops[i]].end != LIN_PENDING)
			h->ops.data[p->ops[i]].does = -1;
}

static struct err *settle(const struct fl_lin_object *o, struct fl_lin_history *h,
			  const struct fl_lin_part *p)
{
	struct known now = {};
	struct err *err;

	if (h->ops.data[p->ops[0]].is_wrong) {
		drop_later(h, p);
		return NULL;
	}
	if (p->n == 1 || !is_number(h, p))
		return NULL;
	err = ask(o, h, p, &now);
	if (err)
		return err;
	if (now.answer == LIN_RIGHT && now.n_last && now.n_last < p->n)
		return o->kind == LIN_COUNTER ? keep_sum(h, p, now.last[0]) :
						keep_last(o, h, p, &now);
	if (now.answer == LIN_WRONG)
		keep_wrong(h, p, now.end);
	return NULL;
}

static struct err *settle_all(const struct fl_lin_object *o, struct fl_lin_history *h)
{
	struct fl_lin_parts parts;
	struct err *err = fl_lin_parts_make(o, h, &parts);

	for (size_t i = 0; !err && i < parts.ends.size; i++) {
		struct fl_lin_part p = fl_lin_parts_at(&parts, h, i);

		err = settle(o, h, &p);
	}
	fl_lin_parts_deinit(&parts);
	h->n_gone += fl_lin_history_drop(h);
	return err;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Pushes of what is inside stay, and no more. */
static struct err *keep_inside(struct fl_lin_history *h)
{
	struct map popped = {};
	struct err *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; !err && i < h->ops.size; i++)
		if (h->ops.data[i].does == LIN_POP &&
		    map_put(&popped, (uint64_t)h->ops.data[i].ret, 1))
			err = &err_nomem;
	for (size_t i = 0; !err && i < h->ops.size; i++) {
		const struct fl_lin_op *op = &h->ops.data[i];

		if (op->does == LIN_PUSH && op->ret != 0 &&
		    !map_get(&popped, (uint64_t)op->arg[0]))
			h->ops.data[kept++] = *op;
	}
	if (!err) {
		h->n_gone += h->ops.size - kept;
		h->ops.size = kept;
	}
	map_deinit(&popped);
	return err;
}

static struct err *settle_queue(const struct fl_lin_object *o, struct fl_lin_history *h)
{
	struct fl_lin_verdict v = {};
	bool is_settled = true;
	struct err *err = NULL;

	for (size_t i = 0; is_settled && i < h->ops.size; i++)
		is_settled = !h->ops.data[i].instance;
	if (is_settled) {
		err = fl_lin_check(o, h, 1, &v);
		is_settled = !err && v.answer == LIN_RIGHT &&
			     !strcmp(v.method, "monitor");
	}
	fl_lin_verdict_deinit(&v);
	if (is_settled)
		return keep_inside(h);
	h->rest = NULL; // nor will it be later
	return err;
}

/* ---- all --------------------------------------------------------------------------------------- */

struct err *fl_lin_check_rest(const struct fl_lin_object *o, struct fl_lin_history *h)
{
	switch (o->kind) {
	case LIN_QUEUE:
	case LIN_PRIORITY:
		return settle_queue(o, h);
	case LIN_REGISTER:
	case LIN_COUNTER:
	case LIN_SET:
	case LIN_MAP:
		return settle_all(o, h);
	default:
		h->rest = NULL;
		return NULL;
	}
}
