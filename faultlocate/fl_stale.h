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
 * C-point in @p p is about, append to @p ret what stored pointers into it, and what released
 * the nodes that they were meant for. @p v, which @p e follows, shows one at least.
 * @return NULL or ERR_NOMEM. */
struct err *fl_stale_find(const struct hg_graph *g, struct hg_view *v,
			  struct spec_eval *e, const struct fl_pendings *p,
			  fl_contributions *ret);

#endif
