// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What allocator.c has beside what the C library has.
#include <stddef.h>

struct heap;

void *heap_zalloc(size_t n);
void heap_free(void *block); // is free()
void *heap_realloc(struct heap *heap, void *block, size_t n);
int heap_get(void **ret, size_t n);
size_t heap_size(const void *block);
void heap_each(void (*fn)(void *ctx, size_t bytes), void *ctx);
