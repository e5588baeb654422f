// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One `faultline record`, which owns all that takes part in it (session.c), and hands the
 * stops of its processes to whom they concern (process.c).
 *
 * Invariants:
 *  1. Syscalls are never ptrace-stopped: BPF records them. ptrace handles the rare: start,
 *     signals, trapped instructions, children, exit, and the stops that BPF asks for.
 *  2. At every ptrace stop of the target the ring is drained before the stop's own event
 *     is logged. One thread cannot be at two places, so that makes the order total.
 *  3. Whatever fails in recording, the program itself runs on to its own end.
 */
#ifndef PT_COLLECT_SESSION_H
#define PT_COLLECT_SESSION_H

#include <sys/ptrace.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/start/follow.h"

struct ptc_flight;

/** One `faultline record`. */
struct ptc_session {
	struct ptc_processes all;
	struct ptc_flight *flight; ///< --snapshot; NULL = recorded for replay
	bool wants_end_core;
	bool wants_end;	 ///< leave it, it runs on
	uint64_t end_ns; ///< when to leave it by itself; 0 = never
	struct ptc_family family;
};

/* ---- session (session.c) ------------------------------------------------------ */

/** What waitpid() gave of any process: a stop or an end. */
void ptc_session_take(struct ptc_session *s, pid_t tid, int status);

/* ---- process (process.c) ------------------------------------------------------ */

/** A ptrace stop of thread @p tid of @p p; the ring has been drained. */
void ptc_process_stop(struct ptc_session *s, struct ptc_process *p, pid_t tid,
		      int status);

#endif
