// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a thread was interrupted, when registers and signature do not tell: the machine
 * takes the first instant that looks right, unless somebody who counted says otherwise.
 */

#include <string.h>

#include "capture/capture.h"
#include "decode/machine/log.h"
#include "decode/machine/interrupts.h"
#include "decode/machine/machine.h"
#include "tests/unit.h"

enum { THREADS = 8, LOOP_INSNS = 3, LATER = 1000 * LOOP_INSNS };

#define UNTIL 150000000u ///< instructions: some dozen time slices

static struct capture *capture;

static int record(void **state)
{
	const char *tmp = unit_env("TMPDIR");
	_cleanup_free_ char *dir = NULL;

	(void)state;
	assert_true(asprintf(&dir, "%s/hide", tmp) > 0);
	assert_int_equal(unit_run("%s record -o %s -- %s/tests/programs/crowd hide",
				  unit_env("FAULTLINE"), dir, unit_env("BUILD")),
			 0);
	ok(capture_open(dir, &capture));
	return 0;
}

static int forget(void **state)
{
	(void)state;
	capture_close(capture);
	return 0;
}

/* ---- what a replay does --------------------------------------------------------------------- */

struct stop {
	uint64_t at, rip; ///< instructions of the thread before it; where
};

struct thread {
	uint32_t tid;
	uint64_t ran;
	VEC(struct stop) stops; ///< outside system calls
};

struct run {
	struct log_reader reader;
	struct thread threads[THREADS];
	size_t n, current;
};

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct run *r = ctx;

	(void)b, (void)rec, (void)time;
	r->threads[r->current].ran += n_ran;
	return NULL;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	(void)rec, (void)insn, (void)time;
	((struct run *)ctx)->threads[((struct run *)ctx)->current].ran++;
	return NULL;
}

static void on_thread(struct run *r, const struct dec_rec *rec)
{
	struct thread *t = &r->threads[r->current];

	if (r->n && rec->value[1] && !rec->value[2]) {
		struct stop *s = vec_push(&t->stops);

		assert_non_null(s);
		*s = (struct stop){ t->ran, rec->value[1] };
	}
	for (r->current = 0; r->current < r->n; r->current++)
		if (r->threads[r->current].tid == rec->value[0])
			return;
	assert_true(r->n < THREADS);
	r->threads[r->n++].tid = rec->value[0];
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct run *r = ctx;

	(void)time;
	if (rec->id == DEC_REC_THREAD)
		on_thread(r, rec);
	if (rec->id == DEC_REC_SYSCALL || (rec->id == DEC_REC_STATE && rec->value[18]))
		r->threads[r->current].ran++;
	if (rec->id == DEC_REC_STATE && rec->value[20] == DEC_STATE_REP)
		r->threads[r->current].ran--;
	return NULL;
}

static struct err *feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { ctx, on_block, on_slow, on_other };

	return dec_log_reader_feed(&((struct run *)ctx)->reader, &sink, log, bytes);
}

static void replay(struct run *r, const struct dec_interrupts *interrupts)
{
	struct dec_machine_options o = { .output_fd = -1, .interrupts = interrupts };
	struct dec_machine *m;
	struct dec_where w;

	*r = (struct run){};
	dec_log_reader_init(&r->reader, DEC_LOG_FLOW, 0);
	ok(dec_machine_create(capture, &o, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, feed, r));
	ok(dec_machine_run(m, UNTIL, &w));
	assert_int_equal(w.at, DEC_AT_POSITION);
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	dec_machine_destroy(m);
	dec_log_reader_deinit(&r->reader);
}

