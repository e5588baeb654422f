// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * IDTHDD (paper 002, section 4.2): the smallest input by what is known of its bytes' parts in the
 * failure. First the candidates that their roles propose; then delta debugging by the levels of the
 * tree of dependences. Ours is what lies between: where roles leave more than half (all of a program
 * is parsed, before any of it fails), lines are tried by how near their bytes are to the failure.
 */
#ifndef FAULTLOCATE_REDUCE_TREE_H
#define FAULTLOCATE_REDUCE_TREE_H

#include "faultlocate/reduce/reduce.h"

/** What an analysis says of the bytes of an input. Borrowed. */
struct fl_tree {
	const uint8_t *roles; ///< of each byte, enum fl_role (inputs/inputs.h)
	const uint32_t
		*nodes; ///< of each byte: the tree's node that it is read at; 0: none
	const uint32_t *parents; ///< of each node: its parent, a smaller number; of 1: 0
	size_t n_nodes;		 ///< with [0], which is none
	size_t n_bytes;
	const uint8_t *data; ///< the bytes
};

/**
 * Reduce @p r, whose units are bytes, as @p t says.
 *
 * @param is_star  IDTHDD*: leaves of upper levels are tried again on each level, so that the result
 *		   is 1-minimal.
 * @param step1	   Set to how many bytes the first step left; all of them: none of its candidates
 *		   was interesting, and it was plain ddmin.
 */
struct err *fl_tree_reduce(struct fl_reduce *r, const struct fl_tree *t, bool is_star,
			   size_t *step1);

#endif
