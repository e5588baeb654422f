// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * All executions of a few operations of a structure, one sub-operation at a time: is there one whose
 * results no sequential execution of them gives that keeps the order of those that do not overlap?
 * It shares nothing with the proof (pairs.h) but the language, and the executions at random that drop
 * facts and tell what can follow what.
 *
 * What is the same: operations, their arguments, and what they give (GIVES). Numbers that are arguments
 * are 1 or 2.
 */
#ifndef FAULTLOCATE_LINEAR_EXPLORE_H
#define FAULTLOCATE_LINEAR_EXPLORE_H

#include "base/vec.h"
#include "faultlocate/linear/world.h"

struct fl_lin_instance {
	size_t operation;
	int16_t local[LIN_MOST_VALUES]; ///< as it was in the end
	bool has_begun, has_ended;
};

struct fl_lin_executions {
	bool is_broken;	  ///< there is such an execution: the one below
	bool is_complete; ///< all were looked at; else `why` not
	char why[96];
	unsigned n_operations; ///< at once, at most
	uint64_t n_states;
	struct fl_lin_instance instance[LIN_MOST_INSTANCES];
	unsigned n_instances;
	VEC(struct fl_lin_done {
		unsigned instance;
		size_t step; ///< sub-operation
	})
	path;
};

/** @param most  operations at once, 1 to LIN_MOST_INSTANCES. @param most_states  then give up. */
struct err *fl_lin_explore(const struct fl_lin_steps *steps, unsigned most,
			   uint64_t most_states, struct fl_lin_executions *ret);
void fl_lin_executions_deinit(struct fl_lin_executions *e);

#endif
