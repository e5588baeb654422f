// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: a store that was due and that no statement made. It cannot be traced
 * back to, since nothing was done; it is found by asking what would mend the structure
 * (fl_whatif.h), and by comparing with the other times (fl_usual.h). doc/traceback.md says how
 * it is told from a store that is wrong.
 */
#ifndef FAULTLOCATE_FL_MISSING_H
#define FAULTLOCATE_FL_MISSING_H

#include "faultlocate/fl_faults.h"
#include "faultlocate/fl_traceback.h"
#include "faultlocate/fl_usual.h"

struct fl_missing_query {
	const struct fl_traceback *trace; ///< that was run; its is_checked is set
	const fl_contributions *found;	  ///< by it
	const struct fl_places *places;
	const fl_bounds *bounds; ///< of operations on the structure; may be empty
	const char *operation;	 ///< function that is the last one; NULL: not known
};

/**
 * Look for a store that is missing.
 *
 * @param ret    What is missing, the first @p *n_found; of two, the second is another number of the
 *		 same constraint that would do as well and that the other times show less.
 * @param suspects  Gets operations that stored something where another value had left nothing
 *		    violated: of fields that they stored anew as they were, or where such a
 *		    field would be called missing else.
 * @return NULL, ERR_NOMEM.
 */
struct err *fl_missing_find(const struct fl_missing_query *q,
			    struct fl_missing ret[FL_MISSING_MAX], size_t *n_found,
			    fl_contributions *suspects);

/** Add @p m, which must outlive @p ret, to the statements: call fl_faults_rank() afterwards. */
struct err *fl_missing_add(fl_faults *ret, const struct fl_missing *m,
			   const struct fl_places *places);

#endif
