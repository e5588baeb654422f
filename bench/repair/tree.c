// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Trees: see single.c.
#include <stdlib.h>

struct tree {
	int key, height;
	struct tree *left, *right, *parent;
};

int input(void);

struct tree *root;
int least;

static struct tree *leaf(int key)
{
	struct tree *t = malloc(sizeof(*t));

	t->key = key;
	t->height = 1;
	t->left = NULL;
	t->right = NULL;
	t->parent = NULL;
	return t;
}

static void insert(int key)
{
	struct tree *t = root, *above = NULL, *fresh = leaf(key);

	while (t != NULL) {
		above = t;
		if (key < t->key)
			t = t->left;
		else
			t = t->right;
	}
	fresh->parent = above;
	if (above == NULL)
		root = fresh;
	else if (key < above->key)
		above->left = fresh;
	else
		above->right = fresh;
}

/* 8, 4, 12, of each some below: all that a rotation moves is there, or some of it. */
static void build(void)
{
	insert(16);
	insert(8);
	insert(4);
	insert(12);
	if (input() % 4)
		insert(2);
	if (input() % 4)
		insert(6);
	if (input() % 4)
		insert(10);
	if (input() % 4)
		insert(14);
}

static int height_of(struct tree *t)
{
	int left = 0, right = 0;

	if (t == NULL)
		return 0;
	left = height_of(t->left);
	right = height_of(t->right);
	if (left > right)
		t->height = left + 1;
	else
		t->height = right + 1;
	return t->height;
}

/* Which has grandchildren on both sides; 16 or 8, at the top or not. */
static struct tree *pick(void)
{
	struct tree *t;

	build();
	if (input() % 2)
		root = root->left;
	height_of(root);
	t = root;
	if (root->key == 16)
		t = root->left;
	else
		root->parent = NULL;
	return t;
}

void B8_splay_left(struct tree *x)
{
	struct tree *y, *top;

	y = x->right;
	top = x->parent;
	x->right = y->left;
	if (y->left != NULL) {
		y->left->parent = x;
	}
	y->parent = top;
	if (top == NULL) {
		root = y;
	} else {
		if (x == top->left) {
			top->left = y;
		} else {
			top->right = y;
		}
	}
	y->left = x;
	x->parent = y;
}

void test_B8(void)
{
	struct tree *x = pick();

	B8_splay_left(x);
}

void B20_splay_right(struct tree *x)
{
	struct tree *y, *top;

	y = x->left;
	top = x->parent;
	x->left = y->right;
	if (y->right != NULL) {
		y->right->parent = x;
	}
	y->parent = top;
	if (top == NULL) {
		root = y;
	} else {
		if (x == top->right) {
			top->right = y;
		} else {
			top->left = y;
		}
	}
	y->right = x;
	x->parent = y;
}

void test_B20(void)
{
	struct tree *x = pick();

	B20_splay_right(x);
}

int B9_minimum(void)
{
	struct tree *current;

	current = root;
	while (current->left != NULL) {
		current = current->left;
	}
	return current->key;
}

void test_B9(void)
{
	build();
	least = B9_minimum();
}

struct tree *B13_avl_right(struct tree *y)
{
	struct tree *x, *inner;

	x = y->left;
	inner = x->right;
	x->right = y;
	y->left = inner;
	y->height = y->right->height + 1;
	if (inner != NULL && inner->height > y->right->height) {
		y->height = inner->height + 1;
	}
	x->height = y->height + 1;
	return x;
}

void test_B13(void)
{
	struct tree *y = pick();

	root = B13_avl_right(y);
}

struct tree *B15_avl_left(struct tree *x)
{
	struct tree *y, *inner;

	y = x->right;
	inner = y->left;
	y->left = x;
	x->right = inner;
	x->height = x->left->height + 1;
	if (inner != NULL && inner->height > x->left->height) {
		x->height = inner->height + 1;
	}
	y->height = x->height + 1;
	return y;
}

void test_B15(void)
{
	struct tree *x = pick();

	root = B15_avl_left(x);
}

struct tree *B14_avl_left_right(struct tree *z)
{
	struct tree *x, *y;

	y = z->left;
	x = y->right;
	y->right = x->left;
	x->left = y;
	z->left = x->right;
	x->right = z;
	y->height = y->height - 1;
	x->height = x->height + 1;
	return x;
}

void test_B14(void)
{
	struct tree *z;

	build();
	insert(5);
	z = root->left;
	if (input() % 2)
		insert(7);
	height_of(root);
	root = B14_avl_left_right(z);
}

struct tree *B16_avl_right_left(struct tree *z)
{
	struct tree *x, *y;

	y = z->right;
	x = y->left;
	y->left = x->right;
	x->right = y;
	z->right = x->left;
	x->left = z;
	y->height = y->height - 1;
	x->height = x->height + 1;
	return x;
}

void test_B16(void)
{
	struct tree *z;

	build();
	insert(11);
	z = root->left;
	if (input() % 2)
		insert(9);
	height_of(root);
	root = B16_avl_right_left(z);
}

void B17_redblack_left(struct tree *x)
{
	struct tree *y;

	y = x->right;
	x->right = y->left;
	if (x->right != NULL) {
		x->right->parent = x;
	}
	y->parent = x->parent;
	if (x->parent == NULL) {
		root = y;
	} else {
		if (x == x->parent->left) {
			x->parent->left = y;
		} else {
			x->parent->right = y;
		}
	}
	y->left = x;
	x->parent = y;
}

void test_B17(void)
{
	struct tree *x = pick();

	B17_redblack_left(x);
}

void B18_redblack_right(struct tree *y)
{
	struct tree *x;

	x = y->left;
	y->left = x->right;
	if (x->right != NULL) {
		x->right->parent = y;
	}
	x->parent = y->parent;
	if (y->parent == NULL) {
		root = x;
	} else {
		if (y == y->parent->left) {
			y->parent->left = x;
		} else {
			y->parent->right = x;
		}
	}
	x->right = y;
	y->parent = x;
}

void test_B18(void)
{
	struct tree *y = pick();

	B18_redblack_right(y);
}
