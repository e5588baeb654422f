// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The allocator's functions, by the names that C libraries give them.
 */
#ifndef DECODE_HISTORY_ALLOCATOR_H
#define DECODE_HISTORY_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "decode/symbols/symbols.h"

/** Not one of enum cap_heap_fn: it calls those, or only looks at what there is. */
#define DEC_ALLOCATOR_OTHER CAP_HEAP_FNS

struct dec_allocator_function {
	const char *name;
	int fn; ///< enum cap_heap_fn that its arguments are those of, or DEC_ALLOCATOR_OTHER
	uint8_t times; ///< register that the second argument is multiplied with; 0: none
};

/** operator new and delete, as they are mangled; what follows (sizes, alignment, nothrow) is theirs. */
struct dec_allocator_operator {
	const char *name;
	bool is_delete, is_array;
	uint8_t size; ///< register: how much new is asked for, delete told it was; 0: delete is not told
	uint8_t align; ///< .. to be aligned to; 0: not
};

extern const struct dec_allocator_operator dec_allocator_operators[];
extern const size_t dec_allocator_n_operators;

/** @return whether operator new and delete of the modules that are known are one library's, and not the user's, as those
 * of @p exe (NULL: not known) are. Only of such is it known that they call the allocator once, and what for. */
bool dec_allocator_has_librarys_new(struct dec_symbols *symbols, const char *exe);

/** Call @p fn with the functions of allocators that are neither the C library's nor @p exe's (NULL: not known), and that the C
 * library has none of that name of (mimalloc's mi_zalloc()); some may be one with what is in dec_allocator. What they allocate,
 * and what of their arguments they release, nobody knows. @return what @p fn does. */
struct err *dec_allocator_strangers(struct dec_symbols *symbols, const char *exe,
				    struct err *(*fn)(void *ctx, uint64_t entry),
				    void *ctx);

/** All, those of enum cap_heap_fn first, in its order; the last has no name. */
extern const struct dec_allocator_function dec_allocator[];

#endif
