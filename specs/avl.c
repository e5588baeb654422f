// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* An AVL tree. */
#include "specs/subject.h"

struct avl {
	int key;
	int height;
	struct avl *left;
	struct avl *right;
};

static struct avl *root;
static int n_keys;

static int height(const struct avl *n)
{
	return n ? n->height : -1;
}

NOINLINE static void avl_measure(struct avl *n)
{
	int l = height(n->left), r = height(n->right);

	n->height = (l > r ? l : r) + 1;
}

NOINLINE static struct avl *avl_rotate_right(struct avl *n)
{
	struct avl *l = n->left;

	FAULT(0, n->left = l->right, n->left = l->left);
	l->right = n;
	avl_measure(n);
	avl_measure(l);
	return l;
}

NOINLINE static struct avl *avl_rotate_left(struct avl *n)
{
	struct avl *r = n->right;

	FAULT(1, n->right = r->left, n->right = r->right);
	r->left = n;
	avl_measure(n);
	avl_measure(r);
	return r;
}

NOINLINE static struct avl *avl_balance(struct avl *n)
{
	int tilt = height(n->left) - height(n->right);

	if (tilt > 1) {
		if (height(n->left->left) < height(n->left->right))
			n->left = avl_rotate_left(n->left);
		return avl_rotate_right(n);
	}
	if (tilt < -1) {
		if (height(n->right->right) < height(n->right->left))
			n->right = avl_rotate_right(n->right);
		return avl_rotate_left(n);
	}
	avl_measure(n);
	return n;
}

NOINLINE static struct avl *avl_insert(struct avl *n, int key)
{
	struct avl *below;

	subject_step();
	if (!n) {
		n = NEW(struct avl);
		n->key = key;
		n_keys++;
		return n;
	}
	if (key == n->key)
		return n;
	// Written only where it changes, as programs do that share nodes.
	below = avl_insert(key < n->key ? n->left : n->right, key);
	if (key < n->key && below != n->left)
		n->left = below;
	else if (key > n->key && below != n->right)
		n->right = below;
	return avl_balance(n);
}

/* Take the smallest away from below @p n; its node is @p least. */
NOINLINE static struct avl *avl_take_least(struct avl *n, struct avl **least)
{
	struct avl *below;

	subject_step();
	if (!n->left) {
		*least = n;
		return n->right;
	}
	below = avl_take_least(n->left, least);
	if (below != n->left)
		n->left = below;
	return avl_balance(n);
}

NOINLINE static struct avl *avl_remove(struct avl *n, int key)
{
	struct avl *below, *least;

	subject_step();
	if (!n)
		return NULL;
	if (key == n->key) {
		below = n->left;
		if (below && n->right) {
			struct avl *right = avl_take_least(n->right, &least);

			FAULT(2, least->right = right, least->right = below);
			FAULT(3, least->left = below, least->left = below->left);
			below = avl_balance(least);
		} else if (!below) {
			below = n->right;
		}
		free(n);
		n_keys--;
		return below;
	}
	below = avl_remove(key < n->key ? n->left : n->right, key);
	if (key < n->key && below != n->left)
		n->left = below;
	else if (key > n->key && below != n->right)
		n->right = below;
	return avl_balance(n);
}

static void build(void)
{
	while (n_keys < SUBJECT_NODES)
		root = avl_insert(root, subject_random() % 100000);
}

NOINLINE static void operate(unsigned r)
{
	const struct avl *n = root;

	if (r & 1) {
		root = avl_insert(root, r % 100000);
		return;
	}
	for (unsigned i = r % 11; i && (n->left || n->right); i--, r /= 2)
		n = (r & 1 && n->left) || !n->right ? n->left : n->right;
	root = avl_remove(root, n->key);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 4, build, operate });
}
