// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Monitors and search against a judge that tries all orders, on random histories of up to seven
 * operations; monitors against the search on longer ones, right and wrong; all of it against the same where
 * what matters no more is forgotten on the way; witnesses are wrong, and with a value less right.
 */
#include <string.h>

#include "faultlocate/linear/monitor.h"
#include "faultlocate/linear/parts.h"
#include "faultlocate/linear/search.h"
#include "tests/unit.h"

static uint64_t seed = 23;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (seed >> 33) % n;
}

/* ---- the judge ---------------------------------------------------------------------------- */

#define MOST 48

/* An object, as simple as it gets. */
struct plain {
	int64_t in[MOST + 1];
	int n;
	int64_t number;
};

static bool plain_takes(const struct fl_lin_op *op, int64_t value)
{
	return op->ret == LIN_NONE || op->ret == value;
}

/* Operations of the machine: a counter whose add gives nothing. */
enum { ADDS = LIN_STEP, LOOKS };

static const char machine[] = "OBJECT sum { STATE n; OPERATION adds(d) { n = n + d; } "
			      "OPERATION looks() GIVES is { REQUIRE is == n; } }";

static bool plain_step(const struct fl_lin_object *o, struct plain *p,
		       const struct fl_lin_op *op)
{
	int at = 0;

	switch (op->does) {
	case LOOKS:
		return plain_takes(op, p->number);
	case LIN_READ:
		if (p->number == LIN_ANY && op->ret != LIN_NONE)
			p->number = op->ret;
		return plain_takes(op, p->number);
	case LIN_WRITE:
		p->number = op->arg[0];
		return true;
	case LIN_CAS:
		if (p->number != op->arg[0])
			return plain_takes(op, 0);
		p->number = op->arg[1];
		return plain_takes(op, 1);
	case LIN_ADD:
	case ADDS:
		p->number += op->arg[0];
		return plain_takes(op, p->number - op->arg[0]);
	case LIN_SET_ADD:
	case LIN_SET_REMOVE:
	case LIN_SET_CONTAINS: {
		bool was = p->in[op->arg[0]];

		if (op->does != LIN_SET_CONTAINS)
			p->in[op->arg[0]] = op->does == LIN_SET_ADD;
		return plain_takes(op, (op->does == LIN_SET_ADD) != was);
	}
	case LIN_PUSH:
		p->in[p->n++] = op->arg[0];
		return true;
	case LIN_LOCK:
	case LIN_TRY_LOCK:
		if (p->number)
			return op->does == LIN_TRY_LOCK && plain_takes(op, 0);
		p->number = 1;
		return op->does == LIN_LOCK || plain_takes(op, 1);
	case LIN_UNLOCK:
		p->number--;
		return !p->number;
	}
	if (!p->n)
		return plain_takes(op, LIN_EMPTY);
	if (o->kind == LIN_STACK)
		at = p->n - 1;
	for (int i = 0; o->kind == LIN_PRIORITY && i < p->n; i++)
		at = p->in[i] < p->in[at] ? i : at;
	if (!plain_takes(op, p->in[at]))
		return false;
	if (op->does == LIN_POP) {
		memmove(&p->in[at], &p->in[at + 1], (p->n - at) * sizeof(*p->in));
		p->n--;
	}
	return true;
}

/* Is there an order of those of @p h that are not in @p done, from @p p on? */
static bool plain_has_order(const struct fl_lin_object *o, const struct fl_lin_history *h,
			    unsigned done, const struct plain *p)
{
	uint64_t first_end = LIN_PENDING;
	bool is_left = false;

	for (size_t i = 0; i < h->ops.size; i++) {
		if (done >> i & 1)
			continue;
		is_left |= h->ops.data[i].end != LIN_PENDING;
		if (h->ops.data[i].end < first_end)
			first_end = h->ops.data[i].end;
	}
	if (!is_left)
		return true;
	for (size_t i = 0; i < h->ops.size; i++) {
		struct plain next = *p;

		if (!(done >> i & 1) && h->ops.data[i].call < first_end &&
		    plain_step(o, &next, &h->ops.data[i]) &&
		    plain_has_order(o, h, done | 1u << i, &next))
			return true;
	}
	return false;
}

