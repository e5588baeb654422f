// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a PT stream says, as a list that is decoded as far as it is asked for: runs of
 * instructions, entries from the kernel, gaps. Items are numbered from the stream's
 * beginning; old ones are forgotten on request, so that memory is bounded.
 *
 * Belongs to one thread.
 */
#ifndef DECODE_PT_RUNS_H
#define DECODE_PT_RUNS_H

#include "decode/pt/decode.h"

enum dec_pt_runs_kind {
	DEC_PT_RUNS_RUN,   ///< n instructions from ip to end_ip
	DEC_PT_RUNS_ENTRY, ///< tracing went on at ip, behind the kernel
	DEC_PT_RUNS_GAP,
};

struct dec_pt_runs_item {
	uint64_t ip, end_ip;
	uint32_t n;
	uint8_t kind;
	bool is_first; ///< of a segment: decoding began there
};

struct dec_pt_runs {
	const struct dec_pt_stream *stream;
	struct dec_pt_steps *steps;
	bool is_decoded; ///< all of the stream
	bool begins;	 ///< the next item is a segment's first
	VEC(struct dec_pt_runs_item) items;
	uint64_t n_gone; ///< items forgotten before them
};

/** @p s is borrowed. */
void dec_pt_runs_init(struct dec_pt_runs *r, const struct dec_pt_stream *s);
void dec_pt_runs_deinit(struct dec_pt_runs *r);

/** @return item @p at, valid until the next call; NULL behind the stream's end, or when
 * *@p err was set, or is now: as of dec_pt_steps_next(). */
const struct dec_pt_runs_item *dec_pt_runs_get(struct dec_pt_runs *r, uint64_t at,
					       struct err **err);

/** Nobody asks for what lies before item @p at any more, but for the one before it. */
void dec_pt_runs_forget(struct dec_pt_runs *r, uint64_t at);

#endif
