// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Streams of processors, decoded together: what ran, in the order of time, so that a thread
 * that moved from one processor to another is seen in its own order. What has no time comes
 * where its stream has it.
 *
 * Each stream is ahead of what was handed out by one segment at most.
 */
#ifndef DECODE_PT_MERGE_H
#define DECODE_PT_MERGE_H

#include "decode/pt/decode.h"
#include "decode/pt/flow.h"

/** Decode the @p n streams of @p sources by the calling thread alone. Where another stream
 * goes on, @p sink first gets a DEC_PT_EV_THREAD of who runs there. @p ret: the totals of
 * all; may be NULL. Options and errors as of dec_pt_decode(). */
struct err *dec_pt_merge(const struct dec_pt_source *const *sources, size_t n,
			 const struct dec_pt_decode_options *o,
			 const struct dec_pt_sink *sink, struct dec_pt_totals *ret);

#endif