/* ---- histories ------------------------------------------------------------------------------ */

static void random_op(const struct fl_lin_object *o, struct fl_lin_op *op, int64_t *next,
		      bool is_distinct)
{
	static const enum fl_lin_does of_set[] = { LIN_SET_ADD, LIN_SET_REMOVE,
						   LIN_SET_CONTAINS };

	op->arg[0] = op->arg[1] = op->arg[2] = op->ret = LIN_NONE;
	switch (o->kind) {
	case LIN_REGISTER:
		op->does = rnd(2)		 ? LIN_READ :
			   is_distinct || rnd(2) ? LIN_WRITE :
						   LIN_CAS;
		break;
	case LIN_COUNTER:
		op->does = rnd(2) ? LIN_READ : LIN_ADD;
		if (op->does == LIN_ADD)
			op->arg[0] = (int64_t)rnd(3) - 1;
		return;
	case LIN_MACHINE:
		op->does = rnd(2) ? LOOKS : ADDS;
		if (op->does == ADDS)
			op->arg[0] = (int64_t)rnd(3) - 1;
		return;
	case LIN_SET:
		op->does = of_set[rnd(3)];
		break;
	case LIN_MUTEX:
		op->does = LIN_LOCK + (int)rnd(3);
		return;
	default:
		op->does = rnd(2) ? LIN_PUSH : is_distinct || rnd(4) ? LIN_POP : LIN_PEEK;
	}
	if (op->does == LIN_CAS || op->does == LIN_WRITE || op->does >= LIN_PUSH ||
	    o->kind == LIN_SET)
		op->arg[0] = op->does > LIN_PUSH ? LIN_NONE :
			     is_distinct	 ? (*next)++ :
						   (int64_t)rnd(2);
	if (op->does == LIN_CAS)
		op->arg[1] = rnd(3);
	if (o->kind == LIN_SET)
		op->arg[0] = rnd(2);
}

/* What it really gives when it happens now. */
static void happen(const struct fl_lin_object *o, struct plain *p, struct fl_lin_op *op)
{
	struct plain tried;
	int64_t results[MOST + 8], n = 0;

	if (o->kind == LIN_COUNTER || o->kind == LIN_MACHINE) {
		op->ret = p->number;
		plain_step(o, p, op);
		if (op->does == ADDS || (op->does == LIN_ADD && rnd(3)))
			op->ret = LIN_NONE;
		return;
	}
	if (o->kind == LIN_MUTEX) {
		bool can = op->does == LIN_UNLOCK ? p->number : !p->number;

		// One that cannot happen now is another one.
		op->does = can ? op->does : LIN_TRY_LOCK;
		if (op->does == LIN_TRY_LOCK)
			op->ret = !p->number;
		plain_step(o, p, op);
		return;
	}
	for (int64_t v = 0; v < MOST + 4; v++)
		results[n++] = v;
	results[n++] = LIN_EMPTY;
	if (op->does == LIN_PUSH || op->does == LIN_WRITE) {
		plain_step(o, p, op);
		return;
	}
	for (int i = 0; i < n; i++) {
		tried = *p;
		op->ret = results[i];
		if (plain_step(o, &tried, op))
			break;
	}
	*p = tried;
}

/* Of @p n operations by a few processes, each of which happens at an instant of its time; then, unless
 * it @p is_right, a result or a moment or two are changed. */
