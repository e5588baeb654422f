// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From commands to rows: what every suite that times commands shares.
 */

#include "bench/bench_suite.h"

#include <string.h>

#define STARTUP_LIMIT_S 0.2

static struct bench_row time_row(struct bench *b, const char *work,
				 const struct bench_command *c)
{
	return (struct bench_row){ .suite = b->suite,
				   .work = work,
				   .command = c->name,
				   .metric = "time",
				   .unit = "s",
				   .role = c->role,
				   .better = BENCH_LOWER,
				   .limit = c->limit,
				   .published = c->published,
				   .published_source = c->published_source,
				   .note = c->note };
}

struct err *bench_measure(struct bench *b, const char *work,
			  const struct bench_command *c, size_t n, int rounds,
			  struct bench_times *times)
{
	struct err *err;

	if (b->progress)
		b->progress(b->suite, work);
	err = bench_time(c, n, rounds, b->scratch, times);
	for (size_t i = 0; i < n && !err; i++) {
		struct bench_row row = time_row(b, work, &c[i]);

		row.skipped = c[i].skipped ?: times[i].failure;
		row.is_failure = times[i].failure && c[i].role != BENCH_PEER;
		err = bench_row_add(&b->results, &row, times[i].run_s, times[i].n_runs);
	}
	return err;
}

struct err *bench_measure_user(struct bench *b, const char *work,
			       const struct bench_command *c, const struct bench_times *t,
			       double limit)
{
	struct bench_row row = time_row(b, work, c);

	row.metric = "user time";
	row.limit = limit;
	row.published = 0;
	row.skipped = c->skipped ?: t->failure;
	row.is_failure = t->failure && c->role != BENCH_PEER;
	return bench_row_add(&b->results, &row, t->user_s, t->n_runs);
}

struct err *bench_measure_net(struct bench *b, const char *work,
			      const struct bench_command *c, const struct bench_times *t,
			      double limit)
{
	struct bench_row row = time_row(b, work, c);
	double net[BENCH_ROUNDS_MAX];

	if (!b->startup_s || t->failure)
		return NULL;
	row.metric = "time less start-up";
	row.base_metric = "time";
	row.limit = limit;
	row.published = 0;
	row.note = NULL;
	for (int i = 0; i < t->n_runs; i++) {
		net[i] = t->run_s[i] - b->startup_s;
		if (net[i] <= 0)
			row.skipped = "start-up varies by more than this work takes";
	}
	return bench_row_add(&b->results, &row, net, row.skipped ? 0 : t->n_runs);
}

struct err *bench_measure_speed(struct bench *b, const char *work,
				const struct bench_command *c,
				const struct bench_times *t, double count,
				const char *unit)
{
	struct bench_row row = time_row(b, work, c);
	double speed[BENCH_ROUNDS_MAX];

	row.metric = "speed";
	row.unit = unit;
	row.better = BENCH_HIGHER;
	row.published = 0;
	row.skipped = c->skipped ?: t->failure;
	row.is_failure = t->failure && c->role != BENCH_PEER;
	for (int i = 0; i < t->n_runs; i++)
		speed[i] = count / t->run_s[i];
	return bench_row_add(&b->results, &row, speed, t->n_runs);
}

struct bench_command bench_command_native(const struct bench_work *w)
{
	struct bench_command c = { .name = "native",
				   .role = BENCH_NATIVE,
				   .skipped = w->skipped };

	memcpy(c.argv, w->argv, sizeof(c.argv));
	return c;
}

struct bench_command bench_command_prefixed(const char *name, const char *const *prefix,
					    const struct bench_work *w)
{
	struct bench_command c = { .name = name,
				   .output = BENCH_OUTPUT_SAME,
				   .skipped = w->skipped };
	size_t n = 0;

	for (; *prefix; prefix++)
		c.argv[n++] = *prefix;
	for (size_t i = 0; w->argv[i] && n < BENCH_ARGS_MAX; i++)
		c.argv[n++] = w->argv[i];
	return c;
}

struct bench_command bench_command_record(struct bench *b, const struct bench_work *w)
{
	const char *const prefix[] = { b->exe, "record", "-o", b->capture, "--", NULL };
	struct bench_command c = bench_command_prefixed("record", prefix, w);

	c.fresh_dir = b->capture;
	return c;
}

struct err *bench_measure_startup(struct bench *b)
{
	const struct bench_work work = { .name = "true", .argv = { "/bin/true" } };
	struct bench_command c[2] = { bench_command_native(&work),
				      bench_command_record(b, &work) };
	struct bench_times t[2] = {};
	struct err *err;

	if (b->startup_s)
		return NULL;
	err = bench_measure(b, "true", c, 2, b->o.rounds * 2 + 1, t);
	if (!err && !t[0].failure && !t[1].failure)
		b->startup_s = t[1].median_s - t[0].median_s;
	bench_times_deinit_all(t, 2);
	return err;
}

/* ---- works and processes ------------------------------------------------------------------- */

struct err *bench_each_replayed(struct bench *b,
				struct err *(*fn)(struct bench *b,
						  const struct bench_work *w))
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].kind->is_replayed || b->works[i].kind->is_only_replayed)
			err = fn(b, &b->works[i]);
	return err;
}

double bench_sum_below(int pid, double (*of)(int pid))
{
	_cleanup_fclose_ FILE *children = NULL;
	double sum = 0;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &child) == 1)
		sum += of(child) + bench_sum_below(child, of);
	return sum;
}

double bench_held_by(int pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char text[256];
	uint64_t kib;

	snprintf(text, sizeof(text), "/proc/%d/smaps_rollup", pid);
	f = fopen(text, "re");
	while (f && fgets(text, sizeof(text), f))
		if (sscanf(text, "Pss: %lu", &kib) == 1)
			return kib << 10;
	return 0;
}

struct err *bench_row_show_runs(struct bench *b, const struct bench_row *row,
				const double *runs, size_t n)
{
	struct err *err = bench_row_add(&b->results, row, runs, n);
	const struct bench_row *r = &b->results.rows.data[b->results.rows.size - 1];

	if (!err)
		fprintf(stderr, "%s%s: %s, %s, %s: %.4g %s (%.4g to %.4g)\n",
			b->progress ? TEXT_AGAIN : "", row->suite, row->work,
			row->command, row->metric, r->value.median, row->unit ?: "",
			r->value.min, r->value.max);
	return err;
}

struct err *bench_row_show(struct bench *b, const struct bench_row *row, double value)
{
	fprintf(stderr, "%s%s: %s, %s, %s: %.4g %s\n", b->progress ? TEXT_AGAIN : "",
		row->suite, row->work, row->command, row->metric, value, row->unit ?: "");
	return bench_row_add_value(&b->results, row, value);
}
