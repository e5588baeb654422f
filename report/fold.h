// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is shown of a graph that is too large to be read: its nodes from the roots on, and
 * boxes that say what they stand for: in place of a long chain's middle, and of each subtree
 * that does not fit.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/names.h"

/** A box that stands for nodes. */
struct fl_folded {
	uint32_t first;	  ///< id of the node that leads to the others
	uint32_t n_nodes; ///< it included
	uint32_t depth;	  ///< nodes on the longest way down
	bool is_chain;	  ///< each leads to one
	uint32_t next;	  ///< a chain's middle: the node that it leads to; else 0
	bool is_roots;	  ///< not a subtree: roots that did not fit, with what is below
};

struct fl_fold {
	VEC(uint32_t) shown; ///< ids, roots first
	VEC(struct fl_folded) folded;
	struct map place; ///< id -> index in folded + 1; 0: it is shown
};

/**
 * Choose what to show of the live nodes of declared types in @p view.
 *
 * @param max_nodes  Boxes that may be shown, the folded ones aside.
 * @param ret	     Zeroed before; report_fold_deinit() in any case.
 * @return NULL or ERR_NOMEM.
 */
struct err *report_fold_make(const struct fl_namer *n, const struct hg_view *view,
			     size_t max_nodes, struct fl_fold *ret);
void report_fold_deinit(struct fl_fold *f);

#endif
