// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Histories of objects that many threads use, made up and right: how long it takes to see that they
 * are, by their length. The largest of --scale 1,2,4,8 has a million operations. What is measured is the
 * CPU time of the question alone, as reading a file is not part of it.
 */

#include "base/clock.h"
#include "bench/bench_suite.h"
#include "faultlocate/linear/linear.h"

enum { THREADS = 8, ELEMENTS = 64, ROUNDS_MAX = 5 };
#define OPERATIONS 125000.0
#define OPERATIONS_QUICK 2500.0
#define WANTED_S 1.0

/* The objects as they are, one operation behind the other. */
struct plain {
	int64_t *values; ///< of a container: those that went in, in their order
	size_t first, last, n_made;
	int64_t number, element[ELEMENTS];
	uint64_t random;
};

static unsigned draw(struct plain *p, unsigned n)
{
	p->random = p->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(p->random >> 33) % n;
}

static void container(struct plain *p, bool is_queue, struct fl_lin_op *op)
{
	if (draw(p, 2)) {
		op->does = LIN_PUSH;
		op->arg[0] = p->values[p->last++] = (int64_t)++p->n_made;
		return;
	}
	op->does = LIN_POP;
	op->ret = p->first == p->last ? LIN_EMPTY :
		  is_queue	      ? p->values[p->first++] :
					p->values[--p->last];
}

static void reg(struct plain *p, struct fl_lin_op *op)
{
	op->does = draw(p, 2) ? LIN_WRITE : LIN_READ;
	if (op->does == LIN_WRITE)
		op->arg[0] = p->number = (int64_t)++p->n_made;
	else
		op->ret = p->number;
}

static void set(struct plain *p, struct fl_lin_op *op)
{
	static const int does[] = { LIN_SET_ADD, LIN_SET_REMOVE, LIN_SET_CONTAINS };
	int64_t *is = &p->element[op->arg[0] = draw(p, ELEMENTS)];

	op->does = does[draw(p, 3)];
	op->ret = op->does == LIN_SET_ADD ? !*is : *is;
	*is = op->does == LIN_SET_CONTAINS ? *is : op->does == LIN_SET_ADD;
}

static void map(struct plain *p, struct fl_lin_op *op)
{
	int64_t *is = &p->element[op->arg[0] = draw(p, ELEMENTS)];

	op->does = draw(p, 2) ? LIN_PUT : LIN_GET;
	if (op->does == LIN_PUT)
		op->arg[1] = *is = (int64_t)++p->n_made;
	else
		op->ret = *is ? *is : LIN_EMPTY;
}

/* Operation @p i happens at moment 3i + 1, in between others of THREADS - 1 threads. */
static void make_op(struct plain *p, enum fl_lin_object_kind kind, size_t i,
		    struct fl_lin_op *op)
{
	*op = (struct fl_lin_op){ .process = (int64_t)(i % THREADS),
				  .arg = { LIN_NONE, LIN_NONE, LIN_NONE },
				  .ret = LIN_NONE,
				  .call_at = i,
				  .end_at = i };
	switch (kind) {
	case LIN_REGISTER:
		reg(p, op);
		break;
	case LIN_SET:
		set(p, op);
		break;
	case LIN_MAP:
		map(p, op);
		break;
	default:
		container(p, kind == LIN_QUEUE, op);
	}
}

/* Moments: operation i is called when the one THREADS - 1 before it returns, or at first. */
static void make_moments(struct fl_lin_history *h)
{
	size_t n = h->ops.size, called = 0;

	for (size_t i = 0; i < n; i++) {
		while (called < n && called < i + THREADS)
			h->ops.data[called++].call = h->moments++;
		h->ops.data[i].end = h->moments++;
	}
}

static struct err *make_history(enum fl_lin_object_kind kind, size_t n,
				struct fl_lin_history *h)
{
	struct plain p = { .values = calloc(n + 1, sizeof(int64_t)), .random = 23 };

	if (!p.values || vec_reserve(&h->ops, n)) {
		free(p.values);
		return &err_nomem;
	}
	h->ops.size = n;
	for (size_t i = 0; i < n; i++)
		make_op(&p, kind, i, &h->ops.data[i]);
	make_moments(h);
	free(p.values);
	return NULL;
}

static struct err *ask(const struct fl_lin_object *o, const struct fl_lin_history *h,
		       double *ret_s)
{
	struct fl_lin_verdict v = {};
	double start = clock_cpu_s();
	struct err *err = fl_lin_check(o, h, 0, &v);

	*ret_s = clock_cpu_s() - start;
	if (!err && v.answer != LIN_RIGHT)
		err = err_new(ERR_FORMAT,
			      "a right history of a %s is said to be none: %s",
			      fl_lin_object_name(o), v.why);
	fl_lin_verdict_deinit(&v);
	return err;
}

/* All sizes, and of the largest a row. */
static struct err *measure(struct bench *b, const char *name)
{
	double x[BENCH_SCALES_MAX], runs[ROUNDS_MAX] = {};
	struct bench_range y[BENCH_SCALES_MAX];
	struct fl_lin_object o;
	struct err *err = NULL;
	size_t n_rounds = b->o.is_quick		   ? 1 :
			  b->o.rounds < ROUNDS_MAX ? (size_t)b->o.rounds :
						     ROUNDS_MAX;

	fl_lin_object_find(name, &o);
	for (size_t i = 0; i < b->o.n_scales && !err; i++) {
		struct fl_lin_history h = {};

		x[i] = (b->o.is_quick ? OPERATIONS_QUICK : OPERATIONS) * b->o.scale[i];
		err = make_history(o.kind, (size_t)x[i], &h);
		for (size_t k = 0; k < n_rounds && !err; k++)
			err = ask(&o, &h, &runs[k]);
		y[i] = bench_range_of(runs, n_rounds);
		fl_lin_history_deinit(&h);
	}
	if (!err && b->o.n_scales)
		err = bench_row_add(&b->results,
				    &(struct bench_row){ .suite = b->suite,
							 .work = name,
							 .command = "linear",
							 .metric = "CPU time, longest",
							 .unit = "s",
							 .wanted = WANTED_S },
				    runs, n_rounds);
	return err   ?:
		       bench_series_add(&b->results,
					&(struct bench_series){ .suite = b->suite,
								.work = name,
								.command = "linear",
								.x_name = "operations",
								.y_name = "CPU time",
								.y_unit = "s",
								.expected_exponent = 1 },
					x, y, b->o.n_scales);
}

struct err *bench_suite_linear(struct bench *b)
{
	static const char *const objects[] = { "queue", "stack", "set", "map",
					       "register" };
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects) && !err; i++) {
		b->progress ? b->progress(b->suite, objects[i]) : (void)0;
		err = measure(b, objects[i]);
	}
	return err;
}
