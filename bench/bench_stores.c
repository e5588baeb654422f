// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Suite `stores`: what `record -e stores` costs beside a probe at each store. Small work,
 * because such a probe costs some 20 us a hit. Each program also runs with nothing to do,
 * which tells what analysing it and placing the probes costs; the rest is hits.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench_suite.h"
#include "capture/capture.h"

#define TEXT_BYTES 20000
#define TEXT_BYTES_QUICK 5000

enum { NATIVE, RECORD, PLAN, EACH, MODES };

/** A program with something to do, and with nothing. */
struct pair {
	const char *name;
	const char *work[BENCH_ARGS_MAX / 2], *idle[BENCH_ARGS_MAX / 2];
};

/** How often probes were hit. */
struct hits {
	uint64_t emulated, stepped;
};

static const char *const mode_names[MODES] = { "native", "record", "-e stores",
					       "--stores-each" };

/** @p argv under mode @p mode, the capture in @p dir. */
static struct bench_command command(struct bench *b, int mode, const char *dir,
				    const char *const *argv)
{
	struct bench_command c = { .name = mode_names[mode],
				   .role = mode == NATIVE ? BENCH_NATIVE :
					   mode == EACH	  ? BENCH_PEER :
							    BENCH_OURS,
				   .fresh_dir = dir,
				   .is_output_native = true };
	size_t n = 0;

	if (mode != NATIVE) {
		c.argv[n++] = b->exe;
		c.argv[n++] = "record";
		c.argv[n++] = "-o";
		c.argv[n++] = dir;
	}
	if (mode >= PLAN) {
		c.argv[n++] = "-e";
		c.argv[n++] = "stores";
	}
	if (mode == EACH)
		c.argv[n++] = "--stores-each";
	if (mode != NATIVE)
		c.argv[n++] = "--";
	for (; *argv && n < BENCH_ARGS_MAX; argv++)
		c.argv[n++] = *argv;
	return c;
}

static struct err *count_hits(const char *dir, struct hits *ret)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct err *err = capture_open(dir, &c);
	const struct cap_info *info;
	struct cap_events *it;
	bool is_end = false;

	*ret = (struct hits){};
	if (!err)
		err = cap_events_open(c, &it);
	if (err)
		return err;
	info = capture_info(c);
	while (!err && !is_end) {
		struct cap_event ev;

		err = cap_events_next(it, &ev, &is_end);
		if (err || is_end || ev.kind != CAP_EV_PROBE ||
		    ev.probe_site >= info->n_store_sites)
			continue;
		if (info->store_sites[ev.probe_site].is_emulated)
			ret->emulated++;
		else
			ret->stepped++;
	}
	cap_events_close(it);
	return err;
}

/** Time all modes of one command line, and count the hits of the last runs. */
static struct err *measure(struct bench *b, const char *name, const char *const *argv,
			   struct bench_times t[MODES], struct hits hits[MODES])
{
	struct bench_command c[MODES];
	char dirs[MODES][4300];
	struct err *err;

	for (int m = 0; m < MODES; m++) {
		snprintf(dirs[m], sizeof(dirs[m]), "%s-%d", b->capture, m);
		c[m] = command(b, m, dirs[m], argv);
	}
	err = bench_measure(b, name, c, MODES, b->o.rounds, t);
	for (int m = PLAN; !err && m < MODES; m++)
		if (!t[m].failure)
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
		{ "time a hit", "s", n ? seconds / (double)n : 0, BENCH_LOWER },
	};
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics) && !err; i++) {
		const struct bench_row row = { .suite = b->suite,
					       .work = name,
					       .command = mode_names[mode],
					       .role = mode == EACH ? BENCH_PEER :
								      BENCH_OURS,
					       .metric = metrics[i].metric,
					       .unit = metrics[i].unit,
					       .better = metrics[i].better };

		err = bench_row_add_value(&b->results, &row, metrics[i].value);
	}
	return err;
}

static struct err *measure_pair(struct bench *b, struct pair *p)
{
	struct bench_times work[MODES] = {}, idle[MODES] = {};
	struct hits hits[MODES] = {}, idle_hits[MODES] = {};
	char name[64];
	struct err *err;

	snprintf(name, sizeof(name), "%s idle", p->name);
	p->work[0] = p->idle[0] = bench_find_program(&b->arena, p->work[0]);
	if (!p->work[0]) {
		const struct bench_command c = { .name = "native",
						 .role = BENCH_NATIVE,
						 .skipped = "the program is not "
							    "there" };

		return bench_measure(b, p->name, &c, 1, b->o.rounds, work);
	}
	err = measure(b, name, p->idle, idle, idle_hits);
	if (!err)
		err = measure(b, p->name, p->work, work, hits);
	for (int m = PLAN; m < MODES; m++) {
		hits[m].emulated -= idle_hits[m].emulated;
		hits[m].stepped -= idle_hits[m].stepped;
	}
	for (int m = PLAN; m < MODES && !err; m++)
		if (!work[m].failure && !idle[m].failure)
			err = hits_add(b, p->name, m, seconds_of_hits(work, idle, m),
				       &hits[m]);
	bench_times_deinit_all(work, MODES);
	bench_times_deinit_all(idle, MODES);
	return err;
}

static const char *path_in_scratch(struct bench *b, const char *name)
{
	char path[4400];
	int n = snprintf(path, sizeof(path), "%s/%s", b->scratch, name);

	return arena_strndup(&b->arena, path, n);
}

/** The beginning of the text that the other suites use. */
static struct err *make_inputs(struct bench *b, const char *text, const char *digits,
			       const char *nothing)
{
	size_t size = b->o.is_quick ? TEXT_BYTES_QUICK : TEXT_BYTES, n;
	_cleanup_fclose_ FILE *to = fopen(text, "w"), *bc = fopen(digits, "w"), *from;
	const char *path = path_in_scratch(b, "text");
	_cleanup_fclose_ FILE *none = fopen(nothing, "w");
	char buf[TEXT_BYTES];

	from = path ? fopen(path, "r") : NULL;
	n = from ? fread(buf, 1, size, from) : 0;
	if (!to || !bc || !none || fputs("1\n", none) < 0 || fflush(none) || n != size ||
	    fwrite(buf, 1, n, to) != n || fflush(to) ||
	    fprintf(bc, "scale=%d; 4*a(1)\n", b->o.is_quick ? 50 : 100) < 0 || fflush(bc))
		return err_errno("cannot write the inputs of suite stores");
	return NULL;
}

struct err *bench_suite_stores(struct bench *b)
{
	const char *text = path_in_scratch(b, "stores-text");
	const char *digits = path_in_scratch(b, "stores-pi.bc");
	const char *nothing = path_in_scratch(b, "stores-nothing");
	struct pair pairs[] = {
		{ "gzip", { "gzip", "-9", "-c", text }, { "gzip", "-9", "-c", nothing } },
		{ "bc", { "bc", "-lq", digits }, { "bc", "-lq", nothing } },
		{ "rbtree", { NULL, b->o.is_quick ? "500" : "2000" }, { NULL, "1" } },
	};
	struct err *err = text && digits && nothing ?
				  make_inputs(b, text, digits, nothing) :
				  &err_nomem;

	for (size_t i = 0; i < b->n_works; i++)
		if (!strcmp(b->works[i].name, "rbtree"))
			pairs[2].work[0] = b->works[i].argv[0];
	for (size_t i = 0; !err && i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i].work[0])
			err = measure_pair(b, &pairs[i]);
	return err;
}
