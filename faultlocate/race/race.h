// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which accesses of two threads does nothing order? The recording has the threads one at a time, so the
 * order of their synchronisation is known; an access happened before another if program order
 * and synchronisation lead from the one to the other (vector clocks). Two to the same byte, one of them
 * a write and not both atomic, neither before the other, are a data race. doc/check.md tells what
 * synchronisation is, and what a binary does not tell.
 */
#ifndef FAULTLOCATE_RACE_RACE_H
#define FAULTLOCATE_RACE_RACE_H

#include "base/base.h"
#include "capture/capture.h"
#include "decode/symbols/symbols.h"

#define FL_RACE_CALLERS 8
#define FL_RACE_LOCKS 4

/** One side of a race. */
struct fl_race_access {
	uint64_t time;
	uint64_t rip; ///< the user's statement: itself, or the call that accesses
	uint64_t addr;
	uint32_t size, tid;
	bool is_write, is_atomic;
	uint64_t lock
		[FL_RACE_LOCKS]; ///< that its thread held, by their addresses; the first ones,
	uint32_t n_locks;	 ///< .. of so many
	uint64_t caller[FL_RACE_CALLERS]; ///< the user's calls under way, innermost first
	uint32_t n_callers;
};

/** Two statements that race: the first time, and how often. */
struct fl_race {
	struct fl_race_access earlier, later;
	uint64_t count, last_time;
};

typedef VEC(struct fl_race) fl_races;

struct fl_race_options {
	bool with_progress;
};

/**
 * Replay @p c and find the races, in the order of their first times. A program without a second thread is not
 * replayed.
 *
 * @param symbols  for its functions; modules are added as they are mapped.
 * Only code with line information is looked at: an atomic load or store is a plain one on x86, but for what
 * DWARF says.
 *
 * @param ret	       Empty before; vec_deinit() by the caller.
 * @param has_threads  False before; set if there is a second thread.
 * @return ERR_DIVERGED, ERR_NOMEM, what a machine does.
 */
struct err *fl_races_find(const struct capture *c, struct dec_symbols *symbols,
			  const struct fl_race_options *o, fl_races *ret,
			  bool *has_threads);

#endif
