// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: nodes by the number in a field, for loops over all nodes in which one
 * number must equal another.
 */
#ifndef SPECDSL_SPEC_SAME_H
#define SPECDSL_SPEC_SAME_H

#include "specdsl/spec_edges.h"

struct scope;
struct spec_eval;

/** Call @p add with the nodes of type @p type that the variable of @p step can be, and maybe
 * with some that it cannot be. What they depend on is added to sc->deps.
 * @return false when all nodes must be looked at. */
bool spec_same_candidates(struct scope *sc, const struct plan *plan,
			  const struct plan_step *step, uint32_t type,
			  void (*add)(void *ctx, uint32_t id), void *ctx);

/** Something happened to node @p id (spec_edges.h). @return 0, or -1: memory is out. */
int spec_same_follow(struct spec_eval *e, enum edge_event event, uint32_t id,
		     uint64_t offset, uint32_t size);

/** @return what the nodes of root type @p type depend on, as SPEC_DEP_SAME. */
static inline uint32_t spec_root_list(uint32_t type)
{
	return (type + UINT64_C(1)) * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

/** Free the indices; they are made anew when they are asked for. */
void spec_same_deinit(struct spec_eval *e);

#endif
