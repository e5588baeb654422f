// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `replay`: what replaying costs in each log mode, against native; and how many
 * instructions a second that is.
 */

#include "bench/bench_suite.h"

#include <stdio.h>

#include <cjson/cJSON.h>

/** The ways to replay. */
static const struct {
	const char *name, *option;
	double limit;	   ///< wanted ratio of time to native
	bool is_user_told; ///< its user time is shown, too
} modes[] = {
	{ "replay", NULL, 3, true },
	{ "replay, flow", "--log=flow", 0, false },
	{ "replay, stores", "--log=stores", 0, false },
	{ "replay, addresses", "--log=addresses", 5, false },
	{ "replay, values", "--log=values", 10, true },
};

#define N_MODES (sizeof(modes) / sizeof(*modes))

struct err *bench_capture_work(struct bench *b, const struct bench_work *w,
			       double *instructions)
{
	const char *replay[] = { b->exe, "replay", "--json", b->capture, NULL };
	struct bench_command record = bench_command_record(b, w);
	char errors[4300];
	struct err *err;
	double wall_s;
	cJSON *json;
	int status;

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	bench_remove(b->capture);
	err = bench_run(record.argv, NULL, errors, &wall_s, &status);
	if (!err && status)
		err = err_new(ERR_OS, "cannot record '%s' (try: faultline record -- %s)",
			      w->name, w->argv[0]);
	if (!err)
		err = bench_run_json(b->scratch, replay, &json);
	if (err)
		return err;
	*instructions = cJSON_GetNumberValue(
		cJSON_GetObjectItemCaseSensitive(json, "instructions"));
	if (!(*instructions > 0))
		err = err_new(ERR_OS, "cannot replay '%s'", w->name);
	cJSON_Delete(json);
	return err;
}

/** Native's user time, and that of the modes that have it told. */
static struct err *user_times(struct bench *b, const struct bench_work *w,
			      const struct bench_command *c, const struct bench_times *t)
{
	struct err *err = bench_measure_user(b, w->name, &c[0], &t[0], 0);

	for (size_t i = 0; i < N_MODES && !err; i++)
		if (modes[i].is_user_told)
			err = bench_measure_user(b, w->name, &c[1 + i], &t[1 + i],
						 modes[i].option ? w->kind->values_limit :
								   w->kind->replay_limit);
	return err;
}

static struct err *work_replay(struct bench *b, const struct bench_work *w)
{
	struct bench_command c[1 + N_MODES] = { bench_command_native(w) };
	struct bench_times t[1 + N_MODES] = {};
	double instructions = 0;
	struct err *err = w->skipped ? NULL : bench_capture_work(b, w, &instructions);

	for (size_t i = 0; i < N_MODES; i++)
		c[1 + i] = (struct bench_command){ .name = modes[i].name,
						   .argv = { b->exe, "replay", b->capture,
							     modes[i].option },
						   .limit = modes[i].limit,
						   .skipped = w->skipped };
	if (!err)
		err = bench_measure(b, w->name, c, 1 + N_MODES, b->o.rounds, t);
	if (!err)
		err = user_times(b, w, c, t);
	for (size_t i = 0; i <= N_MODES && !err && instructions > 0; i++) {
		c[i].limit = 0;
		err = bench_measure_speed(b, w->name, &c[i], &t[i], instructions,
					  "instr/s");
	}
	if (!err && instructions > 0)
		err = bench_replay_checkpoints(b, w->name, b->capture, instructions);
	bench_times_deinit_all(t, 1 + N_MODES);
	return err;
}

struct err *bench_suite_replay(struct bench *b)
{
	return bench_each_replayed(b, work_replay);
}
