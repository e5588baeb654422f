// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `record`: what recording costs, and what other tools cost on the same work in the
 * same rounds.
 */

#include "bench/bench_peers.h"
#include "bench/bench_suite.h"

static struct err *work_measure(struct bench *b, const struct bench_work *w)
{
	struct bench_command c[BENCH_COMMANDS_MAX] = { bench_command_native(w),
						       bench_command_record(b, w) };
	struct bench_times t[BENCH_COMMANDS_MAX] = {};
	size_t n = 2;
	struct err *err = NULL;

	n += bench_peers_commands(b, w, c + n, BENCH_COMMANDS_MAX - n);
	err = bench_measure(b, w->name, c, n, b->o.rounds, t);
	if (!err && !w->kind->is_tiny)
		err = bench_measure_net(b, w->name, &c[1], &t[1], w->kind->record_limit);
	bench_times_deinit_all(t, n);
	return err;
}

struct err *bench_suite_record(struct bench *b)
{
	struct err *err = bench_measure_startup(b);

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (!b->works[i].kind->is_only_replayed &&
		    !b->works[i].kind->is_only_checked &&
		    !b->works[i].kind->is_only_sliced && !b->works[i].kind->is_branched)
			err = work_measure(b, &b->works[i]);
	return err;
}
