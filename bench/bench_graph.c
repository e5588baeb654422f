// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `graph`: tables 3.3 and 3.4 of paper 001 on the programs it names and on three graph
 * programs of ours, then how a graph grows with the changes it holds.
 */

#include "bench/bench_graph.h"

#include <stdlib.h>
#include <string.h>

#include "bench/bench_graph_work.h"

#define MB 1e6
#define BYTES_WANTED 24.0 ///< of memory for a change
#define SPEED_WANTED 5e6  ///< changes built in a second
#define ROUNDS_MAX 3	  ///< of building: most of it is exact

/** The ways to build a graph, and which of the paper's columns is the same: MG++ without and
 * with the allocator's internals. The paper never knows the allocator's functions. */
static const struct {
	const char *name;
	int published;
} ways[GRAPH_WAYS] = {
	[GRAPH_APP] = { "MG++", 0 },
	[GRAPH_ALLOCATOR] = { "MG++ with the allocator", 1 },
	[GRAPH_INFERRED] = { "MG++, allocator unknown", 0 },
};

/** One work's graph, built in one way several times. */
struct graph_runs {
	const struct graph_work *work;
	enum graph_way way;
	struct graph_built last;
	double record_s;
	double infer_s[ROUNDS_MAX], build_s[ROUNDS_MAX], speed[ROUNDS_MAX],
		wall_s[ROUNDS_MAX], in_all_s[ROUNDS_MAX];
	size_t n;
};

static struct err *runs_make(struct bench *b, struct graph_runs *r)
{
	size_t n = b->o.rounds < ROUNDS_MAX ? b->o.rounds : ROUNDS_MAX;
	struct err *err = NULL;

	if (b->o.is_quick || r->way == GRAPH_INFERRED)
		n = 1;
	while (r->n < n && !err) {
		struct graph_built *g = &r->last;

		err = bench_graph_build(b->capture, r->way, g);
		if (err || g->failure[0])
			return err;
		r->infer_s[r->n] = g->infer_s;
		r->build_s[r->n] = g->build_s;
		r->speed[r->n] = g->changes / g->build_s;
		r->wall_s[r->n] = g->wall_s;
		r->in_all_s[r->n++] = r->record_s + g->wall_s;
	}
	return err;
}

static struct err *exact_add(struct bench *b, struct bench_row *row, const char *metric,
			     const char *unit, double value)
{
	row->metric = metric;
	row->unit = unit;
	row->is_exact = true;
	return bench_row_add_value(&b->results, row, value);
}

/** The rows of table 3.4: what it takes. */
static struct err *sizes_add(struct bench *b, const struct graph_runs *r)
{
	const struct graph_published *p = r->work->published;
	const struct graph_built *g = &r->last;
	struct bench_row row = { .suite = b->suite,
				 .work = r->work->name,
				 .command = ways[r->way].name,
				 .better = BENCH_NEITHER };
	struct err *err = exact_add(b, &row, "changes", "", g->changes);

	if (!err)
		err = exact_add(b, &row, "nodes", "", g->nodes);
	if (!err)
		err = exact_add(b, &row, "events", "", g->events);
	row.published_source = "table 3.4";
	row.published = r->way != GRAPH_ALLOCATOR ? p->snapshot_mb * MB : 0;
	if (!err)
		err = exact_add(b, &row, "snapshots", "B", g->snapshot_bytes);
	row.published = 0;
	if (!err)
		err = exact_add(b, &row, "work", "x",
				g->snapshot_bytes / (p->snapshot_mb * MB));
	row.better = BENCH_LOWER;
	row.published = p->mb[ways[r->way].published] * MB;
	row.wanted = r->work->ways ? row.published : 0;
	if (!err)
		err = exact_add(b, &row, "size", "B", g->bytes);
	row.published = 0;
	row.wanted = BYTES_WANTED;
	if (!err)
		err = exact_add(b, &row, "a change", "B", (double)g->bytes / g->changes);
	return err;
}

