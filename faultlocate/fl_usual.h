// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: what was done the other times. A store made another one necessary;
 * when something like it was done before and all was right, was that other store made, and
 * where? A time when it was not necessary, since the field held already what it had to hold,
 * says nothing. From the times at which it was made, between which statements it is missing
 * (fl_due.c).
 */
#ifndef FAULTLOCATE_FL_USUAL_H
#define FAULTLOCATE_FL_USUAL_H

#include "faultlocate/fl_faults.h"
#include "faultlocate/fl_span.h"

/** Where operations on the structure begin and end: so many operations of the history were done
 * at each C-point, in order. */
typedef VEC(uint64_t) fl_bounds;

/** A store like the one that made another necessary, or like that other one; or a release. */
struct fl_event {
	uint64_t index;
	struct hg_op op;
	struct hg_node_id target, former; ///< where a pointer leads, and led before
};

struct fl_usual {
	const struct spec *spec;
	const struct hg_view *view; ///< at the C-point
	const struct hg_graph *graph;
	const struct fl_places *places;
	const spec_violations *errors;
	const fl_contributions *found; ///< what introduced them
	const fl_bounds *bounds;       ///< may be empty: they are not known
	const struct fl_span *span; ///< the operation on the structure, with the trigger
	const char *operation;	    ///< the function that it is; NULL: not known
	uint64_t trigger;
	/** The heap was right after so many operations; the C-point's: it is not known. */
	uint64_t since;
	bool is_summed;	      ///< the field is compared with what is counted or computed
	struct fl_past *past; ///< private: what was found out, kept for the next question
};

void fl_usual_deinit(struct fl_usual *u);

/** Look how often a store to the field of @p m was made the other times, fill in where, and
 * where it was due. @p is_exact: the constraint leaves no other value than what is due, so that
 * where it held without a store none was necessary. @p is_misled: where it is made as a rule
 * something else was stored this time. */
struct err *fl_usual_find(struct fl_usual *u, bool is_exact, struct fl_missing *m,
			  bool *is_misled);

/** @return via @p ret whether the statement of operation @p index ran before, in an operation on
 * the structure after which all was right. */
struct err *fl_usual_is_proven(const struct fl_usual *u, uint64_t index, bool *ret);

/** @return whether fields as the missing one were stored before, but only in nodes that the same operation
 * made: what a node is made with. Behind fl_usual_find(). */
bool fl_usual_is_constant(const struct fl_usual *u);

/** @return whether what made the store necessary is odd itself: it stored no pointer of the kind
 * that its statement stored all the other times. Behind fl_usual_find(). */
bool fl_usual_is_odd(const struct fl_usual *u);

/* ---- fl_due.c ------------------------------------------------------------------------ */

/** @return the statement of @p rip; with no line, if none is known. */
struct dec_place fl_usual_place(const struct fl_usual *u, uint64_t rip);
bool fl_is_same_line(const struct dec_place *a, const struct dec_place *b);

/** @return via @p ret whether the statement that made the store necessary is of a function that never
 * stores such fields, but was part of operations, of another time or twice of this, that did: there it is
 * left to them. Behind fl_past_of(). */
struct err *fl_usual_is_outside(const struct fl_usual *u, bool *ret);

/** Fill in function and statements of @p m. @p store: the store that was made another time,
 * @p like: what made that one necessary; NULL: none shows it. */
struct err *fl_due_find(const struct fl_usual *u, const struct fl_event *like,
			const struct fl_event *store, struct fl_missing *m);

#endif
