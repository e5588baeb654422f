// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which instructions can be made to trap here (traps.c). Each is tried once.
 */
#ifndef PT_COLLECT_TRACEE_TRAPS_H
#define PT_COLLECT_TRACEE_TRAPS_H

#include <stdbool.h>

/** @return whether this CPU can make cpuid trap (CPUID faulting). */
bool ptc_can_trap_cpuid(void);

/** @return whether this CPU makes rdtsc trap. Each does by itself (CR4.TSD), but some hypervisors leave
 * that bit out, and the kernel does not notice. */
bool ptc_can_trap_tsc(void);

/** @return whether single-stepping, as a probe does, stops behind cpuid, and not, for a hypervisor that
 * executes it in the guest's stead, an instruction later. */
bool ptc_can_step_cpuid(void);

#endif
