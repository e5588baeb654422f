// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Several faults at once (paper 003, section 3.1.3): a ranked list for each statement, by those
 * failing runs alone that execute it, and which of the lists to look at next. Runs and statements
 * are numbers here. Not shared between threads.
 */
#ifndef SUPPRESS_HW_RANK_RANK_LISTS_H
#define SUPPRESS_HW_RANK_RANK_LISTS_H

#include "suppress-hw/rank/rank.h"

/** So many statements not shown before make a list another one. */
#define RANK_DIFFERENT 10

/** A list that was looked at. */
struct rank_shown {
	uint32_t of; ///< the statement it was of; UINT32_MAX: that is not there any more
	uint32_t *ids; ///< its statements, then UINT32_MAX
};

/** A run: a byte for each statement. */
struct rank_row {
	const uint8_t *executed;
	const uint8_t *ivmp; ///< of a failing run; NULL: it has none
	bool is_failed;
	/** It did once, and passes behind a fix: its IVMPs count as they did (Figure 3.6), but where
	 * these leave a tie, it passes. */
	bool is_over;
};

struct rank_rows {
	const struct rank_row *rows;
	size_t n;
	const struct rank_statement *statements; ///< for their names
	size_t n_statements;
};

typedef VEC(struct rank_statement) rank_ranked;

/**
 * The list of statement @p of: what the failing runs that execute it execute, ranked by these
 * and all passing ones; its scores are of all statements that runs execute that fail still.
 *
 * @param ret  Its names are borrowed from @p r; `id` is the index there. vec_deinit() it.
 */
struct err *rank_lists_make(const struct rank_rows *r, uint32_t of, rank_ranked *ret);

/**
 * The list to look at next. At first that whose head is the most suspicious; then that which
 * first has RANK_DIFFERENT statements at its head that the ones shown have not, or the
 * most where none has so many. Lists that no run is behind that fails still are none to look at,
 * and those of the runs that one shown is of only where there is no other.
 *
 * @param shown  the @p n_shown lists so far.
 * @param ret    Set on success: the statement it is of; UINT32_MAX: no run failed.
 */
struct err *rank_lists_choose(const struct rank_rows *r, const struct rank_shown *shown,
			      size_t n_shown, uint32_t *ret);

#endif
