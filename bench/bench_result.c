// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_result.h"

#include <stdarg.h>
#include <string.h>

void bench_results_deinit(struct bench_results *r)
{
	vec_deinit(&r->tools);
	vec_deinit(&r->works);
	vec_deinit(&r->suites);
	vec_deinit(&r->rows);
	vec_deinit(&r->series);
	arena_deinit(&r->arena);
}

const char *bench_keep(struct bench_results *r, const char *s)
{
	return s ? arena_strndup(&r->arena, s, strlen(s)) : NULL;
}

const char *bench_keep_printf(struct bench_results *r, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	return n < 0 ? (text = NULL) : bench_keep(r, text);
}

/** Copy the string at @p s into the arena. @return false without memory. */
static bool keep(struct bench_results *r, const char **s)
{
	if (!*s)
		return true;
	*s = bench_keep(r, *s);
	return *s;
}

struct err *bench_row_add(struct bench_results *r, const struct bench_row *row,
			  const double *runs, size_t n)
{
	struct bench_row copy = *row;
	double *kept;

	n = n < BENCH_RUNS_MAX ? n : BENCH_RUNS_MAX;
	kept = arena_alloc(&r->arena, (n + 1) * sizeof(*runs));
	if (!kept || !keep(r, &copy.suite) || !keep(r, &copy.work) ||
	    !keep(r, &copy.command) || !keep(r, &copy.metric) || !keep(r, &copy.unit) ||
	    !keep(r, &copy.base_metric) || !keep(r, &copy.published_source) ||
	    !keep(r, &copy.note) || !keep(r, &copy.skipped))
		return &err_nomem;
	if (n)
		memcpy(kept, runs, n * sizeof(*runs));
	copy.runs = kept;
	copy.n_runs = n;
	copy.value = bench_range_of(kept, n);
	return vec_add(&r->rows, copy);
}

struct err *bench_row_add_value(struct bench_results *r, const struct bench_row *row,
				double value)
{
	return bench_row_add(r, row, &value, 1);
}

/* ---- ratios -------------------------------------------------------------------------------- */

bool bench_rows_share_group(const struct bench_row *a, const struct bench_row *b)
{
	return !strcmp(a->suite, b->suite) && !strcmp(a->work, b->work) &&
	       !strcmp(a->metric, b->metric);
}

static bool is_better(const struct bench_row *a, const struct bench_row *b)
{
	return a->better == BENCH_HIGHER ? a->value.median > b->value.median :
					   a->value.median < b->value.median;
}

/** The best of @p role on the same work as @p row, by @p metric. */
static const struct bench_row *group_find(const struct bench_results *r, size_t from,
					  const struct bench_row *row,
					  enum bench_role role, const char *metric)
{
	const struct bench_row *best = NULL, *end = r->rows.data + r->rows.size;

	for (const struct bench_row *o = r->rows.data + from; o < end; o++)
		if (o->role == role && o->n_runs && !strcmp(o->suite, row->suite) &&
		    !strcmp(o->work, row->work) && !strcmp(o->metric, metric) &&
		    (!best || is_better(o, best)))
			best = o;
	return best;
}

static void row_finish(const struct bench_results *r, size_t from, struct bench_row *row)
{
	const struct bench_row *native =
		group_find(r, from, row, BENCH_NATIVE, row->base_metric ?: row->metric);
	const struct bench_row *peer = group_find(r, from, row, BENCH_PEER, row->metric);
	const struct bench_row *to = native ?: peer;

	if (!row->n_runs || row->better == BENCH_NEITHER)
		return;
	if (to && to != row) {
		row->ratio = bench_ratio_of(row->runs, row->n_runs, to->runs, to->n_runs);
		row->ratio_to = row->ratio.median > 0 ? to->command : NULL;
	}
	if (row->role != BENCH_OURS || !peer || !is_better(peer, row))
		return;
	row->beaten_by = peer->command;
	row->beaten_ratio =
		row->better == BENCH_HIGHER ?
			bench_ratio_of(peer->runs, peer->n_runs, row->runs, row->n_runs) :
			bench_ratio_of(row->runs, row->n_runs, peer->runs, peer->n_runs);
}

void bench_rows_finish(struct bench_results *r)
{
	for (size_t i = r->n_grouped; i < r->rows.size; i++)
		row_finish(r, r->n_grouped, &r->rows.data[i]);
	r->n_grouped = r->rows.size;
}

/* ---- growth --------------------------------------------------------------------------------- */

struct err *bench_series_add(struct bench_results *r, const struct bench_series *s,
			     const double *x, const struct bench_range *y, size_t n)
{
	double net[BENCH_RUNS_MAX];
	struct bench_series copy = *s, *ret;

	n = n < BENCH_RUNS_MAX ? n : BENCH_RUNS_MAX;
	copy.x = arena_alloc(&r->arena, (n + 1) * sizeof(*x));
	copy.y = arena_alloc(&r->arena, (n + 1) * sizeof(*y));
	if (!copy.x || !copy.y || !keep(r, &copy.suite) || !keep(r, &copy.work) ||
	    !keep(r, &copy.command) || !keep(r, &copy.x_name) || !keep(r, &copy.y_name) ||
	    !keep(r, &copy.y_unit) || !keep(r, &copy.note))
		return &err_nomem;
	copy.n = n;
	for (size_t i = 0; i < n; i++) {
		copy.x[i] = x[i];
		copy.y[i] = y[i];
		net[i] = y[i].median - s->fixed;
	}
	copy.fit = bench_fit_of(x, net, n);
	ret = vec_push(&r->series);
	if (!ret)
		return &err_nomem;
	*ret = copy;
	return NULL;
}
