// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What might hold for the structs of a program: candidates for a first specification, to be held
 * against runs (fl_mine.h). From the layouts alone, but for the numbers that fields had.
 */
#ifndef FAULTLOCATE_FL_PROPOSE_H
#define FAULTLOCATE_FL_PROPOSE_H

#include "base/base.h"
#include "specdsl/specdsl.h"

#define FL_PROPOSE_VALUES 4

/** The numbers that an integer field had. */
struct fl_proposed_values {
	int64_t value[FL_PROPOSE_VALUES];
	int n; ///< more than FL_PROPOSE_VALUES: too many to be kept
};

/** A struct of which the program allocates nodes, and whose pointers make the structure. */
struct fl_proposed_type {
	const char *name; ///< as in a specification, in quotes where it needs them
	const struct dec_struct *layout;
	struct fl_proposed_values *values; ///< one a field of the layout
};

/** One constraint that may hold. */
struct fl_proposed {
	char *text;	   ///< whole, with its declarations
	const char *about; ///< for people: "order", "back pointers"
	/** Of one group only the first that holds says something: those behind it follow from it. */
	unsigned group;
	int attribute;	///< that it uses, an index; -1: none
	int implied_by; ///< one before it from which it follows; -1: none
};

struct fl_proposal {
	VEC(struct fl_proposed) constraints;
	VEC(char *) attributes; ///< each a statement
	unsigned n_groups;	///< private
};

/** @return whether field number @p field of @p s is the first element of an array of integers, no
 * text; @p count is set to how many there are. */
bool fl_propose_is_array(const struct dec_struct *s, uint32_t field, unsigned *count);

/** Fill @p ret, zeroed, with what may hold for the @p n types. fl_proposal_deinit() in any case.
 * @return NULL or ERR_NOMEM. */
struct err *fl_propose(const struct fl_proposed_type *types, size_t n,
		       struct fl_proposal *ret);
void fl_proposal_deinit(struct fl_proposal *p);

#endif
