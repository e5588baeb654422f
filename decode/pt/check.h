// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A replay checked by the processor's own trace: the machine's DEC_LOG_FLOW log, from
 * position 0 on, is compared branch by branch with the PT streams of its threads, each
 * decoded as far as that thread has come.
 *
 * What PT did not see (a gap) is skipped: behind it the replay is searched for the place
 * where PT goes on, and compared from there. Such a place is not certain: where it does not
 * fit in the end, that is counted and searched again. So differences are found up to each
 * thread's first gap.
 *
 * Streams of processors (not of threads) are not compared. A check belongs to one thread.
 */
#ifndef DECODE_PT_CHECK_H
#define DECODE_PT_CHECK_H

#include "base/base.h"
#include "decode/pt/stream.h"

struct dec_pt_check;

/** Where the replay took another way than the processor. */
struct dec_pt_difference {
	uint32_t tid;
	uint64_t position; ///< of the instruction that the replay has and PT has not
	uint64_t from;	   ///< the instruction before it; 0: none that is known
	uint64_t replayed; ///< where the replay went
	uint64_t traced;   ///< where PT says that the program went
};

struct dec_pt_check_totals {
	uint64_t instructions; ///< compared
	uint64_t branches;     ///< of them, those whose target was compared with PT's
	uint64_t threads;      ///< that have PT
	uint64_t gaps;	       ///< in PT
	uint64_t lost;	       ///< times that the place behind a gap was the wrong one
	uint64_t
		skipped; ///< instructions that were not compared: in gaps, before PT began
			 ///< or behind its end, in threads that have none
};

/** @return NULL or err_nomem. */
struct err *dec_pt_check_create(struct dec_pt_check **ret);
void dec_pt_check_destroy(struct dec_pt_check *c);

/** Thread @p tid left @p s, which is borrowed. */
struct err *dec_pt_check_add(struct dec_pt_check *c, uint32_t tid,
			     const struct dec_pt_stream *s);

/** Feed a piece of the log: a dec_log_fn, @p c is the check. @return ERR_DIVERGED: the ways
 * part (dec_pt_check_difference() says where); ERR_FORMAT: the log is damaged. */
struct err *dec_pt_check_feed(void *c, const uint8_t *log, size_t bytes);

/** @return where the ways part, NULL when they did not. */
const struct dec_pt_difference *dec_pt_check_difference(const struct dec_pt_check *c);

/** What was compared so far, all threads together. */
void dec_pt_check_totals(const struct dec_pt_check *c, struct dec_pt_check_totals *ret);

#endif
