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
};

struct err *sp_known_init(struct sp_known *k, const struct sp_function *f,
			  const struct sp_steps *s);
void sp_known_deinit(struct sp_known *k);

/** Compute k->at. @p given: by instruction, what a probe there tells; NULL: nothing.
 * @p extra: and at instruction @p extra_at all general registers; SIZE_MAX: none. */
void sp_known_compute(struct sp_known *k, const sp_set *given, size_t extra_at);

#endif
