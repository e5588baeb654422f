// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The allocator's functions, by the names that C libraries give them.
 */
#ifndef DECODE_HISTORY_ALLOCATOR_H
#define DECODE_HISTORY_ALLOCATOR_H

#include "capture/capture.h"

/** Not one of enum cap_heap_fn: it calls those, or only looks at what there is. */
#define DEC_ALLOCATOR_OTHER CAP_HEAP_FNS

struct dec_allocator_function {
	const char *name;
	int fn; ///< enum cap_heap_fn that its arguments are those of, or DEC_ALLOCATOR_OTHER
	uint8_t times; ///< register that the second argument is multiplied with; 0: none
};

/** All, those of enum cap_heap_fn first, in its order; the last has no name. */
extern const struct dec_allocator_function dec_allocator[];

#endif