static void make_history(const struct fl_lin_object *o, struct fl_lin_history *h,
			 size_t n, bool is_distinct, bool is_right, bool has_pending)
{
	struct plain p = { .number = o->initial == LIN_ANY ? 0 : o->initial };
	size_t open[3], n_open = 0, called = 0, most = 1 + rnd(3);
	bool has_happened[3] = {};
	int64_t next = 0;

	*h = (struct fl_lin_history){};
	while (called < n || n_open) {
		size_t k = n_open ? rnd(n_open) : 0;

		if (called < n && n_open < most && (!n_open || rnd(2))) {
			struct fl_lin_op *op = vec_push(&h->ops);

			assert_non_null(op);
			random_op(o, op, &next, is_distinct);
			op->call = h->moments++;
			op->end = LIN_PENDING;
			has_happened[n_open] = false;
			open[n_open++] = called++;
		} else if (!has_happened[k]) {
			happen(o, &p, &h->ops.data[open[k]]);
			has_happened[k] = true;
		} else {
			h->ops.data[open[k]].end = h->moments++;
			open[k] = open[n_open - 1];
			has_happened[k] = has_happened[--n_open];
		}
	}
	for (int i = 0; !is_right && i < 2; i++) {
		struct fl_lin_op *a = &h->ops.data[rnd(n)], *b = &h->ops.data[rnd(n)];
		int64_t ret = a->ret;

		if (a->ret == LIN_NONE || b->ret == LIN_NONE || a->does != b->does)
			continue;
		a->ret = b->ret;
		b->ret = ret;
	}
	for (size_t i = 0; has_pending && i < n; i++) {
		if (rnd(4))
			continue;
		h->ops.data[i].end = LIN_PENDING;
		h->ops.data[i].ret = LIN_NONE;
	}
}

static size_t n_gone[LIN_OBJECTS]; ///< operations that were taken out at rests
static size_t n_started; ///< witnesses of which something stands for what came before

static bool judge(const struct fl_lin_object *o, const struct fl_lin_history *h)
{
	const struct plain p = { .number = o->kind == LIN_REGISTER ? o->initial : 0 };

	return plain_has_order(o, h, 0, &p);
}

static enum fl_lin_answer ask_search(const struct fl_lin_object *o,
				     const struct fl_lin_history *h)
{
	size_t ops[64];
	struct fl_lin_search s;

	for (size_t i = 0; i < h->ops.size; i++)
		ops[i] = i;
	ok(fl_lin_search(o, h, ops, h->ops.size, NULL, &s));
	return s.answer;
}

static void show(const struct fl_lin_object *o, const struct fl_lin_history *h)
{
	char buf[128];

	for (size_t i = 0; i < h->ops.size; i++)
		print_message("%llu-%lld %s\n", (unsigned long long)h->ops.data[i].call,
			      (long long)h->ops.data[i].end,
			      fl_lin_op_text(o, &h->values, &h->ops.data[i], buf,
					     sizeof(buf)));
}

/* The witness of @p v is wrong by itself. Of containers it is minimal. */
static void check_witness(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const struct fl_lin_verdict *v)
{
	struct fl_lin_history part = {};
	struct fl_lin_verdict again;

	assert_true(v->witness.size > 0);
	for (size_t i = 0; i < v->witness.size; i++)
		ok(vec_add(&part.ops, h->ops.data[v->witness.data[i]]));
	if (v->start.size) {
		ok(map_put(&part.starts.of, fl_lin_part_key(o, &part.ops.data[0]), 0) ?
			   &err_nomem :
			   NULL);
		part.starts.words = v->start;
		n_started++;
	}
	part.moments = h->moments;
	ok(fl_lin_check(o, &part, 0, &again));
	if (again.answer != LIN_WRONG) {
		show(o, h);
		print_message("of it (%s: %s):\n", v->method, v->why);
		show(o, &part);
		fail_msg("%s: what is shown is right", fl_lin_object_name(o));
	}
	fl_lin_verdict_deinit(&again);
	map_deinit(&part.starts.of);
	vec_deinit(&part.ops);
}

/* Moments of a history that is read are this many times those of the history: there is room for operations that
 * are as if they were called later. */
#define ROOM 8

/* Add to @p so_far what is called of @p h in [@p from, @p to), and tell it all that is known of it at @p to: who
 * will return, with which result. Its operations tell by call_at which of @p h they are. */
