// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One segment of a PT stream, decoded: from a PSB to the next one. A segment needs nothing
 * of what came before it, so that many threads can decode one stream; where it ends, the
 * flow must have come to the place that the next PSB names, else there is a gap (that
 * check, too, needs nothing but the segment and the PSB group behind it).
 *
 * Private to decode.c. A worker belongs to one thread.
 */
#ifndef DECODE_PT_SEGMENT_H
#define DECODE_PT_SEGMENT_H

#include "decode/pt/decode.h"

struct dec_pt_segment {
	struct dec_pt_psb psb;	///< it begins there
	struct dec_pt_psb next; ///< and ends there, when has_next
	bool has_next;
	uint64_t end; ///< next.at, or where the bytes end
	/** What was between it and the segment before; nothing: why is NULL. It may be all
	 * there is: then psb.at is the stream's size. */
	struct dec_pt_gap before;
};

enum dec_pt_item_kind {
	DEC_PT_ITEM_EVENT, ///< a, b: ip, value; event
	DEC_PT_ITEM_TIME,  ///< a: TSC
	DEC_PT_ITEM_TURN,  ///< a: index of the stream's turn; b: mappings applied
	DEC_PT_ITEM_GAP,   ///< a: index of the batch's gap
};

struct dec_pt_item {
	uint64_t a, b;
	uint32_t at; ///< so many runs of the batch come before it
	uint8_t kind, event;
};

/** What was decoded, in order. */
struct dec_pt_batch {
	struct dec_pt_run *runs; ///< room for max_runs; their tsc is not set
	uint32_t n_runs, max_runs;
	VEC(struct dec_pt_item) items;
	VEC(struct dec_pt_gap) gaps;
	uint64_t instructions, all_runs; ///< also of those that are not wanted
	uint64_t kernel_visits;
};

/** Runs in a batch at most: as many as most segments have, where it waits for its turn; as
 * stay in the processor's cache, where it is emptied at once. */
enum { DEC_PT_BATCH_RUNS = 64 << 10, DEC_PT_BATCH_RUNS_ALONE = 4 << 10 };

struct dec_pt_worker;

/** Takes a batch and empties it. */
typedef struct err *(*dec_pt_batch_fn)(void *ctx, struct dec_pt_batch *batch);

/** @p s and @p o are borrowed. @return NULL or err_nomem. */
struct err *dec_pt_worker_create(const struct dec_pt_stream *s,
				 const struct dec_pt_decode_options *o, bool wants_runs,
				 struct dec_pt_worker **ret);
void dec_pt_worker_destroy(struct dec_pt_worker *w);

/** Decode @p seg into @p batch; @p full is called whenever that is full, and not for what
 * is left in it at the end. @return err_nomem, ERR_UNSUPPORTED, or what @p full said. */
struct err *dec_pt_worker_decode(struct dec_pt_worker *w,
				 const struct dec_pt_segment *seg,
				 struct dec_pt_batch *batch, dec_pt_batch_fn full,
				 void *ctx);

/** @return NULL or err_nomem; dec_pt_batch_deinit() is due in any case. */
struct err *dec_pt_batch_init(struct dec_pt_batch *b, uint32_t max_runs);

/** Empty @p b, keeping its memory. */
void dec_pt_batch_clear(struct dec_pt_batch *b);
void dec_pt_batch_deinit(struct dec_pt_batch *b);

#endif
