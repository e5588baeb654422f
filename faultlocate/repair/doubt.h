// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What suspicion spreads to without having been executed. Private to the localisation.
 */
#ifndef FAULTLOCATE_REPAIR_DOUBT_H
#define FAULTLOCATE_REPAIR_DOUBT_H

#include "faultlocate/repair/program.h"

#define RP_UNASKED 0.25 ///< how suspicious is what was not executed

/** Give what several faults may have hidden beside what is suspicious RP_UNASKED.
 * @param was_executed  one an operation, as @p suspicion. */
void fl_rp_doubt(const struct rp_program *p, int function, const bool *was_executed,
		 double *suspicion);

#endif