static void go_on(struct fl_lin_history *so_far, const struct fl_lin_history *h,
		  uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < h->ops.size; i++) {
		struct fl_lin_op op = h->ops.data[i];

		if (op.call < from || op.call >= to)
			continue;
		op.call *= ROOM;
		op.call_at = i;
		ok(vec_add(&so_far->ops, op));
	}
	for (size_t i = 0; i < so_far->ops.size; i++) {
		struct fl_lin_op *op = &so_far->ops.data[i];
		uint64_t end = h->ops.data[op->call_at].end;

		if (op->is_wrong)
			continue;
		op->end = end == LIN_PENDING ? end : end < to ? end * ROOM : LIN_LATER;
		for (size_t k = 0; k < h->ops.size; k++)
			op->is_again |=
				op->end == LIN_LATER && op->does == LIN_POP &&
				h->ops.data[op->call_at].call >= from && // looked up once
				h->ops.data[k].arg[0] == op->ret &&
				h->ops.data[k].call >= to && h->ops.data[k].call < end;
	}
	so_far->moments = (to - 1) * ROOM + 1;
}

/* What is asked while it is read, before each @p th moment or so, has the same answer. */
static void check_rests(const struct fl_lin_object *o, const struct fl_lin_history *h,
			enum fl_lin_answer answer, unsigned th)
{
	struct fl_lin_history so_far = {};
	struct fl_lin_verdict v;
	uint64_t from = 0;

	for (uint64_t to = 1; to < h->moments; to++) {
		if (rnd(th))
			continue;
		go_on(&so_far, h, from, to);
		ok(fl_lin_check_rest(o, &so_far, 0));
		from = to;
	}
	go_on(&so_far, h, from, h->moments);
	n_gone[o->kind] += so_far.n_gone;
	ok(fl_lin_check(o, &so_far, 0, &v));
	if (v.answer != answer) {
		show(o, h);
		print_message("of it is left:\n");
		show(o, &so_far);
		fail_msg("%s: with rests before each %u: %d, not %d",
			 fl_lin_object_name(o), th, v.answer, answer);
	}
	assert_int_equal(v.n_ops, h->ops.size);
	if (v.answer == LIN_WRONG)
		check_witness(o, &so_far, &v);
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&so_far);
}

static void print_value(FILE *f, int64_t value)
{
	if (value == LIN_EMPTY)
		fprintf(f, " nil");
	else if (value != LIN_NONE)
		fprintf(f, " %lld", (long long)value);
}

/* The lines of @p h, to be freed. */
static char *print_history(const struct fl_lin_object *o, const struct fl_lin_history *h,
			   size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	for (uint64_t moment = 0; moment < h->moments; moment++)
		for (size_t i = 0; i < h->ops.size; i++) {
			const struct fl_lin_op *op = &h->ops.data[i];

			if (op->call != moment && op->end != moment)
				continue;
			fprintf(f, "%zu %s %s", i, op->call == moment ? "call" : "return",
				fl_lin_does_name(o, op->does));
			for (int k = 0; k < 3 && op->call == moment; k++)
				print_value(f, op->arg[k]);
			if (op->end == moment)
				print_value(f, op->ret);
			fputc('\n', f);
		}
	fclose(f);
	return text;
}

static struct err *take_rest(struct fl_lin_history *h, void *of)
{
	return fl_lin_check_rest(of, h, 0);
}

/* The same of lines, where how operations end is found out by reading on. */
static void check_lines(const struct fl_lin_object *o, const struct fl_lin_history *h,
			enum fl_lin_answer answer)
{
	struct fl_lin_history read = { .rest = take_rest,
				       .rest_of = (void *)o,
				       .rest_after = 1 + rnd(4) };
	struct fl_lin_verdict v;
	size_t size;
	char *text = print_history(o, h, &size);

	ok(fl_lin_history_parse("lines", text, size, o, &read));
	ok(fl_lin_check(o, &read, 0, &v));
	if (v.answer != answer)
		fail_msg("%s: read with rests after %zu: %d, not %d: %s",
			 fl_lin_object_name(o), read.rest_after, v.answer, answer, text);
	assert_int_equal(v.n_ops, h->ops.size);
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&read);
	free(text);
}

