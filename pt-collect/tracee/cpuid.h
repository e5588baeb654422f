// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a recorded program learns from cpuid (cpuid.c).
 */
#ifndef PT_COLLECT_TRACEE_CPUID_H
#define PT_COLLECT_TRACEE_CPUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/cap_cpu.h"

/** What this machine's processor says of itself, asked once: with what differs between CPUs
 * where programs are not answered by us. @return NULL when memory is short; never freed. */
const struct cap_cpu *ptc_cpu_here(void);

/** Take out of @p r (eax, ebx, ecx, edx), the CPU's answer to @p leaf and @p subleaf, what a
 * recorded program is not to know of; when @p is_portable, all beyond x86-64-v2, too. */
void ptc_cpuid_hide(bool is_portable, uint32_t leaf, uint32_t subleaf, uint32_t r[4]);

#endif
