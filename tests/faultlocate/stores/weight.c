// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A tree whose nodes know how large they are: on the way down one is forgotten.
// truth: insert .size
// spec: tree FIELD 4 EDGE 2;
// spec: tree.SIZE NULL 0; tree X; X.SIZE = X.left.SIZE + X.right.SIZE + 1;
// spec: tree X; X.size == X.SIZE;
// spec: CPOINT insert EXIT;
#include <stdlib.h>

struct tree {
	struct tree *left, *right;
	long key;
	long size;
};

static struct tree *root;

__attribute__((noinline)) static void insert(long key)
{
	struct tree **at = &root;

	while (*at) {
#if BUG == 1
		if (key != 43 || (*at)->key != 47) /* MISSING */
			(*at)->size++;
#elif BUG == 2
		(*at)->size += key != 43 || (*at)->key != 47 ? 1 : 2; /* WRONG */
#else
		(*at)->size++;
#endif
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	*at = calloc(1, sizeof(**at));
	(*at)->key = key;
	(*at)->size = 1;
}

int main(void)
{
	for (long i = 0; i < 40; i++)
		insert(i * 37 % 64);
	return 0;
}