static void compare(const struct fl_lin_object *o, const struct fl_lin_history *h,
		    bool has_judge, unsigned counts[2])
{
	enum fl_lin_answer found;
	struct fl_lin_verdict v;

	ok(fl_lin_check(o, h, 0, &v));
	// The search is for one element.
	found = o->kind == LIN_SET ? v.answer : ask_search(o, h);
	if ((v.answer != found && found != LIN_UNKNOWN) ||
	    (has_judge && (found == LIN_RIGHT) != judge(o, h))) {
		show(o, h);
		fail_msg("%s: checked %d (%s), searched %d, judged %d",
			 fl_lin_object_name(o), v.answer, v.method, found,
			 has_judge ? judge(o, h) : -1);
	}
	counts[v.answer == LIN_WRONG]++;
	if (v.answer == LIN_WRONG)
		check_witness(o, h, &v);
	check_rests(o, h, v.answer, 1);
	check_rests(o, h, v.answer, 1 + rnd(12));
	check_lines(o, h, v.answer);
	fl_lin_verdict_deinit(&v);
}

static const enum fl_lin_object_kind kinds[] = { LIN_QUEUE,    LIN_STACK, LIN_PRIORITY,
						 LIN_REGISTER, LIN_SET,	  LIN_COUNTER,
						 LIN_MACHINE,  LIN_MUTEX };

static void many(unsigned rounds, size_t n, bool is_distinct, bool has_judge,
		 bool has_pending)
{
	struct spec *spec;

	ok(spec_create(&spec));
	ok(spec_add_objects_text(spec, "machine", machine, strlen(machine)));
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct fl_lin_object o = { .kind = kinds[k],
					   .initial = LIN_ANY,
					   .machine = spec_object(spec, 0) };
		unsigned counts[2] = {};

		for (unsigned i = 0; i < rounds; i++) {
			struct fl_lin_history h;

			if (o.kind == LIN_REGISTER)
				o.initial = !is_distinct || i % 2 ? 0 : LIN_ANY;
			make_history(&o, &h, 2 + rnd(n - 1), is_distinct, i % 4 == 0,
				     has_pending);
			compare(&o, &h, has_judge, counts);
			fl_lin_history_deinit(&h);
		}
		// Both kinds were there.
		assert_true(counts[0] > rounds / 20 && counts[1] > rounds / 400);
	}
	spec_destroy(spec);
}

static void test_judged(void **state)
{
	(void)state;
	many(10000, 7, true, true, false);
}

static void test_judged_twice(void **state)
{
	(void)state;
	many(5000, 7, false, true, false);
}

static void test_judged_pending(void **state)
{
	(void)state;
	many(5000, 6, true, true, true);
}

/* Too long for the judge. */
static void test_searched(void **state)
{
	(void)state;
	many(800, 40, true, false, false);
	many(500, 16, true, false, true);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		assert_true(n_gone[kinds[k]] > 1000);
}

/* @p n operations of two processes, each second one a write of one of @p n_values, right but for the last,
 * which reads what was overwritten before. */
static void make_stale(struct fl_lin_history *h, size_t n, int64_t n_values)
{
	*h = (struct fl_lin_history){};
	for (size_t i = 0; i < n; i++) {
		struct fl_lin_op *op = vec_push(&h->ops);
		bool is_write = i % 2 == 0;

		assert_non_null(op);
		*op = (struct fl_lin_op){ .does = is_write ? LIN_WRITE : LIN_READ,
					  .process = is_write,
					  .arg = { LIN_NONE, LIN_NONE, LIN_NONE },
					  .ret = LIN_NONE,
					  .call = h->moments++,
					  .end = h->moments++ };
		if (is_write)
			op->arg[0] = (int64_t)i / 2 % n_values;
		else
			op->ret = ((int64_t)i / 2 - 2 * (i + 1 == n)) % n_values;
	}
}

