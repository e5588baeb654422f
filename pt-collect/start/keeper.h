// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * When the recorder is killed: who watches (keeper.c), over what (wards.c), and how
 * a program is left as it would be by itself (release.c).
 */
#ifndef PT_COLLECT_START_KEEPER_H
#define PT_COLLECT_START_KEEPER_H

#include "pt-collect/ptc.h"

/**
 * Run @p fn in a process of its own, the recorder, and watch over it (keeper.c).
 *
 * @param in_flight  As in ptc_watched_signals().
 * @return what to exit with: @p fn's result.
 */
int ptc_keep(int (*fn)(void *ctx), void *ctx, bool in_flight);

/** What keeper and recorder take from a descriptor, blocked: children's stops and ends, and
 * requests to end; @p in_flight also SIGUSR2, by which a snapshot is asked for. */
sigset_t ptc_watched_signals(bool in_flight);

/** In the recorder: was the keeper killed? */
bool ptc_is_keeper_gone(void);

/** Processes that are started by us, or follow from these, and are not as they would be by
 * themselves: what the keeper must know when the recorder dies. Made before the fork. */
struct err *ptc_wards_init(void);
void ptc_wards_add(pid_t pid, uint64_t syscall_at, bool is_ours);
void ptc_wards_forget(pid_t pid);

/** A user's SIGSTOP stopped it (it is to stay so), or SIGCONT ended that. */
void ptc_wards_stopped(pid_t pid, bool is_stopped);

/** The CPUs that it may use by itself. */
void ptc_wards_cpus(pid_t pid, const cpu_set_t *cpus);

/** The recorder is dying: become the tracer of all of them as soon as it has let go. */
void ptc_wards_seize(pid_t recorder);

/** It is dead: leave all of them as they would be. @return whether one goes on. */
bool ptc_wards_repair(void);

/** Wait for the end of the program, as its recorder would have. */
void ptc_wards_wait(void);

/**
 * Leave process @p pid, whose recorder died, alone: each of its threads executes rdtsc and
 * cpuid itself again, goes on with what it was doing, and is not traced. Signals on their
 * way stay on their way, but for SIGSTOPs of the kernel side.
 *
 * @param syscall_at  As in struct ptc_process; used when the vDSO has gone. May be 0.
 * @param is_stopped  Set when it is in a group stop, and stays in it.
 * @return NULL also when the process has ended; otherwise what could not be restored.
 */
struct err *ptc_release(pid_t pid, uint64_t syscall_at, bool *is_stopped);

/** The same for those children of @p pid, and theirs, that nobody traces. */
void ptc_release_children(pid_t pid);

/** Become the tracer of all threads of @p pid, which run on. @return whether nobody else
 * is (also when it has ended). */
bool ptc_seize(pid_t pid);

/** Stop recording @p p and leave it as it would be by itself. */
void ptc_leave(struct ptc_process *p);

#endif
