// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Threads of a run that has parted from the recording: they take turns of a fixed number of
 * instructions, in the order of their places, so that a branch repeated is the same. Who waits
 * for a futex goes on when it is woken or, once nobody else can run, when its time is over.
 */
#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/loose_int.h"
#include "decode/machine/threads.h"

static bool is_alive(const struct replay_thread *t)
{
	return !t->has_ended && !t->is_leaving && (t->is_born || t->has_parent);
}

bool dec_loose_can_go_on(const struct replay_thread *t)
{
	return is_alive(t) && !t->waits;
}

bool dec_loose_has_others(const struct dec_replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->threads.size; i++)
		n += is_alive(&r->threads.data[i]);
	return n > 1;
}

/* The thread's call, which it waits in, gives @p ret. */
static void answer(struct dec_replay *r, struct replay_thread *t, int64_t ret)
{
	t->waits = false;
	if (t == dec_threads_current(r))
		r->engine.ctx->gpr[CAP_RAX] = ret;
	else
		t->gpr[CAP_RAX] = ret;
}

void dec_loose_threads_part(struct dec_replay *r)
{
	dec_threads_save(r, dec_threads_current(r));
	for (size_t i = 0; i < r->threads.size; i++) {
		struct replay_thread *t = &r->threads.data[i];

		// Calls under way are made again: the model says what comes of them. But of
		// a clone call the other thread is there already.
		t->is_in_call = false;
		if (t->is_leaving) // what its end does was to be told by an event
			dec_threads_leave(r, t);
		if (!t->child)
			continue;
		dec_threads_tell_parent(r, t->gpr, t->child);
		t->gpr[CAP_RAX] = t->child;
		t->gpr[CAP_RCX] = t->rip += 2;
		t->gpr[CAP_R11] = t->rflags;
		t->child = 0;
	}
	dec_threads_load(r, dec_threads_current(r));
}

static void time_out(struct dec_replay *r, struct replay_thread *t)
{
	answer(r, t, t->futex ? -ETIMEDOUT : 0);
}

/* A new thread's own return from clone. */
static void be_born(struct dec_replay *r, struct replay_thread *t)
{
	if (t->is_born)
		return;
	t->is_born = true;
	if (t->set_child_tid)
		err_destroy(dec_guest_write(&r->guest, t->set_child_tid, &t->number,
					    sizeof(t->number)));
}

enum dec_verdict dec_loose_go_on(struct dec_replay *r, struct replay_thread *t)
{
	be_born(r, t);
	return dec_threads_run(r, t->tid);
}

static enum dec_verdict hang(struct dec_replay *r)
{
	char text[200] = "";

	for (size_t i = 0; i < r->threads.size; i++) {
		const struct replay_thread *t = &r->threads.data[i];
		size_t n = strlen(text);

		if (is_alive(t))
			snprintf(text + n, sizeof(text) - n, "%sthread %u at %#lx",
				 n ? ", " : "", t->tid, t->futex);
	}
	return dec_loose_end(r->loose, DEC_FATE_HANG, 0, "waits for ever: %s", text);
}

/* All that are alive wait: time goes on to the first whose wait is over. */
static enum dec_verdict wait_all(struct dec_replay *r)
{
	struct replay_thread *first = NULL;

	for (size_t i = 0; i < r->threads.size; i++) {
		struct replay_thread *t = &r->threads.data[i];

		if (is_alive(t) && t->until_ns &&
		    (!first || t->until_ns < first->until_ns))
			first = t;
	}
	if (!first)
		return hang(r);
	if (first->until_ns > r->loose->now_ns)
		r->loose->now_ns = first->until_ns;
	time_out(r, first);
	return dec_loose_go_on(r, first);
}

enum dec_verdict dec_loose_next(struct dec_replay *r)
{
	size_t n = r->threads.size, n_alive = 0;

	for (size_t k = 1; k <= n; k++) {
		struct replay_thread *t = &r->threads.data[(r->current + k) % n];

		if (!is_alive(t))
			continue;
		n_alive++;
		if (t->waits && t->until_ns && t->until_ns <= r->loose->now_ns)
			time_out(r, t);
		if (!t->waits)
			return dec_loose_go_on(r, t);
	}
	return n_alive ? wait_all(r) :
			 dec_loose_end(r->loose, DEC_FATE_EXIT, r->loose->status, NULL);
}

enum dec_verdict dec_loose_wait(struct dec_replay *r, uint64_t futex, uint32_t bits,
				uint64_t until_ns)
{
	struct replay_thread *t = dec_threads_current(r);

	t->waits = true;
	t->futex = futex;
	t->futex_bits = bits;
	t->until_ns = until_ns;
	return dec_loose_next(r);
}

uint64_t dec_loose_wake(struct dec_replay *r, uint64_t futex, uint64_t n, uint32_t bits)
{
	uint64_t woken = 0;

	for (size_t i = 0; i < r->threads.size && woken < n; i++) {
		struct replay_thread *t = &r->threads.data[i];

		if (!is_alive(t) || !t->waits || t->futex != futex ||
		    !(t->futex_bits & bits))
			continue;
		answer(r, t, 0);
		woken++;
	}
	return woken;
}

uint64_t dec_loose_requeue(struct dec_replay *r, uint64_t from, uint64_t to, uint64_t n)
{
	uint64_t moved = 0;

	for (size_t i = 0; i < r->threads.size && moved < n; i++) {
		struct replay_thread *t = &r->threads.data[i];

		if (!is_alive(t) || !t->waits || t->futex != from)
			continue;
		t->futex = to;
		moved++;
	}
	return moved;
}

int64_t dec_loose_clone(struct dec_replay *r)
{
	uint32_t tid = 0;

	for (size_t i = 0; i < r->threads.size; i++)
		if (r->threads.data[i].tid > tid)
			tid = r->threads.data[i].tid;
	return dec_threads_clone(r, tid + 1) ? (int64_t)tid + 1 : -EAGAIN;
}

enum dec_verdict dec_loose_thread_exit(struct dec_replay *r, int status)
{
	struct replay_thread *t = dec_threads_current(r);
	uint64_t word = t->clear_child_tid;
	enum dec_verdict v = dec_threads_leave(r, t);

	if (t->tid == r->core->tid)
		r->loose->status = status;
	if (v != DEC_GO)
		return v;
	t->is_leaving = true;
	t->waits = false;
	if (word)
		dec_loose_wake(r, word, 1, UINT32_MAX);
	return dec_loose_next(r);
}
