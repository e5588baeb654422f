// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a run witnesses of each call of one function, written down while it runs.
 */
#ifndef FAULTLOCATE_REPAIR_RECORD_H
#define FAULTLOCATE_REPAIR_RECORD_H

#include "faultlocate/repair/run.h"

struct rp_recorder {
	int function;
	VEC(struct rp_witness) witnesses; ///< one a call, the last one's events grow
	bool is_recording;		  ///< in the last of them
	int nested;			  ///< calls inside of it
	bool has_failed;		  ///< out of memory
};

/** For rp_watch.entered: a call of the function begins a witness, but one inside of another. */
void fl_rp_record_call(struct rp_recorder *rec, struct rp_run *r, int function);
/** For rp_watch.event. */
void fl_rp_record_event(struct rp_recorder *rec, struct rp_event e);
/** The run's state, asserted before @p s (or, @p is_change, written there). @p number: for messages. */
void fl_rp_record_mark(struct rp_recorder *rec, const struct rp_run *r,
		       const struct rp_statement *s, bool is_change, int number);
/** Run @p function from @p first, whose frame has its parameters, and assert what it leaves.
 * @return NULL; ERR_FORMAT: it does not end well there (says how). */
struct err *fl_rp_record_run(struct rp_recorder *rec, struct rp_program *p,
			     const struct rp_state *first);
/** @return the witness that is written, or NULL. */
struct rp_witness *fl_rp_record_now(struct rp_recorder *rec);
void fl_rp_recorder_deinit(struct rp_recorder *rec);

#endif
