// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Suite `slice`: what a trace and slices of it cost, how large slices are, and what two refinements
 * are worth: registers that are saved and restored left out, and flow graphs with the targets that
 * indirect jumps were seen to have. Then what papers tell of theirs: slices that go back over a region only
 * (001, Tables 5.1, 5.2), and what a capture of the slice alone has of the run (002, section 5.3).
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/bench_suite.h"
#include "capture/capture.h"
#include "decode/machine/machine.h"
#include "faultlocate/slice/capture.h"
#include "faultlocate/slice/slice.h"

#define LONGEST 100000000 // instructions of a run that are looked at
#define WHOLE 1000000000  // .. of the first run that is so long, once
#define SHORT 20000000	  // .. to see what a slice of so many takes
#define CAPTURED \
	2000000 // .. for a capture of a slice alone, which is made piece by piece
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

/* Processor time of this process, which the machine's adds a tenth to: other work on a processor does not
 * count. */
static double used_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
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

	return bench_row_show(b, &row, value);
}

/* The last values of regions of 10^6 and 10^7 instructions: each slice goes back over its region. */
static struct err *regions(struct bench *b, const struct bench_work *w,
			   struct fl_trace *t)
{
	const struct question q = ask(t, 2);
	uint64_t end = q.seeds[0].position;
	struct err *err = NULL;

	for (uint64_t size = 1000000; size <= 10000000 && size < end && !err;
	     size *= 10) {
		const struct fl_slice_options o = { .begin = end - size };
		double start = clock_now_s();
		struct fl_slice *s;
		char text[64], name[64];

		err = fl_slice_walk(t, q.seeds, q.n, &o, &s);
		if (err)
			break;
		snprintf(text, sizeof(text), "%.1f %% of its instructions",
			 100.0 * fl_slice_stats(s)->n_instances / size);
		snprintf(name, sizeof(name), "2 slices, region of %.0e", (double)size);
		fl_slice_destroy(s);
		err = add(b, w, name, "time", "s", clock_now_s() - start, 0, text);
	}
	return err;
}

/* How long a replay of the capture in @p dir takes, up to position @p end. */
static struct err *replay(const char *dir, uint64_t end, double *ret_s)
{
	const struct dec_machine_options o = { .output_fd = -1, .takes_slices = true };
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct dec_machine *m = NULL;
	double start = clock_now_s();
	struct dec_where at;
	struct err *err = capture_open(dir, &c);

	if (!err)
		err = dec_machine_create(c, &o, &m);
	if (!err)
		err = dec_machine_run(m, end, &at);
	dec_machine_destroy(m);
	*ret_s = clock_now_s() - start;
	return err;
}

static struct err *add_execution(struct bench *b, const struct bench_work *w,
				 const struct fl_captured *of, uint64_t end,
				 const char *dir)
{
	double whole, alone;
	char text[96];
	struct err *err = replay(b->capture, end, &whole);

	if (!err)
		err = replay(dir, UINT64_MAX, &alone);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%.1f %% are in the slice; %lu pieces left out",
		 100.0 * of->n_slice / of->n_steps, of->n_pieces);
	err = add(b, w, "slice capture", "instructions kept", "%",
		  100.0 * of->n_executed / of->n_steps, 0, text);
	snprintf(text, sizeof(text), "the whole: %.3g s", whole);
	return err ?: add(b, w, "slice capture", "replay", "s", alone, 0, text);
}

