// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * When the recorder is killed: over what its keeper watches (wards.c), and how a program is
 * left as it would be by itself (release.c).
 */
#ifndef PT_COLLECT_TRACEE_WARDS_H
#define PT_COLLECT_TRACEE_WARDS_H

#include <sched.h>
#include <sys/types.h>

#include "base/base.h"

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
 * @param syscall_at  As in struct ptc_tracee; used when the vDSO has gone. May be 0.
 * @param is_stopped  Set when it is in a group stop, and stays in it.
 * @return NULL also when the process has ended; otherwise what could not be restored.
 */
struct err *ptc_release(pid_t pid, uint64_t syscall_at, bool *is_stopped);

/** The same for those children of @p pid, and theirs, that nobody traces. */
void ptc_release_children(pid_t pid);

/** Become the tracer of all threads of @p pid, which run on. @return whether nobody else
 * is (also when it has ended). */
bool ptc_seize(pid_t pid);

#endif
