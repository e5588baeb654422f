// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where must the structure hold, when nobody said so? A function that changes it is entered
 * and left while it holds, time and again, until it does not any more: such an entry or
 * return is taken for a C-point (doc/traceback.md, "Inferred C-points"). Not shared between
 * threads.
 */
#ifndef FAULTLOCATE_FL_INFER_H
#define FAULTLOCATE_FL_INFER_H

#include "faultlocate/fl_cpoints.h"
#include "faultlocate/fl_faults.h"

/** Add to @p c the entries and returns of the functions whose statements changed nodes of
 * declared types in @p g, those that changed it most first, as candidates: then replay and
 * judge. @p n: how many functions. @return NULL or ERR_NOMEM. */
struct err *fl_infer_candidates(struct fl_cpoints *c, const struct hg_graph *g,
				const struct fl_places *places, size_t *n);

struct fl_infer {
	const struct spec *spec;
	const struct hg_graph *graph;
	const bool *is_checked; ///< a constraint each
	const struct fl_cpoints *cpoints;
	bool is_healed; ///< at the end everything holds: look for what was violated before
};

/** What was inferred. */
struct fl_inferred {
	const struct fl_visit *visit; ///< NULL: nothing
	uint64_t n_held;	      ///< visits of this C-point at which all held
	const struct fl_visit *held;  ///< the last outside of operations (fl_outer.h) at
				      ///< which all held; NULL: none, or it is not known
};

/**
 * Check all visits of all C-points and choose the earliest one, of a C-point that can be
 * trusted, at which the structure does not hold and after which it never again does there;
 * with is_healed, after which it did not for the last time there. A C-point can be trusted when
 * it held at many visits and seldom not in between. Without such, the first bound of an operation
 * from which on it does not hold at any, of a C-point that always held until then.
 */
struct err *fl_infer_violated(const struct fl_infer *in, struct fl_inferred *ret);

#endif
