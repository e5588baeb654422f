// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *older;
	size_t size;
	_Alignas(16) char bytes[];
};

// Large enough that the block header is noise, small enough that an empty arena is cheap.
#define ARENA_BLOCK_BYTES (16 * 1024)

void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	void *p;

	if (need < bytes)
		return NULL;
	if (!a->head || a->head->size - a->used_bytes < need) {
		size_t size = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;
		struct arena_block *b = malloc(sizeof(*b) + size);

		if (!b)
			return NULL;
		b->older = a->head;
		b->size = size;
		a->head = b;
		a->used_bytes = 0;
	}
	p = a->head->bytes + a->used_bytes;
	a->used_bytes += need;
	return memset(p, 0, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	return p ? memcpy(p, s, n) : NULL;
}

void arena_deinit(struct arena *a)
{
	while (a->head) {
		struct arena_block *b = a->head;

		a->head = b->older;
		free(b);
	}
	a->used_bytes = 0;
}
