// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_decode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_suite.h"
#include "decode/pt/decode.h"
#include "decode/pt/flow.h"

/** Ours against libipt's loop: at least as fast within 5 % on one core, 1.7 times on two. */
#define ONE_LIMIT (1 / 1.05)
#define TWO_LIMIT 1.7

/** ONE and TWO count the instructions, as the loop does; HANDED hands each run out, too. */
enum { LOOP, ONE, TWO, HANDED, PERF, WAYS };

/** One work's packets. */
struct decode_work {
	const struct bench_work *work;
	struct dec_pt_flow *flow;
	const struct dec_pt_source *source; ///< the longest stream
	dec_pt_buffer bytes;		    ///< it in one piece
	const uint8_t *whole;
	uint64_t n_insns[WAYS];
	struct way_call {
		struct decode_work *work;
		int way;
	} calls[WAYS];
	char data[4300], symfs[4300], errors[4300];
};

static const struct bench_command ways[WAYS] = {
	[LOOP] = { .name = "libipt's loop", .role = BENCH_PEER },
	[ONE] = { .name = "decode, 1 thread", .limit = ONE_LIMIT },
	[TWO] = { .name = "decode, 2 threads", .limit = TWO_LIMIT },
	[HANDED] = { .name = "hand out, 1 thread" },
	[PERF] = { .name = "perf script", .role = BENCH_PEER },
};

/* ---- the packets --------------------------------------------------------------------------- */

static struct err *must_run(const char *const *argv, const char *errors)
{
	struct err *err;
	double wall_s;
	int status;

	err = bench_run(argv, NULL, errors, &wall_s, &status);
	if (!err && status)
		err = err_new(ERR_OS, "'%s %s' failed (see %s)", argv[0], argv[1],
			      errors);
	return err;
}

static struct err *packets_make(struct bench *b, struct decode_work *d)
{
	const char *record[BENCH_ARGS_MAX + 8] = { b->exe, "record", "-o", b->capture,
						   "--" };
	const char *const encode[] = { b->exe, "encode", b->capture, NULL };
	struct err *err;

	snprintf(d->errors, sizeof(d->errors), "%s/errors", b->scratch);
	snprintf(d->data, sizeof(d->data), "%s/perf.data", b->capture);
	snprintf(d->symfs, sizeof(d->symfs), "%s/symfs", b->capture);
	memcpy(record + 5, d->work->argv, sizeof(d->work->argv));
	bench_remove(b->capture);
	err = must_run(record, d->errors);
	return err ? err : must_run(encode, d->errors);
}

static struct err *packets_open(struct bench *b, struct decode_work *d)
{
	const struct dec_pt_source *sources;
	struct err *err = dec_pt_flow_open(b->capture, NULL, &d->flow);
	size_t n;

	if (err)
		return err;
	sources = dec_pt_flow_sources(d->flow, &n);
	d->source = sources;
	for (size_t i = 1; i < n; i++)
		if (sources[i].stream.size > d->source->stream.size)
			d->source = &sources[i];
	if (!n || !d->source->stream.size)
		return err_new(ERR_FORMAT, "there are no packets");
	d->whole = dec_pt_stream_bytes(&d->source->stream, 0, d->source->stream.size,
				       &d->bytes);
	return d->whole ? NULL : &err_nomem;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static struct err *count_run(void *ctx, const struct dec_pt_run *run)
{
	*(uint64_t *)ctx += run->n_insns;
	return NULL;
}

static struct err *decode_ours(struct decode_work *d, int way)
{
	struct dec_pt_decode_options o = { .n_threads = way == TWO ? 2 : 1 };
	uint64_t handed = 0;
	struct dec_pt_sink sink = { .ctx = &handed,
				    .run = way == HANDED ? count_run : NULL };
	struct dec_pt_totals t = {};
	struct err *err = dec_pt_decode(&d->source->stream, &o, &sink, &t);

	d->n_insns[way] = way == HANDED ? handed : t.instructions;
	return err;
}

/* perf decodes everything and shows errors only. */
static struct err *decode_perf(const struct decode_work *d)
{
	const char *const argv[] = { "perf", "script", "--symfs",    d->symfs,
				     "-i",   d->data,  "--itrace=e", NULL };

	return must_run(argv, d->errors);
}

static struct err *decode_one(struct decode_work *d, int way)
{
	switch (way) {
	case LOOP:
		return bench_libipt_loop(d->whole, d->source->stream.size,
					 d->source->stream.turns.data[0].image,
					 &d->n_insns[LOOP]);
	case PERF:
		return decode_perf(d);
	default:
		return decode_ours(d, way);
	}
}

static struct err *decode_call(void *ctx)
{
	struct way_call *c = ctx;
	struct decode_work *d = c->work;
	struct err *err = decode_one(d, c->way);

	if (!err && c->way != PERF && d->n_insns[c->way] != d->n_insns[LOOP])
		err = err_new(ERR_FORMAT, "other instructions than libipt's loop");
	return err;
}

/** @return why @p way cannot run here; NULL: it can. */
static const char *way_skipped(struct bench *b, int way)
{
	if (way == TWO && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "there is one processor only";
	if (way == PERF && !bench_find_program(&b->arena, "perf"))
		return "perf is not installed (Debian: linux-perf)";
	return NULL;
}

static struct err *decode_measure(struct bench *b, struct decode_work *d)
{
	struct bench_times t[WAYS] = {};
	struct bench_command c[WAYS];
	struct err *err = NULL;

	memcpy(c, ways, sizeof(c));
	for (int way = 0; way < WAYS; way++) {
		d->calls[way] = (struct way_call){ d, way };
		c[way].call = decode_call;
		c[way].call_ctx = &d->calls[way];
		c[way].skipped = way_skipped(b, way);
	}
	err = bench_time(c, WAYS, b->o.rounds, b->scratch, t);
	for (int way = 0; way < WAYS && !err; way++)
		err = bench_measure_speed(b, d->work->name, &c[way], &t[way],
					  (double)d->n_insns[LOOP], "instr/s");
	bench_times_deinit_all(t, WAYS);
	return err;
}

static struct err *work_decode(struct bench *b, const struct bench_work *of)
{
	// Decoding is 5 to 50 times slower than running: the next smaller size.
	uint64_t count = b->o.is_quick ? of->count / 4 : of->kind->count_quick;
	struct bench_work w;
	struct decode_work d = { .work = &w };
	struct err *err = bench_work_make(b, of->kind, count, &w);

	if (!err && w.skipped)
		return NULL;
	if (b->progress)
		b->progress(b->suite, of->name);
	if (!err)
		err = packets_make(b, &d);
	if (!err)
		err = packets_open(b, &d);
	if (!err)
		err = decode_measure(b, &d);
	vec_deinit(&d.bytes);
	dec_pt_flow_close(d.flow);
	return err;
}

struct err *bench_suite_decode(struct bench *b)
{
	struct err *err = NULL;

	for (size_t i = 0; i < b->n_works && !err; i++)
		if (b->works[i].kind->is_replayed)
			err = work_decode(b, &b->works[i]);
	return err;
}
