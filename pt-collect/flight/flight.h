// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The flight recorder (record --snapshot), and the core of an end. Private to pt-collect/.
 *
 * Invariants:
 *  1. The program runs as it would by itself: nothing of it is changed but for probes.
 *  2. What is kept is bounded: options' snapshot_bytes of allocator calls and of what store
 *     probes tell for each process, and of PT for each thread.
 *  3. Each snapshot is a whole capture of its own; what is written while the program
 *     stands still is only what changes when it goes on.
 */
#ifndef PT_COLLECT_FLIGHT_FLIGHT_H
#define PT_COLLECT_FLIGHT_FLIGHT_H

#include <signal.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/start/attach.h"

/* ---- the core of an end (end.c) ----------------------------------------------------- */

/** A word of memory that a probe of ours changed, and what it would be without. */
struct ptc_patch {
	uint64_t addr, value;
};

/**
 * Write end.core of process @p p, whose threads rest (is_at_rest); @p end->tid comes first.
 * Breakpoints of probes are not in it. A wait that our stop cut short is made again.
 *
 * @param si       Of a crash; NULL = none.
 * @param patches  @p n words to be put right.
 */
struct err *ptc_end_write(struct ptc_process *p, const struct cap_end_core *end,
			  const siginfo_t *si, const struct ptc_patch *patches, size_t n);

/** record --end-core: thread @p tid is about to get deadly signal @p si. All others are
 * stopped meanwhile. A failure is a gap. */
void ptc_end_take(struct ptc_process *p, pid_t tid, const siginfo_t *si);

/* ---- the last allocator calls (ring.c) ---------------------------------------- */

struct ptc_heap_ring;

/** Keep as many of them as fit @p bytes. */
struct err *ptc_heap_ring_create(uint64_t bytes, struct ptc_heap_ring **ret);
void ptc_heap_ring_destroy(struct ptc_heap_ring *r);

/** A REC_HEAP or REC_HEAP_DONE. */
void ptc_heap_ring_add(struct ptc_heap_ring *r, const struct rec_heap *rec);

/** Thread @p tid has ended. */
void ptc_heap_ring_forget(struct ptc_heap_ring *r, pid_t tid);

/** @return how many were added. */
uint64_t ptc_heap_ring_count(const struct ptc_heap_ring *r);

/** @return the number of the oldest that is there, counted from 0. @p at_ns gets its time;
 * 0: nothing was overwritten. */
uint64_t ptc_heap_ring_oldest(const struct ptc_heap_ring *r, uint64_t *at_ns);

/** Log those from number @p next on and before number @p until; @p next becomes the one
 * behind them. */
struct err *ptc_heap_ring_write(const struct ptc_heap_ring *r, uint64_t *next,
				uint64_t until, struct cap_writer *w);

/** Return addresses that probes of unfinished calls replaced. @p ret: free(). */
struct err *ptc_heap_ring_patches(const struct ptc_heap_ring *r, struct ptc_patch **ret,
				  size_t *n);

/* ---- what store probes told last (stores.c) ------------------------------------- */

struct ptc_store_ring;

/** Keep as many of them as fit @p bytes. */
struct err *ptc_store_ring_create(uint64_t bytes, struct ptc_store_ring **ret);
void ptc_store_ring_destroy(struct ptc_store_ring *r);

/** PROBE event @p ev, which came behind @p heap_before events of the allocator's ring. */
void ptc_store_ring_add(struct ptc_store_ring *r, const struct cap_event *ev,
			uint64_t heap_before);

/** Log what both rings hold, in the order in which it came; @p info gets what they do not
 * hold any more. */
struct err *ptc_rings_write(const struct ptc_heap_ring *heap,
			    const struct ptc_store_ring *stores, struct cap_writer *w,
			    struct cap_info *info);

/* ---- the recorder (flight.c) ---------------------------------------------------------- */

/** What the user asked for. */
struct ptc_flight_wants {
	const char *dir;     ///< of the first snapshot
	uint64_t bytes;	     ///< of each ring
	const char *trigger; ///< FUNC or FUNC@FILE; NULL = none
	/** A snapshot is in @p dir: what of, how many events, how large. May be NULL. */
	void (*on_snapshot)(const char *dir, const struct cap_info *info, uint64_t bytes);
};

struct ptc_flight;

/** For the processes @p all, borrowed, as what @p wants points to. @return NULL or
 * ERR_NOMEM. */
struct err *ptc_flight_create(const struct ptc_flight_wants *wants,
			      struct ptc_processes *all, struct ptc_flight **ret);
void ptc_flight_destroy(struct ptc_flight *f);
/** Free the rings of one process; NULL is fine. */
void ptc_past_destroy(struct ptc_past *past);

/** @return what threads are traced with. */
unsigned long ptc_flight_options(const struct ptc_flight *f);

/** Begin: the program stands at its first instruction, and goes on when the caller lets it;
 * or it runs, is attached to, and goes on. */
struct err *ptc_flight_start(struct ptc_flight *f, struct ptc_process *p,
			     struct ptc_stopped *ret);

/** A record of the BPF ring, as for ptc_assemble(). */
void ptc_flight_take(struct ptc_process *p, void *rec);

/** A ptrace stop of any thread; the ring has been drained. */
void ptc_flight_stop(struct ptc_flight *f, pid_t tid, int status);

/** The user wants a snapshot now. */
void ptc_flight_request(struct ptc_flight *f);

/** Do what is due. */
void ptc_flight_step(struct ptc_flight *f);

/** All have ended, or are to be left; @p p is the program. @p n_snapshots: how many there
 * are; without one nothing is left of the bundle. */
struct err *ptc_flight_end(struct ptc_flight *f, struct ptc_process *p,
			   unsigned *n_snapshots);

#endif
