// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `slice`: what a trace and slices of it cost, how large slices are, and what two refinements
 * are worth: registers that are saved and restored left out, and flow graphs with the targets that
 * indirect jumps were seen to have.
 */

#include <stdio.h>
#include <string.h>

#include "bench/bench_suite.h"
#include "capture/capture.h"
#include "faultlocate/slice/slice.h"

#define LONGEST 1000000000 // instructions of a run that are looked at
#define TOGETHER 20

/** What is asked: all that an instruction used, and why it ran; TOGETHER ones before each other. */
struct question {
	struct fl_seed seeds[TOGETHER];
	size_t n;
};

static struct question ask(const struct fl_trace *t, size_t n)
{
	uint64_t end = fl_trace_end(t)->position;
	struct question q = { .n = n };

	for (size_t i = 0; i < n; i++)
		q.seeds[i] = (struct fl_seed){ .kind = FL_SEED_INSN,
					       .slice = i,
					       .position = end - end / 100 - 1000 * i };
	return q;
}

/* Peak of this process's memory since the last time. */
static double peak_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	FILE *reset;
	char line[128];
	double kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lf", &kib) == 1)
			break;
	reset = fopen("/proc/self/clear_refs", "we");
	if (reset) {
		fputs("5", reset);
		fclose(reset);
	}
	return kib * 1024;
}

static struct err *add(struct bench *b, const struct bench_work *w, const char *command,
		       const char *metric, const char *unit, double value, double wanted,
		       const char *note)
{
	const struct bench_row row = { .suite = b->suite,
				       .work = w->name,
				       .command = command,
				       .metric = metric,
				       .unit = unit,
				       .wanted = wanted,
				       .note = note };

	return bench_row_add(&b->results, &row, &value, 1);
}

/* Make slices; how long it takes, and how many instances are in them. */
static struct err *slice(struct fl_trace *t, size_t n, bool keeps_saves, double *ret_s,
			 double *instances)
{
	const struct fl_slice_options o = { .keeps_saves = keeps_saves };
	const struct question q = ask(t, n);
	double start = clock_now_s();
	struct fl_slice *s;
	struct err *err = fl_slice_walk(t, q.seeds, q.n, &o, &s);

	*ret_s = clock_now_s() - start;
	*instances = err ? 0 : fl_slice_stats(s)->n_instances;
	if (!err)
		fl_slice_destroy(s);
	return err;
}

static struct err *sizes(struct bench *b, const struct bench_work *w, struct capture *c,
			 double refined, double with_saves)
{
	const struct fl_trace_options o = { .end = LONGEST, .ignores_jumps = true };
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = NULL;
	double s, without_jumps = 0;
	char text[96];
	struct err *err = fl_trace_create(c, &o, &t);

	if (!err)
		err = slice(t, 1, false, &s, &without_jumps);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%.1f %% less than with saved registers followed",
		 with_saves ? 100 * (1 - refined / with_saves) : 0);
	err = add(b, w, "slice", "instances", "instr", refined, 0, text);
	if (!err)
		err = add(b, w, "slice, saved registers followed", "instances", "instr",
			  with_saves, 0, NULL);
	snprintf(text, sizeof(text), "%+.1f %% by the targets of indirect jumps",
		 without_jumps ? 100 * (refined / without_jumps - 1) : 0);
	return err   ?:
		       add(b, w, "slice, indirect jumps unknown", "instances", "instr",
			   without_jumps, 0, text);
}

static struct err *work(struct bench *b, const struct bench_work *w)
{
	const struct fl_trace_options o = { .end = LONGEST };
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = NULL;
	struct capture *c = NULL;
	double instructions, made, one = 0, all = 0, saves, in = 0, in_all;
	double with_saves = 0;
	char text[96];
	struct err *err = bench_capture_work(b, w, &instructions);

	peak_bytes();
	if (!err)
		err = capture_open(b->capture, &c);
	made = clock_now_s();
	if (!err)
		err = fl_trace_create(c, &o, &t);
	made = clock_now_s() - made;
	if (!err)
		err = slice(t, 1, false, &one, &in);
	if (!err)
		err = slice(t, TOGETHER, false, &all, &in_all);
	if (!err)
		err = slice(t, 1, true, &saves, &with_saves);
	if (!err) {
		instructions = fl_trace_end(t)->position;
		snprintf(text, sizeof(text), "%.3g instructions", instructions);
		err = add(b, w, "trace", "time", "s", made, 0, text);
	}
	// 20 M instructions in a second, 10^9 in a minute.
	if (!err)
		err = add(b, w, "trace and slice", "time of 10^9 instructions", "s",
			  (made + one) / instructions * 1e9, 60, NULL);
	if (!err)
		err = add(b, w, "slice", "time", "s", one, 0, NULL);
	snprintf(text, sizeof(text), "%.2f times one", all / one);
	if (!err)
		err = add(b, w, "20 slices at once", "time", "s", all, 2 * one, text);
	if (!err)
		err = add(b, w, "trace and slices", "memory", "B", peak_bytes(),
			  512.0 * (1 << 20), NULL);
	fl_trace_destroy(take_ptr(&t));
	if (!err)
		err = sizes(b, w, c, in, with_saves);
	capture_close(c);
	return err;
}

struct err *bench_suite_slice(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];

		if (!w->skipped && w->kind->is_replayed && !w->kind->is_tiny)
			err = work(b, w);
	}
	return err;
}
