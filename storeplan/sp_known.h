// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is known where: for each instruction the locations whose values follow from
 * anchors on every way through it. Anchors are rsp at the function's entry, and what the
 * probes give.
 *
 * Two passes take turns until neither finds more. Forward: what is known before an
 * instruction gives what is known behind it; where ways meet, what all of them give.
 * Backward: what is not changed, or changed in a way that can be undone, was known before.
 * Both start from the best and take away (loops!), on top of what the passes before have
 * established; since each pass alone reaches back to real anchors, so does the whole.
 * Nothing goes backward over a call, which may not come back, nor out of a loop without
 * an end.
 */
#ifndef STOREPLAN_SP_KNOWN_H
#define STOREPLAN_SP_KNOWN_H

#include "storeplan/sp_steps.h"

/** Room for the analysis of one function. */
struct sp_known {
	const struct sp_function *f;
	const struct sp_steps *s;
	sp_set *at;	  ///< by instruction: known before it; the result
	sp_set *edge;	  ///< by block: at its beginning, at its end
	bool *has_no_end; ///< by block: no way leads out of the function
	bool *is_outside; ///< by block: not in the region; sp_known_grow()'s
	uint32_t *region; ///< blocks, ascending
	size_t n_region;
};

struct err *sp_known_init(struct sp_known *k, const struct sp_function *f,
			  const struct sp_steps *s);
void sp_known_deinit(struct sp_known *k);

/** Compute k->at. @p given: by instruction, what a probe there tells; NULL: nothing. */
void sp_known_compute(struct sp_known *k, const sp_set *given);

/** k->at has been computed: add what all general registers at instruction @p at give, as
 * far as SP_REGION_BLOCKS around it are concerned (which says less than all, never more). */
void sp_known_grow(struct sp_known *k, uint32_t at);

/** Take back what the last sp_known_grow() added to @p base, which @p k was a copy of. */
void sp_known_shrink(struct sp_known *k, const struct sp_known *base);

/** Let @p k->at be what @p base->at is; of the same function. */
void sp_known_copy(struct sp_known *k, const struct sp_known *base);

#define SP_REGION_BLOCKS 48

#endif
