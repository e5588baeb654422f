// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Parts of a history: a history over several instances, elements of a set or keys of a map has an order
 * when each part has one (Herlihy and Wing call it locality).
 */
#ifndef FAULTLOCATE_LINEAR_PARTS_H
#define FAULTLOCATE_LINEAR_PARTS_H

#include "faultlocate/linear/linear.h"

struct fl_lin_part {
	const size_t *ops; ///< indices of the history's, by their calls
	size_t n;
	size_t n_later;	      ///< behind those: what does not matter, as these tell
	uint64_t key;	      ///< of all that are in it
	const int64_t *start; ///< of the history's (search.h); NULL: nothing was left out
};

struct fl_lin_parts {
	size_t *ops;	  ///< all of the history's
	VEC(size_t) ends; ///< where each part ends
};

/** Divide the operations of @p h. @param ret  to be deinitialized whatever comes. @return NULL or
 * ERR_NOMEM. */
struct err *fl_lin_parts_make(const struct fl_lin_object *o,
			      const struct fl_lin_history *h, struct fl_lin_parts *ret);

/** @return part @p i, which is @p p's, of @p h. */
struct fl_lin_part fl_lin_parts_at(const struct fl_lin_parts *p,
				   const struct fl_lin_object *o,
				   const struct fl_lin_history *h, size_t i);
void fl_lin_parts_deinit(struct fl_lin_parts *p);

/** @return the key of the part that @p op is in: a number that two of different parts do not share but by
 * chance. */
uint64_t fl_lin_part_key(const struct fl_lin_object *o, const struct fl_lin_op *op);

/** Copy the starts of @p from that have none in @p to. @return NULL or ERR_NOMEM. */
struct err *fl_lin_starts_copy(struct fl_lin_starts *to,
			       const struct fl_lin_starts *from);
void fl_lin_starts_deinit(struct fl_lin_starts *s);

/** Sort @p n indices of operations, that is by their calls. */
void fl_lin_sort(size_t *ops, size_t n);

#endif
