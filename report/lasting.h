// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which steps of a stretch leave something violated for longer than an operation takes? Within an
 * operation of the program a structure may be broken for a moment. Operations are what lies
 * between two C-points that are reached one after the other; the ends of the stretch count as
 * such, too. A step is lasting when what it broke is still broken at the next C-point that
 * checks it.
 */
#ifndef REPORT_LASTING_H
#define REPORT_LASTING_H

#include "specdsl/specdsl.h"

/** Zeroed: at the beginning of the stretch, with nothing violated. */
struct fl_lasting {
	struct map
		since; ///< hash of a violation -> number of the step + 1, 1: before the first
	struct map is_known; ///< step -> 1: it is in steps
	VEC(uint64_t)
	steps;		 ///< the lasting ones, in the order they became known; from 1 on
	bool is_settled; ///< nothing changed since all was checked
};

/** After step @p step (0: at the beginning) @p now is violated. @return NULL or ERR_NOMEM. */
struct err *report_lasting_step(struct fl_lasting *l, uint64_t step,
				const spec_violations *now);

/** A C-point is reached, where @p now is still violated. @p type: it checks only constraints
 * with a variable of this type; -1: all. @return NULL or ERR_NOMEM. */
struct err *report_lasting_point(struct fl_lasting *l, const struct spec *s, int type,
				 const spec_violations *now);

void report_lasting_deinit(struct fl_lasting *l);

#endif
