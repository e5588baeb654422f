// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The recorder's main nouns: a session is one `faultline record`, a process one program in
 * it, a thread one of its threads. What is done with them has a header for each part
 * (tracee/tracee.h, start/attach.h ...). Private to pt-collect/.
 *
 * Invariants:
 *  1. Syscalls are never ptrace-stopped: BPF records them. ptrace handles the rare: start,
 *     signals, trapped instructions, children, exit, and the stops that BPF asks for.
 *  2. At every ptrace stop of the target the ring is drained before the stop's own event
 *     is logged. One thread cannot be at two places, so that makes the order total.
 *  3. Whatever fails in recording, the program itself runs on to its own end.
 */
#ifndef PT_COLLECT_PTC_H
#define PT_COLLECT_PTC_H

#include "pt-collect/inputs/process.h"

struct ptc_chaos;
struct ptc_flight;

/** A child that stopped before its parent's event told what it is, or the reverse. */
struct ptc_child {
	pid_t pid;
	bool has_stopped;
	pid_t parent; ///< the process that created it; 0 until the event came
	uint32_t parent_index;
	unsigned event;	   ///< PTRACE_EVENT_*
	unsigned n_frames; ///< handlers that the creating thread was in
};

/** One `faultline record`. */
struct ptc_session {
	struct ptc_processes all;
	struct ptc_flight *flight; ///< --snapshot; NULL = recorded for replay
	bool wants_end_core;
	bool wants_end;	 ///< leave it, it runs on
	uint64_t end_ns; ///< when to leave it by itself; 0 = never
	VEC(struct ptc_child) children;
	VEC(struct cap_process) followed; ///< by index - 1; complete at the end of each
	uint64_t followed_syscalls, followed_bytes;
	size_t n_gaps;	     ///< in what was followed
	char *first_gap;     ///< text of the first, NULL = none
	struct err *failure; ///< the first thing that went wrong with a followed process
	struct ptc_chaos *chaos; ///< NULL = the schedule is left alone
};

/* ---- session (session.c) ------------------------------------------------------ */

/** What waitpid() gave of any process: a stop or an end. */
void ptc_session_take(struct ptc_session *s, pid_t tid, int status);

/* ---- process (process.c) ------------------------------------------------------ */

#define PTC_END_STOP (SIGTRAP | PTRACE_EVENT_EXIT << 8) ///< si_code at a thread's end

/** A ptrace stop of thread @p tid of @p p; the ring has been drained. */
void ptc_process_stop(struct ptc_session *s, struct ptc_process *p, pid_t tid,
		      int status);

#endif
