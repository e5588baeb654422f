// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The calling thread cuts the stream into segments and hands out, in order, what workers
 * made of them. They meet at a ring of slots: slot i % n holds the ith few segments, its worker
 * fills the slot's batch, and the caller empties it when its turn has come. A batch that is full
 * before its segments end waits for that, so that memory is bounded; the oldest slot's
 * worker never waits for anybody but the caller, so that all get on.
 */

#include "decode/pt/decode.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "decode/pt/segment.h"
#include "decode/pt/unprobe.h"

#define SLOTS_PER_THREAD 4

/* Segments are given to a slot until they have so many bytes: to meet costs more than to
 * decode a PSB's distance of 2 KiB. What comes of them fits into a batch, mostly. */
#define SLOT_BYTES (16u << 10)
#define SLOT_SEGMENTS 64

enum slot_state {
	SLOT_FREE,
	SLOT_WAITING, ///< for a worker
	SLOT_RUNNING,
	SLOT_FULL, ///< its worker waits for the caller to empty it
	SLOT_DONE,
};

struct slot {
	enum slot_state state;
	struct dec_pt_segment segs[SLOT_SEGMENTS];
	size_t n_segs;
	struct dec_pt_batch batch;
	struct err *err;
	struct pool *pool;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work; ///< a slot waits, or `stops`
	pthread_cond_t news; ///< a slot is full or done
	pthread_cond_t room; ///< a full slot was emptied, or `stops`
	bool stops;
	size_t n_slots,
		n_started; ///< slots, from the first use on, that workers have begun
	size_t n_filled;   ///< and that have got segments
	struct slot *slots;
	pthread_t threads[DEC_PT_THREADS_MAX];
	struct dec_pt_worker *workers[DEC_PT_THREADS_MAX];
	size_t n_threads, n_workers;
};

/* A decoding under way. */
struct ptd {
	const struct dec_pt_stream *stream;
	const struct dec_pt_decode_options *o;
	const struct dec_pt_sink *sink;
	struct pool pool;
	uint64_t at;		    ///< segments are cut up to here
	const char *lost;	    ///< why bytes are missing there; NULL: none are
	struct dec_pt_psb psb;	    ///< the next one; at the stream's size: there is none
	bool is_cut;		    ///< no more segments
	dec_pt_buffer buffer;	    ///< for PSB groups
	struct dec_pt_image *image; ///< of the thread that runs; NULL: none did yet
	uint32_t tid;
	uint64_t tsc;
	struct dec_pt_totals totals;
	bool has_probes; ///< the program's code had breakpoints
	struct dec_pt_unprobe unprobe;
};

const char *dec_pt_gap_name(enum dec_pt_gap_kind kind)
{
	static const char *const names[] = {
		[DEC_PT_GAP_START] = "no start",    [DEC_PT_GAP_ERROR] = "damage",
		[DEC_PT_GAP_OVERFLOW] = "overflow", [DEC_PT_GAP_IDLE] = "no end",
		[DEC_PT_GAP_LOST] = "lost data",    [DEC_PT_GAP_CODE] = "unknown code",
		[DEC_PT_GAP_PLACE] = "misplaced",
	};

	return names[kind];
}

/* What is not the program's must be seen to be taken away. */
static bool wants_runs(const struct ptd *d)
{
	return d->sink->run || d->has_probes;
}

/* ---- cutting ------------------------------------------------------------------------------ */

static struct err *cut_psb(struct ptd *d, uint64_t from, struct dec_pt_psb *ret)
{
	uint64_t at = dec_pt_stream_find_psb(d->stream, from);

	*ret = (struct dec_pt_psb){ .at = at };
	return at < d->stream->size ? dec_pt_stream_psb(d->stream, at, &d->buffer, ret) :
				      NULL;
}

static struct err *cut_begin(struct ptd *d)
{
	d->lost = d->stream->pieces.size ? d->stream->pieces.data[0].lost : NULL;
	return cut_psb(d, 0, &d->psb);
}

/* @return whether all of @p seg is outside of the times that are asked for. */
static bool cut_skips(const struct ptd *d, const struct dec_pt_segment *seg)
{
	if (!d->o->to_tsc || !seg->psb.has_tsc)
		return false;
	return seg->psb.tsc > d->o->to_tsc ||
	       (seg->has_next && seg->next.has_tsc && seg->next.tsc < d->o->from_tsc);
}

