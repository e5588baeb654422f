// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Containers and registers whose values are distinct need no search: each value has one push and at
 * most one pop, and whether an order exists follows from their moments alone, in n log n steps.
 *
 * A value is *certainly inside* from its push's return to its pop's call. Between two moments is a
 * *gap*; operations happen in gaps. Then there is an order exactly when each pop returns what was
 * pushed before, and
 *  queue:    of no two values the first went in before the second, and comes out after it;
 *  stack:    wherever values are certainly inside without a gap, one of them can go in before and come
 *	      out after all others there, and without that one the same is so again (Lee and Mathur,
 *	      arXiv 2410.04581; Abdulla et al., PLDI 2025);
 *  priority: each pop has a gap in which no smaller value is certainly inside;
 *  and each operation that found it empty has a gap in which nothing is.
 * tests/linear/unit_monitor.c judges this by the search of search.h.
 */
#ifndef FAULTLOCATE_LINEAR_MONITOR_H
#define FAULTLOCATE_LINEAR_MONITOR_H

#include "faultlocate/linear/linear.h"

#define LIN_NO_OP SIZE_MAX

/** A value's two operations; or one that found it empty, whose moments are the pop's. */
struct fl_lin_item {
	int64_t value;
	uint64_t push, pushed;	///< moments: call and return; pushed may be LIN_PENDING
	uint64_t pop, popped;	///< LIN_PENDING, both: it stays inside
	size_t push_op, pop_op; ///< indices of the history's operations, or LIN_NO_OP
	bool is_empty;
};

typedef VEC(struct fl_lin_item) fl_lin_items;

/** What the operations @p ops of @p h are about, value by value.
 * @param pending  gets the indices of pops that did not return: what they took is not known.
 * @param why      gets why this is not for a monitor, when it is not (*ret_is_distinct false).
 * @return NULL or ERR_NOMEM. */
struct err *fl_lin_items_make(const struct fl_lin_history *h, const size_t *ops, size_t n,
			      fl_lin_items *ret, fl_lin_items *pending,
			      bool *ret_is_distinct, char why[256]);

/** Is there an order? @param kind QUEUE, STACK or PRIORITY. @param items  are sorted anew.
 * @return NULL or ERR_NOMEM. */
struct err *fl_lin_monitor(enum fl_lin_object_kind kind, fl_lin_items *items,
			   bool *ret_is_right);

/** Which operations matter to what comes, when there is an order of @p items so far (needed.c)? Those under way
 * have LIN_PENDING for the moment of their return. @param needed  of the history's operations: gets true for
 * those. @return NULL or ERR_NOMEM. */
struct err *fl_lin_needed(enum fl_lin_object_kind kind, const fl_lin_items *items,
			  bool *needed);

/** Is the pop of @p item of @p items under way, and can it not have happened before @p now? *@p ret.
 * @return NULL or ERR_NOMEM. */
struct err *fl_lin_item_waits(enum fl_lin_object_kind kind, const fl_lin_items *items,
			      const struct fl_lin_item *item, uint64_t now, bool *ret);

struct fl_lin_register {
	/** false: values come twice, or one may have, as it was there at first, or there is another
	 * operation; nothing is known. */
	bool is_distinct;
	bool is_right;
	int64_t wrong
		[2]; ///< one or two values whose reads and writes have no order; LIN_NONE: less
};

/** A register: reads, and writes of distinct values (Gibbons and Korach, 1997). @return NULL or ERR_NOMEM. */
struct err *fl_lin_monitor_register(const struct fl_lin_object *o,
				    const struct fl_lin_history *h, const size_t *ops,
				    size_t n, struct fl_lin_register *ret);

/** The operations from which it follows that the values @p wrong have no order; and the first write that
 * returned: what was there before is not read after it. @return how many of them, by their calls. */
size_t fl_lin_register_ops(const struct fl_lin_history *h, const size_t *ops, size_t n,
			   const int64_t wrong[2], size_t ret[7]);

#endif
