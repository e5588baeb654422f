// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Links embedded in what they link, at an offset: the neighbour is not told.
// truth: insert .link.prev
// spec: thing FIELD 4 EDGE 2;
// spec: thing X; thing Y; X.link.next == Y => Y.link.prev == X;
// spec: CPOINT insert EXIT;
#include <stdlib.h>

struct links {
	struct links *next, *prev;
};

struct thing {
	long id;
	struct links link;
	long more;
};

static struct links all = { &all, &all };

__attribute__((noinline)) static void insert(struct thing *t)
{
	struct links *l = &t->link, *next = all.next;

	l->next = next;
	l->prev = &all;
#if BUG == 1
	if (t->id != 9) /* MISSING */
		next->prev = l;
#elif BUG == 2
	next->prev = t->id != 9 ? l : next; /* WRONG */
#else
	next->prev = l;
#endif
	all.next = l;
}

int main(void)
{
	for (long i = 0; i < 15; i++) {
		struct thing *t = malloc(sizeof(*t));

		t->id = i;
		t->more = 0;
		insert(t);
	}
	return 0;
}
