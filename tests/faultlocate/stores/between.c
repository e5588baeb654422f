// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A doubly linked list, a node put behind another; now and then the one behind is not told.
// truth: insert .prev
// spec: link FIELD 3 EDGE 2;
// spec: link X; link Y; X.next == Y => Y.prev == X;
// spec: link X; link Y; X.prev == Y => Y.next == X;
// spec: CPOINT insert EXIT;
#include <stdlib.h>

struct link {
	long value;
	struct link *next, *prev;
};

static struct link *first;

__attribute__((noinline)) static void insert(struct link *at, long value)
{
	struct link *n = malloc(sizeof(*n));

	n->value = value;
	n->prev = at;
	n->next = at ? at->next : first;
	if (n->next)
#if BUG == 1
		if (value != 17) /* MISSING */
			n->next->prev = n;
#elif BUG == 2
		n->next->prev = value == 17 ? at : n; /* WRONG */
#else
		n->next->prev = n;
#endif
	if (at)
		at->next = n;
	else
		first = n;
}

int main(void)
{
	for (int i = 0; i < 30; i++)
		insert(i % 3 ? first : NULL, i);
	return 0;
}