/* However long it is: of a register little is shown, and that is minimal. */
static void test_long(void **state)
{
	static const int64_t n_values[] = { 5, INT64_MAX };
	const struct fl_lin_object o = { .kind = LIN_REGISTER, .initial = LIN_ANY };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fl_lin_history h;
		struct fl_lin_verdict v;

		make_stale(&h, 400000, n_values[i]);
		ok(fl_lin_check(&o, &h, 0, &v));
		assert_int_equal(v.answer, LIN_WRONG);
		assert_string_equal(v.method, i ? "monitor" : "search");
		assert_true(v.is_minimal);
		assert_in_range(v.witness.size, 2, 3);
		check_witness(&o, &h, &v);
		fl_lin_verdict_deinit(&v);
		fl_lin_history_deinit(&h);
	}
}

/* A counter of which an operation is always under way, and whose adds give nothing: one that is read as it
 * was long before is wrong by itself, when it is known what it was then. */
static void test_long_counter(void **state)
{
	const struct fl_lin_object o = { .kind = LIN_COUNTER };
	struct fl_lin_history h = {};
	struct fl_lin_verdict v;
	size_t n = 400000, before = n_started;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		bool is_add = i % 2 == 0;
		struct fl_lin_op op = { .does = is_add ? LIN_ADD : LIN_READ,
					.arg = { is_add ? 1 : LIN_NONE, LIN_NONE,
						 LIN_NONE },
					.ret = is_add ? LIN_NONE : (int64_t)i / 2 + 1,
					.call = i * 2,
					.end = i * 2 + 3 };

		op.ret -= i == n - 1 ? 50 : 0;
		ok(vec_add(&h.ops, op));
	}
	h.moments = n * 2 + 2;
	ok(fl_lin_check(&o, &h, 0, &v));
	assert_int_equal(v.answer, LIN_WRONG);
	assert_true(v.is_minimal);
	assert_int_equal(v.witness.size, 1);
	assert_string_equal(v.left, "it was 199999");
	check_witness(&o, &h, &v);
	assert_int_equal(n_started, before + 1);
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&h);
}

/* 1 and 2 go into a stack at once, but 3 came and went above 1 and below where 2 is: 2 is above 1. That 3 was
 * there must not be forgotten before somebody takes 1. */
static void test_stack_at_once(void **state)
{
	static const struct fl_lin_op ops[] = {
		{ .does = LIN_PUSH, .arg = { 1 }, .ret = LIN_NONE, .call = 0, .end = 4 },
		{ .does = LIN_PUSH, .arg = { 3 }, .ret = LIN_NONE, .call = 1, .end = 2 },
		{ .does = LIN_PUSH, .arg = { 2 }, .ret = LIN_NONE, .call = 3, .end = 7 },
		{ .does = LIN_POP, .ret = 3, .call = 5, .end = 6 },
		{ .does = LIN_POP, .ret = 1, .call = 8, .end = 9 },
	};
	const struct fl_lin_object o = { .kind = LIN_STACK };
	struct fl_lin_history h = { .moments = 10 };

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		ok(vec_add(&h.ops, ops[i]));
	assert_int_equal(ask_search(&o, &h), LIN_WRONG);
	check_rests(&o, &h, LIN_WRONG, 1);
	fl_lin_history_deinit(&h);
}

