// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
/* Trees in an arena of the program's own, or from malloc: `arena arena|malloc [fault]`. The
 * arena hands out what comes next in a big block, and is freed as a whole; the tree's nodes
 * know their parent, which a rotation gets wrong when asked to. Prints how many nodes there
 * are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES (16 * 1024)

struct block {
	struct block *next;
	size_t used;
	char bytes[];
};

struct arena {
	struct block *blocks;
};

struct tree {
	long key;
	struct tree *left, *right, *parent;
	char *name;
};

static struct arena arena;
static int with_malloc, is_faulty;
static struct tree *root;

__attribute__((noinline)) static void *arena_alloc(struct arena *a, size_t bytes)
{
	struct block *b = a->blocks;
	void *p;

	bytes = (bytes + 15) & ~15ul;
	if (!b || b->used + bytes > BLOCK_BYTES - sizeof(*b)) {
		b = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (b == MAP_FAILED)
			exit(2);
		b->next = a->blocks;
		b->used = 0;
		a->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += bytes;
	return p;
}

static void *get(size_t bytes)
{
	return with_malloc ? malloc(bytes) : arena_alloc(&arena, bytes);
}

static char *get_name(long key)
{
	char text[32];
	char *name;

	snprintf(text, sizeof(text), "node %ld", key);
	name = get(strlen(text) + 1);
	strcpy(name, text);
	return name;
}

static void insert(long key)
{
	struct tree **at = &root, *parent = NULL, *t;

	while (*at) {
		parent = *at;
		at = key < parent->key ? &parent->left : &parent->right;
	}
	t = get(sizeof(*t));
	t->key = key;
	t->left = NULL;
	t->right = NULL;
	t->parent = parent;
	t->name = get_name(key);
	*at = t;
}

static void rotate(struct tree *t)
{
	struct tree *up = t->right, *parent = t->parent;

	if (!up)
		return;
	t->right = up->left;
	if (up->left)
		up->left->parent = is_faulty ? NULL : t; /* FAULT */
	up->left = t;
	t->parent = up;
	up->parent = parent;
	if (!parent)
		root = up;
	else if (parent->left == t)
		parent->left = up;
	else
		parent->right = up;
}

static int count(const struct tree *t)
{
	return t ? 1 + count(t->left) + count(t->right) : 0;
}

int main(int argc, char **argv)
{
	with_malloc = argc > 1 && !strcmp(argv[1], "malloc");
	is_faulty = argc > 2;
	for (long i = 0; i < 60; i++)
		insert(i * 37 % 61);
	rotate(root);
	printf("%d\n", count(root));
	return 0;
}
