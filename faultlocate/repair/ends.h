// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How what was executed since the last asserted state ends, beside the next one. Private to the
 * localisation (locate.c, gamma.c).
 */
#ifndef FAULTLOCATE_REPAIR_ENDS_H
#define FAULTLOCATE_REPAIR_ENDS_H

#include "faultlocate/repair/walk.h"

enum rp_ending { RP_NOT_ASKED, RP_RIGHT, RP_WRONG };

enum rp_ending fl_rp_variable_ends(const struct rp_walk *w, const struct rp_mark *m,
				   unsigned var, bool is_of_frame);
enum rp_ending fl_rp_field_ends(const struct rp_walk *w, const struct rp_mark *m,
				size_t node, unsigned field);
/** How entity @p place ends. @p m NULL: nothing is asked. */
enum rp_ending fl_rp_ends(const struct rp_walk *w, const struct rp_mark *m,
			  uint64_t place);

#endif
