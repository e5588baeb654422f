// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What if a field held something else at a C-point? The heap as it is there, made anew, with
 * one field after the other altered and put back: a history that never was, checked as any
 * other. Nothing is executed. Not shared between threads.
 */
#ifndef FAULTLOCATE_FL_WHATIF_H
#define FAULTLOCATE_FL_WHATIF_H

#include "specdsl/specdsl.h"

/** A field of a node that lives at the C-point, and what it may hold. */
struct fl_alteration {
	struct hg_node_id node;
	uint32_t offset, size; ///< bytes, size 1 to 8
	uint64_t value;
};

typedef VEC(struct fl_alteration) fl_alterations;

/** What came of one. */
struct fl_outcome {
	uint32_t n_left; ///< violations
	uint32_t n_new;	 ///< of these: not there without it
	/** Of one at least that is gone the guard is true still. */
	bool is_mended;
	/** .. or it is true with the node to which the field leads now in the place of another,
	 * and holds there: what the constraint is about moved. */
	bool is_moved;
	/** Nothing leads any more to the node that the field led to. */
	bool is_orphaning;
	/** .. is true where the altered pointer leads now, and so is the body. */
	bool is_led;
	/** .. of an array's element is false, and true of the one beside it. */
	bool is_kept;
};

struct fl_whatif {
	const struct spec *spec;
	const struct hg_view *view; ///< the C-point
	const struct hg_graph *graph;
	const bool *is_checked; ///< of each constraint
	size_t together;	///< alterations that are one; 0: each by itself
};

/** @return whether the heap at the C-point is small enough to be made anew. */
bool fl_whatif_is_feasible(const struct fl_whatif *w);

/**
 * Try @p n alterations, each by itself (or n times w->together, so many at once), of the heap in
 * which @p made are made already.
 *
 * @param ret    An outcome each.
 * @param left   NULL, or gets the violations that are there without them.
 * @return NULL, ERR_NOMEM.
 */
struct err *fl_whatif_try(const struct fl_whatif *w, const fl_alterations *made,
			  const struct fl_alteration *all, size_t n,
			  struct fl_outcome *ret, spec_violations *left);

#endif
