// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `suppress`: what execution suppression costs where it is instrumented, in its three
 * implementations, beside the plain replay of the same instructions and the program itself
 * (paper 003, Figure 7.5): of a run's second half, behind an instruction that is left out; of the same
 * with a word of the stack that is NaT all the time; and of a whole run of which the last tenth is
 * instrumented. These runs last seconds: the demands are about captures, not about start-up.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_suite.h"
#include "capture/capture.h"
#include "decode/machine/branch.h"
#include "decode/machine/nullify.h"

#define BEGIN 2	       ///< the run is altered behind one of so many parts of it
#define LATE 10	       ///< .. and behind all but one of so many
#define HARDLY_USED 12 ///< vector register, which has a bit of its own
#define CANDIDATES 6   ///< instructions tried
#define APART 997      ///< between them
#define SAME 0.99      ///< so much of the run has to be left
#define WHOLE 1.1      ///< times the replay of a whole run, wanted
#define LIMIT 4	       ///< times as many instructions, at most

enum { PLAIN = DEC_NULLIFY_MODES, WAYS };

static const struct {
	const char *name;
	double over_replay, published;
} ways[WAYS] = {
	[DEC_NULLIFY_SOFTWARE] = { "suppress, software", 3, 7.2 },
	[DEC_NULLIFY_NAT_REG] = { "suppress, nat-reg", 2, 2.7 },
	[DEC_NULLIFY_NAT_MEM] = { "suppress, nat-mem", 1.5, 1.8 },
	[PLAIN] = { "replay", 0, 0 },
};

struct work {
	struct capture *capture;
	struct dec_machine *machine;
	uint64_t end, begin;
	struct dec_nullify ask;
	bool has_point; ///< else a register that is hardly used is NaT
	bool is_late;	///< what is measured is a whole run
};

/* ---- processor time ------------------------------------------------------------------ */

/* Seconds that process @p pid, and those below it that have ended, have had: what else runs here
 * changes them little. */
static double used_by(int pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long t[4];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f,
			 "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
			 "%lu %lu %lu %lu",
			 &t[0], &t[1], &t[2], &t[3]) != 4)
		return 0;
	return (double)(t[0] + t[1] + t[2] + t[3]) / sysconf(_SC_CLK_TCK);
}

/* ---- one run ----------------------------------------------------------------------------- */

static struct err *run(struct work *w, int way, struct dec_outcome *outcome,
		       double *ret_s)
{
	static struct dec_nullified told;
	struct dec_nullify ask = w->ask;
	struct dec_branch b = { .limit = LIMIT * (w->end - w->begin), .told = &told };
	double start = bench_sum_below(getpid(), used_by);
	struct err *err;

	ask.mode = way;
	ask.full_from = UINT64_MAX;
	if (way != PLAIN)
		b.nullify = &ask;
	err = dec_machine_branches(w->machine, &b, 1, 1);
	*ret_s = bench_sum_below(getpid(), used_by) - start;
	*outcome = b.outcome;
	if (!err && way != PLAIN && !told.is_quick)
		err = err_new(ERR_UNSUPPORTED, "it did not run in emitted code");
	return err;
}

static bool is_alike(const struct dec_outcome *a, const struct dec_outcome *b)
{
	return a->fate == b->fate && a->value == b->value &&
	       a->position >= SAME * b->position && b->position >= SAME * a->position;
}

/* To begin at position @p at, where nothing but a register that is hardly used is NaT, and memory [@p addr,
 * @p addr + 8), if it is not 0. */
static struct err *begin_at(struct work *w, uint64_t at, uint64_t addr)
{
	struct dec_where where;
	struct err *err = dec_machine_seek(w->machine, at, &where);

	w->begin = at;
	w->ask.n_points = 1;
	w->ask.points[0] = (struct dec_point){ .rip = where.rip,
					       .nth = 1,
					       .is_arrival = true,
					       .reg = DEC_REG_VEC + HARDLY_USED,
					       .addr = addr,
					       .size = addr ? 8 : 0 };
	return err;
}

/* Find an instruction from position @p from on without which the run is about as long. */
static struct err *find_point(struct work *w, uint64_t from)
{
	struct dec_outcome plain, altered;
	struct err *err = begin_at(w, from, 0);
	double s;

	if (!err)
		err = run(w, PLAIN, &plain, &s);
	for (int i = 0; i < CANDIDATES && !err && !w->has_point; i++) {
		err = begin_at(w, from + i * APART, 0);
		w->ask.points[0].is_arrival = false;
		if (!err)
			err = run(w, DEC_NULLIFY_NAT_REG, &altered, &s);
		w->has_point = !err && is_alike(&plain, &altered);
	}
	return err || w->has_point ? err : begin_at(w, from, 0);
}

/* ---- a whole run ------------------------------------------------------------------------- */

/* From the start to the last tenth as it was, from there on @p way; or plainly to the end. */
static struct err *run_whole(struct work *w, int way, double *ret_s)
{
	double start = bench_sum_below(getpid(), used_by);
	struct dec_outcome outcome;
	struct dec_where at;
	double s;
	struct err *err = dec_machine_seek(w->machine, 0, &at);

