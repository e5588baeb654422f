// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `branch`: runs that leave the recorded path, from a position 10^5 instructions before the
 * end; going back to the last write of a variable; and what 64 checkpoints hold of memory.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_stats.h"
#include "bench/bench_suite.h"
#include "bench/programs/watched.h"
#include "capture/capture.h"
#include "decode/machine/branch.h"
#include "decode/machine/trap.h"

#define RUNS 1000
#define NEAR_END 100000 ///< instructions
#define CHECKPOINTS 64

enum { MANY, LONG, SHORT, PLAIN, BACK, BUSY, METRICS };

/** Paper 003 needed 0.25 s for an altered run. */
static const struct bench_row metrics[METRICS] = {
	[MANY] = { .command = "altered runs, 2 at once",
		   .metric = "runs",
		   .unit = "runs/s",
		   .better = BENCH_HIGHER,
		   .wanted = 2000,
		   .published = 4,
		   .published_source = "paper 003: 0.25 s a run" },
	[LONG] = { .command = "altered run of 10^5 instructions",
		   .metric = "time of one",
		   .unit = "s" },
	[SHORT] = { .command = "altered run of 1 instruction",
		    .metric = "time of one",
		    .unit = "s",
		    .wanted = 0.0003 },
	[PLAIN] = { .command = "replay of 10^5 instructions",
		    .metric = "time of one",
		    .unit = "s" },
	[BACK] = { .command = "reverse-continue to the last write",
		   .metric = "back",
		   .unit = "s",
		   .wanted = 3 },
	[BUSY] = { .command = "the same on a page that is always written to",
		   .metric = "back",
		   .unit = "s",
		   .wanted = 3 },
};

struct machine {
	struct capture *capture;
	struct dec_machine *machine;
	uint64_t end;
};

static void machine_deinit(struct machine *m)
{
	dec_machine_destroy(m->machine);
	capture_close(m->capture);
}

static struct err *machine_init(struct machine *m, const char *capture)
{
	struct dec_where w;
	struct err *err = capture_open(capture, &m->capture);

	if (!err)
		err = dec_machine_create(m->capture, NULL, &m->machine);
	if (!err)
		err = dec_machine_run(m->machine, UINT64_MAX >> 1, &w);
	if (!err && w.at != DEC_AT_END)
		err = err_new(ERR_DIVERGED, "the replay left the recorded path");
	m->end = err ? 0 : w.position;
	return err;
}

/* Seconds that @p n runs take, each with another value in a register that the loop does not
 * use, to what @p limit instructions lead to. */
static struct err *branches(struct machine *m, size_t n, uint64_t limit, unsigned at_once,
			    enum dec_fate fate, double *ret_s)
{
	struct dec_branch *b = calloc(n, sizeof(*b));
	struct dec_alter *a = calloc(n, sizeof(*a));
	double start = clock_now_s();
	struct err *err = b && a ? NULL : &err_nomem;

	for (size_t i = 0; i < n && !err; i++) {
		a[i] = (struct dec_alter){ .kind = DEC_ALTER_REG,
					   .reg = CAP_R15,
					   .value = i };
		b[i] = (struct dec_branch){ .alters = &a[i], .n = 1, .limit = limit };
	}
	if (!err)
		err = dec_machine_branches(m->machine, b, n, at_once);
	*ret_s = clock_now_s() - start;
	for (size_t i = 0; i < n && !err; i++)
		if (b[i].outcome.fate != fate ||
		    b[i].outcome.out[0].hash != b[0].outcome.out[0].hash)
			err = err_new(ERR_DIVERGED, "an altered run ended otherwise: %s",
				      b[i].outcome.text);
	free(a);
	free(b);
	return err;
}

/* Seconds from the end back to the last write at @p addr. */
static struct err *back(struct machine *m, uint64_t addr, double *ret_s)
{
	struct dec_trapped t;
	struct dec_where w;
	struct err *err = dec_machine_run(m->machine, UINT64_MAX >> 1, &w);
	double start = clock_now_s();

	if (!err)
		err = dec_machine_last_write(m->machine, addr, 8, 0, &t);
	*ret_s = clock_now_s() - start;
	return err || !t.trap ? err : err_new(ERR_DIVERGED, "the write was not found");
}

/* One round. */
static struct err *measure(struct machine *m, double ret[METRICS])
{
	uint64_t from = m->end - NEAR_END;
	struct dec_where w;
	double s = 0, start;
	struct err *err = dec_machine_seek(m->machine, from - NEAR_END, &w);