static void run_deinit(struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		vec_deinit(&r->threads[i].stops);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* A thread's last stop in the loop, which it goes round long enough behind it: nothing else
 * takes so many instructions. */
static struct stop *find_stop(struct run *r, uint32_t *tid)
{
	for (size_t i = 0; i < r->n; i++) {
		struct thread *t = &r->threads[i];
		struct stop *last;

		if (!t->stops.size)
			continue;
		last = &t->stops.data[t->stops.size - 1];
		*tid = t->tid;
		if (t->ran - last->at > 100 * LATER)
			return last;
	}
	return NULL;
}

/* All stops of @p r as interruptions. */
static struct dec_interrupts *as_places(const struct run *r)
{
	struct dec_interrupts *p;

	ok(dec_interrupts_create(&p));
	for (size_t i = 0; i < r->n; i++) {
		ok(dec_interrupts_thread(p, r->threads[i].tid));
		for (size_t k = 0; k < r->threads[i].stops.size; k++)
			ok(dec_interrupts_add(p, r->threads[i].stops.data[k].at));
		dec_interrupts_know(p, r->threads[i].ran);
	}
	ok(dec_interrupts_finish(p));
	return p;
}

static void same_stops(const struct run *want, const struct run *got)
{
	for (size_t i = 0; i < want->n && i < got->n; i++) {
		const struct thread *a = &want->threads[i], *b = &got->threads[i];
		size_t n = a->stops.size < b->stops.size ? a->stops.size : b->stops.size;

		assert_int_equal(a->tid, b->tid);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(a->stops.data[k].at, b->stops.data[k].at);
	}
}

static void a_trace_decides(void **state)
{
	struct run alone, told, later;
	struct dec_interrupts *p;
	struct stop *stop;
	uint32_t tid = 0;

	(void)state;
	replay(&alone, NULL);
	p = as_places(&alone);
	replay(&told, p);
	same_stops(&alone, &told);
	dec_interrupts_destroy(p);
	stop = find_stop(&alone, &tid);
	assert_non_null(stop);
	printf("thread %u was interrupted at %lu; we say it was at %lu\n", tid, stop->at,
	       stop->at + LATER);
	stop->at += LATER;
	p = as_places(&alone);
	replay(&later, p);
	same_stops(&alone, &later);
	dec_interrupts_destroy(p);
	run_deinit(&alone);
	run_deinit(&told);
	run_deinit(&later);
}

static void look(const struct dec_interrupts_map *m, uint32_t tid, uint64_t at,
		 uint64_t *n_used, enum dec_interrupts_answer want)
{
	assert_int_equal(dec_interrupts_look(m, tid, at, n_used), want);
}

static void what_is_not_known(void **state)
{
	uint64_t used = 0, none = 0;
	struct dec_interrupts_map m = {};
	struct dec_interrupts *p;

	(void)state;
	look(&m, 1, 0, &none, DEC_INTERRUPTS_UNKNOWN);
	ok(dec_interrupts_create(&p));
	ok(dec_interrupts_thread(p, 7));
	ok(dec_interrupts_add(p, 10));
	ok(dec_interrupts_add(p, 12));
	ok(dec_interrupts_add(p, 12));
	ok(dec_interrupts_add(p, 15));
	dec_interrupts_know(p, 20);
	ok(dec_interrupts_thread(p, 8));
	ok(dec_interrupts_finish(p));
	ok(dec_interrupts_open(dec_interrupts_fd(p), &m));
	look(&m, 7, 9, &used, DEC_INTERRUPTS_NO);
	look(&m, 7, 11, &used, DEC_INTERRUPTS_NO);
	look(&m, 7, 12, &used, DEC_INTERRUPTS_YES);
	look(&m, 7, 10, &used, DEC_INTERRUPTS_NO); // it is over
	look(&m, 7, 12, &used, DEC_INTERRUPTS_YES);
	look(&m, 7, 12, &used, DEC_INTERRUPTS_NO);
	look(&m, 7, 15, &used, DEC_INTERRUPTS_YES);
	look(&m, 7, 20, &used, DEC_INTERRUPTS_NO);
	look(&m, 7, 21, &used, DEC_INTERRUPTS_UNKNOWN);
	look(&m, 8, 1, &none, DEC_INTERRUPTS_UNKNOWN);
	look(&m, 9, 10, &none, DEC_INTERRUPTS_UNKNOWN);
	assert_int_equal(none, 0);
	dec_interrupts_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(a_trace_decides),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