/* Cut the next segment off. */
static struct err *cut_one(struct ptd *d, struct dec_pt_segment *ret)
{
	uint64_t from = d->psb.at;
	struct err *err = NULL;

	*ret = (struct dec_pt_segment){ .psb = d->psb, .end = d->stream->size };
	if (d->lost || from > d->at)
		ret->before = (struct dec_pt_gap){
			.kind = d->lost ? DEC_PT_GAP_LOST : DEC_PT_GAP_START,
			.from_byte = d->at,
			.to_byte = from,
			.why = d->lost ?: "no PSB",
		};
	d->lost = NULL;
	if (from < d->stream->size) {
		ret->end = dec_pt_stream_whole_until(d->stream, from, &d->lost);
		err = cut_psb(d, from + DEC_PT_PSB_BYTES, &d->psb);
		ret->has_next = d->psb.at < ret->end;
	}
	if (ret->has_next) {
		ret->next = d->psb;
		ret->end = d->psb.at;
		d->lost = NULL;
	}
	d->at = ret->end;
	d->is_cut = d->at >= d->stream->size && !d->lost;
	return err;
}

/* The same, but for those that are not wanted. @p ret is set unless is_cut was. */
static struct err *cut_next(struct ptd *d, struct dec_pt_segment *ret, bool *is_end)
{
	struct err *err;

	for (;;) {
		*is_end = d->is_cut;
		if (d->is_cut)
			return NULL;
		err = cut_one(d, ret);
		if (err || !cut_skips(d, ret))
			return err;
		d->totals.skipped_bytes += ret->end - ret->psb.at;
	}
}

/* ---- handing out -------------------------------------------------------------------------- */

static struct err *hand_event(struct ptd *d, enum dec_pt_event_kind kind, uint64_t ip,
			      uint64_t value)
{
	struct dec_pt_event event = { kind, ip, value, d->tsc, d->image };

	return d->sink->event ? d->sink->event(d->sink->ctx, &event) : NULL;
}

/* Hand out what the program would have done without probes. */
static struct err *hand_runs_unprobed(struct ptd *d, struct dec_pt_run *run,
				      const struct dec_pt_run *end)
{
	struct err *err = NULL;

	for (; !err && run < end; run++) {
		run->tsc = d->tsc;
		if (dec_pt_unprobe_run(&d->unprobe, d->image, run) && d->sink->run)
			err = d->sink->run(d->sink->ctx, run);
	}
	return err;
}

static struct err *hand_event_unprobed(struct ptd *d, enum dec_pt_event_kind kind,
				       uint64_t ip, uint64_t value)
{
	bool has_left;
	struct err *err = NULL;

	if (!dec_pt_unprobe_event(&d->unprobe, d->image, kind, ip, &has_left))
		return NULL;
	if (has_left)
		err = hand_event(d, DEC_PT_EV_DISABLED, 0, 0);
	return err ? err : hand_event(d, kind, ip, value);
}

static struct err *hand_runs(struct ptd *d, struct dec_pt_run *run,
			     const struct dec_pt_run *end)
{
	struct err *(*fn)(void *ctx, const struct dec_pt_run *run) = d->sink->run;
	void *ctx = d->sink->ctx;
	uint64_t tsc = d->tsc;
	struct err *err = NULL;

	if (d->has_probes)
		return hand_runs_unprobed(d, run, end);
	for (; !err && run < end; run++) {
		run->tsc = tsc;
		err = fn(ctx, run);
	}
	return err;
}

static struct err *hand_gap(struct ptd *d, struct dec_pt_gap *gap)
{
	gap->tsc = d->tsc;
	dec_pt_unprobe_gap(&d->unprobe);
	d->totals.gaps++;
	d->totals.gaps_of[gap->kind]++;
	d->totals.overflows += gap->kind == DEC_PT_GAP_OVERFLOW;
	return d->sink->gap ? d->sink->gap(d->sink->ctx, gap) : NULL;
}

static struct err *hand_turn(struct ptd *d, const struct dec_pt_item *i)
{
	const struct dec_pt_turn *t = &d->stream->turns.data[i->a];

	bool is_same = d->image == t->image && d->tid == t->tid;

	t->image->n_applied = i->b;
	if (is_same)
		return NULL;
	d->image = t->image;
	d->tid = t->tid;
	return hand_event(d, DEC_PT_EV_THREAD, 0, t->tid);
}

