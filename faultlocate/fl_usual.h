// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: what was done the other times. A store made another one necessary;
 * when something like it was done before and all was right, was that other store made, and
 * where? From that, between which statements a store is missing.
 */
#ifndef FAULTLOCATE_FL_USUAL_H
#define FAULTLOCATE_FL_USUAL_H

#include "faultlocate/fl_faults.h"
#include "faultlocate/fl_span.h"

struct fl_usual {
	const struct spec *spec;
	const struct hg_view *view; ///< at the C-point
	const struct hg_graph *graph;
	const struct fl_places *places;
	const spec_violations *errors;
	const struct fl_span *span; ///< the operation on the structure, with the trigger
	uint64_t trigger;
	/** The heap was right after so many operations; the C-point's: it is not known. */
	uint64_t since;
	struct fl_past *past; ///< private: what was found out, kept for the next question
};

void fl_usual_deinit(struct fl_usual *u);

/** Look how often a store to the field of @p m was made the other times, fill in where, and
 * where it was due. @p is_misled: where it is made as a rule something else was stored this
 * time. */
struct err *fl_usual_find(struct fl_usual *u, struct fl_missing *m, bool *is_misled);

#endif