/** The rows of table 3.3: how long it takes. */
static struct err *times_add(struct bench *b, const struct graph_runs *r)
{
	const struct {
		const char *metric, *unit;
		const double *runs;
		enum bench_better better;
		double wanted, published;
	} m[] = {
		{ "find nodes", "s", r->infer_s, BENCH_LOWER, 0, 0 },
		{ "build", "s", r->build_s, BENCH_LOWER, 0, 0 },
		{ "built", "/s", r->speed, BENCH_HIGHER, SPEED_WANTED, 0 },
		{ "replay and build", "s", r->wall_s, BENCH_LOWER, 0, 0 },
		{ "with recording", "s", r->in_all_s, BENCH_LOWER, 0,
		  r->work->published->traced_s[ways[r->way].published] },
	};
	struct err *err = NULL;
	size_t first = r->way == GRAPH_INFERRED ? 0 : 1;

	for (size_t i = first; i < sizeof(m) / sizeof(*m) && !err; i++) {
		const struct bench_row row = { .suite = b->suite,
					       .work = r->work->name,
					       .command = ways[r->way].name,
					       .metric = m[i].metric,
					       .unit = m[i].unit,
					       .better = m[i].better,
					       .wanted = m[i].wanted,
					       .published = m[i].published,
					       .published_source = "table 3.3" };

		err = bench_row_add(&b->results, &row, m[i].runs, r->n);
	}
	return err;
}

static struct err *graph_add(struct bench *b, const struct graph_work *w,
			     enum graph_way way, double record_s)
{
	struct graph_runs r = { .work = w, .way = way, .record_s = record_s };
	struct err *err = runs_make(b, &r);

	if (!err && r.last.failure[0]) {
		const struct bench_row row = {
			.suite = b->suite,
			.work = w->name,
			.command = ways[way].name,
			.metric = "size",
			.unit = "B",
			.skipped = r.last.failure,
			.is_failure = !r.last.is_late,
		};

		return bench_row_add(&b->results, &row, NULL, 0);
	}
	if (!err)
		err = sizes_add(b, &r);
	return err ? err : times_add(b, &r);
}

/** Time the program alone and recorded (the last recording stays), then build its graphs. */
static struct err *work_measure(struct bench *b, const struct graph_work *w)
{
	struct bench_work work = { .name = w->name };
	struct bench_command c[2];
	struct bench_times t[2] = {};
	struct err *err;

	memcpy(work.argv, w->argv, sizeof(work.argv));
	c[0] = bench_command_native(&work);
	c[1] = bench_command_record(b, &work);
	c[0].status = c[1].status = w->status;
	c[0].skipped = c[1].skipped = w->missing;
	c[0].note = w->input;
	c[0].published = w->published->original_s;
	c[0].published_source = "table 3.3";
	err = bench_measure(b, w->name, c, 2, b->o.rounds, t);
	// Finding nodes without the allocator takes minutes.
	for (int way = 0; way < GRAPH_WAYS && !err && t[1].n_runs; way++)
		if ((!w->ways || w->ways >> way & 1) &&
		    (way != GRAPH_INFERRED || !b->o.is_quick))
			err = graph_add(b, w, way, t[1].median_s);
	bench_times_deinit_all(t, 2);
	return err;
}

struct err *bench_suite_graph(struct bench *b)
{
	struct graph_work works[GRAPH_WORKS];
	struct err *err = bench_graph_works_make(b, works);

	for (size_t i = 0; i < GRAPH_WORKS && !err; i++) {
		if (works[i].env && setenv(works[i].env, works[i].value, 1))
			err = err_errno("cannot set %s", works[i].env);
		if (!err)
			err = work_measure(b, &works[i]);
		if (works[i].env)
			unsetenv(works[i].env);
	}
	return err ? err : bench_graph_growth(b);
}
