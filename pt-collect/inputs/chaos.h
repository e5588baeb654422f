// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * --chaos: who may run (chaos.c); and is the program stuck? (hang.c)
 */
#ifndef PT_COLLECT_INPUTS_CHAOS_H
#define PT_COLLECT_INPUTS_CHAOS_H

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/tracee/tracee.h"

struct ptc_chaos;
struct ptc_points;

/** The program stands at its first instruction: draw a strategy from @p seed. the others
 * are borrowed. */
struct err *ptc_chaos_create(struct ptc_bpf *bpf, const struct ptc_tracee *tracee,
			     struct ptc_points *points, uint64_t seed,
			     struct ptc_chaos **ret);
void ptc_chaos_destroy(struct ptc_chaos *c);

/** Thread @p tid appeared (told twice: done once); or is about to end. Without
 * chaos (NULL) nobody is held back. */
void ptc_chaos_add(struct ptc_chaos *c, pid_t tid);
void ptc_chaos_forget(struct ptc_chaos *c, pid_t tid);

/** Stopped thread @p tid could go on: it does, unless @p c holds it back until a later
 * ptc_chaos_step(). */
void ptc_chaos_go_on(struct ptc_chaos *c, pid_t tid);

/** Do what is due. @return when to be called again, CLOCK_MONOTONIC nanoseconds. */
uint64_t ptc_chaos_step(struct ptc_chaos *c);

/** What a thread is doing. */
enum ptc_wait {
	PTC_WAIT_NONE,	  ///< it runs, or would if it had a CPU
	PTC_WAIT_SOME,	  ///< it waits, perhaps for time to pass or for somebody outside
	PTC_WAIT_ENDLESS, ///< it waits for another thread, without a time limit
	PTC_WAIT_STOPPED, ///< by ptrace
	PTC_WAIT_GONE
};

/** @param word set to the futex it waits for, or 0. */
enum ptc_wait ptc_wait_of(pid_t pid, pid_t tid, uint64_t *word);

/** How long the program has been standing still. Zeroed at first but for limit_ns. */
struct ptc_hang {
	uint64_t limit_ns, since_ns, n_run;
	bool is_endless;
};

/** Look at all threads of @p t. @return whether they hang. */
bool ptc_hang_look(struct ptc_hang *h, const struct ptc_tracee *t);

/** Say on stderr which thread waits for what. */
void ptc_hang_describe(const struct ptc_tracee *t);

#endif
