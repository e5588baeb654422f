// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A specification (specdsl/) instead of drawings: what holds wherever the function returns. Patches of
 * one change are tried by executing them; of those with which all holds, the one that leaves the
 * heap most as it was left is taken, and of these the nearest to what was written.
 */
#ifndef FAULTLOCATE_REPAIR_BY_SPEC_H
#define FAULTLOCATE_REPAIR_BY_SPEC_H

#include "faultlocate/repair/repair.h"

struct rp_by_spec {
	struct rp_program *p;
	int function;
	const char *spec; ///< file
	const struct rp_state
		*first; ///< where the function is called; NULL: main() is run
	const int64_t *inputs;
	size_t n_inputs;
	const struct rp_witness *also; ///< what has to stay
	size_t n_also;
	double most_seconds;
	/** Set: */
	unsigned n_calls;		///< of the function
	unsigned n_violations, n_tried; ///< without a patch; patches
	char first_violated[200];	///< the constraint, with its line
	bool was_late;			///< not all were tried
};

/** @param ret  the patch; without edits: none. fl_rp_patch_deinit().
 * @return NULL; ERR_SPEC (told on stderr), ERR_FORMAT: the function is not called. */
struct err *fl_rp_by_spec(struct rp_by_spec *b, struct rp_patch *ret);

#endif
