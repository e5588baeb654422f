// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the traceback: pointers that outlive what they lead to. Nothing can lead into a
 * node at its birth, unless it was meant for another that had the memory before.
 */
#ifndef FAULTLOCATE_FL_STALE_H
#define FAULTLOCATE_FL_STALE_H

#include "faultlocate/fl_pending.h"
#include "faultlocate/fl_traceback.h"

/** When the last operation that @p v shows allocated a node that an inconsistency of the
 * C-point in @p p is about, append to @p ret what stored pointers into it that are there at
 * the C-point still, and what released the nodes that they were meant for. @p v, which @p e
 * follows, shows one operation at least. @p end: a view of the C-point, made when needed and
 * kept for the next call; the caller destroys it. @return NULL or ERR_NOMEM. */
struct err *fl_stale_find(struct hg_view *v, struct spec_eval *e,
			  const struct fl_pendings *p, const struct fl_traceback *in,
			  struct hg_view **end, fl_contributions *ret);

#endif
