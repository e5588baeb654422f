// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A plain binary tree: a node goes wherever there is room. */
#include "specs/subject.h"

struct tree {
	long value;
	struct tree *left;
	struct tree *right;
};

static struct tree root;
static long n_values;

static struct tree **place(unsigned r)
{
	struct tree *t = &root, **at;

	for (;; t = *at) {
		subject_step();
		at = r & 1 ? &t->left : &t->right;
		r = r >> 1 | r << 31;
		if (!*at)
			return at;
	}
}

NOINLINE static void tree_insert(unsigned r)
{
	struct tree *t = NEW(struct tree);

	t->value = n_values++;
	*place(r) = t;
}

/* Swap the sides of a node that has both. */
NOINLINE static void tree_mirror(unsigned r)
{
	struct tree *t = root.left, *left;

	while (t && r % 3 && t->left && t->right) {
		subject_step();
		t = r & 4 ? t->left : t->right;
		r = r >> 1 | r << 31;
	}
	if (!t || !t->left || !t->right)
		return;
	left = t->left;
	t->left = t->right;
	FAULT(0, t->right = left, t->right = t);
	FAULT(1, t->value++, t->left = left);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		tree_insert(subject_random());
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		tree_insert(r / 2);
	else
		tree_mirror(r / 2);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
