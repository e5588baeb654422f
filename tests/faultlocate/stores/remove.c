// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A doubly linked list: the one behind a removed node keeps pointing at it.
// truth: drop .prev
// spec: node FIELD 3 EDGE 2;
// spec: node X; node Y; X.next == Y => Y.prev == X;
// spec: node X; node Y; X.prev != NULL => X.prev == Y;
// spec: CPOINT drop;
#include <stdlib.h>

struct node {
	int id;
	struct node *next, *prev;
};

static struct node *all;

static void add(int id)
{
	struct node *n = malloc(sizeof(*n));

	n->id = id;
	n->prev = NULL;
	n->next = all;
	if (all)
		all->prev = n;
	all = n;
}

__attribute__((noinline)) static void drop(struct node *n)
{
	if (n->prev)
		n->prev->next = n->next;
	else
		all = n->next;
	if (n->next)
#if BUG == 1
		if (n->id != 11) /* MISSING */
			n->next->prev = n->prev;
#elif BUG == 2
		n->next->prev = n->id == 11 ? n->next : n->prev; /* WRONG */
#else
		n->next->prev = n->prev;
#endif
	n->id = -1;
	free(n);
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		add(i);
	for (int i = 0; i < 6; i++)
		drop(all->next->next);
	drop(all->next->next);
	for (int i = 0; i < 3; i++)
		drop(all->next);
	return 0;
}
