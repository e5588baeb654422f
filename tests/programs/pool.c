// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
/* A doubly linked list whose items come from a pool of the program's own, or from malloc:
 * `pool pool|malloc [fault]`. The pool cuts slabs into slots, keeps the free ones in a list
 * through their first word, and gives them out again. Taking an item out of the list
 * forgets its neighbour when asked to. Prints how many items there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES 4096

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
static int with_malloc, is_faulty;
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

static struct item *get(void)
{
	return with_malloc ? malloc(sizeof(struct item)) : pool_alloc(&pool);
}

static void put(struct item *i)
{
	if (with_malloc)
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
