// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A skip list: on the lowest level a new node is left out, now and then.
// truth: insert .next[0]
// spec: skip FIELD 6 EDGE 4;
// spec: skip X; X.key >= 0 => X.INDEGREE >= X.height;
// spec: CPOINT insert EXIT;
#include <stdlib.h>

#define LEVELS 4

struct skip {
	int key;
	int height;
	struct skip *next[LEVELS];
};

static struct skip *head;

__attribute__((noinline)) static void insert(int key, int height)
{
	struct skip *update[LEVELS], *at = head, *n = calloc(1, sizeof(*n));

	for (int i = LEVELS - 1; i >= 0; i--) {
		while (at->next[i] && at->next[i]->key < key)
			at = at->next[i];
		update[i] = at;
	}
	n->key = key;
	n->height = height;
	for (int i = 0; i < height; i++) {
		n->next[i] = update[i]->next[i];
#if BUG == 1
		if (i || key != 20) /* MISSING */
			update[i]->next[i] = n;
#elif BUG == 2
		update[i]->next[i] = i || key != 20 ? n : NULL; /* WRONG */
#else
		update[i]->next[i] = n;
#endif
	}
}

int main(void)
{
	head = calloc(1, sizeof(*head));
	head->key = -1;
	for (int i = 0; i < 24; i++)
		insert(i * 17 % 50, 1 + (i % 4));
	return 0;
}
