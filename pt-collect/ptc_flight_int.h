// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What ptc_flight.c and ptc_flight_snapshot.c share.
 */
#ifndef PT_COLLECT_PTC_FLIGHT_INT_H
#define PT_COLLECT_PTC_FLIGHT_INT_H

#include "pt-collect/ptc_flight.h"

struct ptc_flight {
	const struct ptc_options *o;
	struct ptc_heap_ring *ring;
	struct ptc_store_ring *stores;
	/** Libraries are not mapped yet: probes wait for the program's entry point, where
	 * a breakpoint is armed, or are tried now and then. */
	bool awaits_probes, is_armed;
	bool is_trigger_placed, has_fired;
	pid_t triggered; ///< entered the trigger, and is about to stop; 0 = nobody
	uint64_t triggered_at;
	bool is_requested;
	unsigned n_snapshots;
};

/** Take one. @p si: of a crash, else NULL. A failure ends nothing; it is told, and what
 * `record` exits with says so. */
void ptc_flight_snapshot(struct ptc_process *p, const struct cap_end_core *end,
			 const siginfo_t *si);

#endif
