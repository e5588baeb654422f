// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The question, part by part. Each part is given to a monitor where one is for it, else to the search.
 */
#include <assert.h>
#include <string.h>

#include "faultlocate/linear/fewer.h"
#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"

#define TRIES 64 ///< which values pops took that did not return

struct check {
	const struct fl_lin_object *o;
	const struct fl_lin_history *h;
	size_t most;
	struct fl_lin_verdict *ret;
	bool has_monitored, has_searched;
};

/* ---- what is wrong ---------------------------------------------------------------------------- */

static const char *value_text(const struct check *c, int64_t value, char buf[64])
{
	return fl_lin_value_name(&c->h->values, value, buf, 64);
}

static struct err *witness_op(struct check *c, size_t op)
{
	return op == LIN_NO_OP ? NULL : vec_add(&c->ret->witness, op);
}

static void sort_witness(struct check *c)
{
	fl_lin_sort(c->ret->witness.data, c->ret->witness.size);
}

/* The items of @p from but for those in [lo, hi). */
static struct err *without(const fl_lin_items *from, size_t lo, size_t hi,
			   fl_lin_items *ret)
{
	ret->size = 0;
	if (vec_reserve(ret, from->size))
		return &err_nomem;
	for (size_t i = 0; i < from->size; i++)
		if (i < lo || i >= hi)
			ret->data[ret->size++] = from->data[i];
	return NULL;
}

/* Leave out values, half of them, a quarter, .. one by one, as long as there is no order for the rest:
 * what has an order has one without a value, too. Each is moments of its own in @p items. */
static struct err *minimize(enum fl_lin_object_kind kind, fl_lin_items *items)
{
	fl_lin_items less = {}, tried = {};
	struct err *err = NULL;
	bool is_right;

	for (size_t chunk = (items->size + 1) / 2; !err && chunk;
	     chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
		for (size_t lo = 0; !err && lo < items->size;) {
			err = without(items, lo, lo + chunk, &less);
			if (!err)
				err = without(&less, 0, 0, &tried); // it is numbered anew
			if (!err)
				err = fl_lin_monitor(kind, &tried, &is_right);
			if (!err && !is_right && less.size) {
				fl_lin_items swap = *items;

				*items = less;
				less = swap;
			} else {
				lo += chunk;
			}
		}
	}
	vec_deinit(&less);
	vec_deinit(&tried);
	return err;
}

static void tell_container(struct check *c, const fl_lin_items *items)
{
	struct fl_lin_verdict *r = c->ret;
	char a[64], b[64];

	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (item->is_empty || item->pop_op == LIN_NO_OP)
			continue;
		if (item->push_op != LIN_NO_OP && item->push < item->popped)
			continue;
		snprintf(r->why, sizeof(r->why), "%s came out, and %s",
			 value_text(c, item->value, a),
			 item->push_op == LIN_NO_OP ?
				 "was not put in, or had come out before" :
				 "had not been put in yet");
		return;
	}
	for (size_t i = 0; i < items->size; i++)
		if (items->data[i].is_empty) {
			snprintf(
				r->why, sizeof(r->why),
				"it was found empty, and at each instant of that something "
				"was certainly inside");
			return;
		}
	if (c->o->kind == LIN_QUEUE && items->size == 2) {
		const struct fl_lin_item *x = &items->data[0], *y = &items->data[1];

		if (x->pushed > y->push)
			x = y, y = &items->data[0];
		snprintf(r->why, sizeof(r->why), "%s went in before %s, and %s",
			 value_text(c, x->value, a), value_text(c, y->value, b),
			 x->pop_op == LIN_NO_OP ? "stays inside" : "came out after it");
		return;
	}
	snprintf(
		r->why, sizeof(r->why), "%s",
		c->o->kind == LIN_STACK ?
			"of these values, which are inside without a gap, none can be below the others" :
		c->o->kind == LIN_PRIORITY ?
			"it came out while a smaller value was certainly inside" :
			"these values have no order");
}

