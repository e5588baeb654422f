// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/merge.h"

enum merge_kind { MERGE_RUN, MERGE_GAP, MERGE_EVENT };

/* What a stream's decoder has handed out, and what was there of its image then. */
struct merge_item {
	enum merge_kind kind;
	size_t n_applied;
	union {
		struct dec_pt_run run;
		struct dec_pt_gap gap;
		struct dec_pt_event event;
	};
};

struct merge_stream {
	struct dec_pt_steps *steps;
	VEC(struct merge_item) items;
	size_t next; ///< of them, the first that was not handed out
	bool is_decoded;
	uint64_t bytes;

	// Who runs: where it is decoded, and where it is handed out.
	struct dec_pt_image *decoded_image, *image;
	size_t decoded_applied;
	uint64_t tid;
};

struct merge {
	struct merge_stream *streams;
	size_t n;
	const struct dec_pt_sink *sink;
	uint64_t bytes; ///< of all, as far as they are decoded
};

/* ---- from the decoders --------------------------------------------------------------------- */

static struct err *merge_add(struct merge_stream *s, struct merge_item item)
{
	item.n_applied = s->decoded_image ? s->decoded_image->n_applied : 0;
	return vec_add(&s->items, item);
}

static struct err *merge_on_run(void *ctx, const struct dec_pt_run *run)
{
	return merge_add(ctx, (struct merge_item){ .kind = MERGE_RUN, .run = *run });
}

static struct err *merge_on_gap(void *ctx, const struct dec_pt_gap *gap)
{
	return merge_add(ctx, (struct merge_item){ .kind = MERGE_GAP, .gap = *gap });
}

static struct err *merge_on_event(void *ctx, const struct dec_pt_event *event)
{
	struct merge_stream *s = ctx;

	s->decoded_image = event->image;
	return merge_add(s, (struct merge_item){ .kind = MERGE_EVENT, .event = *event });
}

static struct err *merge_on_progress(void *ctx, uint64_t bytes)
{
	struct merge_stream *s = ctx;

	s->bytes = bytes;
	return NULL;
}

/* Have something to hand out of @p s, unless it is at its end. Its image may have been moved
 * for what was handed out. */
static struct err *merge_fill(struct merge_stream *s)
{
	struct err *err = NULL;

	if (s->next < s->items.size)
		return NULL;
	s->next = s->items.size = 0;
	if (s->decoded_image)
		s->decoded_image->n_applied = s->decoded_applied;
	while (!err && !s->items.size && !s->is_decoded)
		err = dec_pt_steps_next(s->steps, &s->is_decoded);
	if (s->decoded_image)
		s->decoded_applied = s->decoded_image->n_applied;
	return err;
}

/* ---- to the sink --------------------------------------------------------------------------- */

static uint64_t item_tsc(const struct merge_item *i)
{
	switch (i->kind) {
	case MERGE_RUN:
		return i->run.tsc;
	case MERGE_GAP:
		return i->gap.tsc;
	case MERGE_EVENT:
		return i->event.tsc;
	}
	return 0;
}

static struct err *merge_event(struct merge *m, struct merge_stream *s,
			       const struct dec_pt_event *event)
{
	if (event->kind == DEC_PT_EV_THREAD) {
		s->image = event->image;
		s->tid = event->value;
	}
	return m->sink->event ? m->sink->event(m->sink->ctx, event) : NULL;
}

static struct err *merge_hand(struct merge *m, struct merge_stream *s)
{
	const struct merge_item *i = &s->items.data[s->next++];
	const struct dec_pt_sink *sink = m->sink;
	struct dec_pt_image *image = i->kind == MERGE_EVENT ? i->event.image : s->image;

	if (image)
		image->n_applied = i->n_applied;
	switch (i->kind) {
	case MERGE_RUN:
		return sink->run ? sink->run(sink->ctx, &i->run) : NULL;
	case MERGE_GAP:
		return sink->gap ? sink->gap(sink->ctx, &i->gap) : NULL;
	case MERGE_EVENT:
		return merge_event(m, s, &i->event);
	}
	return NULL;
}

