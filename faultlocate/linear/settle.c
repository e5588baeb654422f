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
	unsigned n_last;       ///< RIGHT: what it may be now; 0: not known
	struct fl_lin_row row; ///< RIGHT, of a machine: what it is now; empty: not known
};

static struct err *search(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const size_t *ops, size_t n, struct known *ret)
{
	const struct fl_lin_search_how how = { .at_rest = o->kind == LIN_MACHINE ?
								  &ret->row :
								  NULL };
	struct fl_lin_search s;
	struct err *err = fl_lin_search(o, h, ops, n, &how, &s);

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

/* Who returned last stays for all of @p p. */
static struct fl_lin_op *keep_one(struct fl_lin_history *h, const struct fl_lin_part *p)
{
	size_t last = 0;

	for (size_t i = 1; i < p->n; i++)
		if (h->ops.data[p->ops[i]].end > h->ops.data[p->ops[last]].end)
			last = i;
	for (size_t i = 0; i < p->n; i++)
		if (i != last)
			h->ops.data[p->ops[i]].does = -1;
	h->ops.data[p->ops[last]].is_settled = true;
	return &h->ops.data[p->ops[last]];
}

/* A machine is in one state, @p row, which becomes the history's. */
static struct err *keep_row(struct fl_lin_history *h, const struct fl_lin_part *p,
			    struct fl_lin_row *row)
{
	uint16_t place = h->ops.data[p->ops[0]].row; // who left it goes

	if (!place && h->rows.size == UINT16_MAX)
		return NULL;
	if (!place) {
		if (vec_add(&h->rows, (struct fl_lin_row){}))
			return &err_nomem;
		place = (uint16_t)h->rows.size;
	}
	free(h->rows.data[place - 1].at);
	h->rows.data[place - 1] = *row;
	*row = (struct fl_lin_row){};
	keep_one(h, p)->row = place;
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

/* Leave of @p p what tells what it is @p now. */
static struct err *keep(const struct fl_lin_object *o, struct fl_lin_history *h,
			const struct fl_lin_part *p, struct known *now)
{
	if (now->answer == LIN_WRONG)
		keep_wrong(h, p, now->end);
	if (now->answer != LIN_RIGHT)
		return NULL;
	if (now->row.at)
		return keep_row(h, p, &now->row);
	if (!now->n_last || now->n_last == p->n || o->kind == LIN_MACHINE)
		return NULL;
	if (o->kind != LIN_COUNTER)
		return keep_last(o, h, p, now);
	keep_one(h, p)->arg[2] = now->last[0]; // the sum of what was added
	return NULL;
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
	if (!err)
		err = keep(o, h, p, &now);
	free(now.row.at);
	return err;
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

/* ---- queues and stacks ------------------------------------------------------------------------ */

/* Operations that put in what did not come out. @return whether they did one after the other. */
static struct err *mark_inside(struct fl_lin_history *h, bool *is_inside,
			       bool *are_in_order)
{
	struct map popped = {};
	struct err *err = NULL;
	uint64_t last = 0;

	*are_in_order = true;
	for (size_t i = 0; !err && i < h->ops.size; i++)
		if (h->ops.data[i].does == LIN_POP &&
		    map_put(&popped, (uint64_t)h->ops.data[i].ret, 1))
			err = &err_nomem;
	for (size_t i = 0; !err && i < h->ops.size; i++) {
		const struct fl_lin_op *op = &h->ops.data[i];

		if (op->does != LIN_PUSH || op->ret == 0 ||
		    map_get(&popped, (uint64_t)op->arg[0]))
			continue;
		is_inside[i] = true;
		*are_in_order &= op->call >= last;
		last = op->end > last ? op->end : last;
	}
	map_deinit(&popped);
	return err;
}

static bool has_one_part(const struct fl_lin_history *h)
{
	for (size_t i = 0; i < h->ops.size; i++)
		if (h->ops.data[i].instance)
			return false;
	return true;
}

/* Pushes of what is inside stay, and no more. Of two in a stack that went in at once what came and went tells
 * which is above: then all stays, for now. */
static struct err *settle_container(const struct fl_lin_object *o,
				    struct fl_lin_history *h)
{
	_cleanup_free_ bool *is_inside = calloc(h->ops.size + 1, sizeof(*is_inside));
	struct fl_lin_verdict v = {};
	bool is_settled = has_one_part(h), are_in_order;
	struct err *err = is_inside ? mark_inside(h, is_inside, &are_in_order) :
				      &err_nomem;

	if (err || (is_settled && o->kind == LIN_STACK && !are_in_order))
		return err;
	if (is_settled) {
		err = fl_lin_check(o, h, 1, &v);
		is_settled = !err && v.answer == LIN_RIGHT &&
			     !strcmp(v.method, "monitor");
	}
	fl_lin_verdict_deinit(&v);
	if (!is_settled)
		h->rest = NULL; // nor will it be later
	for (size_t i = 0; is_settled && i < h->ops.size; i++)
		if (!is_inside[i])
			h->ops.data[i].does = -1;
	h->n_gone += fl_lin_history_drop(h);
	return err;
}

/* ---- all --------------------------------------------------------------------------------------- */

struct err *fl_lin_check_rest(const struct fl_lin_object *o, struct fl_lin_history *h)
{
	fl_lin_history_drop(h); // what did not happen is not counted
	switch (o->kind) {
	case LIN_QUEUE:
	case LIN_STACK:
	case LIN_PRIORITY:
		return settle_container(o, h);
	case LIN_REGISTER:
	case LIN_COUNTER:
	case LIN_SET:
	case LIN_MAP:
	case LIN_MUTEX:
	case LIN_MACHINE:
		return settle_all(o, h);
	default:
		return NULL;
	}
}
