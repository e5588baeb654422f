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

struct growth {
	char program[4200], spec[4200], errors[4200], n_changes[32];
	double changes[BENCH_SCALES_MAX];
	struct bench_range y[MEASURES][BENCH_SCALES_MAX];
	double fixed[MEASURES]; ///< of filling its table: what comes then is steady
	size_t n;
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

/** Record and analyze a run of so many changes; @p ret gets what it took, and how many
 * changes they really were. */
static struct err *point_measure(struct bench *b, struct growth *g, double wanted,
				 double *changes, double ret[MEASURES])
{
	const char *const record[] = { b->exe, "record",   "-o",	 b->capture,
				       "--",   g->program, g->n_changes, NULL };
	const char *const analyze[] = { b->exe,	  "analyze", b->capture,
					"--spec", g->spec,   NULL };
	struct bench_used used;
	struct graph_built built;
	struct err *err;

	snprintf(g->n_changes, sizeof(g->n_changes), "%.0f", wanted);
	bench_remove(b->capture);
	err = run(g, record, "record", &used);
	if (!err)
		err = run(g, analyze, "analyze", &used);
	if (!err)
		err = bench_graph_build(b->capture, GRAPH_APP, &built);
	if (err)
		return err;
	if (built.failure[0])
		return err_new(ERR_OS, "cannot build the graph of '%s %s': %s",
			       g->program, g->n_changes, built.failure);
	*changes = built.changes;
	ret[ANALYSIS] = used.wall_s;
	ret[MEMORY] = used.peak_bytes;
	ret[BUILD] = built.build_s;
	ret[GRAPH] = built.bytes;
	return NULL;
}

static struct err *points_measure(struct bench *b, struct growth *g)
{
	double base = b->o.is_quick ? CHANGES_QUICK : CHANGES, y[MEASURES], filled, all;
	struct err *err = point_measure(b, g, CHANGES_FILL, &filled, g->fixed);

	for (g->n = 0; g->n < b->o.n_scales && !err; g->n++) {
		err = point_measure(b, g, CHANGES_FILL + base * b->o.scale[g->n], &all,
				    y);
		g->changes[g->n] = all - filled;
		for (int m = 0; m < MEASURES; m++)
			g->y[m][g->n] = bench_range_of(&y[m], 1);
	}
	return err;
}

static struct err *growth_add(struct bench *b, const struct growth *g)
{
	struct err *err = NULL;

	for (int m = 0; m < MEASURES && !err; m++) {
		const struct bench_series s = { .suite = b->suite,
						.work = "churn",
						.command = "analyze",
						.x_name = "changes",
						.y_name = measures[m].name,
						.y_unit = measures[m].unit,
						.fixed = g->fixed[m],
						.note = "those that filled its table "
							"are taken off",
						.expected_exponent = 1 };
		const struct bench_row row = { .suite = b->suite,
					       .work = "churn",
					       .command = g->n_changes,
					       .metric = measures[m].name,
					       .unit = measures[m].unit,
					       .better = BENCH_LOWER,
					       .wanted = measures[m].wanted };

		err = bench_series_add(&b->results, &s, g->changes, g->y[m], g->n);
		if (!err && g->n)
			err = bench_row_add_value(&b->results, &row,
						  g->y[m][g->n - 1].median);
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