/* @p s goes on, behind another one. */
static struct err *merge_turn(struct merge *m, const struct merge_stream *s)
{
	struct dec_pt_event event = { .kind = DEC_PT_EV_THREAD,
				      .value = s->tid,
				      .image = s->image,
				      .tsc = item_tsc(&s->items.data[s->next]) };

	return m->sink->event ? m->sink->event(m->sink->ctx, &event) : NULL;
}

/* @return the stream that goes on first; NULL: all are at their end. @p until: no other one
 * does up to then. */
static struct merge_stream *merge_first(struct merge *m, uint64_t *until)
{
	struct merge_stream *first = NULL;

	*until = UINT64_MAX;
	for (size_t i = 0; i < m->n; i++) {
		struct merge_stream *s = &m->streams[i];
		uint64_t tsc, before;

		if (s->next == s->items.size)
			continue;
		tsc = item_tsc(&s->items.data[s->next]);
		before = first ? item_tsc(&first->items.data[first->next]) : UINT64_MAX;
		if (!first || tsc < before) {
			*until = before;
			first = s;
		} else if (tsc < *until) {
			*until = tsc;
		}
	}
	return first;
}

static struct err *merge_progress(struct merge *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < m->n; i++)
		bytes += m->streams[i].bytes;
	if (bytes == m->bytes || !m->sink->progress)
		return NULL;
	m->bytes = bytes;
	return m->sink->progress(m->sink->ctx, bytes);
}

static struct err *merge_all(struct merge *m)
{
	struct merge_stream *s, *last = NULL;
	struct err *err = NULL;
	uint64_t until;

	for (size_t i = 0; !err && i < m->n; i++)
		err = merge_fill(&m->streams[i]);
	while (!err && (s = merge_first(m, &until))) {
		if (s != last)
			err = merge_turn(m, s);
		last = s;
		while (!err && s->next < s->items.size &&
		       item_tsc(&s->items.data[s->next]) <= until) {
			err = merge_hand(m, s);
			if (!err)
				err = merge_fill(s);
		}
		if (!err)
			err = merge_progress(m);
	}
	return err;
}

/* ---- its life ------------------------------------------------------------------------------ */

static struct err *merge_open(struct merge *m, const struct dec_pt_source *const *sources,
			      const struct dec_pt_decode_options *o)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < m->n; i++) {
		const struct dec_pt_sink sink = { .ctx = &m->streams[i],
						  .run = merge_on_run,
						  .gap = merge_on_gap,
						  .event = merge_on_event,
						  .progress = merge_on_progress };

		// Who runs first may have a gap before the decoder tells of him.
		m->streams[i].image = sources[i]->stream.turns.data[0].image;
		m->streams[i].tid = sources[i]->stream.turns.data[0].tid;
		err = dec_pt_steps_create(&sources[i]->stream, o, &sink,
					  &m->streams[i].steps);
	}
	return err;
}

static void merge_close(struct merge *m, struct dec_pt_totals *ret)
{
	for (size_t i = 0; i < m->n; i++) {
		struct merge_stream *s = &m->streams[i];

		if (ret && s->steps)
			dec_pt_steps_add_totals(s->steps, ret);
		dec_pt_steps_destroy(s->steps);
		vec_deinit(&s->items);
	}
	free(m->streams);
}

struct err *dec_pt_merge(const struct dec_pt_source *const *sources, size_t n,
			 const struct dec_pt_decode_options *o,
			 const struct dec_pt_sink *sink, struct dec_pt_totals *ret)
{
	struct merge m = { .streams = calloc(n, sizeof(*m.streams)),
			   .n = n,
			   .sink = sink };
	struct err *err;

	if (!m.streams)
		return &err_nomem;
	if (ret)
		*ret = (struct dec_pt_totals){};
	err = merge_open(&m, sources, o);
	if (!err)
		err = merge_all(&m);
	merge_close(&m, ret);
	return err;
}
