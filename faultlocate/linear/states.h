// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What an object is like between two operations: a row of numbers, each kept once, so that two
 * states are the same when their numbers (ids) are.
 */
#ifndef FAULTLOCATE_LINEAR_STATES_H
#define FAULTLOCATE_LINEAR_STATES_H

#include "faultlocate/linear/linear.h"

struct fl_lin_state {
	const int64_t *at;
	uint32_t n;
	uint32_t same; ///< 1 + id of another with its hash
};

struct fl_lin_states {
	struct arena arena;
	VEC(struct fl_lin_state) all;
	struct map by_hash; ///< to 1 + id
	uint64_t bytes;	    ///< of all
	bool is_out_of_memory;
};

/** @return the id of the @p n numbers at @p at, which are copied. */
uint32_t fl_lin_state(struct fl_lin_states *s, const int64_t *at, size_t n);
void fl_lin_states_deinit(struct fl_lin_states *s);

/** One who asks about one object. */
struct fl_lin_model {
	const struct fl_lin_object *object;
	struct fl_lin_values *values; ///< gets what append makes
	struct fl_lin_states states;
	VEC(int64_t) row; ///< scratch
	/** Of a key that is only appended to and read: the longest text read. What it held before is
	 * the beginning of that, and what it held later nobody saw. Or NULL. */
	const char *longest;
	size_t longest_read; ///< by which of the operations
};

/** What follows is about @p ops of @p h alone: find out what helps. */
void fl_lin_model_prepare(struct fl_lin_model *m, const struct fl_lin_history *h,
			  const size_t *ops, size_t n);

/** @return the id of an object's first state. */
uint32_t fl_lin_model_begin(struct fl_lin_model *m);

/** Do @p op in @p state. @return whether the object allows it, with its result; then *@p ret is the
 * state behind it. */
bool fl_lin_model_step(struct fl_lin_model *m, uint32_t state, const struct fl_lin_op *op,
		       uint32_t *ret);

/** @return whether @p op, with its result, changes nothing in any state that allows it. */
bool fl_lin_model_observes(const struct fl_lin_model *m, const struct fl_lin_op *op);
void fl_lin_model_deinit(struct fl_lin_model *m);

#endif