/* A segment's first time is its PSB's, to which the estimates of the one before it may
 * have run ahead. */
static void hand_time(struct ptd *d, uint64_t tsc)
{
	if (!d->totals.first_tsc)
		d->totals.first_tsc = tsc;
	if (tsc > d->tsc)
		d->tsc = d->totals.last_tsc = tsc;
}

static struct err *hand_item(struct ptd *d, struct dec_pt_batch *b,
			     const struct dec_pt_item *i)
{
	switch ((enum dec_pt_item_kind)i->kind) {
	case DEC_PT_ITEM_EVENT:
		return d->has_probes ? hand_event_unprobed(d, i->event, i->a, i->b) :
				       hand_event(d, i->event, i->a, i->b);
	case DEC_PT_ITEM_TIME:
		hand_time(d, i->a);
		return NULL;
	case DEC_PT_ITEM_TURN:
		return hand_turn(d, i);
	case DEC_PT_ITEM_GAP:
		return hand_gap(d, &b->gaps.data[i->a]);
	}
	return NULL;
}

/* A dec_pt_batch_fn. */
static struct err *hand_batch(void *ctx, struct dec_pt_batch *b)
{
	struct ptd *d = ctx;
	struct err *err = NULL;
	uint32_t at = 0;

	for (size_t i = 0; !err && i < b->items.size; i++) {
		const struct dec_pt_item *item = &b->items.data[i];

		err = hand_runs(d, b->runs + at, b->runs + item->at);
		at = item->at;
		if (!err)
			err = hand_item(d, b, item);
	}
	if (!err)
		err = hand_runs(d, b->runs + at, b->runs + b->n_runs);
	d->totals.instructions += b->instructions - d->unprobe.dropped;
	d->unprobe.dropped = 0;
	d->totals.runs += b->all_runs;
	d->totals.kernel_visits += b->kernel_visits;
	dec_pt_batch_clear(b);
	return err;
}

static struct err *hand_segment(struct ptd *d, const struct dec_pt_segment *seg,
				struct dec_pt_batch *b)
{
	struct err *err = hand_batch(d, b);

	return err || !d->sink->progress ? err :
					   d->sink->progress(d->sink->ctx, seg->end);
}

/* ---- by the calling thread alone ----------------------------------------------------------- */

static struct err *alone_step(struct ptd *d, struct dec_pt_worker *w,
			      struct dec_pt_batch *batch, bool *is_end)
{
	struct dec_pt_segment seg;
	struct err *err = cut_next(d, &seg, is_end);

	if (err || *is_end)
		return err;
	err = dec_pt_worker_decode(w, &seg, batch, hand_batch, d);
	return err ? err : hand_segment(d, &seg, batch);
}

static struct err *alone(struct ptd *d)
{
	struct dec_pt_worker *w = NULL;
	struct err *err = dec_pt_worker_create(d->stream, d->o, wants_runs(d), &w);
	struct dec_pt_batch batch = {};
	bool is_end = false;

	if (!err)
		err = dec_pt_batch_init(&batch, DEC_PT_BATCH_RUNS_ALONE);
	while (!err && !is_end)
		err = alone_step(d, w, &batch, &is_end);
	dec_pt_batch_deinit(&batch);
	dec_pt_worker_destroy(w);
	return err;
}

/* ---- by workers ----------------------------------------------------------------------------- */

/* A dec_pt_batch_fn: wait until the caller has emptied the batch. */
static struct err *slot_empty(void *ctx, struct dec_pt_batch *batch)
{
	struct slot *slot = ctx;
	struct pool *p = slot->pool;
	bool stops;

	pthread_mutex_lock(&p->lock);
	slot->state = SLOT_FULL;
	pthread_cond_signal(&p->news);
	while (slot->state == SLOT_FULL && !p->stops)
		pthread_cond_wait(&p->room, &p->lock);
	stops = p->stops;
	pthread_mutex_unlock(&p->lock);
	if (stops) // nobody wants the rest
		dec_pt_batch_clear(batch);
	return NULL;
}

struct pool_thread {
	struct pool *pool;
	struct dec_pt_worker *worker;
};

/* Decode the slot's segments one behind the other. */
static struct err *slot_decode(struct slot *slot, struct dec_pt_worker *w)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < slot->n_segs; i++)
		err = dec_pt_worker_decode(w, &slot->segs[i], &slot->batch, slot_empty,
					   slot);
	return err;
}

