// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * IDTHDD (paper 002, section 4.2): the smallest input by what is known of its bytes' parts in the
 * failure. First the candidates that their roles propose; then delta debugging by the levels of the
 * tree of dependences. Ours is what a text goes by instead of levels where strong roles do not leave at most
 * half of it: text.h.
 */
#ifndef FAULTLOCATE_REDUCE_TREE_H
#define FAULTLOCATE_REDUCE_TREE_H

#include "faultlocate/reduce/reduce.h"

/** What an analysis says of the bytes of an input. Borrowed. */
struct fl_tree {
	/** Of each byte, enum fl_role (inputs/inputs.h). NULL: nothing but the bytes is known. */
	const uint8_t *roles;
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
 * @param is_star  IDTHDD*: leaves of upper levels are tried again on each level, and of a text each
 *		   byte alone, so that the result is 1-minimal.
 * @param step1	   Set to how many bytes the first step left; all of them: none of its candidates
 *		   was interesting.
 */
struct err *fl_tree_reduce(struct fl_reduce *r, const struct fl_tree *t, bool is_star,
			   size_t *step1);

#endif
