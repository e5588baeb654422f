// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What flight.c and snapshot.c share.
 */
#ifndef PT_COLLECT_FLIGHT_FLIGHT_INT_H
#define PT_COLLECT_FLIGHT_FLIGHT_INT_H

#include "pt-collect/flight/flight.h"

/** All of a recording. */
struct ptc_flight {
	struct ptc_flight_wants wants;
	struct ptc_processes *all;
	bool was_trigger_placed, has_fired; ///< in any process
	bool is_requested;
	unsigned n_snapshots;
	struct err *failure; ///< the first thing that went wrong with a snapshot
};

/** The recent past of one process. */
struct ptc_past {
	struct ptc_flight *flight;
	struct ptc_heap_ring *ring;
	struct ptc_store_ring *stores;
	/** Libraries are not mapped yet: probes wait for the program's entry point, where
	 * a breakpoint is armed, or are tried now and then. */
	bool awaits_probes;
	uint64_t entry; ///< where a breakpoint is until the program comes there; 0: none
	uint8_t entry_byte;
	bool is_trigger_placed;
	pid_t triggered; ///< entered the trigger, and is about to stop; 0 = nobody
	uint64_t triggered_at;
};

/** Begin the past of process @p p. */
struct err *ptc_past_begin(struct ptc_flight *f, struct ptc_process *p);

/** Probe what is mapped in process @p p, which stands still (or has no time for that). */
void ptc_flight_probe(struct ptc_process *p);

/* ---- record -f: follow.c ------------------------------------------------- */

/** The first stop of thread @p tid, of no process that is known: one begins with it, or it
 * is let go. */
void ptc_flight_follow(struct ptc_flight *f, pid_t tid);

/** Forget the followed processes that have ended. */
void ptc_flight_sweep(struct ptc_flight *f);

/** Take one. @p si: of a crash, else NULL. A failure ends nothing; it is told, and what
 * `record` exits with says so. */
void ptc_flight_snapshot(struct ptc_process *p, const struct cap_end_core *end,
			 const siginfo_t *si);

#endif
