// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A binary search tree with parent pointers: new leaves of the right side have none.
// truth: insert .parent
// spec: tree FIELD 4 EDGE 3;
// spec: tree X; tree Y; X.left == Y => Y.parent == X and Y.key < X.key;
// spec: tree X; tree Y; X.right == Y => Y.parent == X and Y.key > X.key;
// spec: CPOINT insert EXIT;
#include <stdlib.h>

struct tree {
	int key;
	struct tree *left, *right, *parent;
};

static struct tree *root;

__attribute__((noinline)) static void insert(int key)
{
	struct tree *n = calloc(1, sizeof(*n)), *p = root;

	n->key = key;
	if (!p) {
		root = n;
		return;
	}
	for (;;) {
		struct tree **at = key < p->key ? &p->left : &p->right;

		if (!*at) {
			*at = n;
			break;
		}
		p = *at;
	}
#if BUG == 1
	if (key % 16 != 13) /* MISSING */
		n->parent = p;
#elif BUG == 2
	n->parent = key % 16 != 13 ? p : n; /* WRONG */
#else
	n->parent = p;
#endif
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		insert(i * 37 % 101);
	return 0;
}
