// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Windows: pieces of the run, logged, so that they can be read from their end. While one is gone over, the
 * machine logs the one before it, in a thread that does nothing but copy; until that is waited for the machine
 * is its own.
 */

#include "faultlocate/slice/trace.h"

#include <pthread.h>

// A window's instructions: so many that the code is translated again seldom enough, and its log
// is some tens of megabytes.
#define TRACE_WINDOW (UINT64_C(1) << 23)
#define TRACE_LOG_MAX (96u << 20)

uint64_t fl_trace_apart(uint64_t past)
{
	uint64_t n = past / 8 & ~(TRACE_WINDOW - 1);

	return n > TRACE_WINDOW ? n : TRACE_WINDOW;
}

void fl_trace_window_deinit(struct trace_window *w)
{
	vec_deinit(&w->log);
	vec_deinit(&w->entries);
	vec_deinit(&w->stretches);
	dec_log_reader_deinit(&w->reader);
}

static struct err *add_entry(struct fl_trace *t, const void *rec, uint32_t what)
{
	struct trace_window *w = &t->window;

	return vec_add(&w->entries,
		       (struct trace_entry){ ((const uint8_t *)rec - w->log.data) / 8,
					     what });
}

static struct err *add_stretch(struct trace_window *w, uint32_t tid, uint64_t fs_base)
{
	return vec_add(&w->stretches,
		       (struct trace_stretch){ w->entries.size, tid, fs_base });
}

static struct err *window_block(void *ctx, struct log_block *b, const uint8_t *rec,
				uint32_t n_ran, uint64_t time)
{
	struct fl_trace *t = ctx;

	(void)time;
	if (!b->user) {
		struct err *err;

		b->user = malloc(sizeof(uint32_t));
		err = b->user ? fl_trace_find_block(t, b, b->user) : &err_nomem;
		if (err)
			return err;
	}
	return n_ran ? add_entry(t, rec, *(uint32_t *)b->user << 6 | n_ran) : NULL;
}

static struct err *window_insn(void *ctx, const struct dec_rec_slow *rec,
			       const struct dec_insn *insn, uint64_t time)
{
	struct fl_trace *t = ctx;
	struct trace_window *w = &t->window;
	struct trace_stretch now = w->stretches.data[w->stretches.size - 1];
	struct err *err = add_entry(t, rec, ENTRY_SLOW);
	uint64_t fs_base = now.fs_base;

	(void)time;
	if (!err && fl_trace_intern(t, insn) == UINT32_MAX)
		err = &err_nomem;
	dec_log_follow_fs(rec, insn, &fs_base);
	return err || fs_base == now.fs_base ? err : add_stretch(w, now.tid, fs_base);
}

static struct err *window_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct fl_trace *t = ctx;
	struct trace_window *w = &t->window;
	struct trace_stretch now = w->stretches.data[w->stretches.size - 1];
	struct err *err = NULL;

	(void)time;
	if (rec->id != DEC_REC_HEAP)
		err = add_entry(t, rec, ENTRY_OTHER);
	if (rec->id == DEC_REC_THREAD)
		now.tid = rec->value[0];
	else if (rec->id == DEC_REC_STATE)
		now.fs_base = rec->value[17];
	else if (rec->id == DEC_REC_SYSCALL)
		now.fs_base = rec->value[13];
	else
		return err;
	return err ?: add_stretch(w, now.tid, now.fs_base);
}

/* Keep what the machine logged, unless that becomes too much. */
static struct err *keep(struct trace_log *l, const uint8_t *log, size_t bytes)
{
	size_t at = l->size;

	if (l->is_over || at + bytes > TRACE_LOG_MAX) {
		l->is_over = true;
		return NULL;
	}
	if (vec_reserve(l, at + bytes))
		return &err_nomem;
	memcpy(l->data + at, log, bytes);
	l->size += bytes;
	return NULL;
}

/* Read @p bytes of the window's log, from @p at on. */
static struct err *read_log(struct fl_trace *t, size_t at, size_t bytes)
{
	const struct log_sink sink = { t, window_block, window_insn, window_other };
	struct trace_window *w = &t->window;

	return dec_log_reader_feed(&w->reader, &sink, w->log.data + at, bytes);
}

/* A dec_log_fn. */
static struct err *window_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct fl_trace *t = ctx;
	size_t at = t->window.log.size;
	struct err *err = keep(&t->window.log, log, bytes);

	return err || t->window.log.is_over ? err : read_log(t, at, bytes);
}

/* Go to where a window begins. Those before it come next: on a long way there are checkpoints. */
static struct err *go_to(struct fl_trace *t, uint64_t begin, struct dec_where *at)
{
	uint64_t from = dec_machine_checkpoint_before(t->machine, begin + 1);
	uint64_t step = fl_trace_apart(begin - from);
	struct err *err = NULL;

