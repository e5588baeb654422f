// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `replay`: what replaying costs in each log mode, against native; and how many
 * instructions a second that is.
 */

#include "bench/bench_suite.h"

#include <string.h>

#include <cjson/cJSON.h>

/** The ways to replay. */
static const struct {
	const char *name, *option;
	double limit;
} modes[] = {
	{ "replay", NULL, 3 },
	{ "replay, flow", "--log=flow", 0 },
	{ "replay, stores", "--log=stores", 0 },
	{ "replay, addresses", "--log=addresses", 5 },
	{ "replay, values", "--log=values", 10 },
};

#define N_MODES (sizeof(modes) / sizeof(*modes))

/** Record @p w into b->capture. @return what went wrong, for a row; NULL: nothing. */
static struct err *work_record(struct bench *b, const struct bench_work *w,
			       const char **skipped)
{
	struct bench_command record = bench_command_record(b, w);
	char errors[4300];
	struct err *err;
	double wall_s;
	int status;

	snprintf(errors, sizeof(errors), "%s/errors", b->scratch);
	bench_remove(b->capture);
	err = bench_run(record.argv, NULL, errors, &wall_s, &status);
	*skipped = !err && status ? "the program cannot be recorded" : NULL;
	return err;
}

/** How many instructions the capture's run has; 0 when it cannot be told. */
static struct err *count_instructions(struct bench *b, double *ret)
{
	const char *argv[] = { b->exe, "replay", "--json", b->capture, NULL };
	cJSON *json;
	struct err *err = bench_run_json(b->scratch, argv, &json);
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(json, "instructions");

	*ret = cJSON_IsNumber(n) ? n->valuedouble : 0;
	cJSON_Delete(json);
	return err;
}

static struct err *work_replay(struct bench *b, const struct bench_work *w)
{
	struct bench_command c[1 + N_MODES] = { bench_command_native(w) };
	struct bench_times t[1 + N_MODES] = {};
	const char *skipped;
	struct err *err = work_record(b, w, &skipped);
	double instructions = 0;

	for (size_t i = 0; i < N_MODES; i++)
		c[1 + i] = (struct bench_command){ .name = modes[i].name,
						   .argv = { b->exe, "replay", b->capture,
							     modes[i].option },
						   .limit = modes[i].limit,
						   .skipped = skipped };
	if (!err && !skipped)
		err = count_instructions(b, &instructions);
	if (!err)
		err = bench_measure(b, w->name, c, 1 + N_MODES, b->o.rounds, t);
	for (size_t i = 0; i <= N_MODES && !err && instructions; i++) {
		c[i].limit = 0;
		err = bench_measure_speed(b, w->name, &c[i], &t[i], instructions,
					  "instr/s");
	}
	bench_times_deinit_all(t, 1 + N_MODES);
	return err;
}

struct err *bench_suite_replay(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].is_replayed)
			err = work_replay(b, &b->works[i]);
	return err;
}
