// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Small changes together, tried by executing them. Private to this room.
 */
#ifndef FAULTLOCATE_REPAIR_TOGETHER_H
#define FAULTLOCATE_REPAIR_TOGETHER_H

#include "faultlocate/repair/trial.h"

/**
 * Change suspects of @p s in @p function, and add statements where some may be missing: of the changes
 * that do away with some of what is wrong the best are gone on with, at most three in all. What does
 * away with all is a patch, and what has a part in one becomes more suspicious than what has none.
 *
 * @param t	       the program and its witnesses.
 * @param most_trials  so often it is executed.
 * @param ret	       the nearest patch that was found; without edits: none. fl_rp_patch_deinit().
 * @param other	       another that is as near, or without edits. The same.
 * @return NULL or err_nomem.
 */
struct err *fl_rp_together(const struct rp_trial *t, int function, unsigned most_trials,
			   struct rp_suspects *s, struct rp_patch *ret,
			   struct rp_patch *other);

#endif