	for (from += step; step > TRACE_WINDOW && from < begin && !err; from += step) {
		err = dec_machine_seek(t->machine, from, at);
		if (!err)
			err = dec_machine_checkpoint(t->machine);
	}
	return err ?: dec_machine_seek(t->machine, begin, at);
}

/* Begin with a window that is logged from @p begin on, where thread @p tid runs. */
static struct err *begin_window(struct fl_trace *t, uint64_t begin, uint64_t end,
				uint32_t tid, uint64_t fs_base)
{
	struct trace_window *w = &t->window;

	w->entries.size = w->stretches.size = 0;
	w->begin = begin;
	w->end = end;
	dec_log_reader_deinit(&w->reader);
	dec_log_reader_init(&w->reader, DEC_LOG_ADDRESSES, begin);
	return add_stretch(w, tid, fs_base);
}

static struct err *log_window(struct fl_trace *t, uint64_t begin, uint64_t end)
{
	struct cap_regs regs;
	struct dec_where at;
	struct err *err = go_to(t, begin, &at);

	t->window.log.size = 0;
	t->window.log.is_over = false;
	if (!err)
		err = dec_machine_regs(t->machine, &regs);
	if (!err)
		err = begin_window(t, begin, end, at.tid, regs.fs_base);
	return err   ?:
		       dec_machine_run_logged(t->machine, DEC_LOG_ADDRESSES, window_feed,
					      t, end, &at);
}

/* ---- the one before --------------------------------------------------------------------------- */

/* Where the window begins that ends at @p end. */
static uint64_t begin_of(uint64_t least, uint64_t end)
{
	uint64_t begin = end > TRACE_WINDOW ? (end - 1) & ~(TRACE_WINDOW - 1) : 0;

	return begin < least ? least : begin;
}

/* A dec_log_fn. */
static struct err *ahead_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	return keep(ctx, log, bytes);
}

static void *log_ahead(void *ctx)
{
	struct fl_trace *t = ctx;
	struct trace_ahead *a = &t->ahead;
	struct cap_regs regs = {};
	struct dec_where at;

	a->err = go_to(t, a->begin, &at);
	if (!a->err)
		a->err = dec_machine_regs(t->machine, &regs);
	a->tid = at.tid;
	a->fs_base = regs.fs_base;
	if (!a->err)
		a->err = dec_machine_run_logged(t->machine, DEC_LOG_ADDRESSES, ahead_feed,
						&a->log, a->end, &at);
	return NULL;
}

void fl_trace_read_ahead(struct fl_trace *t, uint64_t least)
{
	struct trace_ahead *a = &t->ahead;

	fl_trace_rest(t);
	if (t->window.begin <= least)
		return;
	a->end = t->window.begin;
	a->begin = begin_of(least, a->end);
	a->log.size = 0;
	a->log.is_over = false;
	a->is_running = !pthread_create(&a->thread, NULL, log_ahead, t);
	a->is_there = a->is_running;
}

void fl_trace_rest(struct fl_trace *t)
{
	if (!t->ahead.is_running)
		return;
	pthread_join(t->ahead.thread, NULL);
	t->ahead.is_running = false;
}

void fl_trace_ahead_deinit(struct fl_trace *t)
{
	fl_trace_rest(t);
	err_destroy(t->ahead.err);
	vec_deinit(&t->ahead.log);
}

/* @return whether [@p begin, @p end) was logged ahead: it is in the window, then. */
static bool take_ahead(struct fl_trace *t, uint64_t begin, uint64_t end, struct err **ret)
{
	struct trace_ahead *a = &t->ahead;
	struct trace_log used = t->window.log;
	bool is_it;

	fl_trace_rest(t);
	is_it = a->is_there && a->begin == begin && a->end == end && !a->log.is_over;
	a->is_there = false;
	*ret = take_ptr(&a->err);
	if (!is_it || *ret)
		return *ret;
	t->window.log = a->log;
	a->log = used;
	*ret = begin_window(t, begin, end, a->tid, a->fs_base);
	if (!*ret)
		*ret = read_log(t, 0, t->window.log.size);
	return true;
}

struct err *fl_trace_load(struct fl_trace *t, uint64_t least, uint64_t end)
{
	uint64_t begin = begin_of(least, end);
	struct err *err;

	if (take_ahead(t, begin, end, &err))
		return err;
	err = log_window(t, begin, end);
	// Much of it was stepped in C, whose records are long: the later half.
	while (!err && t->window.log.is_over && end - begin > 1) {
		begin += (end - begin) / 2;
		err = log_window(t, begin, end);
		if (!err && !t->window.log.is_over)
			err = dec_machine_seek(t->machine, begin, &(struct dec_where){}) ?:
				      dec_machine_checkpoint(t->machine);
	}
	return err;
}
