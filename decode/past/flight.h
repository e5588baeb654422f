// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The recent past of a program, from a capture that has no beginning: end.core, the tail of
 * Intel PT in perf.data, the last heap events. What ran is decoded, what it worked on is
 * recovered (recover.h), for the thread that crashed. Also of a replay capture that
 * has both files.
 *
 * Positions count from the first instruction of the window. Not shared between threads.
 */
#ifndef DECODE_PAST_FLIGHT_H
#define DECODE_PAST_FLIGHT_H

#include "capture/capture.h"
#include "decode/history/heap.h"
#include "decode/past/recover.h"

/** Instructions that are looked at unless more are asked for. */
#define DEC_FLIGHT_WINDOW 100000

struct dec_flight_options {
	uint64_t n_insns;    ///< the window; 0: DEC_FLIGHT_WINDOW
	bool without_heap;   ///< do not use heap events
	bool without_stores; ///< do not use store events
	bool with_progress;  ///< say on stderr what is being done, when it takes long
};

/** An allocator call that recorder and packets agree on. */
struct dec_flight_call {
	uint64_t entry; ///< position of the probed instruction
	uint64_t exit;	///< of the first one behind its return; 0: not in the window
	enum cap_heap_fn fn;
	uint64_t arg[3];
	uint64_t result;
	bool has_result;
};

/** Memory that a store probe read. */
struct dec_flight_memory {
	uint64_t addr;
	uint32_t size;
	uint8_t data[64];
};

/** A hit of a store probe that recorder and packets agree on. */
struct dec_flight_hit {
	uint64_t at; ///< position of the probed instruction; as in the path: gaps count
	uint64_t rip;
	uint16_t gprs; ///< bit n: gpr[n] is told
	uint64_t gpr[16];
	uint32_t memory, n_memory; ///< in hit_memory
};

struct dec_flight {
	struct dec_recover *recover;
	struct dec_recover_stats stats;
	struct cap_core *core; ///< end.core
	uint32_t tid;	       ///< whose past it is
	uint64_t n_decoded;    ///< instructions of its packets, the window's among them
	uint64_t n_gaps;       ///< in the window
	VEC(struct dec_flight_call) calls;   ///< in the window, by entry
	VEC(struct dec_flight_call) earlier; ///< recorded calls before them
	VEC(struct dec_flight_hit) hits;     ///< in the window, in order
	VEC(struct dec_flight_memory) hit_memory;
	uint64_t n_unmatched; ///< heap events that no instruction of the window fits
	struct flight_end *end_state;
};

/**
 * Decode and recover the end of @p c.
 *
 * @return ERR_NOT_FOUND (there is no end.core, no perf.data, no packet of the thread: says
 *	   which, and what to do), ERR_UNSUPPORTED, and as dec_pt_flow_open().
 */
struct err *dec_flight_open(const struct capture *c, const struct dec_flight_options *o,
			    struct dec_flight **ret);
void dec_flight_close(struct dec_flight *f);
void dec_flight_closep(struct dec_flight **f);

/** The heap's history in the window, as dec_heap_trace() reports it: what was there when it
 * began comes first, at time 0. */
struct err *dec_flight_heap_trace(const struct capture *c, struct dec_symbols *symbols,
				  const struct dec_heap_options *o,
				  const struct dec_heap_events *events,
				  struct dec_run *ret);

/** Make of replay capture @p c, which has an end.core, what the flight recorder would have
 * left at its end, in the new directory @p dir: to see what recovery is worth where the
 * truth is known, or on a machine without Intel PT.
 *
 * @return ERR_NOT_FOUND (no end.core), ERR_DIVERGED, and as cap_writer_create().
 */
struct err *dec_flight_make(const struct capture *c, const char *dir);

/** Make of the core of a crash, @p core, and of the Intel PT that `perf record' had under way,
 * @p perf, what the flight recorder would have left: in the new directory @p dir. Code is taken
 * from where dec_pt_flow_open() finds it. @p symfs: as there; NULL.
 *
 * @return ERR_NOT_FOUND (no such file), ERR_FORMAT (no core), ERR_UNSUPPORTED (no PT), and as
 *	   cap_writer_create().
 */
struct err *dec_flight_import(const char *perf, const char *core, const char *symfs,
			      const char *dir);

#endif
