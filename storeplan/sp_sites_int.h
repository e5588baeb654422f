// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside the search for sites: what its files share.
 */
#ifndef STOREPLAN_SP_SITES_INT_H
#define STOREPLAN_SP_SITES_INT_H

#include "storeplan/sp_sites.h"

/// Instruction steps, for one function: for trying candidates that are not near a store, for
/// taking away probes.
#define WORK_MAX 60000000u
#define PRUNE_WORK_MAX 20000000u
#define NOWHERE UINT32_MAX

struct sites_candidates {
	VEC(uint32_t) insns;
	uint64_t *covers; ///< a row of bits for each: which stores
	size_t words;
};

/* ---- sp_sites_stores.c: the stores, and what is done for each --------------------------- */

struct err *sp_sites_find_stores(struct sp_sites *p, const struct sp_options *o);

/** @return whether address and value of @p s follow from what @p k says is known. */
bool sp_sites_follows(const struct sp_sites *p, const struct sites_store *s,
		      const struct sp_known *k);

/** Set is_done of all. */
void sp_sites_update(struct sp_sites *p);

/** @return whether a probe at @p insn can read back what @p s has stored. */
bool sp_sites_in_window(const struct sites_store *s, uint32_t insn);

/** @return us for one call of the function that a probe at @p insn costs, by estimate. */
double sp_sites_price(const struct sp_sites *p, uint32_t insn);

struct sites_probe *sp_sites_probe_at(struct sp_sites *p, uint32_t insn);

/* ---- sp_sites.c -------------------------------------------------------------------------- */

/** Put a probe at @p insn. */
struct err *sp_sites_add(struct sp_sites *p, uint32_t insn);

/** Let it read back stores that do not follow otherwise. */
struct err *sp_sites_reads(struct sp_sites *p, uint32_t insn);

/* ---- sp_sites_rest.c: stores for which no single emulated instruction does ----------------- */

/** Several emulated ones together. */
struct err *sp_sites_leftovers(struct sp_sites *p, const struct sites_candidates *c);

/** One that is stepped, the store itself or one behind it in its window. */
struct err *sp_sites_stepped(struct sp_sites *p);

/* ---- sp_sites_less.c ------------------------------------------------------------------------- */

/** Take away probes that turned out not to be needed. @p k is room for the analysis. */
void sp_sites_prune(struct sp_sites *p, struct sp_known *k);

#endif
