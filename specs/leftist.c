// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A leftist heap: the path along right links is the shortest way out. */
#include "specs/subject.h"

struct heap {
	long key;
	struct heap *left;
	struct heap *right;
};

static struct heap *root;
static int rank_memo;

NOINLINE static int rank(const struct heap *h)
{
	int n = 0;

	for (; h; h = h->right) {
		subject_step();
		n++;
	}
	return n;
}

NOINLINE static struct heap *heap_merge(struct heap *a, struct heap *b)
{
	struct heap *below;

	subject_step();
	if (!a || !b)
		return a ? a : b;
	if (b->key < a->key) {
		struct heap *t = a;

		a = b;
		b = t;
	}
	below = heap_merge(a->right, b);
	if (rank(a->left) >= rank(below)) {
		a->right = below;
	} else {
		struct heap *left = a->left;

		a->left = below;
		a->right = left;
	}
	return a;
}

NOINLINE static void heap_insert(long key)
{
	struct heap *h = NEW(struct heap);

	h->key = key;
	root = heap_merge(root, h);
}

NOINLINE static void heap_pop(void)
{
	struct heap *h = root;

	root = heap_merge(h->left, h->right);
	free(h);
}

/* A key becomes larger than its parent's, within what is below it. */
NOINLINE static void heap_touch(unsigned r)
{
	struct heap *h = root;

	while (h->left && h->right && r % 5) {
		h = r & 8 ? h->left : h->right;
		r /= 2;
	}
	if (r & 1)
		FAULT(0, rank_memo = rank(h), h->key = -1 - h->key);
	else if (h->right)
		FAULT(1, rank_memo = rank(h), h->right = h->left);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		heap_insert(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	if (r % 4 == 0 && root)
		heap_touch(r / 4);
	else if (r & 16 || !root)
		heap_insert(r % 1000000);
	else
		heap_pop();
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
