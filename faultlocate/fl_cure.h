// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: which store of the operation had left nothing violated, had it stored
 * something else, or elsewhere? Such a one explains all; one that only came last does not.
 * doc/traceback.md says what counts. Nothing is executed (fl_whatif.h).
 */
#ifndef FAULTLOCATE_FL_CURE_H
#define FAULTLOCATE_FL_CURE_H

#include "faultlocate/fl_missing.h"
#include "faultlocate/fl_remedy.h"

/**
 * Look at the stores of the operation on the structure that the violations are from.
 *
 * @param ret  Those of its members that have a cure get it; stores that have one and are no
 *	       members are added, as such that prepared a violation.
 * @return NULL, ERR_NOMEM.
 */
struct err *fl_cure_find(const struct fl_missing_query *q, fl_contributions *ret);

/* ---- private to fl_cure.c, fl_cure_move.c, fl_cure_chain.c and fl_cure_odd.c ------------------ */

struct fl_cures {
	struct fl_search s;
	struct hg_view *before; ///< the operation
	fl_contributions *ret;
	enum fl_cure_grade least; ///< that is told
	struct map pairs; ///< fl_cure_is_odd(): kinds of pointers that lead to one node
	bool has_pairs;
	struct spec_violation about; ///< the one that the search began with
};

/** @return the candidate that try @p i alters. */
static inline const struct fl_candidate *fl_cure_field(const struct fl_cures *c, size_t i)
{
	return &c->s.fields.data[c->s.whys.data[i].field];
}

/** @return where the operation @p op of the history was done. */
struct dec_place fl_cure_place(const struct fl_cures *c, uint64_t op);

/** @return whether with the alterations @p all, and c->s.made, the operation had changed nothing
 * that was there before. So it was right, but the operation was to do something. */
bool fl_cure_is_void(const struct fl_cures *c, const struct fl_alteration *all, size_t n);

/** @return whether what operation @p op stored was stored over until the C-point. */
bool fl_cure_is_overwritten(const struct fl_cures *c, uint64_t op);

/** How good is try @p i, which leaves fewer violations? */
struct err *fl_cure_grade(struct fl_cures *c, size_t i, enum fl_cure_grade *ret);

/** Store @p op has cure @p x, with @p n_more other stores altered, unless a better one is known. */
struct err *fl_cure_give(struct fl_cures *c, uint64_t op, enum fl_cure_grade grade,
			 const struct fl_alteration *x, uint32_t n_more);

/** Would the pointer @p x lead where another one leads, and nowhere else two such lead to one
 * node? */
struct err *fl_cure_is_odd(struct fl_cures *c, const struct fl_alteration *x, bool *ret);

/** Had the stores gone to another field, or another node? */
struct err *fl_cure_move(struct fl_cures *c);

/** Had several stores stored something else? First those of one statement, then any. The tries of
 * c->s are others afterwards. */
struct err *fl_cure_chain(struct fl_cures *c);

#endif