	if (!err)
		err = dec_machine_run(w->machine, way == PLAIN ? w->end : w->begin, &at);
	if (!err && way != PLAIN)
		err = run(w, way, &outcome, &s);
	*ret_s = bench_sum_below(getpid(), used_by) - start;
	return err;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Of each way, how many times what a plain replay took. */
static struct err *add_ratios(struct bench *b, const char *name, const struct work *w,
			      const char *metric, double s[WAYS][BENCH_ROUNDS_MAX])
{
	double over[BENCH_ROUNDS_MAX];
	struct err *err = NULL;

	for (int way = 0; way < PLAIN && !err; way++) {
		struct bench_row row = { .suite = b->suite,
					 .work = name,
					 .command = ways[way].name,
					 .metric = metric,
					 .unit = "",
					 .wanted = ways[way].over_replay };

		if (w->is_late) {
			row.wanted = WHOLE;
		} else {
			row.published = ways[way].published;
			row.published_source =
				"paper 003, Figure 7.5: over native, simulated";
		}
		if (!w->has_point)
			row.note = "nothing is left out, a register alone is NaT";
		for (int i = 0; i < b->o.rounds; i++)
			over[i] = s[way][i] / s[PLAIN][i];
		err = bench_row_show_runs(b, &row, over, b->o.rounds);
	}
	return err;
}

static struct err *add_times(struct bench *b, const char *name,
			     double s[WAYS][BENCH_ROUNDS_MAX])
{
	struct err *err = NULL;

	for (int way = 0; way < WAYS && !err; way++) {
		struct bench_row row = { .suite = b->suite,
					 .work = name,
					 .command = ways[way].name,
					 .metric = "time, second half",
					 .unit = "s" };

		err = bench_row_show_runs(b, &row, s[way], b->o.rounds);
	}
	return err;
}

static struct err *measure(struct bench *b, struct work *w,
			   double s[WAYS][BENCH_ROUNDS_MAX])
{
	struct dec_outcome out[WAYS];
	struct err *err = NULL;

	for (int i = 0; i < b->o.rounds && !err; i++)
		for (int way = 0; way < WAYS && !err; way++)
			err = run(w, way, &out[way], &s[way][i]);
	for (int way = 0; way < PLAIN && !err; way++)
		if (!is_alike(&out[way], &out[DEC_NULLIFY_SOFTWARE]))
			err = err_new(ERR_DIVERGED, "%s ends otherwise than the others",
				      ways[way].name);
	return err;
}

/* Of its second half, behind an instruction that is left out. */
static struct err *measure_half(struct bench *b, const char *name, struct work *w)
{
	double s[WAYS][BENCH_ROUNDS_MAX];
	struct err *err = find_point(w, w->end / BEGIN);

	if (!err)
		err = measure(b, w, s);
	if (!err)
		err = add_times(b, name, s);
	return err ?: add_ratios(b, name, w, "times the replay", s);
}

/* The same with a word NaT that lies on the stack, and that nobody uses: where main()'s arguments are
 * counted. */
static struct err *measure_held(struct bench *b, const char *name, struct work *w)
{
	double s[WAYS][BENCH_ROUNDS_MAX];
	struct cap_regs regs;
	struct dec_where at;
	struct err *err = dec_machine_seek(w->machine, 0, &at);

	if (!err)
		err = dec_machine_regs(w->machine, &regs);
	if (!err)
		err = begin_at(w, w->end / BEGIN, regs.gpr[CAP_RSP]);
	if (!err)
		err = measure(b, w, s);
	return err   ?:
		       add_ratios(b, name, w,
				  "times the replay, a word of the stack held", s);
}

/* Of a run whose first suppression lies where the last tenth begins. */
static struct err *measure_late(struct bench *b, const char *name, struct work *w)
{
	double s[WAYS][BENCH_ROUNDS_MAX];
	struct err *err;

	w->has_point = false;
	w->is_late = true;
	err = find_point(w, w->end - w->end / LATE);
	for (int i = 0; i < b->o.rounds && !err; i++)
		for (int way = 0; way < WAYS && !err; way++)
			err = run_whole(w, way, &s[way][i]);
	return err ?: add_ratios(b, name, w, "times the whole replay, last tenth", s);
}

static struct err *open_work(struct bench *b, struct work *w)
{
	struct dec_where at;
	struct err *err = capture_open(b->capture, &w->capture);

	if (!err)
		err = dec_machine_create(w->capture, NULL, &w->machine);
	if (!err)
		err = dec_machine_run(w->machine, UINT64_MAX >> 1, &at);
	w->end = err ? 0 : at.position;
	return err;
}

static struct err *work_suppress(struct bench *b, const struct bench_work *bw)
{
	struct bench_command native = bench_command_native(bw);
	struct bench_times times = {};
	double instructions;
	struct work w = {};
	struct err *err = bw->skipped ? NULL : bench_capture_work(b, bw, &instructions);

	if (!err)
		err = bench_measure(b, bw->name, &native, 1, b->o.rounds, &times);
	bench_times_deinit_all(&times, 1);
	if (err || bw->skipped)
		return err;
	err = open_work(b, &w);
	if (!err)
		err = measure_half(b, bw->name, &w);
	if (!err)
		err = measure_held(b, bw->name, &w);
	if (!err)
		err = measure_late(b, bw->name, &w);
	dec_machine_destroy(w.machine);
	capture_close(w.capture);
	return err;
}

struct err *bench_suite_suppress(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work_kind *kind = b->works[i].kind;
		struct bench_work w;

		if (!kind->suppress_count)
			continue;
		err = bench_work_make(
			b, kind, b->o.is_quick ? kind->count : kind->suppress_count, &w);
		if (!err)
			err = work_suppress(b, &w);
	}
	return err;
}
