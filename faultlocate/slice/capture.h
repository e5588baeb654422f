// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Slice captures (paper 002, section 5.3): the run again, without the pieces that no slice has a
 * part in. What a piece left behind in memory and registers stands in its place, so that whoever
 * stands at an instruction that was kept sees what the recorded program had. System calls,
 * signals and switches of threads are always kept.
 */
#ifndef FAULTLOCATE_SLICE_CAPTURE_H
#define FAULTLOCATE_SLICE_CAPTURE_H

#include "faultlocate/slice/slice.h"

struct fl_capture_options {
	const char *of; ///< what the slice is of, for people
	/** The run ends before this position; 0, or behind the trace's end: where the recorded one
	 * does. */
	uint64_t end;
	/** Pieces of fewer steps are executed: it costs less than putting in place what they did. 0:
	 * of any length. */
	uint64_t least;
	/** To judge slices: pieces of any length are left out, and what they defined gets wrong
	 * values instead of its own: each byte of memory and registers, each flag. Not rsp, which
	 * slices do not follow; and registers are right before a system call, a signal and a
	 * switch of threads, where replay compares them, until the next piece. If the slice is
	 * right, all that makes no difference to it. */
	bool is_bare;
	void (*progress)(void *ctx, uint64_t position); ///< or NULL
	void *ctx;
};

struct fl_captured {
	uint64_t n_steps;    ///< of the recorded run, up to the end
	uint64_t n_slice;    ///< of these, those in the slice
	uint64_t n_executed; ///< those that the capture has
	uint64_t n_pieces;   ///< left out
};

/**
 * Write a slice capture of slice 0 of @p s, which must have been made with options.keeps_instances,
 * as the new directory @p dir.
 *
 * @return as cap_writer_create(); ERR_UNSUPPORTED: the machine does not meet again what the trace
 *	   had (says where); or what the replay returns.
 */
struct err *fl_slice_capture(struct fl_trace *t, const struct fl_slice *s,
			     const struct fl_capture_options *o, const char *dir,
			     struct fl_captured *ret);

#endif
