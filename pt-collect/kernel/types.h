// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel's types that record.bpf.c reads (types.c).
 */
#ifndef PT_COLLECT_KERNEL_TYPES_H
#define PT_COLLECT_KERNEL_TYPES_H

#include <stdint.h>

/** The kernel's numbers of types; 0: it has no such, or they cannot be told. */
struct ptc_numbers {
	uint32_t call_end; ///< of its tracepoint at the end of calls
	uint32_t cast;	   ///< of bpf_rdonly_cast()
	uint32_t words;	   ///< of a structure that is two words, to cast to
};

/** A memory file of them, as BTF, for libbpf to relocate by. @return its descriptor, to
 * close; -1 when they cannot be told: then libbpf finds them by itself, in 12 ms more. */
int ptc_types_open(struct ptc_numbers *numbers);

#endif