/* @p items has no order, and is as small as that gets. */
static struct err *show_container(struct check *c, fl_lin_items *items)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < items->size; i++) {
		err = witness_op(c, items->data[i].push_op);
		if (!err)
			err = witness_op(c, items->data[i].pop_op);
	}
	if (err)
		return err;
	c->ret->is_minimal = true;
	sort_witness(c);
	tell_container(c, items);
	return NULL;
}

/* What the object may have been like, in a configuration: @p n numbers. @return how much is written. */
static int tell_state(const struct check *c, const int64_t *row, int64_t n, char *buf,
		      size_t size)
{
	char value[64];
	int written = n ? 0 : snprintf(buf, size, "empty");

	for (int64_t i = 0; i < n && written < (int)size; i++)
		written += snprintf(buf + written, size - written, "%s%s", i ? " " : "",
				    row[i] == LIN_ANY ? "anything" :
							value_text(c, row[i], value));
	return written;
}

/* What there may have been before what is shown: "it was 57 or 58", in the order of the configurations. */
static void tell_start(const struct check *c, const int64_t *start)
{
	char *buf = c->ret->left;
	size_t size = sizeof(c->ret->left);
	int64_t words = (start[LIN_START_OPEN] + 63) / 64;
	const int64_t *at = start + LIN_START_CALLS + start[LIN_START_OPEN], *last = NULL;
	int n = snprintf(buf, size, "it was ");

	for (int64_t i = *at++; i && n < (int)size; i--) {
		const int64_t *row = at + words + 1;

		// Most that follow one another are the same but for what has happened.
		if (!last || last[-1] != row[-1] ||
		    memcmp(last, row, row[-1] * sizeof(*row))) {
			n += snprintf(buf + n, size - n, last ? " or " : "");
			if (n < (int)size)
				n += tell_state(c, row, row[-1], buf + n, size - n);
		}
		last = row;
		at = row + row[-1];
	}
	if (n >= (int)size)
		memcpy(buf + size - 4, "...", 4);
}

static struct err *show_start(struct check *c, const int64_t *start)
{
	fl_lin_words *to = &c->ret->start;

	if (vec_reserve(to, (size_t)start[LIN_START_SIZE]))
		return &err_nomem;
	to->size = (size_t)start[LIN_START_SIZE];
	memcpy(to->data, start, to->size * sizeof(*start));
	tell_start(c, start);
	return NULL;
}

/* Up to the return that nothing explains. */
static struct err *show_search(struct check *c, const struct fl_lin_part *p,
			       const struct fl_lin_search *s)
{
	const struct fl_lin_op *at = &c->h->ops.data[p->ops[s->at]];
	_cleanup_free_ size_t *ops = calloc(p->n + 1, sizeof(*ops));
	_cleanup_free_ bool *may = calloc(p->n + 1, sizeof(*may));
	struct fl_lin_few few = {
		.ops = ops, .may = may, .at = p->ops[s->at], .start = p->start
	};
	char text[128], value[64];
	struct err *err = ops && may ? NULL : &err_nomem;
	int n;

	for (size_t i = 0; !err && i < p->n; i++)
		if (c->h->ops.data[p->ops[i]].call < at->end)
			ops[few.n++] = p->ops[i];
	if (!err)
		err = fl_lin_leave_out_before(c->o, c->h, s, &few);
	if (!err)
		err = fl_lin_fewer(c->o, c->h, &few);
	for (size_t i = 0; !err && i < few.n; i++)
		err = witness_op(c, ops[i]);
	c->ret->is_minimal = few.is_minimal;
	if (!err && few.start)
		err = show_start(c, few.start);
	vec_deinit(&few.words);
	n = snprintf(c->ret->why, sizeof(c->ret->why), "no order explains %s",
		     fl_lin_op_text(c->o, &c->h->values, at, text, sizeof(text)));
	for (unsigned i = 0; i < s->n_before && n > 0 && n < (int)sizeof(c->ret->why);
	     i++)
		n += snprintf(c->ret->why + n, sizeof(c->ret->why) - n, "%s%s",
			      !i ? ": before it there may have been " : " or ",
			      s->before[i] == LIN_ANY ?
				      "anything" :
				      value_text(c, s->before[i], value));
	return err;
}

/* ---- one part --------------------------------------------------------------------------------- */

