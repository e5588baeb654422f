// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The small changes of an operation, to be tried by executing them. Private to this room.
 */
#ifndef FAULTLOCATE_REPAIR_CHANGES_H
#define FAULTLOCATE_REPAIR_CHANGES_H

#include "faultlocate/repair/repair.h"

typedef VEC(struct rp_ref) rp_refs;

/** Add to @p ret what can be named at byte @p at of @p function, or was loaded for operation
 * @p number (RP_NONE: a new one), and has @p type, and if @p with_constants null, or 0 and 1.
 * @return NULL or err_nomem. */
struct err *fl_rp_changes_refs(const struct rp_program *p, int function, int number,
			       int type, unsigned at, bool with_constants, rp_refs *ret);

/** @p cost: how far @p edit is from what was written: from 1 to 4, of what is new from 8 to 11. */
typedef void fl_rp_change(void *ctx, struct rp_edit edit, unsigned cost);

/** Give @p each all changes of operation @p number, an assignment or a test, in one of its parts:
 * another variable, field, constant or sign; and that it goes. @return NULL or err_nomem. */
struct err *fl_rp_changes_each(const struct rp_program *p, int number, fl_rp_change *each,
			       void *ctx);
/** Give @p each every new statement `d = a` at every place of @p function. @p each may apply the edit
 * meanwhile. @return NULL or err_nomem. */
struct err *fl_rp_insertions_each(const struct rp_program *p, int function,
				  fl_rp_change *each, void *ctx);

#endif
