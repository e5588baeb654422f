// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who called the functions that faulty statements are in, when they ran. A list's unlink() is
 * right, the call of it may not be. The graph does not keep call stacks, so the run is replayed
 * up to the last of these statements.
 */
#include <string.h>

#include "faultlocate/fl_stages.h"

// What takes longer than this to replay is not replayed for the callers alone.
#define INSTRUCTIONS_MAX UINT64_C(2000000000)

struct callers {
	struct fl_analysis *a;
	uint64_t times[FL_CALLERS_FAULTS]; ///< ascending
	size_t n;
};

static struct hg_op op_of(const struct fl_fault *f)
{
	return hg_graph_op(f->graph, f->op);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Add what the call at rip is part of, and the calls by which that was inlined. */
static void add_call(struct fl_analysis *a, struct fl_fault *f, uint64_t rip)
{
	struct dec_place p = {};

	a->places.place(a->places.ctx, rip, &p);
	if (f->n_callers < FL_CALLERS_MAX)
		f->callers[f->n_callers++] =
			(struct dec_inlined){ p.file, p.line,
					      p.function ? p.function : p.outer };
	for (uint32_t i = 0; i < p.n_inlined && f->n_callers < FL_CALLERS_MAX; i++)
		f->callers[f->n_callers++] = p.inlined[i];
}

static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	struct callers *c = ctx;
	fl_faults *faults = &c->a->faults;

	for (size_t i = 0; i < faults->size; i++) {
		struct fl_fault *f = &faults->data[i];
		struct hg_op op = op_of(f);

		if (op.time != time || f->n_callers)
			continue;
		// In a library: the first call is the statement itself.
		for (size_t k = n && calls[0] == op.rip; k < n; k++)
			add_call(c->a, f, calls[k]);
	}
	return NULL;
}

struct err *fl_callers_find(struct fl_analysis *a)
{
	struct callers c = { .a = a };
	struct dec_heap_options o = { .calls_at = c.times,
				      .calls = on_calls,
				      .calls_ctx = &c };
	const struct dec_heap_events nothing_else = {};
	struct dec_run run = {};
	struct err *err;

	if (a->run.is_recovered)
		return NULL;
	for (size_t i = 0; i < a->faults.size && c.n < FL_CALLERS_FAULTS; i++)
		c.times[c.n++] = op_of(&a->faults.data[i]).time;
	qsort(c.times, c.n, sizeof(*c.times), compare_times);
	if (!c.n || c.times[c.n - 1] > INSTRUCTIONS_MAX)
		return NULL;
	o.n_calls_at = c.n;
	err = dec_heap_trace(a->capture, a->symbols, &o, &nothing_else, &run);
	dec_run_deinit(&run);
	return err;
}
