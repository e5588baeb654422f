// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Operations without which a history would be wrong as well. What only looked may be left out: without
 * it there is an order if there was one. What changes something may not, as others may be wrong without
 * it that were right; but if there is no order even when it may have happened or not, it does not matter.
 */
#ifndef FAULTLOCATE_LINEAR_FEWER_H
#define FAULTLOCATE_LINEAR_FEWER_H

#include "faultlocate/linear/linear.h"

/** @return the value that @p op leaves behind, whatever there was before; LIN_NONE: that is not known. */
int64_t fl_lin_op_leaves(const struct fl_lin_op *op);

/** A history that has no order. */
struct fl_lin_few {
	size_t *ops, n; ///< of a history: indices, by their calls
	size_t at;	///< one of them: the one whose return nothing explains
	bool *may;	///< of each: it may have happened before its return, or not
	const int64_t *
		start; ///< what there may have been before them (search.h); NULL: nothing was left out
	fl_lin_words words; ///< where that is, if it was found here; the caller's to free
	bool is_minimal;    ///< set by fl_lin_fewer(); false: there was more to try
};

struct fl_lin_search;

/** Leave out of @p few, which search @p s found wrong, what came long before (before.c). `start` may become
 * another. @return NULL or ERR_NOMEM. */
struct err *fl_lin_leave_out_before(const struct fl_lin_object *o,
				    const struct fl_lin_history *h,
				    const struct fl_lin_search *s,
				    struct fl_lin_few *few);

/** Leave out of @p few what can be, at last those that may have happened, but not `at`.
 * @return NULL or ERR_NOMEM. */
struct err *fl_lin_fewer(const struct fl_lin_object *o, const struct fl_lin_history *h,
			 struct fl_lin_few *few);

#endif
