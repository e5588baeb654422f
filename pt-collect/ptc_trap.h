// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdtsc and cpuid, which trap (ptc_trap.c).
 */
#ifndef PT_COLLECT_PTC_TRAP_H
#define PT_COLLECT_PTC_TRAP_H

#include "pt-collect/ptc.h"

/** @return whether this CPU can make cpuid trap. */
bool ptc_can_trap_cpuid(void);

/** Log a gap where it cannot. */
void ptc_trap_tell(struct ptc_process *p);

/** --portable without cpuid traps: glibc's part, through the environment of what we
 * start from here on. @return whether that could be done. */
bool ptc_trap_tune(void);

/** Handle SIGSEGV of a trapped instruction. @return whether it was one; the thread then
 * stands behind it. */
bool ptc_trap(struct ptc_process *p, pid_t tid, const siginfo_t *si);

#endif
