// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A 2-3 tree: one or two keys a node, all leaves equally deep. */
#include "specs/subject.h"

#include <string.h>

struct btree {
	long n;
	long key[2];
	struct btree *child[3];
};

/* A node that overflowed: its middle key and what is right of that. */
struct split {
	long key;
	struct btree *right;
};

static struct btree *root;
static int n_nodes;

NOINLINE static struct btree *btree_new(long key, struct btree *left, struct btree *right)
{
	struct btree *b = NEW(struct btree);

	b->n = 1;
	b->key[0] = key;
	b->child[0] = left;
	b->child[1] = right;
	n_nodes++;
	return b;
}

/* Room for one more: @p key and @p right behind place @p i. */
NOINLINE static void btree_put(struct btree *b, int i, long key, struct btree *right)
{
	if (i == 0) {
		b->key[1] = b->key[0];
		FAULT(0, b->child[2] = b->child[1], b->child[2] = b->child[0]);
	}
	b->key[i] = key;
	if (right)
		FAULT(1, b->child[i + 1] = right, b->child[i + 1] = b->child[i]);
	FAULT(2, b->n = 2, b->n = 3);
}

/* Three keys and four children become two nodes and a key between them. */
NOINLINE static struct split btree_split(struct btree *b, int i, long key,
					 struct btree *right)
{
	long k[3] = { b->key[0], b->key[1], b->key[1] };
	struct btree *c[4] = { b->child[0], b->child[1], b->child[2], b->child[2] };
	struct split s;

	memmove(k + i + 1, b->key + i, (2 - i) * sizeof(k[0]));
	memmove(c + i + 2, b->child + i + 1, (2 - i) * sizeof(c[0]));
	k[i] = key;
	c[i + 1] = right;
	s.key = k[1];
	s.right = btree_new(k[2], c[2], c[3]);
	b->key[0] = k[0];
	b->child[1] = c[1];
	if (c[1])
		FAULT(3, b->child[2] = NULL, b->child[2] = c[0]);
	b->n = 1;
	return s;
}

NOINLINE static struct split btree_insert(struct btree *b, long key)
{
	struct split below = { .key = key };
	int i = 0;

	subject_step();
	while (i < b->n && i < 2 && key > b->key[i])
		i++;
	if (i < b->n && i < 2 && key == b->key[i])
		return (struct split){ 0 };
	if (b->child[0]) {
		if (!b->child[i])
			return (struct split){ 0 };
		below = btree_insert(b->child[i], key);
		if (!below.right)
			return below;
	}
	if (b->n == 1) {
		btree_put(b, i, below.key, below.right);
		return (struct split){ 0 };
	}
	return btree_split(b, i > 2 ? 2 : i, below.key, below.right);
}

static void insert(long key)
{
	struct split s = btree_insert(root, key);

	if (s.right)
		root = btree_new(s.key, root, s.right);
}

static void build(void)
{
	root = btree_new(500000, NULL, NULL);
	while (n_nodes < SUBJECT_NODES)
		insert(subject_random() % 1000000);
}

/* Of a leaf with two keys one goes. */
NOINLINE static void btree_remove(unsigned r)
{
	struct btree *b = root;

	while (b && b->child[0]) {
		subject_step();
		b = b->child[r % (b->n + 1 > 3 ? 3 : b->n + 1)];
		r = r >> 1 | r << 31;
	}
	if (b && b->n == 2)
		b->n = 1;
}

NOINLINE static void operate(unsigned r)
{
	if (r & 64)
		btree_remove(r >> 7);
	insert(subject_random() % 1000000);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 4, build, operate });
}
