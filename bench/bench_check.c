// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `check`: what `faultline check` takes on a capture, beside memcheck on the same work and the plain
 * replay, in one run. Leaks are left out of both: what is lost at the exit decides no time. Without UNINIT-USE and
 * with it, which memcheck asks, too. And how much memory it takes for each byte of the program's.
 */

#include <unistd.h>

#include "bench/bench_peers.h"

// Where the program has less, what each of the processes needs for itself counts more.
#define TOLD_FROM (8.0 * (1 << 20))
#define LESS 8

enum { MEMCHECK, NATIVE, REPLAY, CHECK, CHECK_VALUES, N_COMMANDS };

#define RULES                                                                      \
	"UNMATCHED-FREE,DOUBLE-FREE,MISMATCHED-FREE,DANGLING-READ,DANGLING-WRITE," \
	"HEAP-OVERFLOW,HEAP-UNDERFLOW,NULL-DEREF,WILD-DEREF,OVERLAP,INVALID-FD,"   \
	"DOUBLE-CLOSE"

static double held_now(void)
{
	return bench_sum_below(getpid(), bench_held_by);
}

/* What the program, and @p check of its run, hold at most. */
static struct err *held_by_both(struct bench *b, const struct bench_work *w,
				const char *const *check, double ret[2])
{
	struct bench_command native = bench_command_native(w);
	double instructions;
	uint64_t peak = 0;
	char errors[4300];
	struct err *err = bench_capture_work(b, w, &instructions);

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	if (!err)
		err = bench_run_peak(native.argv, errors, &peak);
	ret[0] = peak;
	return err ? err : bench_run_held(check, errors, held_now, &ret[1]);
}

/* Memory, less that of an eighth of the work. */
static struct err *work_memory(struct bench *b, const struct bench_work *w,
			       const char *const *check)
{
	struct bench_row row = { .suite = b->suite,
				 .work = w->name,
				 .metric = "memory of the work",
				 .unit = "B",
				 .skipped = w->skipped };
	double all[2] = {}, some[2] = {}, more[2];
	struct bench_work less;
	struct err *err = w->skipped ? NULL : held_by_both(b, w, check, all);

	if (!err && !w->skipped)
		err = bench_work_make(b, w->kind, w->count / LESS, &less);
	if (!err && !w->skipped)
		err = held_by_both(b, &less, check, some);
	if (err)
		return err;
	for (int i = 0; i < 2; i++)
		more[i] = all[i] - some[i];
	if (!w->skipped && more[0] < TOLD_FROM)
		row.skipped = "the program takes hardly any";
	row.command = "native";
	row.role = BENCH_NATIVE;
	err = bench_row_add(&b->results, &row, &more[0], !row.skipped);
	row.command = "check, of values too";
	row.role = BENCH_OURS;
	row.limit = 4;
	return err ? err : bench_row_add(&b->results, &row, &more[1], !row.skipped);
}

static struct err *work_check(struct bench *b, const struct bench_work *w)
{
	struct bench_command c[N_COMMANDS] = {
		[REPLAY] = { .name = "replay",
			     .argv = { b->exe, "replay", b->capture },
			     .skipped = w->skipped },
		[CHECK] = { .name = "check",
			    .argv = { b->exe, "check", b->capture, "--only", RULES },
			    .limit = 0.5,
			    .skipped = w->skipped },
		[CHECK_VALUES] = { .name = "check, of values too",
				   .argv = { b->exe, "check", b->capture, "--only",
					     RULES ",UNINIT-USE" },
				   .limit = 0.5,
				   .skipped = w->skipped },
	};
	struct bench_times t[N_COMMANDS] = {};
	double instructions = 0;
	struct err *err = w->skipped ? NULL : bench_capture_work(b, w, &instructions);

	bench_peer_command(b, "memcheck", w, &c[MEMCHECK]);
	c[MEMCHECK].role = BENCH_NATIVE; // ratios are to it
	c[NATIVE] = bench_command_native(w);
	c[NATIVE].role = c[REPLAY].role;
	if (!err)
		err = bench_measure(b, w->name, c, N_COMMANDS, b->o.rounds, t);
	if (!err && instructions > 0) {
		struct bench_command speed = c[CHECK];

		speed.limit = 0;
		err = bench_measure_speed(b, w->name, &speed, &t[CHECK], instructions,
					  "instr/s");
	}
	bench_times_deinit_all(t, N_COMMANDS);
	return err ? err : work_memory(b, w, c[CHECK_VALUES].argv);
}

struct err *bench_suite_check(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].kind->is_replayed || b->works[i].kind->is_only_checked)
			err = work_check(b, &b->works[i]);
	return err;
}
