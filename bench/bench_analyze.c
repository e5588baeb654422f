// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `analyze`: what `faultline analyze` takes, as a multiple of the plain replay of the same
 * capture: the heap's history alone, and with a look at all accesses.
 */

#include "bench/bench_suite.h"

#include <stdio.h>

enum { REPLAY, HISTORY, ACCESSES, N_COMMANDS };

/* A specification of what no program has: the history is made, and nothing checked. */
static struct err *spec_write(struct bench *b, char *path, size_t size)
{
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, size, "%s/nothing.spec", b->scratch);
	f = fopen(path, "w");
	if (!f || fputs("faultline_no_such_type FIELD 1 EDGE 0;\n"
			"faultline_no_such_type X; X.INDEGREE == 0; ..(nothing)\n",
			f) < 0)
		return err_errno("cannot write '%s'", path);
	return NULL;
}

static struct err *work_analyze(struct bench *b, const struct bench_work *w,
				const char *spec)
{
	const struct bench_command c[N_COMMANDS] = {
		[REPLAY] = { .name = "replay",
			     .argv = { b->exe, "replay", b->capture },
			     .role = BENCH_NATIVE,
			     .skipped = w->skipped },
		[HISTORY] = { .name = "analyze --spec, nothing to check",
			      .argv = { b->exe, "analyze", b->capture, "--spec", spec },
			      .limit = 5,
			      .status = 2,
			      .skipped = w->skipped },
		[ACCESSES] = { .name = "analyze --accesses",
			       .argv = { b->exe, "analyze", b->capture, "--accesses" },
			       .limit = 8,
			       .skipped = w->skipped },
	};
	struct bench_times t[N_COMMANDS] = {};
	double instructions = 0;
	struct err *err = w->skipped ? NULL : bench_capture_work(b, w, &instructions);

	if (!err)
		err = bench_measure(b, w->name, c, N_COMMANDS, b->o.rounds, t);
	for (size_t i = HISTORY; i < N_COMMANDS && !err && instructions > 0; i++) {
		struct bench_command speed = c[i];

		speed.limit = 0;
		err = bench_measure_speed(b, w->name, &speed, &t[i], instructions,
					  "instr/s");
	}
	bench_times_deinit_all(t, N_COMMANDS);
	return err;
}

struct err *bench_suite_analyze(struct bench *b)
{
	char spec[4200];
	struct err *err = spec_write(b, spec, sizeof(spec));

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].kind->is_replayed)
			err = work_analyze(b, &b->works[i], spec);
	return err;
}
