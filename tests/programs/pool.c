// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
/* A doubly linked list whose items come from a pool of the program's own, or from malloc:
 * `pool pool|bitmap|malloc [fault]`. The pool cuts slabs into slots, keeps the free ones in a
 * list through their first word, and gives them out again; `bitmap' keeps a bit for each in
 * front of them instead, and finds the slab by the slot's address. Taking an item out of the
 * list forgets its neighbour when asked to. Prints how many items there are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES 4096
#define BITMAP_BYTES 1024 // a power of two
#define BITMAP_SLOT_BYTES 32
#define BITMAP_SLOTS 31
#define BITMAP_FULL ((UINT64_C(1) << BITMAP_SLOTS) - 1)

struct slot {
	struct slot *next;
};

struct pool {
	size_t slot_bytes;
	struct slot *free;
};

struct item {
	long key;
	struct item *next, *prev;
};

static struct pool pool = { sizeof(struct item), NULL };
static int with_malloc, with_bitmap, is_faulty;
static struct item *first;

__attribute__((noinline)) static void pool_grow(struct pool *p)
{
	char *slab = malloc(SLAB_BYTES);

	if (!slab)
		exit(2);
	for (size_t at = 0; at + p->slot_bytes <= SLAB_BYTES; at += p->slot_bytes) {
		struct slot *s = (struct slot *)(slab + at);

		s->next = p->free;
		p->free = s;
	}
}

__attribute__((noinline)) static void *pool_alloc(struct pool *p)
{
	struct slot *s;

	if (!p->free)
		pool_grow(p);
	s = p->free;
	p->free = s->next;
	return s;
}

__attribute__((noinline)) static void pool_free(struct pool *p, void *object)
{
	struct slot *s = object;

	s->next = p->free;
	p->free = s;
}

struct bitmap {
	uint64_t used;
	struct bitmap *next;
	char slots[BITMAP_SLOTS][BITMAP_SLOT_BYTES];
};

static struct bitmap *bitmaps;

__attribute__((noinline)) static void *bitmap_alloc(void)
{
	struct bitmap *b = bitmaps;
	int i;

	while (b && b->used == BITMAP_FULL)
		b = b->next;
	if (!b) {
		b = aligned_alloc(BITMAP_BYTES, BITMAP_BYTES);
		if (!b)
			exit(2);
		b->used = 0;
		b->next = bitmaps;
		bitmaps = b;
	}
	i = __builtin_ctzll(~b->used);
	b->used |= UINT64_C(1) << i;
	return b->slots[i];
}

__attribute__((noinline)) static void bitmap_free(void *object)
{
	uintptr_t addr = (uintptr_t)object;
	struct bitmap *b = (struct bitmap *)(addr & ~(uintptr_t)(BITMAP_BYTES - 1));

	b->used &= ~(UINT64_C(1) << (addr - (uintptr_t)b->slots) / BITMAP_SLOT_BYTES);
}

static struct item *get(void)
{
	if (with_bitmap)
		return bitmap_alloc();
	return with_malloc ? malloc(sizeof(struct item)) : pool_alloc(&pool);
}

static void put(struct item *i)
{
	if (with_bitmap)
		bitmap_free(i);
	else if (with_malloc)
		free(i);
	else
		pool_free(&pool, i);
}

static void insert(long key)
{
	struct item *i = get();

	i->key = key;
	i->prev = NULL;
	i->next = first;
	if (first)
		first->prev = i;
	first = i;
}

static void take_out(long key)
{
	struct item *i = first;

	while (i && i->key != key)
		i = i->next;
	if (!i)
		return;
	if (i->prev)
		i->prev->next = i->next;
	else
		first = i->next;
	if (i->next)
		i->next->prev = is_faulty && key == 33 ? NULL : i->prev; /* FAULT */
	put(i);
}

int main(int argc, char **argv)
{
	int n = 0;

	with_malloc = argc > 1 && !strcmp(argv[1], "malloc");
	with_bitmap = argc > 1 && !strcmp(argv[1], "bitmap");
	is_faulty = argc > 2;
	for (long key = 0; key < 60; key++)
		insert(key);
	for (long key = 0; key < 60; key += 3)
		take_out(key);
	for (long key = 100; key < 110; key++)
		insert(key);
	for (struct item *i = first; i; i = i->next)
		n++;
	printf("%d\n", n);
	return 0;
}
