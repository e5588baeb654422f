// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel's types that record.bpf.c reads (types.c).
 */
#ifndef PT_COLLECT_KERNEL_TYPES_H
#define PT_COLLECT_KERNEL_TYPES_H

#include <stdint.h>

/** A memory file of them, as BTF, for libbpf to relocate by. @return its descriptor, to
 * close; -1 when they cannot be told: then libbpf finds them by itself, in 12 ms more.
 * @param call_end the kernel's number of the type of its tracepoint at the end of calls; 0: unknown. */
int ptc_types_open(uint32_t *call_end);

#endif
