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

/** How a search is done. All 0: as it is. */
struct fl_lin_search_how {
	size_t most;   ///< configurations that may be kept; 0: LIN_CONFIGS
	uint64_t work; ///< configurations that may be looked at; 0: any number
	/** Of each operation: it has happened before its return, with any result, or never. NULL: of none. */
	const bool *may;
	/** One that did nothing but leave `left`, or of a machine the state `row`; NULL: none. */
	const struct fl_lin_op *settled;
	int64_t left;
	const struct fl_lin_row *row;
	/** Becomes what the object was like at the last rest, where one state was possible. NULL: nobody asks;
	 * else it is empty, and the caller's to free. */
	struct fl_lin_row *at_rest;
};

/**
 * @param ops  @p n of them, indices into @p h, by the moments of their calls.
 * @return NULL or ERR_NOMEM.
 */
struct err *fl_lin_search(const struct fl_lin_object *o, const struct fl_lin_history *h,
			  const size_t *ops, size_t n,
			  const struct fl_lin_search_how *how, struct fl_lin_search *ret);

#endif
