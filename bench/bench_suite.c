// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STARTUP_LIMIT_S 0.2
#define CORPUS_GEOMEAN_LIMIT 1.05
#define CORPUS_WORST_LIMIT 1.30

/** Ratios of @p t to the native times, with and without @p fixed_s of start-up. */
static void ratios_add(cJSON *row, const struct bench_command *c,
		       const struct bench_times *t, const struct bench_times *native,
		       double fixed_s)
{
	double ratio = t->median_s / native->median_s;
	double net = (t->median_s - fixed_s) / native->median_s;

	cJSON_AddNumberToObject(row, "ratio", ratio);
	printf(" %7.2fx", ratio);
	if (fixed_s > 0) {
		cJSON_AddNumberToObject(row, "startup_s", fixed_s);
		cJSON_AddNumberToObject(row, "net_ratio", net);
		printf(" %7.2fx", net);
	} else {
		printf(" %8s", "");
	}
	if (c->limit > 0) {
		cJSON_AddNumberToObject(row, "limit", c->limit);
		printf("  %s %.2fx", net <= c->limit ? "within" : "OVER  ", c->limit);
	}
}

static void row_add(struct bench *b, const char *suite, const char *work,
		    const struct bench_command *c, const struct bench_times *t,
		    const struct bench_times *native, double fixed_s)
{
	cJSON *row = cJSON_CreateObject();

	cJSON_AddStringToObject(row, "suite", suite);
	cJSON_AddStringToObject(row, "work", work);
	cJSON_AddStringToObject(row, "mode", c->name);
	cJSON_AddItemToArray(b->rows, row);
	printf("%-8s %-14s %-18s", suite, work, c->name);
	if (t->failure) {
		cJSON_AddStringToObject(row, "failure", t->failure);
		printf(" failed: %s\n", t->failure);
		b->has_failure |= !c->is_optional;
		return;
	}
	cJSON_AddNumberToObject(row, "runs", t->n_runs);
	cJSON_AddNumberToObject(row, "median_s", t->median_s);
	cJSON_AddNumberToObject(row, "min_s", t->min_s);
	cJSON_AddNumberToObject(row, "max_s", t->max_s);
	printf(" %8.3f %8.3f %8.3f", t->median_s, t->min_s, t->max_s);
	if (t != native && native->median_s > 0)
		ratios_add(row, c, t, native, fixed_s);
	putchar('\n');
	fflush(stdout);
}

void bench_row(struct bench *b, const char *suite, const char *work,
	       const struct bench_command *c, const struct bench_times *t,
	       const struct bench_times *native)
{
	row_add(b, suite, work, c, t, native, 0);
}

struct err *bench_measure(struct bench *b, const char *suite, const char *work,
			  const struct bench_command *c, size_t n, int rounds,
			  struct bench_times *times)
{
	struct err *err = bench_time(c, n, rounds, b->scratch, times);

	for (size_t i = 0; i < n && !err; i++)
		row_add(b, suite, work, &c[i], &times[i], &times[0],
			strcmp(c[i].name, "record") == 0 ? b->startup_s : 0);
	return err;
}

static void times_deinit(struct bench_times *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bench_times_deinit(&t[i]);
}

static struct bench_command native_command(const struct bench_work *w)
{
	struct bench_command c = { .name = "native" };

	memcpy(c.argv, w->argv, sizeof(c.argv));
	return c;
}

/** The work's program behind @p prefix, a NULL-terminated list. */
static struct bench_command prefixed_command(const char *name, const char *const *prefix,
					     const struct bench_work *w)
{
	struct bench_command c = { .name = name, .is_output_native = true };
	size_t n = 0;

	for (; *prefix; prefix++)
		c.argv[n++] = *prefix;
	for (size_t i = 0; w->argv[i] && n < BENCH_ARGS_MAX; i++)
		c.argv[n++] = w->argv[i];
	return c;
}

static struct bench_command record_command(struct bench *b, const struct bench_work *w)
{
	const char *const prefix[] = { b->exe, "record", "-o", b->capture, "--", NULL };
	struct bench_command c = prefixed_command("record", prefix, w);

	c.fresh_dir = b->capture;
	c.limit = w->record_limit;
	return c;
}

/** What recording costs before the program runs: measured apart, on /bin/true. */
static struct err *startup_measure(struct bench *b)
{
	const struct bench_work work = { .name = "true", .argv = { "/bin/true" } };
	struct bench_command c[2] = { native_command(&work), record_command(b, &work) };
	struct bench_times t[2] = {};
	struct err *err;

	err = bench_measure(b, "startup", "true", c, 2, b->o.rounds * 2 + 1, t);
	if (!err && !t[1].failure) {
		b->startup_s = t[1].median_s - t[0].median_s;
		printf("%-8s %.3f s fixed, taken off in column net: %s %.1f s\n",
		       "startup", b->startup_s,
		       b->startup_s <= STARTUP_LIMIT_S ? "within" : "OVER",
		       STARTUP_LIMIT_S);
	}
	times_deinit(t, 2);
	return err;
}

struct err *bench_suite_record(struct bench *b)
{
	struct err *err = startup_measure(b);

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];
		struct bench_command c[2] = { native_command(w), record_command(b, w) };
		struct bench_times t[2] = {};

		if (!w->record_limit)
			continue;
		err = bench_measure(b, "record", w->name, c, 2, b->o.rounds, t);
		times_deinit(t, 2);
	}
	return err;
}

