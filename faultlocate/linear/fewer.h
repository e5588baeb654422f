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

/** @return what there is behind @p op, which it leaves or has seen; LIN_NONE: it does not tell. */
int64_t fl_lin_op_settles(const struct fl_lin_op *op);

/**
 * @param ops  @p *n indices of @p h's operations, by their calls, which have no order; become fewer.
 * @param at   one of them that stays: the one whose return nothing explains.
 * @param is_minimal  false: there was more to try.
 * @return NULL or ERR_NOMEM.
 */
struct err *fl_lin_fewer(const struct fl_lin_object *o, const struct fl_lin_history *h,
			 size_t at, size_t *ops, size_t *n, bool *is_minimal);

#endif
