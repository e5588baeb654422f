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

/** Operations that follow one another, with their indices. */
struct fl_span {
	uint64_t from;
	VEC(struct hg_op) ops;
};

/** Decode operations @p from to @p to - 1 into @p ret, which is zeroed. */
struct err *fl_span_load(const struct hg_graph *g, uint64_t from, uint64_t to,
			 struct fl_span *ret);
void fl_span_deinit(struct fl_span *s);

/** @return the field of @p node that byte @p offset is in. @return false: there is none. */
bool fl_field_at(const struct spec *s, const struct hg_graph *g, struct hg_node_id node,
		 uint64_t offset, struct dec_field *ret);

/** @return a number that fields of one meaning share: those of one name in nodes of one type,
 * whichever element of an array they are. */
uint64_t fl_field_shape(const struct spec *s, const struct hg_graph *g,
			struct hg_node_id node, uint64_t offset);

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
};

/** Look how often a store to the field of @p m was made the other times, fill in where, and
 * where it was due. @p is_misled: where it is made as a rule something else was stored this
 * time. */
struct err *fl_usual_find(const struct fl_usual *u, struct fl_missing *m,
			  bool *is_misled);

#endif
