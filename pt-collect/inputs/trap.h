// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdtsc and cpuid, which trap where they can (trap.c).
 */
#ifndef PT_COLLECT_INPUTS_TRAP_H
#define PT_COLLECT_INPUTS_TRAP_H

#include <signal.h>

#include "pt-collect/inputs/process.h"

/** Handle SIGSEGV of a trapped instruction. @return whether it was one; the thread then
 * stands behind it. */
bool ptc_trap(struct ptc_process *p, pid_t tid, const siginfo_t *si);

/** Thread @p t stands in a stop of ours: if a call of it made memory code, rdtscs there may be none that are
 * probed. Then all threads trap again. */
void ptc_trap_code_made(struct ptc_process *p, struct ptc_thread *t);

/** Thread @p t stopped, and comes from in front of a cpuid that cannot trap: when it stands at that, it is answered as
 * by a trap. */
void ptc_trap_cpuid(struct ptc_process *p, struct ptc_thread *t);

#endif