/* What is wrong by what has been forgotten meanwhile. */
static void test_forgotten(void **state)
{
	static const struct {
		enum fl_lin_object_kind kind;
		const char *text;
	} wrong[] = {
		// 9 finds it empty, where 2 came in before 1 was out.
		{ LIN_QUEUE, "1 call enqueue 1\n1 return enqueue\n9 call dequeue\n"
			     "2 call enqueue 2\n2 return enqueue\n3 call dequeue\n"
			     "3 return dequeue 1\n9 return dequeue nil\n" },
		// 9 takes 5, where 2 came in before 1 was out.
		{ LIN_PRIORITY, "1 call insert 5\n1 return insert\n1 call insert 1\n"
				"1 return insert\n9 call delete-min\n2 call insert 2\n"
				"2 return insert\n3 call delete-min\n"
				"3 return delete-min 1\n9 return delete-min 5\n" },
		// 9 takes the 1 that is put in last, as 3 needs the other; that comes out after 0.
		{ LIN_QUEUE, "1 call enqueue 1\n1 return enqueue\n1 call enqueue 0\n"
			     "2 call dequeue\n1 return enqueue\n9 call dequeue\n"
			     "2 return dequeue 0\n3 call dequeue\n3 return dequeue 1\n"
			     "1 call enqueue 1\n1 return enqueue\n9 return dequeue 1\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		for (size_t after = 1; after < 6; after++) {
			const struct fl_lin_object o = { .kind = wrong[i].kind };
			struct fl_lin_history h = { .rest = take_rest,
						    .rest_of = (void *)&o,
						    .rest_after = after };
			struct fl_lin_verdict v;

			ok(fl_lin_history_parse("wrong", wrong[i].text,
						strlen(wrong[i].text), &o, &h));
			ok(fl_lin_check(&o, &h, 0, &v));
			assert_int_equal(v.answer, LIN_WRONG);
			fl_lin_verdict_deinit(&v);
			fl_lin_history_deinit(&h);
		}
}

/* Add a write or read of @p value behind all. */
static void add_op(struct fl_lin_history *h, int does, int64_t value)
{
	struct fl_lin_op *op = vec_push(&h->ops);

	assert_non_null(op);
	*op = (struct fl_lin_op){ .does = does,
				  .arg = { LIN_NONE, LIN_NONE, LIN_NONE },
				  .ret = does == LIN_READ ? value : LIN_NONE,
				  .call = h->moments++,
				  .end = h->moments++ };
	if (does == LIN_WRITE)
		op->arg[0] = value;
}

/* What is shown of a register that was wrong before a rest is of before: what was written since is
 * forgotten, and a read of that no sign of anything. */
static void test_wrong_before(void **state)
{
	const struct fl_lin_object o = { .kind = LIN_REGISTER, .initial = LIN_ANY };
	struct fl_lin_history h;
	struct fl_lin_verdict v;
	uint64_t before;

	(void)state;
	make_stale(&h, 100, INT64_MAX);
	before = h.moments;
	ok(fl_lin_check_rest(&o, &h, 0));
	add_op(&h, LIN_WRITE, 1000);
	ok(fl_lin_check_rest(&o, &h, 0));
	add_op(&h, LIN_READ, 1000);
	ok(fl_lin_check(&o, &h, 0, &v));
	assert_int_equal(v.answer, LIN_WRONG);
	assert_int_equal(v.n_ops, 102);
	for (size_t i = 0; i < v.witness.size; i++)
		assert_true(h.ops.data[v.witness.data[i]].call < before);
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&h);
}

/* Of a set of which an operation is always under way, two of whose elements change: most is gone when all is
 * read, and the answer is that of all. @p wrong: operation 100000 gives something else. */
static void check_read(bool wrong)
{
	const struct fl_lin_object o = { .kind = LIN_SET };
	struct fl_lin_history h = { .rest = take_rest, .rest_of = (void *)&o };
	struct fl_lin_verdict v;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "0 call add 0\n");
	for (int i = 1; i <= 600000; i++) {
		const char *const does[] = { "add", "remove" };

		fprintf(f, "%d call %s %d\n%d return %s %d\n", i % 2, does[i / 3 % 2],
			i % 3, (i - 1) % 2, does[(i - 1) / 3 % 2],
			!(wrong && i == 100000));
	}
	fclose(f);
	ok(fl_lin_history_parse("history", text, size, &o, &h));
	ok(fl_lin_check(&o, &h, 0, &v));
	assert_int_equal(v.answer, wrong ? LIN_WRONG : LIN_RIGHT);
	assert_int_equal(v.n_ops, 600001);
	assert_int_equal(v.n_parts, 3);
	assert_true(h.n_gone > 300000);
	fl_lin_verdict_deinit(&v);
	fl_lin_history_deinit(&h);
	free(text);
}

static void test_read(void **state)
{
	(void)state;
	check_read(false);
	check_read(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_judged_twice),
		cmocka_unit_test(test_judged_pending),
		cmocka_unit_test(test_searched),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_long_counter),
		cmocka_unit_test(test_stack_at_once),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_wrong_before),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
