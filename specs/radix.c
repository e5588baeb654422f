// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A radix tree of 16 ways over 16-bit keys. */
#include "specs/subject.h"

enum { WAYS = 16, DEPTH = 4 };

struct radix {
	int depth;
	int n_children;
	struct radix *child[WAYS];
};

static struct radix *root;
static int n_nodes;

NOINLINE static struct radix *radix_new(int depth)
{
	struct radix *x = NEW(struct radix);

	x->depth = depth;
	n_nodes++;
	return x;
}

NOINLINE static void radix_insert(unsigned key)
{
	struct radix *x = root;

	for (int d = 1; d <= DEPTH; d++) {
		struct radix **at = &x->child[key >> (16 - 4 * d) & 15];

		if (!*at) {
			*at = radix_new(d);
			FAULT(0, x->n_children++, x->n_children--);
		}
		x = *at;
		if (x->depth != d)
			return;
	}
}

NOINLINE static void radix_remove(unsigned key)
{
	struct radix *path[DEPTH + 1] = { root };

	for (int d = 1; d <= DEPTH; d++) {
		path[d] = path[d - 1]->child[key >> (16 - 4 * d) & 15];
		if (!path[d] || path[d]->depth != d)
			return;
	}
	path[DEPTH - 1]->child[key & 15] = NULL;
	path[DEPTH - 1]->n_children--;
	free(path[DEPTH]);
	n_nodes--;
	FAULT(1, root->depth = 0, path[1]->child[key & 15] = root);
}

static void build(void)
{
	root = radix_new(0);
	while (n_nodes < SUBJECT_NODES)
		radix_insert(subject_random() & 0xfff);
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		radix_insert(r / 2 & 0xffff);
	else
		radix_remove(r / 2 & 0xfff);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
