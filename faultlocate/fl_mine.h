// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A first specification, from runs in which nothing is wrong: what held for its structs whenever an
 * operation on them began or ended. Not shared between threads.
 */
#ifndef FAULTLOCATE_FL_MINE_H
#define FAULTLOCATE_FL_MINE_H

#include <stdio.h>

#include "faultlocate/fl_analysis.h"

struct fl_mine_options {
	const char *const *captures; ///< n_captures directories, at least one
	size_t n_captures;
	const char *const
		*types; ///< n_types names; none: all that have pointers to each other
	size_t n_types;
	bool with_progress;
};

/** What came of it. */
struct fl_mined {
	size_t n_tried, n_held,
		n_thin;	 ///< constraints: candidates, written, written as comments
	size_t n_points; ///< visits of C-points
};

/**
 * Replay the captures, try what fl_propose.h says, and write to @p out what held in all of them, with
 * its support.
 *
 * @return ERR_NOT_FOUND (no such struct, none with pointers, no debug information), ERR_UNSUPPORTED
 *	   (a run was ended by a signal), and what fl_analysis_run() returns.
 */
struct err *fl_mine(const struct fl_mine_options *o, FILE *out, struct fl_mined *ret);

#endif
