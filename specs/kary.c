// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A full k-ary tree: a node has all its children or none. */
#include "specs/subject.h"

enum { K = 5 };

struct kary {
	long value;
	struct kary *child[K];
};

static struct kary *root;
static int n_nodes;

static struct kary *kary_leaf(unsigned *r)
{
	struct kary *k = root;

	while (k->child[0]) {
		subject_step();
		k = k->child[*r % K];
		*r = *r >> 2 | *r << 30;
	}
	return k;
}

NOINLINE static void kary_grow(unsigned r)
{
	struct kary *k = kary_leaf(&r);

	for (int i = 0; i < K; i++) {
		k->child[i] = NEW(struct kary);
		k->child[i]->value = n_nodes++;
	}
	FAULT(0, k->value++, k->child[r % K] = NULL);
}

/* Exchange two children. */
NOINLINE static void kary_swap(unsigned r)
{
	struct kary *k = root->child[r % K], *was;

	if (!k || !k->child[0])
		return;
	was = k->child[1];
	k->child[1] = k->child[2];
	FAULT(1, k->child[2] = was, k->child[2] = root);
}

static void build(void)
{
	root = NEW(struct kary);
	while (n_nodes < SUBJECT_NODES)
		kary_grow(subject_random());
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		kary_grow(r / 2);
	else
		kary_swap(r / 2);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
