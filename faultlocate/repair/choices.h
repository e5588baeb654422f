// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What may become of each operation and gap. Used by solve.c.
 */
#ifndef FAULTLOCATE_REPAIR_CHOICES_H
#define FAULTLOCATE_REPAIR_CHOICES_H

#include "faultlocate/repair/repair.h"
#include "faultlocate/repair/walk.h"

struct rp_choices {
	const struct rp_program *p;
	struct smt *s;
	const struct rp_suspects
		*within; ///< where statements may be missing; NULL: everywhere
	int function, n_slots;
	VEC(struct rp_choice *) list;
	struct rp_choice **of_op, **of_gap;
	int *first_gap; ///< of each block; RP_NONE: not of the function
	VEC(smt_term) guards, statements, insertions; ///< what the three bounds count
	VEC(smt_term) differences;		      ///< parts that are not as they were
	VEC(int64_t) numbers;			      ///< constants that a patch may have
	bool has_failed;
};

/** @p may_change: one an operation. @p within: kept. @p n_slots: statements that can come to a gap. */
struct err *fl_rp_choices_init(struct rp_choices *c, const struct rp_program *p,
			       struct smt *s, int function, const bool *may_change,
			       const struct rp_suspects *within, int n_slots);
void fl_rp_choices_deinit(struct rp_choices *c);

/** The patch that the solver's last state is. */
struct err *fl_rp_choices_patch(const struct rp_choices *c, struct rp_patch *ret);
/** That patch no more. */
void fl_rp_choices_forbid(struct rp_choices *c);

#endif
