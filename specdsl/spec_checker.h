// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: what spec_track.c tells the checker (spec_checker.c).
 */
#ifndef SPECDSL_SPEC_CHECKER_H
#define SPECDSL_SPEC_CHECKER_H

#include "specdsl/specdsl.h"

/** Nothing that @p c holds counts any more: every unit is made anew. */
void spec_checker_start_anew(struct spec_checker *c);

/** Node @p id is there. @return 0, or -1 when memory is out. */
int spec_checker_add_node(struct spec_checker *c, struct hg_node_id id);

/** Node @p id goes. */
void spec_checker_drop_node(struct spec_checker *c, struct hg_node_id id);

/** Unit @p unit must be evaluated again. @return 0, or -1 when memory is out. */
int spec_checker_queue(struct spec_checker *c, uint32_t unit);

#endif
