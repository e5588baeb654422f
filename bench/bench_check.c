// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `check`: what `faultline check` takes on a capture, beside memcheck on the same work and the plain
 * replay, in one run. Leaks are left out of both: what is lost at the exit decides no time. Without UNINIT-USE and
 * with it, which memcheck asks, too.
 */

#include "bench/bench_peers.h"

enum { MEMCHECK, NATIVE, REPLAY, CHECK, CHECK_VALUES, N_COMMANDS };

#define RULES                                                                      \
	"UNMATCHED-FREE,DOUBLE-FREE,MISMATCHED-FREE,DANGLING-READ,DANGLING-WRITE," \
	"HEAP-OVERFLOW,HEAP-UNDERFLOW,NULL-DEREF,WILD-DEREF,OVERLAP,INVALID-FD,"   \
	"DOUBLE-CLOSE"

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
	return err;
}

struct err *bench_suite_check(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].kind->is_replayed)
			err = work_check(b, &b->works[i]);
	return err;
}
