// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A program executed along its witnesses, to count how much is otherwise than they assert. Private to
 * this room.
 */
#ifndef FAULTLOCATE_REPAIR_TRIAL_H
#define FAULTLOCATE_REPAIR_TRIAL_H

#include "faultlocate/repair/repair.h"

#define RP_BY_TRIAL 1000.0 ///< of what suspicion there was before, equals are ordered

struct rp_trial {
	struct rp_program *p;
	const struct rp_witness *witnesses;
	size_t n_witnesses;
	unsigned most_wrong; ///< there it is not executed further; 0: to the end
	unsigned wrong;	     ///< in the walk that is made
	unsigned n;	     ///< how often it was executed
	bool has_failed;
};

/** @return how many entities, steps and conditions are otherwise than the witnesses assert. */
unsigned fl_rp_trial(struct rp_trial *t);
/** The same with @p edit. @return UINT_MAX, and t->has_failed, out of memory. */
unsigned fl_rp_trial_of(struct rp_trial *t, const struct rp_edit *edit);

#endif
