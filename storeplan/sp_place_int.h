// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside the search for places: what its files share.
 */
#ifndef STOREPLAN_SP_PLACE_INT_H
#define STOREPLAN_SP_PLACE_INT_H

#include "storeplan/sp_place.h"

/// Instruction steps, for one function: for trying candidates that are not near a store, for
/// taking away probes.
#define WORK_MAX 60000000u
#define PRUNE_WORK_MAX 20000000u
#define NOWHERE UINT32_MAX

struct place_candidates {
	VEC(uint32_t) insns;
	uint64_t *covers; ///< a row of bits for each: which stores
	size_t words;
};

/* ---- sp_place_stores.c: the stores, and what is done for each --------------------------- */

struct err *sp_place_find_stores(struct placement *p, const struct sp_options *o);

/** @return whether address and value of @p s follow from what @p k says is known. */
bool sp_place_follows(const struct placement *p, const struct place_store *s,
		      const struct sp_known *k);

/** Set is_done of all. */
void sp_place_update(struct placement *p);

/** @return whether a probe at @p insn can read back what @p s has stored. */
bool sp_place_in_window(const struct place_store *s, uint32_t insn);

/** @return us for one call of the function that a probe at @p insn costs, by estimate. */
double sp_place_price(const struct placement *p, uint32_t insn);

struct place_probe *sp_place_probe_at(struct placement *p, uint32_t insn);

/* ---- sp_place.c -------------------------------------------------------------------------- */

/** Put a probe at @p insn. */
struct err *sp_place_add(struct placement *p, uint32_t insn);

/** Let it read back stores that do not follow otherwise. */
struct err *sp_place_reads(struct placement *p, uint32_t insn);

/* ---- sp_place_rest.c: stores for which no single emulated instruction does ----------------- */

/** Several emulated ones together. */
struct err *sp_place_leftovers(struct placement *p, const struct place_candidates *c);

/** One that is stepped, the store itself or one behind it in its window. */
struct err *sp_place_stepped(struct placement *p);

/* ---- sp_place_less.c ------------------------------------------------------------------------- */

/** Take away probes that turned out not to be needed. @p k is room for the analysis. */
void sp_place_prune(struct placement *p, struct sp_known *k);

#endif
