// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Phase memory: many small allocations, freed all at once. Objects never move.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head; ///< the block being filled; older ones behind it
	size_t used_bytes;	  ///< filled bytes of head
};

/** @return @p bytes zeroed bytes, 16-byte aligned, valid until arena_deinit(); NULL
 * when memory is out. */
void *arena_alloc(struct arena *a, size_t bytes);

/** @return a NUL-terminated copy of @p n bytes of @p s in the arena, or NULL. */
char *arena_strndup(struct arena *a, const char *s, size_t n);

/** Free everything; the arena is empty and usable again. A zeroed arena is empty. */
void arena_deinit(struct arena *a);

#endif
