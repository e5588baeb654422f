// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// An allocator in place of the C library's, with functions of its own beside those, as mimalloc has them: a library for
// strangers.c. Blocks of one size lie in one piece of memory, those that are free in a list through themselves.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "allocator.h"

#define PIECE ((size_t)1 << 22)
#define SIZES 18 // 16 bytes, 32, ..

struct free_block {
	struct free_block *next;
};

static struct free_block *first[SIZES];
static size_t used[SIZES];
static char *memory;

static size_t number_of(const void *block)
{
	return ((char *)block - memory) / PIECE;
}

static void *take(size_t n)
{
	size_t k = 0;
	void *ret;

	while ((size_t)16 << k < n)
		if (++k == SIZES)
			return NULL;
	if (!memory)
		memory = mmap(NULL, SIZES * PIECE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (first[k]) {
		ret = first[k];
		first[k] = first[k]->next;
		return ret;
	}
	if (used[k] + ((size_t)16 << k) > PIECE)
		return NULL;
	ret = memory + k * PIECE + used[k];
	used[k] += (size_t)16 << k;
	return ret;
}

static void give(void *block)
{
	size_t k = number_of(block);

	if (!block || k >= SIZES)
		return;
	((struct free_block *)block)->next = first[k];
	first[k] = block;
}

static void *again(void *block, size_t n)
{
	size_t has = block ? (size_t)16 << number_of(block) : 0;
	void *ret;

	if (n <= has && n > has / 2)
		return block;
	ret = take(n);
	if (ret && block)
		memcpy(ret, block, has < n ? has : n);
	give(block);
	return ret;
}

void *malloc(size_t n)
{
	return take(n);
}

void *calloc(size_t n, size_t bytes)
{
	void *ret = take(n * bytes);

	return ret ? memset(ret, 0, n * bytes) : NULL;
}

void *realloc(void *block, size_t n)
{
	return again(block, n);
}

void *memalign(size_t align, size_t n)
{
	return take(n > align ? n : align);
}

void *aligned_alloc(size_t align, size_t n)
{
	return take(n > align ? n : align);
}

int posix_memalign(void **ret, size_t align, size_t n)
{
	*ret = take(n > align ? n : align);
	return *ret ? 0 : ENOMEM;
}

void heap_free(void *block)
{
	give(block);
}

extern void free(void *block) __attribute__((alias("heap_free")));

void *heap_zalloc(size_t n)
{
	void *ret = take(n);

	return ret ? memset(ret, 0, n) : NULL;
}

void *heap_realloc(struct heap *heap, void *block, size_t n)
{
	(void)heap;
	return again(block, n);
}

int heap_get(void **ret, size_t n)
{
	*ret = take(n);
	return *ret ? 0 : ENOMEM;
}

size_t heap_size(const void *block)
{
	return (size_t)16 << number_of(block);
}

void heap_each(void (*fn)(void *ctx, size_t bytes), void *ctx)
{
	for (size_t k = 0; k < SIZES; k++)
		fn(ctx, used[k]);
}