static void *work(void *arg)
{
	struct pool *p = ((struct pool_thread *)arg)->pool;
	struct dec_pt_worker *w = ((struct pool_thread *)arg)->worker;
	struct slot *slot;
	struct err *err;

	free(arg);
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->stops && p->n_started == p->n_filled)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->stops)
			break;
		slot = &p->slots[p->n_started++ % p->n_slots];
		slot->state = SLOT_RUNNING;
		pthread_mutex_unlock(&p->lock);
		err = slot_decode(slot, w);
		pthread_mutex_lock(&p->lock);
		slot->err = err;
		slot->state = SLOT_DONE;
		pthread_cond_signal(&p->news);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static struct err *pool_start(struct ptd *d, unsigned int n)
{
	struct pool *p = &d->pool;
	struct err *err = NULL;

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->news, NULL);
	pthread_cond_init(&p->room, NULL);
	p->n_slots = n * SLOTS_PER_THREAD;
	p->slots = calloc(p->n_slots, sizeof(*p->slots));
	if (!p->slots)
		return &err_nomem;
	for (size_t i = 0; !err && i < p->n_slots; i++) {
		p->slots[i].pool = p;
		err = dec_pt_batch_init(&p->slots[i].batch, DEC_PT_BATCH_RUNS);
	}
	while (!err && p->n_threads < n) {
		struct pool_thread *t = malloc(sizeof(*t));

		err = t ? dec_pt_worker_create(d->stream, d->o, wants_runs(d),
					       &p->workers[p->n_workers]) :
			  &err_nomem;
		if (!err) {
			*t = (struct pool_thread){ p, p->workers[p->n_workers++] };
			errno = pthread_create(&p->threads[p->n_threads], NULL, work, t);
			if (errno)
				err = err_errno("cannot start a thread to decode");
		}
		if (err)
			free(t);
		else
			p->n_threads++;
	}
	return err;
}

static void pool_stop(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stops = true;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->room);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	for (size_t i = 0; i < p->n_workers; i++)
		dec_pt_worker_destroy(p->workers[i]);
	for (size_t i = 0; p->slots && i < p->n_slots; i++) {
		err_destroy(p->slots[i].err);
		dec_pt_batch_deinit(&p->slots[i].batch);
	}
	free(p->slots);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->news);
	pthread_cond_destroy(&p->room);
	pthread_mutex_destroy(&p->lock);
}

/* Give @p slot the next segments. */
static struct err *slot_fill(struct ptd *d, struct slot *slot, bool *is_end)
{
	struct err *err = NULL;
	uint64_t bytes = 0;

	for (slot->n_segs = 0; slot->n_segs < SLOT_SEGMENTS && bytes < SLOT_BYTES;) {
		struct dec_pt_segment *seg = &slot->segs[slot->n_segs];

		err = cut_next(d, seg, is_end);
		if (err || *is_end)
			break;
		bytes += seg->end - seg->psb.at;
		slot->n_segs++;
	}
	return err;
}

/* Give the workers as many segments as there are free slots. Called without the lock: free
 * slots are the caller's. */
static struct err *pool_fill(struct ptd *d, size_t n_done, bool *is_end)
{
	struct pool *p = &d->pool;
	struct err *err = NULL;

	while (!err && !*is_end && p->n_filled - n_done < p->n_slots) {
		struct slot *slot = &p->slots[p->n_filled % p->n_slots];

		err = slot_fill(d, slot, is_end);
		if (err || !slot->n_segs)
			break;
		pthread_mutex_lock(&p->lock);
		slot->state = SLOT_WAITING;
		p->n_filled++;
		pthread_cond_signal(&p->work);
		pthread_mutex_unlock(&p->lock);
	}
	return err;
}

/* Hand out all of @p slot's segment, in as many batches as it comes in. */
static struct err *pool_take(struct ptd *d, struct slot *slot)
{
	struct pool *p = &d->pool;
	struct err *err = NULL;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		while (slot->state != SLOT_FULL && slot->state != SLOT_DONE)
			pthread_cond_wait(&p->news, &p->lock);
		pthread_mutex_unlock(&p->lock);
		if (slot->state == SLOT_DONE)
			break;
		err = hand_batch(d, &slot->batch);
		if (err)
			return err;
		pthread_mutex_lock(&p->lock);
		slot->state = SLOT_RUNNING;
		pthread_cond_broadcast(&p->room);
		pthread_mutex_unlock(&p->lock);
	}
	slot->state = SLOT_FREE;
	err = take_ptr(&slot->err);
	return err ? err : hand_segment(d, &slot->segs[slot->n_segs - 1], &slot->batch);
}

