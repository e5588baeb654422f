// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * C-points for what main does itself: its statements that store into nodes.
 */
#ifndef FAULTLOCATE_FL_STATEMENTS_H
#define FAULTLOCATE_FL_STATEMENTS_H

#include "faultlocate/fl_cpoints.h"
#include "faultlocate/fl_faults.h"

/** Add to @p c a C-point before each statement of main that stores into a node of a declared type
 * in @p g, and its visits, which the history has: nothing is replayed. None are added when there
 * are too many. @return how many C-points via @p n; NULL or ERR_NOMEM. */
struct err *fl_statements_add(struct fl_cpoints *c, const struct hg_graph *g,
			      const struct fl_places *places, size_t *n);

#endif
