// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Rotations of a tree with parent pointers: the grandchild keeps its old parent.
// truth: rotate_left .parent
// spec: tree FIELD 4 EDGE 3;
// spec: tree X; tree Y; X.left == Y => Y.parent == X;
// spec: tree X; tree Y; X.right == Y => Y.parent == X;
// spec: CPOINT rotate_left EXIT;
#include <stdlib.h>

struct tree {
	struct tree *left, *right, *parent;
	int key;
};

static struct tree *root;

static struct tree *build(int from, int to, struct tree *parent)
{
	struct tree *t;

	if (from >= to)
		return NULL;
	t = malloc(sizeof(*t));
	t->key = (from + to) / 2;
	t->parent = parent;
	t->left = build(from, t->key, t);
	t->right = build(t->key + 1, to, t);
	return t;
}

__attribute__((noinline)) static void rotate_left(struct tree *x)
{
	struct tree *y = x->right;

	x->right = y->left;
	if (y->left)
#if BUG == 1
		if (x->key != 16) /* MISSING */
			y->left->parent = x;
#elif BUG == 2
		y->left->parent = x->key == 16 ? y->left : x; /* WRONG */
#else
		y->left->parent = x;
#endif
	y->parent = x->parent;
	if (!x->parent)
		root = y;
	else if (x->parent->left == x)
		x->parent->left = y;
	else
		x->parent->right = y;
	y->left = x;
	x->parent = y;
}

int main(void)
{
	root = build(0, 32, NULL);
	rotate_left(root->left);
	rotate_left(root->right);
	rotate_left(root->left->left);
	rotate_left(root);
	return 0;
}
