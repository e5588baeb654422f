// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A binary search tree that moves a key up when it is asked for often. The rotation hands
 * the wrong subtree over: one subtree gets two parents, another none.
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>

#define KEYS 150
#define HOT 5 /* hits that move a node up */
#define NOINLINE __attribute__((noinline))

struct tnode {
	int key;
	int hits;
	struct tnode *left;
	struct tnode *right;
};

static struct tnode *root;

NOINLINE static void bst_insert(int key)
{
	struct tnode **link = &root, *n;

	while (*link) {
		if (key == (*link)->key)
			return;
		link = key < (*link)->key ? &(*link)->left : &(*link)->right;
	}
	n = malloc(sizeof(struct tnode));
	if (!n)
		exit(1);
	n->key = key;
	n->hits = 0;
	n->left = NULL;
	n->right = NULL;
	*link = n;
}

NOINLINE static void bst_remove(int key)
{
	struct tnode **link = &root, *n;

	while (*link && (*link)->key != key)
		link = key < (*link)->key ? &(*link)->left : &(*link)->right;
	n = *link;
	if (!n)
		return;
	if (n->left && n->right) {
		/* The next larger key takes its place. */
		struct tnode **next = &n->right, *s;

		while ((*next)->left)
			next = &(*next)->left;
		s = *next;
		n->key = s->key;
		n->hits = s->hits;
		*next = s->right;
		n = s;
	} else {
		*link = n->left ? n->left : n->right;
	}
	free(n);
}

/*
 *	    y              x
 *	   / \            / \
 *	  x   c    ->    a   y
 *	 / \                / \
 *	a   b              b   c
 */
NOINLINE static void rotate_right(struct tnode **link)
{
	struct tnode *y = *link, *x = y->left;

#ifdef FIXED
	y->left = x->right;
#else
	y->left = x->left; /* BUG */
#endif
	x->right = y;
	*link = x;
}

NOINLINE static void rotate_left(struct tnode **link)
{
	struct tnode *x = *link, *y = x->right;

	x->right = y->left;
	y->left = x;
	*link = y;
}

/* Find key; every HOT hits it moves one level up. */
NOINLINE static int bst_lookup(int key)
{
	struct tnode **above = NULL, **link = &root;

	while (*link && (*link)->key != key) {
		above = link;
		link = key < (*link)->key ? &(*link)->left : &(*link)->right;
	}
	if (!*link)
		return 0;
	if (++(*link)->hits % HOT == 0 && above) {
		if (link == &(*above)->left)
			rotate_right(above);
		else
			rotate_left(above);
	}
	return 1;
}

static int bst_depth(const struct tnode *n)
{
	int left, right;

	if (!n)
		return 0;
	left = bst_depth(n->left);
	right = bst_depth(n->right);
	return 1 + (left > right ? left : right);
}

int main(void)
{
	unsigned int seed = 3;
	int i, key, found = 0;

	bst_insert(500);
	bst_insert(250);
	bst_insert(125);
	for (i = 0; i < KEYS; i++) {
		seed = seed * 1103515245 + 12345;
		bst_insert((seed >> 16) % 1000);
	}
	for (i = 0; i < 40; i++) {
		seed = seed * 1103515245 + 12345;
		key = (seed >> 16) % 1000;
		if (key != 500 && key != 250 && key != 125)
			bst_remove(key);
	}
	for (i = 0; i < HOT; i++)
		found += bst_lookup(250);
	for (i = 0; i < 1000; i++)
		found += bst_lookup(i);
	printf("%d found, depth %d\n", found, bst_depth(root));
	return 0;
}
