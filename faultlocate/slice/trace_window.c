// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Windows: pieces of the run, logged, so that they can be read from their end. While one is gone over, a
 * thread has the machine log the one before it, and reads that; until it is waited for the machine is its own.
 */

#include "faultlocate/slice/trace.h"

#include <pthread.h>

// A window's instructions: so many that the code is translated again seldom enough, and its log
// is some tens of megabytes.
#define TRACE_WINDOW (UINT64_C(1) << 24)
#define TRACE_LOG_MAX (96u << 20)
#define MOST_HALVED 2 // times: with less the code is translated again too often

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
	vec_deinit(&w->looks);
	vec_deinit(&w->found);
	vec_deinit(&w->singles);
	map_deinit(&w->single_of);
	dec_log_reader_deinit(&w->reader);
}

/* ---- the thread's ------------------------------------------------------------------------------ */

static struct err *add_entry(struct trace_window *w, const void *rec, uint32_t what)
{
	return vec_add(&w->entries,
		       (struct trace_entry){ ((const uint8_t *)rec - w->log.data) / 8,
					     what });
}

static struct err *add_stretch(struct trace_window *w, uint32_t tid, uint64_t fs_base)
{
	return vec_add(&w->stretches,
		       (struct trace_stretch){ w->entries.size, tid, fs_base });
}

/* From here on the block at @p rec is met by window_blocks(). */
static void know_brief(struct log_reader *r, const struct log_block *b,
		       const struct dec_rec *rec)
{
	if (b->n_insns && b->bytes <= UINT16_MAX)
		r->briefs.data[rec->id] = (struct log_brief){
			.bytes = b->bytes,
			.n_insns = b->n_insns,
			.number = *(const uint32_t *)b->user,
		};
}

static struct err *window_block(void *ctx, struct log_block *b, const uint8_t *rec,
				uint32_t n_ran, uint64_t time)
{
	struct trace_window *w = ctx;

	(void)time;
	if (!b->user) {
		struct err *err;

		b->user = malloc(sizeof(uint32_t));
		if (!b->user)
			return &err_nomem;
		*(uint32_t *)b->user = w->found.size;
		err = vec_add(&w->found, (struct trace_found){ .block = b });
		if (err)
			return err;
	}
	know_brief(&w->reader, b, (const struct dec_rec *)rec);
	return n_ran ? add_entry(w, rec, *(uint32_t *)b->user << 6 | n_ran) : NULL;
}

/* Many blocks, one behind the other, each met before. A log_reader.stretch. */
static struct err *window_blocks(void *ctx, struct log_reader *r, const uint8_t **log,
				 const uint8_t *end)
{
	struct trace_window *w = ctx;
	const struct log_brief *briefs = r->briefs.data;
	const uint32_t n_briefs = r->briefs.size;
	const uint8_t *at = *log;
	struct trace_entry *to;

	if (vec_reserve(&w->entries, w->entries.size + (end - at) / 8))
		return &err_nomem;
	to = w->entries.data + w->entries.size;
	while ((size_t)(end - at) >= sizeof(struct dec_rec)) {
		const struct dec_rec *rec = (const struct dec_rec *)at, *next;
		const struct log_brief *b = &briefs[rec->id < n_briefs ? rec->id : 0];

		if (rec->id >= n_briefs || !b->bytes || b->bytes > (size_t)(end - at))
			break;
		next = (const struct dec_rec *)(at + b->bytes);
		if ((size_t)(end - (const uint8_t *)next) >= sizeof(*next) &&
		    next->id == DEC_REC_PARTIAL)
			break;
		*to++ = (struct trace_entry){ (at - w->log.data) / 8,
					      b->number << 6 | b->n_insns };
		r->time += b->n_insns;
		at = (const uint8_t *)next;
	}
	w->entries.size = to - w->entries.data;
	*log = at;
	return NULL;
}

