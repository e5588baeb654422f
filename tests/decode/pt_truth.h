// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What ran, thread by thread, from the machine's log: the truth that decoded packets are
 * compared with, instruction by instruction.
 */
#ifndef TESTS_DECODE_PT_TRUTH_H
#define TESTS_DECODE_PT_TRUTH_H

#include "decode/machine/log.h"
#include "decode/pt/decode.h"
#include "tests/decode/pt_bytes.h"
#include "tests/unit.h"

struct truth_run {
	uint32_t at, n; ///< in the pool
};

struct truth_thread {
	uint32_t tid;
	VEC(struct truth_run) runs;
	uint64_t total;	 ///< instructions
	bool is_in_call; ///< its system call counts already
};

/** Addresses of all instructions that ran, each block's list kept once. */
struct truth {
	struct log_reader reader;
	VEC(uint64_t) pool;
	struct map single; ///< address -> its place in the pool
	VEC(struct truth_thread) threads;
	size_t current;
	uint64_t total;	    ///< of all threads
	uint64_t n_halves;  ///< repeated string instructions interrupted in their middle
	uint64_t n_pending; ///< threads in calls
};

/** @return the machine's position: it counts a call when that is over. */
static inline uint64_t truth_position(const struct truth *t)
{
	return t->total + t->n_halves - t->n_pending;
}

/* ---- reading ----------------------------------------------------------------------------- */

static inline void truth_add(struct truth *t, uint32_t at, uint32_t n)
{
	struct truth_thread *thread = &t->threads.data[t->current];
	struct truth_run *r = vec_push(&thread->runs);

	assert_non_null(r);
	*r = (struct truth_run){ at, n };
	thread->total += n;
	t->total += n;
}

static inline uint32_t truth_pool(struct truth *t, uint64_t rip)
{
	uint64_t *p = vec_push(&t->pool);

	assert_non_null(p);
	*p = rip;
	return t->pool.size - 1;
}

static inline void truth_single(struct truth *t, uint64_t rip)
{
	uint64_t *known = map_get(&t->single, rip);
	uint32_t at = known ? *known : truth_pool(t, rip);

	if (!known)
		assert_int_equal(map_put(&t->single, rip, at), 0);
	truth_add(t, at, 1);
}

static inline struct err *truth_on_block(void *ctx, struct log_block *b,
					 const uint8_t *rec, uint32_t n_ran,
					 uint64_t time)
{
	struct truth *t = ctx;
	uint32_t *at = b->user;

	(void)rec;
	assert_int_equal(time, truth_position(t));
	if (!at) {
		at = b->user = malloc(sizeof(*at));
		assert_non_null(at);
		*at = t->pool.size;
		for (uint32_t i = 0; i < b->n_insns; i++)
			truth_pool(t, b->insn[i].rip);
	}
	truth_add(t, *at, n_ran);
	return NULL;
}

static inline struct err *truth_on_slow(void *ctx, const struct dec_rec_slow *rec,
					const struct dec_insn *insn, uint64_t time)
{
	(void)insn;
	(void)time;
	truth_single(ctx, rec->rip);
	return NULL;
}

/* @return the thread's index, which is made when there is none. */
static inline size_t truth_thread(struct truth *t, uint32_t tid)
{
	struct truth_thread *thread;

	for (size_t i = 0; i < t->threads.size; i++) {
		if (t->threads.data[i].tid == tid)
			return i;
	}
	thread = vec_push(&t->threads);
	assert_non_null(thread);
	thread->tid = tid;
	return t->threads.size - 1;
}

/* The instruction that ran last is interrupted, and ran last in its thread. */
static inline void truth_half(struct truth *t)
{
	struct truth_thread *thread = &t->threads.data[t->current];
	struct truth_run *r = &thread->runs.data[thread->runs.size - 1];

	assert_true(thread->runs.size > 0 && r->n == 1);
	thread->runs.size--;
	thread->total--;
	t->total--;
	t->n_halves++;
}

