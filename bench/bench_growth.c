// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `growth`: the same work at several sizes. What a command takes for none of it is
 * taken off; the rest should grow as the work does (exponent 1), and tells what one more
 * operation, system call or instruction costs.
 */

#include "bench/bench_peers.h"
#include "bench/bench_suite.h"

#include <string.h>

#define COMMANDS_MAX 5

/** How a command is made: of native and ours here, of peers in bench_peers.c. */
enum way { END, NATIVE, RECORD, RECORD_HEAP, REPLAY, REPLAY_VALUES, PEER };

/** What grows: a work, and the commands on it. */
static const struct growth {
	const char *kind;
	struct {
		enum way way;
		const char *peer;
	} commands[COMMANDS_MAX];
	bool is_by_instruction; ///< x is what the replay executes, not the work's count
} growths[] = {
	{ "list",
	  { { NATIVE, NULL },
	    { RECORD, NULL },
	    { RECORD_HEAP, NULL },
	    { PEER, "heaptrack" },
	    { PEER, "uftrace" } },
	  false },
	{ "tree", { { NATIVE, NULL }, { RECORD, NULL }, { RECORD_HEAP, NULL } }, false },
	{ "reads", { { NATIVE, NULL }, { RECORD, NULL }, { PEER, "strace -f" } }, false },
	{ "threads", { { NATIVE, NULL }, { RECORD, NULL } }, false },
	{ "stores",
	  { { NATIVE, NULL },
	    { REPLAY, NULL },
	    { REPLAY_VALUES, NULL },
	    { PEER, "valgrind none" } },
	  true },
	{ "chase",
	  { { NATIVE, NULL },
	    { REPLAY, NULL },
	    { REPLAY_VALUES, NULL },
	    { PEER, "valgrind none" } },
	  true },
};

/** Times of all commands at each size; the first size is 0. */
struct points {
	size_t n_commands;
	struct bench_command commands[BENCH_SCALES_MAX + 1][COMMANDS_MAX];
	struct bench_times times[BENCH_SCALES_MAX + 1][COMMANDS_MAX];
	double x[BENCH_SCALES_MAX + 1];
};

static struct bench_command command_make(struct bench *b, enum way way, const char *peer,
					 const struct bench_work *w)
{
	const char *const heap[] = { b->exe, "record",	 "-e", "heap",
				     "-o",   b->capture, "--", NULL };
	struct bench_command c = {};

	switch (way) {
	case RECORD:
		return bench_command_record(b, w);
	case RECORD_HEAP:
		c = bench_command_prefixed("record -e heap", heap, w);
		c.fresh_dir = b->capture;
		return c;
	case REPLAY:
	case REPLAY_VALUES:
		return (struct bench_command){
			.name = way == REPLAY ? "replay" : "replay, values",
			.argv = { b->exe, "replay", b->capture,
				  way == REPLAY ? NULL : "--log=values" },
			.skipped = w->skipped
		};
	case PEER:
		bench_peer_command(b, peer, w, &c);
		return c;
	default:
		return bench_command_native(w);
	}
}

/** Time one size. @p i: its index among the points. */
static struct err *size_measure(struct bench *b, const struct growth *g, size_t i,
				uint64_t count, struct points *p)
{
	struct bench_work w;
	struct err *err = bench_work_make(b, bench_work_kind(g->kind), count, &w);
	size_t n = 0;

	if (err)
		return err;
	for (; n < COMMANDS_MAX && g->commands[n].way != END; n++)
		p->commands[i][n] =
			command_make(b, g->commands[n].way, g->commands[n].peer, &w);
	p->n_commands = n;
	p->x[i] = (double)count;
	if (g->is_by_instruction && !w.skipped)
		err = bench_capture_work(b, &w, &p->x[i]);
	return err ? err :
		     bench_time(p->commands[i], n, b->o.rounds, b->scratch, p->times[i]);
}

static struct err *series_add(struct bench *b, const struct growth *g,
			      const struct points *p, size_t n, size_t command)
{
	const struct bench_command *c = &p->commands[0][command];
	struct bench_range y[BENCH_SCALES_MAX];
	double x[BENCH_SCALES_MAX];
	size_t n_points = 0;
	struct bench_series s = {
		.suite = b->suite,
		.work = g->kind,
		.command = c->name,
		.x_name = g->is_by_instruction ? "instructions" :
						 bench_work_kind(g->kind)->counted,
		.y_name = "time",
		.y_unit = "s",
		.role = c->role,
		.expected_exponent = 1,
		.note = c->skipped ?: p->times[0][command].failure,
	};

	s.fixed = p->times[0][command].median_s;
	for (size_t i = 1; i < n; i++) {
		const struct bench_times *t = &p->times[i][command];

		if (t->failure)
			s.note = t->failure;
		if (!t->n_runs)
			continue;
		// By instruction, start-up has some, too.
		x[n_points] = p->x[i] - (g->is_by_instruction ? p->x[0] : 0);
		y[n_points++] = bench_range_of(t->run_s, t->n_runs);
	}
	return bench_series_add(&b->results, &s, x, y, n_points);
}

static struct err *growth_measure(struct bench *b, const struct growth *g)
{
	uint64_t base = bench_work_kind(g->kind)->growth_count / (b->o.is_quick ? 4 : 1);
	struct points *p = calloc(1, sizeof(*p));
	size_t n = 0;
	struct err *err = p ? NULL : &err_nomem;

	if (b->progress)
		b->progress(b->suite, g->kind);
	for (; n <= b->o.n_scales && !err; n++)
		err = size_measure(b, g, n, n ? (uint64_t)(base * b->o.scale[n - 1]) : 0,
				   p);
	for (size_t i = 0; !err && i < p->n_commands; i++)
		err = series_add(b, g, p, n, i);
	for (size_t i = 0; p && i < n; i++)
		bench_times_deinit_all(p->times[i], COMMANDS_MAX);
	free(p);
	return err;
}

struct err *bench_suite_growth(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(growths) / sizeof(*growths) && !err; i++)
		err = growth_measure(b, &growths[i]);
	return err;
}
