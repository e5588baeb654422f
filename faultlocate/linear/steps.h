// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The sub-operations of a structure (paper 001, chapter 6): its steps, of which those that touch
 * nothing that another operation can see are part of the next (behind the last: of that).
 */
#ifndef FAULTLOCATE_LINEAR_STEPS_H
#define FAULTLOCATE_LINEAR_STEPS_H

#include "specdsl/structure.h"

struct err;

/** One of them: steps [first, end) of an operation, at one instant. */
struct fl_lin_step {
	size_t operation, index; ///< which; how many sub-operations of it come before
	size_t first, end;
	bool is_last;	///< of its operation
	uint64_t bound; ///< locals that have a value before it: bit by number
	const struct spec_step *shown; ///< the one that others see
};

struct fl_lin_steps {
	const struct spec_structure *s;
	struct fl_lin_step *data;
	size_t size;
	size_t *of; ///< of operation o: [of[o], of[o + 1])
};

struct err *fl_lin_steps_make(const struct spec_structure *s, struct fl_lin_steps *ret);
void fl_lin_steps_deinit(struct fl_lin_steps *steps);

/** The locals in @p e, bit by number; none of NULL. */
uint64_t fl_lin_steps_locals(const struct spec_step_expr *e);

/** The operation of sub-operation @p i. */
static inline const struct spec_structure_operation *
fl_lin_steps_operation(const struct fl_lin_steps *steps, size_t i)
{
	return &steps->s->operations[steps->data[i].operation];
}

/** The types of which a condition asks whether there is none such, bit by number: what is made of them can be
 * seen at once. */
uint64_t fl_lin_steps_looked_for(const struct spec_structure *s);

/** The locals that sub-operation @p i reads and nobody gave a value, bit by number: they have any. */
uint64_t fl_lin_steps_guessed(const struct fl_lin_steps *steps, size_t i);

/** The locals whose things the operation of sub-operation @p i made, and others may not come by before that,
 * but may behind it; bit by number. */
uint64_t fl_lin_steps_given(const struct fl_lin_steps *steps, size_t i);

/** The locals that sub-operation @p i reads or assigns, bit by number. */
uint64_t fl_lin_steps_used(const struct fl_lin_steps *steps, size_t i);

#endif