static struct err *find_single(struct trace_window *w, const struct dec_insn *insn)
{
	const uint64_t *at = map_get(&w->single_of, insn->rip);
	uint32_t n = w->singles.size;
	struct err *err;

	if (at && w->singles.data[*at].len == insn->len &&
	    !memcmp(w->singles.data[*at].bytes, insn->bytes, insn->len))
		return NULL;
	err = vec_add(&w->singles, *insn);
	if (!err && map_put(&w->single_of, insn->rip, n))
		err = &err_nomem;
	return err ?: vec_add(&w->found, (struct trace_found){ .single = n });
}

static struct err *window_insn(void *ctx, const struct dec_rec_slow *rec,
			       const struct dec_insn *insn, uint64_t time)
{
	struct trace_window *w = ctx;
	struct trace_stretch now = w->stretches.data[w->stretches.size - 1];
	struct err *err = add_entry(w, rec, ENTRY_SLOW);
	uint64_t fs_base = now.fs_base;

	(void)time;
	if (!err)
		err = find_single(w, insn);
	dec_log_follow_fs(rec, insn, &fs_base);
	return err || fs_base == now.fs_base ? err : add_stretch(w, now.tid, fs_base);
}

static struct err *window_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct trace_window *w = ctx;
	struct trace_stretch now = w->stretches.data[w->stretches.size - 1];
	struct err *err = NULL;

	if (rec->id == DEC_REC_LOOK)
		return vec_add(&w->looks, (struct trace_look){ time, rec->value[0],
							       rec->value[1] != 0 });
	if (rec->id != DEC_REC_HEAP)
		err = add_entry(w, rec, ENTRY_OTHER);
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

/* Keep what the machine logged, and read it, unless that becomes too much. A dec_log_fn. */
static struct err *window_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, window_block, window_insn, window_other };
	struct trace_window *w = ctx;
	struct trace_log *l = &w->log;
	size_t at = l->size;

	if (l->is_over || at + bytes > TRACE_LOG_MAX) {
		l->is_over = true;
		return NULL;
	}
	if (vec_reserve(l, at + bytes))
		return &err_nomem;
	memcpy(l->data + at, log, bytes);
	l->size += bytes;
	return dec_log_reader_feed(&w->reader, &sink, l->data + at, bytes);
}

/* Go to where a window begins. Those before it come next: on a long way there are checkpoints. */
static struct err *go_to(struct dec_machine *m, uint64_t begin, struct dec_where *at)
{
	uint64_t from = dec_machine_checkpoint_before(m, begin + 1);
	uint64_t step = fl_trace_apart(begin - from);
	struct err *err = NULL;

	for (from += step; step > TRACE_WINDOW && from < begin && !err; from += step) {
		err = dec_machine_seek(m, from, at);
		if (!err)
			err = dec_machine_checkpoint(m);
	}
	return err ?: dec_machine_seek(m, begin, at);
}

static struct err *log_window(struct dec_machine *m, struct trace_window *w)
{
	struct cap_regs regs;
	struct dec_where at;
	struct err *err = go_to(m, w->begin, &at);

	if (!err)
		err = dec_machine_regs(m, &regs);
	if (!err)
		err = add_stretch(w, at.tid, regs.fs_base);
	return err   ?:
		       dec_machine_run_logged(m, DEC_LOG_ADDRESSES, window_feed, w,
					      w->end, &at);
}

/* Its reader and what that has are done with. */
static void forget_found(struct trace_window *w)
{
	w->found.size = w->singles.size = 0;
	map_deinit(&w->single_of);
	dec_log_reader_deinit(&w->reader);
}

static void *log_ahead(void *ctx)
{
	struct trace_ahead *a = ctx;

	forget_found(&a->window); // of the one before the one at hand: many blocks
	dec_log_reader_init(&a->window.reader, DEC_LOG_ADDRESSES, a->window.begin);
	a->window.reader.keeps_old = true;
	a->window.reader.stretch = window_blocks;
	a->err = log_window(a->machine, &a->window);
	return NULL;
}