/* The answer for one part is @p answer. @return whether it is the first wrong one, to be shown. */
static bool take_answer(struct check *c, const struct fl_lin_part *p,
			enum fl_lin_answer answer)
{
	struct fl_lin_verdict *r = c->ret;

	if (answer != LIN_WRONG) {
		if (answer == LIN_UNKNOWN && r->answer == LIN_RIGHT)
			r->answer = LIN_UNKNOWN;
		return false;
	}
	if (r->n_wrong++)
		return false;
	r->answer = LIN_WRONG;
	r->key = fl_lin_op_key(c->o, &c->h->ops.data[p->ops[0]]);
	r->has_key = r->key != LIN_NONE;
	return true;
}

static struct err *search_part(struct check *c, const struct fl_lin_part *p)
{
	struct fl_lin_search s;
	struct err *err = fl_lin_search(
		c->o, c->h, p->ops, p->n,
		&(struct fl_lin_search_how){ .most = c->most, .start = p->start }, &s);

	c->has_searched = true;
	if (err)
		return err;
	if (take_answer(c, p, s.answer))
		return show_search(c, p, &s);
	if (s.answer == LIN_UNKNOWN && c->ret->answer == LIN_UNKNOWN && !c->ret->why[0])
		snprintf(c->ret->why, sizeof(c->ret->why), "%s", s.why);
	return NULL;
}

/* Which value a pop took that did not return is not known; it is one of a witness's that stay inside,
 * or the witness is wrong whatever it took. Try these, pop by pop.
 * @param tries  how often, at most. @param answer  UNKNOWN when that was not enough; WRONG: *wrong is a
 * witness. */
static struct err *complete(enum fl_lin_object_kind kind, const fl_lin_items *items,
			    const fl_lin_items *pending, size_t *tries,
			    enum fl_lin_answer *answer, fl_lin_items *wrong)
{
	fl_lin_items tried = {}, less = {}, next = {};
	struct err *err = without(items, 0, 0, &tried);
	bool is_right = true;

	if (!err)
		err = fl_lin_monitor(kind, &tried, &is_right);
	*answer = is_right ? LIN_RIGHT : LIN_WRONG;
	if (!err && !is_right)
		err = without(items, 0, 0, wrong);
	if (!err && !is_right)
		err = minimize(kind, wrong);
	if (!err && !is_right)
		err = without(wrong, 0, 0, &less);
	for (size_t i = 0; !err && !is_right && i < less.size; i++) {
		const struct fl_lin_item *lost = &less.data[i];

		if (lost->is_empty || lost->pop_op != LIN_NO_OP)
			continue;
		for (size_t k = 0; !err && !is_right && k < pending->size; k++) {
			fl_lin_items rest = {};
			enum fl_lin_answer of_this = LIN_RIGHT;
			struct fl_lin_item *taken;

			if (!*tries) {
				*answer = LIN_UNKNOWN;
				break;
			}
			--*tries;
			err = without(pending, k, k + 1, &rest);
			if (!err)
				err = without(items, 0, 0, &next);
			taken = err ? NULL :
				      vec_find(&next, it, it->push_op == lost->push_op);
			if (taken) {
				taken->pop = pending->data[k].pop;
				taken->pop_op = pending->data[k].pop_op;
				err = complete(kind, &next, &rest, tries, &of_this,
					       wrong);
			}
			vec_deinit(&rest);
			is_right = of_this == LIN_RIGHT;
			if (of_this != LIN_WRONG)
				*answer = of_this;
		}
	}
	if (!err && *answer == LIN_WRONG)
		err = without(&less, 0, 0, wrong);
	vec_deinit(&tried);
	vec_deinit(&less);
	vec_deinit(&next);
	return err;
}

static struct err *ask_container(struct check *c, const struct fl_lin_part *p)
{
	fl_lin_items items = {}, pending = {}, wrong = {};
	enum fl_lin_answer answer = LIN_UNKNOWN;
	size_t tries = TRIES;
	bool is_distinct;
	char why[256];
	struct err *err = fl_lin_items_make(c->h, p->ops, p->n, &items, &pending,
					    &is_distinct, why);