static struct err *replay_measure_work(struct bench *b, const struct bench_work *w)
{
	struct bench_command record = record_command(b, w);
	struct bench_command c[] = {
		native_command(w),
		{ .name = "replay",
		  .argv = { b->exe, "replay", b->capture },
		  .limit = 3 },
		{ .name = "replay addresses",
		  .argv = { b->exe, "replay", b->capture, "--log=addresses" },
		  .limit = 5 },
		{ .name = "replay values",
		  .argv = { b->exe, "replay", b->capture, "--log=values" },
		  .limit = 10 },
	};
	const size_t n = sizeof(c) / sizeof(c[0]);
	struct bench_times t[sizeof(c) / sizeof(c[0])] = {};
	char errors[4300];
	struct err *err;
	double wall_s;
	int status;

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	bench_remove(b->capture);
	err = bench_run(record.argv, NULL, errors, &wall_s, &status);
	if (err)
		return err;
	if (status) {
		printf("%-8s %-8s cannot be recorded (try: faultline record -- %s)\n",
		       "replay", w->name, w->argv[0]);
		b->has_failure = true;
		return NULL;
	}
	err = bench_measure(b, "replay", w->name, c, n, b->o.rounds, t);
	times_deinit(t, n);
	return err;
}

struct err *bench_suite_replay(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].is_replayed)
			err = replay_measure_work(b, &b->works[i]);
	return err;
}

/** The command line under faultline: its shell runs it behind what follows. */
static struct bench_command corpus_record_command(struct bench *b,
						  const struct bench_work *w)
{
	const char *const prefix[] = { b->exe, "record", "-o", b->capture, "--" };
	struct bench_command c = native_command(w);
	size_t n = 0;

	c.name = "record";
	c.is_output_native = true;
	c.fresh_dir = b->capture;
	c.limit = b->o.is_quick ? 0 : CORPUS_WORST_LIMIT;
	while (c.argv[n])
		n++;
	memcpy(c.argv + n, prefix, sizeof(prefix));
	return c;
}

/** The ratios of all works in one: their geometric mean and the worst. */
struct corpus_total {
	double sum_of_logs, worst;
	const char *worst_work;
	int n;
};

static void corpus_count(struct corpus_total *total, const struct bench *b,
			 const struct bench_work *w, const struct bench_times t[2])
{
	double net;

	if (t[0].failure || t[1].failure)
		return;
	net = (t[1].median_s - b->startup_s) / t[0].median_s;
	// Start-up varies by more than a tiny work takes: it must not make a ratio below 0.
	net = net > 0.01 ? net : 0.01;
	total->sum_of_logs += log(net);
	total->n++;
	if (net > total->worst) {
		total->worst = net;
		total->worst_work = w->name;
	}
}

static void corpus_summarize(struct bench *b, const struct corpus_total *total)
{
	cJSON *row = cJSON_CreateObject();
	double geomean = exp(total->sum_of_logs / total->n);

	cJSON_AddStringToObject(row, "suite", "corpus");
	cJSON_AddNumberToObject(row, "works", total->n);
	cJSON_AddNumberToObject(row, "geomean_net_ratio", geomean);
	cJSON_AddNumberToObject(row, "worst_net_ratio", total->worst);
	cJSON_AddStringToObject(row, "worst_work", total->worst_work);
	cJSON_AddItemToArray(b->rows, row);
	printf("corpus   %d works, net of start-up: geomean %.3fx, worst %.3fx (%s)",
	       total->n, geomean, total->worst, total->worst_work);
	if (b->o.is_quick)
		puts("; of works so small that their start-up decides");
	else
		printf(": %s %.2fx and %s %.2fx\n",
		       geomean <= CORPUS_GEOMEAN_LIMIT ? "within" : "OVER",
		       CORPUS_GEOMEAN_LIMIT,
		       total->worst <= CORPUS_WORST_LIMIT ? "within" : "OVER",
		       CORPUS_WORST_LIMIT);
}

struct err *bench_suite_corpus(struct bench *b)
{
	struct bench_work works[BENCH_CORPUS_MAX];
	struct corpus_total total = {};
	size_t n = 0;
	struct err *err = bench_corpus_make(&b->arena, b->o.corpus ?: "tests/corpus",
					    b->scratch, b->o.is_quick, works, &n);

	if (!err && b->startup_s == 0)
		err = startup_measure(b);
	for (size_t i = 0; i < n && !err; i++) {
		struct bench_command c[2] = { native_command(&works[i]),
					      corpus_record_command(b, &works[i]) };
		struct bench_times t[2] = {};

		err = bench_measure(b, "corpus", works[i].name, c, 2, b->o.rounds, t);
		if (!err)
			corpus_count(&total, b, &works[i], t);
		times_deinit(t, 2);
	}
	if (!err && total.n)
		corpus_summarize(b, &total);
	return err;
}

struct err *bench_suite_peers(struct bench *b)
{
	static const char *const peers[][6] = {
		{ "strace", "-o", "/dev/null", NULL },
		{ "valgrind", "--tool=none", "-q", NULL },
		{ "valgrind", "--tool=memcheck", "-q", NULL },
		{ "rr", "record", "-n", NULL },
	};
	static const char *const names[] = { "strace", "valgrind none", "memcheck",
					     "rr" };
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];
		struct bench_command c[BENCH_COMMANDS_MAX] = { native_command(w),
							       record_command(b, w) };
		struct bench_times t[BENCH_COMMANDS_MAX] = {};
		size_t n = 2;

		c[1].limit = 0;
		for (size_t p = 0; p < sizeof(peers) / sizeof(peers[0]); p++)
			if (bench_find_program(&b->arena, peers[p][0])) {
				c[n] = prefixed_command(names[p], peers[p], w);
				c[n++].is_optional = true;
			}
		err = bench_measure(b, "peers", w->name, c, n, b->o.is_quick ? 1 : 3, t);
		times_deinit(t, n);
	}
	return err;
}
