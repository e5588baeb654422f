// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench_suite.h"

#define COMMAND_MAX 4096
#define CORPUS_MAX 64
#define ROUNDS_MOST 3 ///< each work takes seconds
#define GEOMEAN_LIMIT 1.05
#define WORST_LIMIT 1.30

/** Let the corpus' own script make the inputs in @p dir and write the list to @p list. */
static struct err *script_run(const char *corpus, const char *dir, const char *list,
			      bool is_quick)
{
	char script[PATH_MAX + 16], errors[PATH_MAX + 32];
	const char *const argv[] = { "/bin/bash", script, dir,
				     is_quick ? "small" : "large", NULL };
	struct err *err;
	double wall_s;
	int status;

	snprintf(script, sizeof(script), "%s/bench.sh", corpus);
	snprintf(errors, sizeof(errors), "%s.errors", list);
	if (mkdir(dir, 0700))
		return err_errno("cannot make '%s'", dir);
	err = bench_run(argv, list, errors, &wall_s, &status);
	if (!err && status)
		err = err_new(ERR_OS,
			      "cannot make the inputs of the corpus: '%s' failed "
			      "(is it the directory tests/corpus?)",
			      script);
	return err;
}

/** @p line is NAME<tab>COMMAND. A prefix comes behind the argv: "$@". */
static struct err *line_parse(struct arena *arena, const char *corpus, const char *dir,
			      char *line, struct bench_work *ret)
{
	char *tab = strchr(line, '\t'), *shell;
	size_t size = strlen(line) + strlen(corpus) + strlen(dir) + 100;

	if (!tab)
		return err_new(ERR_FORMAT,
			       "cannot read the corpus' list: no command in '%s'", line);
	*tab = 0;
	ret->name = arena_strndup(arena, line, strlen(line));
	shell = arena_alloc(arena, size);
	if (!ret->name || !shell)
		return &err_nomem;
	snprintf(shell, size, ". '%s/environment.sh'; cd '%s'; exec \"$@\" %s", corpus,
		 dir, tab + 1);
	ret->argv[0] = "/bin/bash";
	ret->argv[1] = "-c";
	ret->argv[2] = shell;
	ret->argv[3] = "bash";
	return NULL;
}

/** The command lines of the corpus in directory @p corpus that do nothing but compute, in one
 * thread; their inputs are made below @p scratch. A command to run them under follows the
 * argv. @p ret has room for CORPUS_MAX. Strings live in @p arena. */
static struct err *corpus_make(struct arena *arena, const char *corpus,
			       const char *scratch, bool is_quick, struct bench_work *ret,
			       size_t *n)
{
	char dir[PATH_MAX + 16], list[PATH_MAX + 16], real[PATH_MAX], line[COMMAND_MAX];
	_cleanup_fclose_ FILE *f = NULL;
	struct err *err;

	if (!realpath(corpus, real))
		return err_errno("cannot find the corpus at '%s' (use --corpus=DIR, the "
				 "tests/corpus of Faultline's source)",
				 corpus);
	snprintf(dir, sizeof(dir), "%s/corpus", scratch);
	snprintf(list, sizeof(list), "%s/corpus.list", scratch);
	err = script_run(real, dir, list, is_quick);
	if (err)
		return err;
	f = fopen(list, "r");
	if (!f)
		return err_errno("cannot read '%s'", list);
	for (*n = 0; *n < CORPUS_MAX && fgets(line, sizeof(line), f); (*n)++) {
		line[strcspn(line, "\n")] = 0;
		ret[*n] = (struct bench_work){};
		err = line_parse(arena, real, dir, line, &ret[*n]);
		if (err)
			return err;
	}
	return NULL;
}

/** The command line under faultline: its shell runs it behind what follows. */
static struct bench_command record_command(struct bench *b, const struct bench_work *w)
{
	const char *const prefix[] = { b->exe, "record", "-o", b->capture, "--" };
	struct bench_command c = bench_command_native(w);
	size_t n = 0;

	c.name = "record";
	c.role = BENCH_OURS;
	c.output = BENCH_OUTPUT_SAME;
	c.fresh_dir = b->capture;
	while (c.argv[n])
		n++;
	memcpy(c.argv + n, prefix, sizeof(prefix));
	return c;
}

/** The mean ratio and the worst of all works, as rows of their own: values are ratios. */
static struct err *total_add(struct bench *b)
{
	struct bench_row mean = { .suite = b->suite,
				  .work = "all of them",
				  .command = "record",
				  .metric = "mean ratio, less start-up",
				  .unit = "x",
				  .limit = GEOMEAN_LIMIT,
				  .note = "geometric mean" };
	struct bench_row worst = mean;
	double logs = 0, most = 0;
	int n = 0;
	struct err *err;

	bench_rows_finish(&b->results);
	for (size_t i = 0; i < b->results.rows.size; i++) {
		const struct bench_row *row = &b->results.rows.data[i];

		if (strcmp(row->suite, b->suite) != 0 || !row->base_metric ||
		    row->ratio.median <= 0)
			continue;
		logs += log(row->ratio.median);
		n++;
		if (row->ratio.median > most)
			worst.note = row->work;
		most = fmax(most, row->ratio.median);
	}
	if (!n)
		return NULL;
	err = bench_row_add_value(&b->results, &mean, exp(logs / n));
	worst.metric = "worst ratio, less start-up";
	worst.limit = WORST_LIMIT;
	return err ? err : bench_row_add_value(&b->results, &worst, most);
}

struct err *bench_suite_corpus(struct bench *b)
{
	struct bench_work works[CORPUS_MAX];
	size_t n = 0;
	struct err *err = corpus_make(&b->arena, b->o.corpus ?: "tests/corpus",
				      b->scratch, b->o.is_quick, works, &n);

	if (!err)
		err = bench_measure_startup(b);
	for (size_t i = 0; i < n && !err; i++) {
		struct bench_command c[2] = { bench_command_native(&works[i]),
					      record_command(b, &works[i]) };
		struct bench_times t[2] = {};

		err = bench_measure(b, works[i].name, c, 2,
				    b->o.rounds < ROUNDS_MOST ? b->o.rounds : ROUNDS_MOST,
				    t);
		if (!err)
			err = bench_measure_net(b, works[i].name, &c[1], &t[1],
						b->o.is_quick ? 0 : WORST_LIMIT);
		bench_times_deinit_all(t, 2);
	}
	return err ? err : total_add(b);
}