/* ---- the walk's --------------------------------------------------------------------------------- */

/* Where the window begins that ends at @p end. */
static uint64_t begin_of(const struct fl_trace *t, uint64_t least, uint64_t end)
{
	uint64_t size = TRACE_WINDOW >> t->halved;
	uint64_t begin = end > size ? (end - 1) & ~(size - 1) : 0;

	return begin < least ? least : begin;
}

/* Have [@p begin, @p end) logged. */
static void start(struct fl_trace *t, uint64_t begin, uint64_t end)
{
	struct trace_ahead *a = &t->ahead;
	struct trace_window *w = &a->window;

	a->machine = t->machine;
	w->begin = begin;
	w->end = end;
	w->log.size = w->entries.size = w->stretches.size = w->looks.size = 0;
	w->log.is_over = false;
	a->is_there = true;
	a->is_running = !pthread_create(&a->thread, NULL, log_ahead, a);
	// Without a thread it is not meanwhile.
	if (!a->is_running)
		log_ahead(a);
}

void fl_trace_rest(struct fl_trace *t)
{
	if (!t->ahead.is_running)
		return;
	pthread_join(t->ahead.thread, NULL);
	t->ahead.is_running = false;
}

static void forget_ahead(struct fl_trace *t)
{
	fl_trace_rest(t);
	err_destroy(t->ahead.err);
	t->ahead.err = NULL;
	t->ahead.is_there = false;
}

void fl_trace_read_ahead(struct fl_trace *t, uint64_t least, uint64_t end)
{
	forget_ahead(t);
	if (end > least)
		start(t, begin_of(t, least, end), end);
}

void fl_trace_ahead_deinit(struct fl_trace *t)
{
	forget_ahead(t);
	fl_trace_window_deinit(&t->ahead.window);
}

/* Know what ran in @p w, in the order in which it first did. */
static struct err *intern_found(struct fl_trace *t, struct trace_window *w)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->found.size && !err; i++) {
		struct trace_found *f = &w->found.data[i];

		if (f->block)
			err = fl_trace_find_block(t, f->block, &f->number);
		else if (fl_trace_intern(t, &w->singles.data[f->single]) == UINT32_MAX)
			err = &err_nomem;
	}
	for (size_t i = 0; i < w->entries.size && !err; i++) {
		struct trace_entry *e = &w->entries.data[i];

		if (e->what < ENTRY_OTHER)
			e->what = w->found.data[e->what >> 6].number << 6 |
				  (e->what & 63);
	}
	return err;
}

/* The window that was logged is the one at hand. */
static struct err *take(struct fl_trace *t)
{
	struct trace_window used = t->window;
	struct err *err;

	fl_trace_rest(t);
	err = take_ptr(&t->ahead.err);
	t->window = t->ahead.window;
	t->ahead.window = used;
	t->ahead.is_there = false;
	return err || t->window.log.is_over ? err : intern_found(t, &t->window);
}

struct err *fl_trace_load(struct fl_trace *t, uint64_t least, uint64_t end)
{
	uint64_t begin = begin_of(t, least, end);
	const struct trace_ahead *a = &t->ahead;
	struct err *err;

	if (!a->is_there || a->window.begin != begin || a->window.end != end)
		fl_trace_read_ahead(t, least, end);
	err = take(t);
	// Much of it was stepped in C, whose records are long: the later half. So it is before that, mostly.
	t->halved += !err && t->window.log.is_over && t->halved < MOST_HALVED;
	while (!err && t->window.log.is_over && end - begin > 1) {
		begin += (end - begin) / 2;
		start(t, begin, end);
		err = take(t);
		if (!err && !t->window.log.is_over)
			err = dec_machine_seek(t->machine, begin, &(struct dec_where){}) ?:
				      dec_machine_checkpoint(t->machine);
	}
	return err;
}
