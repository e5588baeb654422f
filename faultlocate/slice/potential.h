// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Potential dependences: branches of the program's own code that are not in a slice, since what they
 * decided had no part in the value, but that would have changed it, had they gone the other way.
 * Each is found by trying: an altered run (decode/machine/branch.h) in which its last instance
 * before the criterion goes the other way, up to the same instance of the criterion.
 */
#ifndef FAULTLOCATE_SLICE_POTENTIAL_H
#define FAULTLOCATE_SLICE_POTENTIAL_H

#include "decode/symbols/symbols.h"
#include "faultlocate/slice/slice.h"

/** A branch that would have changed the value. */
struct fl_potential {
	uint64_t rip, position;
	bool was_taken;
	struct dec_place place;
};

struct fl_potentials {
	VEC(struct fl_potential) list; ///< the latest first
	uint64_t n_tried;
	uint64_t
		n_lost; ///< of these, those from which the criterion was not reached again
	uint64_t n_others; ///< branches further back, that were not tried
};

/**
 * Try the branches that are not in slice 0 of @p s, which was made of @p seeds with
 * options.keeps_instances: the values are those of the seeds at the latest position that any has.
 *
 * @param executable  the program's own code is this module's.
 * @param ret	      zeroed.
 * @return an error of the replay's.
 */
struct err *fl_potentials_find(struct fl_trace *t, const struct fl_slice *s,
			       const struct fl_seed *seeds, size_t n_seeds,
			       struct dec_symbols *symbols, const char *executable,
			       struct fl_potentials *ret);
void fl_potentials_deinit(struct fl_potentials *p);

#endif
