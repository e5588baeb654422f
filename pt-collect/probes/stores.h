// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * -e stores: probes where the plan of storeplan/ wants them.
 */
#ifndef PT_COLLECT_PROBES_STORES_H
#define PT_COLLECT_PROBES_STORES_H

#include "pt-collect/log/writes.h"
#include "pt-collect/probes/probes.h"
#include "storeplan/storeplan.h"

/** What to probe. */
struct ptc_store_options {
	bool is_wanted;
	const char *
		files; ///< besides the program: mapped files whose names match; NULL: none
	struct sp_options plan;
};

/** Place probes in the program, or in a file that it has mapped, when that is asked for.
 * What the plan cannot do is a gap. */
void ptc_stores_mapped(struct ptc_probes *x, const char *path, uint32_t file,
		       bool is_exe);

/** What probe @p s tells, which read @p reads; borrows them. @return false when it is none
 * of the process's. */
bool ptc_stores_event(const struct ptc_probes *x, struct ptc_writes *reads,
		      const struct rec_store *s, struct cap_event *ret);

/** The sites for the manifest; borrowed until the session ends. */
const struct cap_store_site *ptc_stores_sites(const struct ptc_probes *x, size_t *n);
void ptc_stores_destroy(struct ptc_stores *s);

/** The flight recorder keeps files only when a snapshot is written: number them as @p core
 * does. */
void ptc_stores_renumber(struct ptc_probes *x, const struct cap_core *core);

/** What probes are missing, into the snapshot that is being written. */
void ptc_stores_tell_gaps(struct ptc_probes *x);

/** The session's; NULL is fine. */
void ptc_store_plans_destroy(struct ptc_store_plans *plans);

#endif
