// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any object: all orders at once. After each return a set of *configurations* is kept, that is of
 * pairs (which of the operations under way have happened, state of the object); an operation
 * happens as late as its return allows (Lowe, "Testing for linearizability", 2017). Memory is
 * that of one moment's configurations and of the states, not of the history.
 */
#ifndef FAULTLOCATE_LINEAR_SEARCH_H
#define FAULTLOCATE_LINEAR_SEARCH_H

#include "faultlocate/linear/states.h"

#define LIN_CONFIGS (1u << 20)	     ///< kept at one moment, unless said otherwise
#define LIN_STATE_BYTES (2ull << 30) ///< kept of states

struct fl_lin_search {
	enum fl_lin_answer answer;
	size_t at; ///< WRONG: the operation, index into @p ops, whose return nothing explains
	int64_t before
		[4]; ///< WRONG: states (their last numbers) before it, up to n_before
	unsigned n_before;
	/** WRONG: the last moment before at which no operation was under way comes before the call of this
	 * one, index into @p ops; and what the object may have been like then (last numbers).
	 * n_rest_states 0: there is none, or that was too much. */
	size_t rest;
	int64_t rest_states[4];
	unsigned n_rest_states;
	uint64_t work; ///< configurations looked at
	char why[160]; ///< UNKNOWN
};

/**
 * Where a search begins or ends: the configurations of one moment, as numbers: how many numbers; the moment;
 * how many operations were under way then, and the moments of their calls; how many configurations; and of
 * each which of these operations have happened (64 a number), and of the state how many numbers, and these. No
 * configuration: they were too many.
 */
enum { LIN_START_SIZE, LIN_START_MOMENT, LIN_START_OPEN, LIN_START_CALLS };

/** How a search is done. All 0: as it is. */
struct fl_lin_search_how {
	size_t most;   ///< configurations that may be kept; 0: LIN_CONFIGS
	uint64_t work; ///< configurations that may be looked at; 0: any number
	/** Of each operation: it has happened before its return, with any result, or never. NULL: of none. */
	const bool *may;
	const int64_t *start; ///< NULL: nothing has happened
	uint64_t until;	      ///< the moment at which it ends; 0: behind all
	/** Gets behind its end a start for what comes at `until`, when there is an order. Or NULL. */
	fl_lin_words *save;
};

/** Put a start behind @p to of which nothing is known, for what comes at @p moment. @return NULL or ERR_NOMEM. */
struct err *fl_lin_start_unknown(fl_lin_words *to, uint64_t moment);

/**
 * @param ops  @p n of them, indices into @p h, by the moments of their calls.
 * @return NULL or ERR_NOMEM.
 */
struct err *fl_lin_search(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const size_t *ops, size_t n,
			  const struct fl_lin_search_how *how, struct fl_lin_search *ret);

#endif
