// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_graph.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/*
 * One program that changes its heap as often as it is told to (bench/programs/churn.c),
 * recorded and analyzed with a specification that holds: how long that takes, and how much
 * memory. With --scale 1,2,4,8 the largest makes 50 million changes, after those that
 * fill its table.
 */
#define CHANGES_FILL 0.4e6 ///< until it has as many nodes as it will have
#define CHANGES 6.25e6
#define CHANGES_QUICK 0.125e6
#define ANALYSIS_WANTED_S 600.0
#define MEMORY_WANTED_B 4e9
#define ROUNDS_MAX 3

static const char spec[] = "entry FIELD 4 EDGE 2;\n"
			   "entry X; entry Y; X.next == Y => Y.prev == X; ..(back)\n";

/** What is measured at each size. */
enum { ANALYSIS, MEMORY, BUILD, GRAPH, MEASURES };

static const struct {
	const char *name, *unit;
	double wanted; ///< at the largest
} measures[MEASURES] = {
	[ANALYSIS] = { "analysis", "s", ANALYSIS_WANTED_S },
	[MEMORY] = { "memory of the analysis", "B", MEMORY_WANTED_B },
	[BUILD] = { "build", "s", 0 },
	[GRAPH] = { "size", "B", 0 },
};

/** Point 0 fills its table: what comes then is steady. The others are the sizes. */
struct growth {
	char program[4200], spec[4200], errors[4200], n_changes[32];
	size_t n_points, n_rounds;
	double changes[BENCH_SCALES_MAX + 1];
	double runs[MEASURES][BENCH_SCALES_MAX + 1][ROUNDS_MAX];
};

static struct err *run(struct growth *g, const char *const *argv, const char *what,
		       struct bench_used *ret)
{
	struct err *err = bench_run_used(argv, NULL, g->errors, 0, ret);

	if (!err && ret->status)
		err = err_new(ERR_OS, "cannot %s '%s %s': status %#x (see its README)",
			      what, g->program, g->n_changes, ret->status);
	return err;
}

/** Where the recording of a point is. */
static void capture_name(const struct bench *b, size_t point, char ret[4300])
{
	snprintf(ret, 4300, "%s-%zu", b->capture, point);
}

static struct err *point_record(struct bench *b, struct growth *g, size_t point)
{
	double base = b->o.is_quick ? CHANGES_QUICK : CHANGES;
	double more = point ? base * b->o.scale[point - 1] : 0;
	char capture[4300];
	const char *const record[] = { b->exe, "record",   "-o",	 capture,
				       "--",   g->program, g->n_changes, NULL };
	struct bench_used used;

	capture_name(b, point, capture);
	snprintf(g->n_changes, sizeof(g->n_changes), "%.0f", CHANGES_FILL + more);
	bench_remove(capture);
	return run(g, record, "record", &used);
}

static struct err *point_measure(struct bench *b, struct growth *g, size_t point,
				 size_t round)
{
	char capture[4300];
	const char *const analyze[] = { b->exe,	  "analyze", capture,
					"--spec", g->spec,   NULL };
	struct bench_used used;
	struct graph_built built;
	struct err *err;

	capture_name(b, point, capture);
	err = run(g, analyze, "analyze", &used);
	if (!err)
		err = bench_graph_build(capture, GRAPH_APP, &built);
	if (err)
		return err;
	if (built.failure[0])
		return err_new(ERR_OS, "cannot build the graph of '%s %s': %s",
			       g->program, g->n_changes, built.failure);
	g->changes[point] = built.changes;
	g->runs[ANALYSIS][point][round] = used.wall_s;
	g->runs[MEMORY][point][round] = used.peak_bytes;
	g->runs[BUILD][point][round] = built.build_s;
	g->runs[GRAPH][point][round] = built.bytes;
	return NULL;
}

/** Round by round through all sizes: what slows the machine down for a while must not slow
 * down one size alone. */
static struct err *points_measure(struct bench *b, struct growth *g)
{
	struct err *err = NULL;

	g->n_points = b->o.n_scales + 1;
	g->n_rounds = b->o.is_quick	       ? 1 :
		      b->o.rounds < ROUNDS_MAX ? (size_t)b->o.rounds :
						 ROUNDS_MAX;
	for (size_t i = 0; i < g->n_points && !err; i++)
		err = point_record(b, g, i);
	for (size_t round = 0; round < g->n_rounds; round++)
		for (size_t i = 0; i < g->n_points && !err; i++)
			err = point_measure(b, g, i, round);
	return err;
}

/** A measure of all sizes. */
static struct err *series_add(struct bench *b, struct growth *g, int m)
{
	const struct bench_series s = {
		.suite = b->suite,
		.work = "churn",
		.command = "analyze",
		.x_name = "changes",
		.y_name = measures[m].name,
		.y_unit = measures[m].unit,
		.fixed = bench_range_of(g->runs[m][0], g->n_rounds).median,
		.note = "those that filled its table are taken "
			"off",
		.expected_exponent = 1
	};
	struct bench_range y[BENCH_SCALES_MAX];
	double x[BENCH_SCALES_MAX];

	for (size_t i = 1; i < g->n_points; i++) {
		x[i - 1] = g->changes[i] - g->changes[0];
		y[i - 1] = bench_range_of(g->runs[m][i], g->n_rounds);
	}
	return bench_series_add(&b->results, &s, x, y, g->n_points - 1);
}

static struct err *growth_add(struct bench *b, struct growth *g)
{
	struct err *err = NULL;

	for (int m = 0; m < MEASURES && !err; m++) {
		const struct bench_row row = { .suite = b->suite,
					       .work = "churn",
					       .command = g->n_changes,
					       .metric = measures[m].name,
					       .unit = measures[m].unit,
					       .better = BENCH_LOWER,
					       .wanted = measures[m].wanted };

		err = series_add(b, g, m);
		if (!err && g->n_points > 1)
			err = bench_row_add(&b->results, &row,
					    g->runs[m][g->n_points - 1], g->n_rounds);
	}
	return err;
}

struct err *bench_graph_growth(struct bench *b)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct growth g = {};
	struct err *err;

	snprintf(g.program, sizeof(g.program), "%.*s/bench/programs/churn",
		 (int)(strrchr(b->exe, '/') - b->exe), b->exe);
	snprintf(g.spec, sizeof(g.spec), "%s/churn.spec", b->scratch);
	snprintf(g.errors, sizeof(g.errors), "%s/errors", b->scratch);
	f = fopen(g.spec, "w");
	if (!f || fputs(spec, f) < 0 || fflush(f))
		return err_errno("cannot write '%s'", g.spec);
	err = points_measure(b, &g);
	return err ? err : growth_add(b, &g);
}
