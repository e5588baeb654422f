// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Executions of a few operations of a structure, a sub-operation at a time, on small numbers. For all of
 * them: explore.h; for some, at random: fl_lin_sample().
 *
 * A variable that nobody assigned has any value (numbers: 0 to 3; things that others can have come by, as a
 * global or what others know leads to them) at which the conditions hold; memory is never used again.
 */
#ifndef FAULTLOCATE_LINEAR_WORLD_H
#define FAULTLOCATE_LINEAR_WORLD_H

#include "faultlocate/linear/steps.h"

#define LIN_MOST_INSTANCES 5
#define LIN_MOST_VALUES 16 ///< locals of an operation, things of a kind, globals
#define WORLD_MEMORIES 24

/** All there is at a time; compared as bytes. */
struct fl_lin_world {
	int16_t global[LIN_MOST_VALUES];
	int16_t memory[WORLD_MEMORIES][LIN_MOST_VALUES];
	int8_t type_of[LIN_MOST_VALUES]; ///< of each thing: its struct + 1
	uint8_t n_things;
	uint16_t known; ///< things that others can have come by: bit by number
	struct {
		int16_t local[LIN_MOST_VALUES];
		uint16_t bound;
		uint8_t at, before; ///< sub-operations done; who had ended when it began
		uint8_t as;	    ///< in a sequence: as which operation
		uint8_t others;	    ///< how many had this place before
		bool has_ended;
	} of[LIN_MOST_INSTANCES];
};

/** Of which operations. */
struct fl_lin_worlds {
	const struct fl_lin_steps *steps;
	const struct spec_structure *s;
	size_t operation[LIN_MOST_INSTANCES];
	unsigned n;
	uint64_t
		looked_for; ///< types of things that a condition says there are none of: known when made
	const char *over; ///< why nothing more can be told; NULL: it can
};

typedef void (*fl_lin_world_fn)(struct fl_lin_worlds *x, struct fl_lin_world *w,
				unsigned i);

/** Of @p steps, no operation yet; `over` is set where there are too many variables. */
void fl_lin_worlds_make(const struct fl_lin_steps *steps, struct fl_lin_worlds *ret);

/** What Initialize() makes. @return false: it cannot be done. */
bool fl_lin_world_begin(struct fl_lin_worlds *x, struct fl_lin_world *w);

/** The next sub-operation of instance @p i: @p then of each way in which it can be done. */
void fl_lin_world_next(struct fl_lin_worlds *x, const struct fl_lin_world *w, unsigned i,
		       fl_lin_world_fn then);

/** What @p e is for instance @p i. */
int64_t fl_lin_world_value(struct fl_lin_worlds *x, struct fl_lin_world *w, unsigned i,
			   const struct spec_step_expr *e);

/** Does @p c hold of it? */
bool fl_lin_world_holds(struct fl_lin_worlds *x, struct fl_lin_world *w, unsigned i,
			const struct spec_step_condition *c);

#endif