	if (!err && is_distinct)
		err = complete(c->o->kind, &items, &pending, &tries, &answer, &wrong);
	if (!err && is_distinct && answer == LIN_UNKNOWN)
		snprintf(why, sizeof(why),
			 "%zu did not return that may have taken something",
			 pending.size);
	if (!err && answer != LIN_UNKNOWN) {
		c->has_monitored = true;
		if (take_answer(c, p, answer))
			err = show_container(c, &wrong);
	} else if (!err) {
		if (!c->ret->note[0])
			snprintf(c->ret->note, sizeof(c->ret->note), "%s", why);
		err = search_part(c, p);
	}
	vec_deinit(&items);
	vec_deinit(&wrong);
	vec_deinit(&pending);
	return err;
}

/* A register that is wrong is so with some reads and writes of one or two values alone. */
static struct err *show_register(struct check *c, const struct fl_lin_part *p,
				 const int64_t wrong[2])
{
	size_t ops[7];
	const struct fl_lin_part few = {
		.ops = ops, .n = fl_lin_register_ops(c->h, p->ops, p->n, wrong, ops)
	};
	struct fl_lin_search s;
	char a[64], b[64];
	struct err *err = fl_lin_search(c->o, c->h, few.ops, few.n, NULL, &s);

	if (err)
		return err;
	assert(s.answer == LIN_WRONG);
	err = show_search(c, &few, &s);
	if (wrong[1] == LIN_NONE)
		snprintf(c->ret->why, sizeof(c->ret->why),
			 "%s was read, and not written before",
			 value_text(c, wrong[0], a));
	else
		snprintf(
			c->ret->why, sizeof(c->ret->why),
			"neither %s can have been written and read before %s, nor after it",
			value_text(c, wrong[0], a), value_text(c, wrong[1], b));
	return err;
}

static struct err *ask_register(struct check *c, const struct fl_lin_part *p)
{
	struct fl_lin_register r;
	struct err *err = fl_lin_monitor_register(c->o, c->h, p->ops, p->n, &r);

	if (err)
		return err;
	if (!r.is_distinct && !c->ret->note[0])
		snprintf(
			c->ret->note, sizeof(c->ret->note),
			"a value is written twice, compared and set, or was there at first, too");
	if (!r.is_distinct)
		return search_part(c, p);
	c->has_monitored = true;
	return take_answer(c, p, r.is_right ? LIN_RIGHT : LIN_WRONG) ?
		       show_register(c, p, r.wrong) :
		       NULL;
}

static struct err *ask(struct check *c, const struct fl_lin_part *p)
{
	switch (p->start ? LIN_OBJECTS : c->o->kind) {
	case LIN_QUEUE:
	case LIN_STACK:
	case LIN_PRIORITY:
		return ask_container(c, p);
	case LIN_REGISTER:
		return ask_register(c, p);
	default:
		return search_part(c, p);
	}
}

struct err *fl_lin_check(const struct fl_lin_object *o, const struct fl_lin_history *h,
			 size_t most, struct fl_lin_verdict *ret)
{
	struct check c = { .o = o, .h = h, .most = most, .ret = ret };
	struct fl_lin_parts parts;
	size_t n_starts = 0;
	struct err *err;

	*ret = (struct fl_lin_verdict){ .answer = LIN_RIGHT,
					.n_ops = h->ops.size + h->n_gone };
	for (size_t i = 0; i < h->ops.size; i++)
		ret->n_pending += h->ops.data[i].end == LIN_PENDING;
	err = fl_lin_parts_make(o, h, &parts);
	for (size_t i = 0; !err && i < parts.ends.size; i++) {
		struct fl_lin_part p = fl_lin_parts_at(&parts, o, h, i);

		n_starts += p.start != NULL;
		err = ask(&c, &p);
	}
	// Of some parts nothing is left but a start, and they are right.
	ret->n_parts = parts.ends.size + h->starts.of.size + h->starts.of.has_empty_key -
		       n_starts;
	fl_lin_parts_deinit(&parts);
	c.has_searched |= h->starts.words.size;
	ret->method = !c.has_searched  ? "monitor" :
		      !c.has_monitored ? "search" :
					 "monitor and search";
	return err;
}