static struct err *together(struct ptd *d, unsigned int n)
{
	struct err *err = pool_start(d, n);
	size_t n_done = 0;
	bool is_end = false;

	while (!err) {
		err = pool_fill(d, n_done, &is_end);
		if (err || n_done == d->pool.n_filled)
			break;
		err = pool_take(d, &d->pool.slots[n_done % d->pool.n_slots]);
		n_done++;
	}
	pool_stop(&d->pool);
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static unsigned int thread_count(const struct dec_pt_decode_options *o)
{
	long n = o->n_threads ?: sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > DEC_PT_THREADS_MAX ? DEC_PT_THREADS_MAX : n;
}

static struct err *begin(struct ptd *d)
{
	const struct dec_pt_stream *s = d->stream;

	for (size_t i = 0; i < s->turns.size; i++) {
		s->turns.data[i].image->n_applied = 0;
		d->has_probes |= dec_pt_unprobe_is_needed(s->turns.data[i].image);
	}
	if (s->pieces.size)
		return cut_begin(d);
	d->is_cut = true;
	return NULL;
}

struct err *dec_pt_decode(const struct dec_pt_stream *s,
			  const struct dec_pt_decode_options *o,
			  const struct dec_pt_sink *sink, struct dec_pt_totals *ret)
{
	static const struct dec_pt_decode_options defaults;
	struct ptd d = { .stream = s, .o = o ?: &defaults, .sink = sink };
	unsigned int n = thread_count(d.o);
	struct err *err = begin(&d);

	if (!err)
		err = n == 1 ? alone(&d) : together(&d, n);
	vec_deinit(&d.buffer);
	if (!err && ret)
		*ret = d.totals;
	return err;
}

/* ---- step by step ---------------------------------------------------------------------------- */

struct dec_pt_steps {
	struct ptd d;
	struct dec_pt_decode_options o;
	struct dec_pt_sink sink;
	struct dec_pt_worker *worker;
	struct dec_pt_batch batch;
};

struct err *dec_pt_steps_create(const struct dec_pt_stream *s,
				const struct dec_pt_decode_options *o,
				const struct dec_pt_sink *sink, struct dec_pt_steps **ret)
{
	struct dec_pt_steps *steps = calloc(1, sizeof(*steps));
	struct err *err;

	if (!steps)
		return &err_nomem;
	steps->sink = *sink;
	if (o)
		steps->o = *o;
	steps->d = (struct ptd){ .stream = s, .o = &steps->o, .sink = &steps->sink };
	err = begin(&steps->d);
	if (!err)
		err = dec_pt_worker_create(s, &steps->o, wants_runs(&steps->d),
					   &steps->worker);
	if (!err)
		err = dec_pt_batch_init(&steps->batch, DEC_PT_BATCH_RUNS_ALONE);
	if (err) {
		dec_pt_steps_destroy(steps);
		return err;
	}
	*ret = steps;
	return NULL;
}

struct err *dec_pt_steps_next(struct dec_pt_steps *s, bool *is_end)
{
	*is_end = false;
	return alone_step(&s->d, s->worker, &s->batch, is_end);
}

void dec_pt_steps_add_totals(const struct dec_pt_steps *s, struct dec_pt_totals *sum)
{
	const struct dec_pt_totals *t = &s->d.totals;

	sum->instructions += t->instructions;
	sum->runs += t->runs;
	sum->gaps += t->gaps;
	sum->overflows += t->overflows;
	for (int i = 0; i < DEC_PT_GAP_KINDS; i++)
		sum->gaps_of[i] += t->gaps_of[i];
	if (t->first_tsc && (!sum->first_tsc || t->first_tsc < sum->first_tsc))
		sum->first_tsc = t->first_tsc;
	if (t->last_tsc > sum->last_tsc)
		sum->last_tsc = t->last_tsc;
	sum->skipped_bytes += t->skipped_bytes;
	sum->kernel_visits += t->kernel_visits;
}

void dec_pt_steps_destroy(struct dec_pt_steps *s)
{
	if (!s)
		return;
	dec_pt_worker_destroy(s->worker);
	dec_pt_batch_deinit(&s->batch);
	vec_deinit(&s->d.buffer);
	free(s);
}