	// The first time finds out what is ahead, for all of them.
	if (!err)
		err = dec_machine_run(m->machine, from, &w);
	if (!err)
		err = branches(m, 2, 2 * NEAR_END, 1, DEC_FATE_EXIT, &s);
	if (!err)
		err = branches(m, RUNS, 2 * NEAR_END, 2, DEC_FATE_EXIT, &s);
	ret[MANY] = RUNS / s;
	if (!err)
		err = branches(m, RUNS, 2 * NEAR_END, 1, DEC_FATE_EXIT, &ret[LONG]);
	ret[LONG] /= RUNS;
	if (!err)
		err = branches(m, RUNS, 1, 1, DEC_FATE_LIMIT, &ret[SHORT]);
	ret[SHORT] /= RUNS;
	start = clock_now_s();
	if (!err)
		err = dec_machine_run(m->machine, UINT64_MAX >> 1, &w);
	ret[PLAIN] = clock_now_s() - start;
	if (!err)
		err = back(m, WATCHED_ADDRESS, &ret[BACK]);
	return err ?: back(m, WATCHED_BUSY, &ret[BUSY]);
}

static struct err *work_branch(struct bench *b, const struct bench_work *w)
{
	double instructions, runs[METRICS][BENCH_ROUNDS_MAX], one[METRICS];
	struct machine m = {};
	struct err *err = bench_capture_work(b, w, &instructions);
	char text[64];

	if (!err)
		err = machine_init(&m, b->capture);
	for (int i = 0; i < b->o.rounds && !err; i++) {
		err = measure(&m, one);
		for (int k = 0; k < METRICS; k++)
			runs[k][i] = one[k];
	}
	machine_deinit(&m);
	snprintf(text, sizeof(text), "%.2g instructions before the end", instructions);
	for (int k = 0; k < METRICS && !err; k++) {
		struct bench_row row = metrics[k];

		row.suite = b->suite;
		row.work = w->name;
		row.note = k >= BACK ? text : NULL;
		if (k == LONG) // a branch, and what it runs
			row.wanted =
				0.0003 +
				1.1 * bench_range_of(runs[PLAIN], b->o.rounds).median;
		err = bench_row_add(&b->results, &row, runs[k], b->o.rounds);
	}
	return err;
}

/* ---- memory of checkpoints ------------------------------------------------------------- */

static struct err *add_bytes(struct bench *b, const struct bench_work *w,
			     const char *command, enum bench_role role, double limit,
			     double bytes, const char *note)
{
	const struct bench_row row = { .suite = b->suite,
				       .work = w->name,
				       .command = command,
				       .metric = "memory",
				       .unit = "B",
				       .role = role,
				       .note = note,
				       .limit = limit };

	return bench_row_add(&b->results, &row, &bytes, 1);
}

static struct err *work_memory(struct bench *b, const struct bench_work *w)
{
	struct bench_command native = bench_command_native(w);
	struct machine m = {};
	uint64_t peak = 0, alone = 0, all = 0;
	double instructions;
	struct dec_where at;
	char errors[4300], text[64];
	struct err *err = bench_capture_work(b, w, &instructions);

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	if (!err)
		err = bench_run_peak(native.argv, errors, &peak);
	if (!err)
		err = machine_init(&m, b->capture);
	if (!err)
		alone = bench_sum_below(getpid(), bench_held_by);
	for (uint64_t i = 0; i < CHECKPOINTS && !err; i++) {
		err = dec_machine_seek(m.machine, m.end / CHECKPOINTS * i, &at);
		if (!err)
			err = dec_machine_checkpoint(m.machine);
	}
	if (!err)
		err = dec_machine_run(m.machine, UINT64_MAX >> 1, &at);
	if (!err)
		all = bench_sum_below(getpid(), bench_held_by);
	if (!err)
		snprintf(text, sizeof(text), "%zu of them kept",
			 dec_machine_checkpoints(m.machine));
	machine_deinit(&m);
	if (!err)
		err = add_bytes(b, w, "native", BENCH_NATIVE, 0, peak, NULL);
	if (!err)
		err = add_bytes(b, w, "machine", BENCH_OURS, 0, alone, NULL);
	return err ? err :
		     add_bytes(b, w, "64 checkpoints", BENCH_OURS, 2,
			       all > alone ? all - alone : 0, text);
}

struct err *bench_suite_branch(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];

		if (w->skipped)
			continue;
		if (w->kind->is_branched)
			err = work_branch(b, w);
		else if (w->kind->is_replayed)
			err = work_memory(b, w);
	}
	return err;
}