/* The one that ran has left the CPU, perhaps in a call. */
static inline void truth_switch(struct truth *t, const struct dec_rec *rec)
{
	if (t->threads.size && rec->value[1] && rec->value[2] &&
	    !t->threads.data[t->current].is_in_call) {
		truth_single(t, rec->value[1]);
		t->threads.data[t->current].is_in_call = true;
		t->n_pending++;
	}
	t->current = truth_thread(t, rec->value[0]);
}

static inline void truth_call(struct truth *t, uint64_t rip)
{
	struct truth_thread *thread = &t->threads.data[t->current];

	if (!thread->is_in_call) {
		truth_single(t, rip);
		return;
	}
	thread->is_in_call = false;
	t->n_pending--;
}

static inline struct err *truth_on_other(void *ctx, const struct dec_rec *rec,
					 uint64_t time)
{
	struct truth *t = ctx;

	(void)time;
	if (rec->id == DEC_REC_THREAD)
		truth_switch(t, rec);
	if (rec->id == DEC_REC_SYSCALL)
		truth_call(t, rec->value[2]);
	if (rec->id == DEC_REC_STATE && rec->value[18])
		truth_single(t, rec->value[16] - rec->value[18]);
	if (rec->id == DEC_REC_STATE && rec->value[20] == DEC_STATE_REP)
		truth_half(t);
	return NULL;
}

static inline void truth_init(struct truth *t)
{
	*t = (struct truth){};
	dec_log_reader_init(&t->reader, DEC_LOG_FLOW, 0);
}

static inline struct err *truth_feed(struct truth *t, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { t, truth_on_block, truth_on_slow, truth_on_other };

	return dec_log_reader_feed(&t->reader, &sink, log, bytes);
}

static inline void truth_deinit(struct truth *t)
{
	dec_log_reader_deinit(&t->reader);
	vec_deinit(&t->pool);
	map_deinit(&t->single);
	for (size_t i = 0; i < t->threads.size; i++)
		vec_deinit(&t->threads.data[i].runs);
	vec_deinit(&t->threads);
}

/* ---- comparing --------------------------------------------------------------------------- */

/** Walks a thread's truth while its stream is decoded. */
struct judge {
	const struct truth *truth;
	const struct truth_thread *thread;
	struct dec_pt_image *image;
	size_t run;
	uint32_t in_run;
	uint64_t position, n_insns; ///< in the thread
	uint64_t resumed_at;	    ///< an overflow is over there
	uint64_t overflows;
};

static inline uint64_t judge_next(struct judge *j)
{
	const struct truth_run *r;

	while (j->run < j->thread->runs.size &&
	       j->in_run == j->thread->runs.data[j->run].n) {
		j->run++;
		j->in_run = 0;
	}
	if (j->run == j->thread->runs.size)
		fail_msg("thread %u: decoded more than the %lu instructions that ran",
			 j->thread->tid, j->thread->total);
	r = &j->thread->runs.data[j->run];
	j->position++;
	return j->truth->pool.data[r->at + j->in_run++];
}

static inline struct err *judge_run(void *ctx, const struct dec_pt_run *run)
{
	struct judge *j = ctx;
	uint64_t ip = run->ip;

	for (uint32_t i = 0;; i++) {
		uint64_t want = judge_next(j);

		if (ip != want)
			fail_msg("thread %u: instruction %lu is at %#lx, decoded %#lx",
				 j->thread->tid, j->position - 1, want, ip);
		if (i + 1 == run->n_insns)
			break;
		ok(pt_next(j->image, ip, &ip));
	}
	assert_int_equal(ip, run->end_ip);
	j->n_insns += run->n_insns;
	return NULL;
}

static inline struct err *judge_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct judge *j = ctx;

	if (gap->kind != DEC_PT_GAP_OVERFLOW)
		fail_msg("thread %u: a gap at byte %lu, instruction %lu, ip %#lx: %s",
			 j->thread->tid, gap->from_byte, j->position, gap->ip, gap->why);
	j->overflows++;
	assert_true(j->position < j->resumed_at);
	while (j->position < j->resumed_at)
		judge_next(j);
	return NULL;
}

#endif
