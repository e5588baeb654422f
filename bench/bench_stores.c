// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Suite `stores`: what `record -e stores` costs beside a probe at each store. Small work,
 * because such a probe costs some 20 us a hit. Each program also runs with nothing to do,
 * which tells what the analysis and placing the probes costs; the rest is hits.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench_suite.h"
#include "capture/capture.h"

enum { NATIVE, RECORD, PLAN, EACH, MODES };

/** A work of so many, and of next to nothing. */
static const struct pair {
	const char *kind;
	uint64_t count, count_quick, count_idle;
} pairs[] = {
	{ "gzip", 20000, 5000, 0 },
	{ "bc", 100, 50, 1 },
	{ "tree", 2000, 500, 0 },
};

/** How often probes were hit. */
struct hits {
	uint64_t emulated, stepped;
};

static const char *const mode_names[MODES] = { "native", "record", "-e stores",
					       "--stores-each" };

/** @p w under mode @p mode, the capture in @p dir. */
static struct bench_command command(struct bench *b, int mode, const char *dir,
				    const struct bench_work *w)
{
	const char *const record[] = { b->exe, "record", "-o", dir, "--", NULL };
	const char *const plan[] = { b->exe, "record", "-o", dir,
				     "-e",   "stores", "--", NULL };
	const char *const each[] = { b->exe,   "record",	"-o", dir, "-e",
				     "stores", "--stores-each", "--", NULL };
	const char *const *const prefixes[] = { NULL, record, plan, each };
	struct bench_command c =
		mode == NATIVE ?
			bench_command_native(w) :
			bench_command_prefixed(mode_names[mode], prefixes[mode], w);

	c.role = mode == NATIVE ? BENCH_NATIVE : mode == EACH ? BENCH_PEER : BENCH_OURS;
	c.fresh_dir = dir;
	return c;
}

struct counting {
	const struct cap_info *info;
	struct hits *hits;
};

static struct err *count_hit(void *ctx, const struct cap_event *ev)
{
	struct counting *c = ctx;

	if (ev->kind != CAP_EV_PROBE || ev->probe_site >= c->info->n_store_sites)
		return NULL;
	if (c->info->store_sites[ev->probe_site].is_emulated)
		c->hits->emulated++;
	else
		c->hits->stepped++;
	return NULL;
}

static struct err *count_hits(const char *dir, struct hits *ret)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct err *err = capture_open(dir, &c);

	*ret = (struct hits){};
	if (err)
		return err;
	return cap_events_each(c, count_hit, &(struct counting){ capture_info(c), ret });
}

/** Time all modes of one command line, and count the hits of the last runs. */
static struct err *measure(struct bench *b, const char *name, const struct bench_work *w,
			   struct bench_times t[MODES], struct hits hits[MODES])
{
	struct bench_command c[MODES];
	char dirs[MODES][4300];
	struct err *err;

	for (int m = 0; m < MODES; m++) {
		snprintf(dirs[m], sizeof(dirs[m]), "%s-%d", b->capture, m);
		c[m] = command(b, m, dirs[m], w);
	}
	err = bench_measure(b, name, c, MODES, b->o.rounds, t);
	for (int m = PLAN; !err && m < MODES; m++)
		if (t[m].n_runs)
			err = count_hits(dirs[m], &hits[m]);
	for (int m = 0; m < MODES; m++)
		bench_remove(dirs[m]);
	return err;
}

/** Seconds that the hits of mode @p m took: what it takes over plain recording, less what
 * that is when there is nothing to do. */
static double seconds_of_hits(const struct bench_times *work,
			      const struct bench_times *idle, int m)
{
	double s = (work[m].median_s - work[RECORD].median_s) -
		   (idle[m].median_s - idle[RECORD].median_s);

	return s > 0 ? s : 0;
}

/** The rows of one mode's probes. */
static struct err *hits_add(struct bench *b, const char *name, int mode, double seconds,
			    const struct hits *h)
{
	uint64_t n = h->emulated + h->stepped;
	const struct {
		const char *metric, *unit;
		double value;
		enum bench_better better;
	} metrics[] = {
		{ "time of hits", "s", seconds, BENCH_LOWER },
		{ "hits emulated", "", (double)h->emulated, BENCH_NEITHER },
		{ "hits stepped", "", (double)h->stepped, BENCH_NEITHER },
		{ "time a hit", "s", n ? seconds / (double)n : 0, BENCH_NEITHER },
	};
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics) && !err; i++) {
		struct bench_row row = { .suite = b->suite,
					 .work = name,
					 .command = mode_names[mode],
					 .role = mode == EACH ? BENCH_PEER : BENCH_OURS,
					 .metric = metrics[i].metric,
					 .unit = metrics[i].unit,
					 .better = metrics[i].better };

		if (seconds <= 0 && !strcmp(metrics[i].unit, "s"))
			row.skipped = "less than the runs vary by";
		err = bench_row_add(&b->results, &row, &metrics[i].value, !row.skipped);
	}
	return err;
}

static struct err *measure_pair(struct bench *b, const struct pair *p)
{
	const struct bench_work_kind *kind = bench_work_kind(p->kind);
	struct bench_times work[MODES] = {}, idle[MODES] = {};
	struct hits hits[MODES] = {}, idle_hits[MODES] = {};
	struct bench_work w, w_idle;
	struct err *err =
		bench_work_make(b, kind, b->o.is_quick ? p->count_quick : p->count, &w);
	char name[64];

	if (!err)
		err = bench_work_make(b, kind, p->count_idle, &w_idle);
	snprintf(name, sizeof(name), "%s idle", p->kind);
	if (!err)
		err = measure(b, name, &w_idle, idle, idle_hits);
	if (!err)
		err = measure(b, p->kind, &w, work, hits);
	for (int m = PLAN; m < MODES; m++) {
		hits[m].emulated -= idle_hits[m].emulated;
		hits[m].stepped -= idle_hits[m].stepped;
	}
	for (int m = PLAN; m < MODES && !err; m++)
		if (work[m].n_runs && idle[m].n_runs)
			err = hits_add(b, p->kind, m, seconds_of_hits(work, idle, m),
				       &hits[m]);
	bench_times_deinit_all(work, MODES);
	bench_times_deinit_all(idle, MODES);
	return err;
}

struct err *bench_suite_stores(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs) && !err; i++)
		err = measure_pair(b, &pairs[i]);
	return err;
}