/* Make slices; how long it takes, and how many instances are in them. */
static struct err *slice(struct fl_trace *t, size_t n, bool keeps_saves, double *ret_s,
			 double *instances)
{
	const struct fl_slice_options o = { .keeps_saves = keeps_saves,
					    .max_nodes = FL_NODES_FEW };
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

/* The first @p end instructions, @p name, in at most @p most_s: from nothing to one slice. */
static struct err *from_nothing(struct bench *b, const struct bench_work *w,
				struct capture *c, uint64_t end, const char *name,
				double most_s)
{
	const struct fl_trace_options o = { .end = end };
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = NULL;
	double start = clock_now_s(), used = used_s(), took, instances;
	struct err *err = fl_trace_create(c, &o, &t);
	char text[64];

	if (!err)
		err = slice(t, 1, false, &took, &instances);
	took = clock_now_s() - start;
	snprintf(text, sizeof(text), "%.3g s of processor time", used_s() - used);
	return err ?: add(b, w, name, "time", "s", took, most_s, text);
}

/* The first WHOLE, of one work: whether time and memory are what they should be in the long run, too. */
static struct err *long_run(struct bench *b, const struct bench_work *w,
			    struct capture *c)
{
	static const char name[] = "trace and slice of 10^9";
	struct err *err;

	peak_bytes();
	err = from_nothing(b, w, c, WHOLE, name, 60);
	return err   ?:
		       add(b, w, name, "memory", "B", peak_bytes(), 512.0 * (1 << 20),
			   NULL);
}

/* The first CAPTURED: what a capture of a slice alone has of them. */
static struct err *execution(struct bench *b, const struct bench_work *w,
			     struct capture *c)
{
	const struct fl_trace_options to = { .end = CAPTURED };
	const struct fl_slice_options o = { .keeps_instances = true };
	struct fl_capture_options co = { .of = w->name, .least = 32 };
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = NULL;
	_cleanup_(fl_slice_destroyp) struct fl_slice *s = NULL;
	_cleanup_free_ char *dir = NULL;
	struct fl_captured of;
	struct question q;
	struct err *err = fl_trace_create(c, &to, &t);

	if (err)
		return err;
	q = ask(t, 1);
	co.end = q.seeds[0].position + 1;
	err = fl_slice_walk(t, q.seeds, q.n, &o, &s);
	if (!err && asprintf(&dir, "%s/slice", b->scratch) < 0)
		err = &err_nomem;
	if (!err)
		err = fl_slice_capture(t, s, &co, dir, &of);
	if (!err)
		err = add_execution(b, w, &of, co.end, dir);
	if (dir)
		bench_remove(dir);
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

/* One slice, and TOGETHER, of @p t, which took @p made seconds, @p used ones of processor time. */
static struct err *together(struct bench *b, const struct bench_work *w,
			    struct fl_trace *t, double made, double used, double *in)
{
	double instructions = fl_trace_end(t)->position, one = 0, all = 0, in_all;
	double start = used_s();
	struct err *err = slice(t, 1, false, &one, in);
	char text[96];

	if (err)
		return err;
	used += used_s() - start;
	snprintf(text, sizeof(text), "%.3g s of processor time",
		 used / instructions * 1e9);
	err = add(b, w, "trace and slice", "time of 10^9 instructions", "s",
		  (made + one) / instructions * 1e9, 60, text);
	if (!err)
		err = add(b, w, "slice", "time", "s", one, 0, NULL);
	if (!err)
		err = slice(t, TOGETHER, false, &all, &in_all);
	snprintf(text, sizeof(text), "%.2f times one", all / one);
	return err ?: add(b, w, "20 slices at once", "time", "s", all, 2 * one, text);
}

/* What is asked of one trace. @p in, @p with_saves: instances in a slice, and with saved registers followed. */
static struct err *of_trace(struct bench *b, const struct bench_work *w,
			    struct capture *c, double *in, double *with_saves)
{
	const struct fl_trace_options o = { .end = LONGEST };
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = NULL;
	double made = clock_now_s(), used = used_s(), took;
	struct err *err = fl_trace_create(c, &o, &t);
	char text[96];

	if (err)
		return err;
	made = clock_now_s() - made;
	used = used_s() - used;
	snprintf(text, sizeof(text), "%.3g instructions",
		 (double)fl_trace_end(t)->position);
	err = add(b, w, "trace", "time", "s", made, 0, text);
	if (!err)
		err = together(b, w, t, made, used, in);
	if (!err)
		err = slice(t, 1, true, &took, with_saves);
	if (!err)
		err = add(b, w, "trace and slices", "memory", "B", peak_bytes(),
			  512.0 * (1 << 20), NULL);
	return err ?: regions(b, w, t);
}

static struct err *work(struct bench *b, const struct bench_work *w, bool *has_long)
{
	double instructions, in = 0, with_saves = 0;
	struct capture *c = NULL;
	struct err *err = bench_capture_work(b, w, &instructions);

	peak_bytes();
	if (!err)
		err = capture_open(b->capture, &c);
	// What a slice needs of a run is executed again: nothing is kept of instructions.
	if (!err)
		err = add(b, w, "capture", "kept of an instruction", "B",
			  bench_bytes(b->capture) / instructions, 0.8, NULL);
	if (!err)
		err = from_nothing(b, w, c, SHORT, "trace and slice of 20 M", 1);
	if (!err)
		err = of_trace(b, w, c, &in, &with_saves);
	if (!err)
		err = sizes(b, w, c, in, with_saves);
	if (!err)
		err = execution(b, w, c);
	if (!err && !*has_long && instructions > WHOLE) {
		*has_long = true;
		err = long_run(b, w, c);
	}
	capture_close(c);
	return err;
}

struct err *bench_suite_slice(struct bench *b)
{
	struct err *err = NULL;
	bool has_long = false;

	for (size_t i = 0; i < b->n_works && !err; i++) {
		const struct bench_work *w = &b->works[i];

		if (!w->skipped && (w->kind->is_replayed || w->kind->is_sliced ||
				    w->kind->is_only_sliced))
			err = work(b, w, &has_long);
	}
	return err;
}
