// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The rest of the suite `replay`: the machine itself, in this process, which has what the
 * command has no option for: checkpoints on the way, and going back one instruction from the
 * end, from the nearest checkpoint or from the start.
 */

#include "bench/bench_suite.h"
#include "capture/capture.h"
#include "decode/machine/machine.h"

#define CHECKPOINTS 64

/** One way to run the machine, and how long its step back took. */
struct machine_way {
	const char *name;
	const char *capture;
	uint64_t instructions;
	unsigned n_checkpoints;
	double back_s[BENCH_ROUNDS_MAX + 1];
	int n_back;
};

static struct err *run_to_end(struct dec_machine *m, struct machine_way *way)
{
	struct dec_where where;
	struct err *err = NULL;

	for (unsigned i = 1; i <= way->n_checkpoints && !err; i++) {
		err = dec_machine_run(m, way->instructions / (way->n_checkpoints + 1) * i,
				      &where);
		if (!err)
			err = dec_machine_checkpoint(m);
	}
	if (!err)
		err = dec_machine_run(m, UINT64_MAX, &where);
	if (!err && (where.at != DEC_AT_END || where.position != way->instructions))
		err = err_new(ERR_DIVERGED, "the replay ended elsewhere");
	return err;
}

/** Timed by the caller, from opening the capture to the end. */
static struct err *machine_call(void *ctx)
{
	struct machine_way *way = ctx;
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = NULL;
	struct err *err = capture_open(way->capture, &c);

	if (!err)
		err = dec_machine_create(c, NULL, &m);
	return err ? err : run_to_end(m, way);
}

/** The same, and then back by one instruction. Only that is timed, here. */
static struct err *back_call(void *ctx)
{
	struct machine_way *way = ctx;
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = NULL;
	struct err *err = capture_open(way->capture, &c);
	struct dec_where where;
	double start;

	if (!err)
		err = dec_machine_create(c, NULL, &m);
	if (!err)
		err = run_to_end(m, way);
	start = clock_now_s();
	if (!err)
		err = dec_machine_seek(m, way->instructions - 1, &where);
	if (!err && where.position != way->instructions - 1)
		err = err_new(ERR_DIVERGED, "going back ended elsewhere");
	way->back_s[way->n_back++] = clock_now_s() - start;
	return err;
}

static struct err *back_row(struct bench *b, const char *work,
			    const struct machine_way *way, const struct bench_times *t)
{
	const struct bench_row row = { .suite = b->suite,
				       .work = work,
				       .command = way->name,
				       .metric = "one instruction back",
				       .unit = "s",
				       .skipped = t->failure,
				       .is_failure = t->failure };

	// The round that warms up does not count.
	return bench_row_add(&b->results, &row, way->back_s + 1,
			     t->failure ? 0 : (size_t)way->n_back - 1);
}

struct err *bench_replay_checkpoints(struct bench *b, const char *work,
				     const char *capture, double instructions)
{
	enum { PLAIN, CHECKPOINTED, WAYS };
	struct machine_way ways[WAYS] = {
		[PLAIN] = { "machine", capture, (uint64_t)instructions, 0, {}, 0 },
		[CHECKPOINTED] = { "machine, 64 checkpoints",
				   capture,
				   (uint64_t)instructions,
				   CHECKPOINTS,
				   {},
				   0 },
	};
	struct bench_command c[WAYS * 2] = {};
	struct bench_times t[WAYS * 2] = {};
	struct err *err;

	for (int i = 0; i < WAYS; i++) {
		c[i] = (struct bench_command){ .name = ways[i].name,
					       .call = machine_call,
					       .call_ctx = &ways[i] };
		c[WAYS + i] = c[i];
		c[WAYS + i].call = back_call;
	}
	err = bench_time(c, WAYS * 2, b->o.rounds, b->scratch, t);
	for (int i = 0; i < WAYS && !err; i++)
		err = bench_measure_speed(b, work, &c[i], &t[i], instructions, "instr/s");
	for (int i = 0; i < WAYS && !err; i++)
		err = back_row(b, work, &ways[i], &t[WAYS + i]);
	bench_times_deinit_all(t, WAYS * 2);
	return err;
}
