// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/linear/monitor.h"

/* Of one that is to return later that is all that is known: as if it never did. */
static uint64_t end_of(const struct fl_lin_op *o)
{
	return o->end == LIN_LATER ? LIN_PENDING : o->end;
}

/* A push that did nothing, or a pop whose result nobody saw and that never came. */
static struct err *add_push(const struct fl_lin_history *h, size_t op,
			    struct map *by_value, fl_lin_items *items, bool *is_twice)
{
	const struct fl_lin_op *o = &h->ops.data[op];
	struct fl_lin_item *item;

	if (o->ret == 0)
		return NULL;
	if (map_get(by_value, o->arg[0])) {
		*is_twice = true;
		return NULL;
	}
	if (map_put(by_value, o->arg[0], items->size))
		return &err_nomem;
	item = vec_push(items);
	if (!item)
		return &err_nomem;
	*item = (struct fl_lin_item){ .value = o->arg[0],
				      .push = o->call,
				      .pushed = end_of(o),
				      .pop = LIN_PENDING,
				      .popped = LIN_PENDING,
				      .push_op = op,
				      .pop_op = LIN_NO_OP };
	return NULL;
}

static struct err *add_pop(const struct fl_lin_history *h, size_t op,
			   const struct map *by_value, fl_lin_items *items,
			   fl_lin_items *pending)
{
	const struct fl_lin_op *o = &h->ops.data[op];
	const uint64_t *at = map_get(by_value, o->ret);
	struct fl_lin_item *item;

	if (o->ret != LIN_NONE && o->ret != LIN_EMPTY && at &&
	    items->data[*at].pop_op == LIN_NO_OP) {
		item = &items->data[*at];
		item->pop = o->call;
		item->popped = end_of(o);
		item->pop_op = op;
		return NULL;
	}
	item = vec_push(o->ret == LIN_NONE ? pending : items);
	if (!item)
		return &err_nomem;
	// What nobody pushed, or what came out before, went in never.
	*item = (struct fl_lin_item){ .value = o->ret,
				      .push = LIN_PENDING,
				      .pushed = LIN_PENDING,
				      .pop = o->call,
				      .popped = end_of(o),
				      .push_op = LIN_NO_OP,
				      .pop_op = op,
				      .is_empty = o->ret == LIN_EMPTY };
	return NULL;
}

struct err *fl_lin_items_make(const struct fl_lin_history *h, const size_t *ops, size_t n,
			      fl_lin_items *ret, fl_lin_items *pending,
			      bool *ret_is_distinct, char why[256])
{
	struct map by_value = {};
	const char *reason = NULL;
	struct err *err = NULL;

	for (size_t i = 0; !err && !reason && i < n; i++) {
		const struct fl_lin_op *o = &h->ops.data[ops[i]];
		bool is_twice = false;

		if (o->does == LIN_PUSH)
			err = add_push(h, ops[i], &by_value, ret, &is_twice);
		else if (o->does == LIN_PEEK && o->ret != LIN_NONE)
			reason = "it is looked into without taking";
		if (is_twice)
			reason = "values are put in twice";
	}
	for (size_t i = 0; !err && !reason && i < n; i++) {
		const struct fl_lin_op *o = &h->ops.data[ops[i]];

		if (o->does != LIN_POP)
			continue;
		if (o->ret == LIN_NONE && o->end != LIN_PENDING)
			reason = "what was taken is not known";
		else
			err = add_pop(h, ops[i], &by_value, ret, pending);
	}
	*ret_is_distinct = !reason;
	snprintf(why, 256, "%s", reason ?: "");
	map_deinit(&by_value);
	return err;
}
