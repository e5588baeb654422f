// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A list of lists: what moves to another list keeps its owner.
// truth: move .owner
// spec: list FIELD 2 EDGE 2; item FIELD 3 EDGE 2;
// spec: list X; item Y; X.first == Y => Y.owner == X;
// spec: item X; item Y; X.next == Y => X.owner == Y.owner;
// spec: CPOINT move EXIT;
#include <stdlib.h>

struct item {
	struct list *owner;
	struct item *next;
	int id;
};

struct list {
	struct item *first;
	struct list *next;
};

static void add(struct list *l, int id)
{
	struct item *i = malloc(sizeof(*i));

	i->id = id;
	i->owner = l;
	i->next = l->first;
	l->first = i;
}

__attribute__((noinline)) static void move(struct list *from, struct list *to)
{
	struct item *i = from->first;

	from->first = i->next;
	i->next = to->first;
	to->first = i;
#if BUG == 1
	if (i->id != 3) /* MISSING */
		i->owner = to;
#elif BUG == 2
	i->owner = i->id != 3 ? to : NULL; /* WRONG */
#else
	i->owner = to;
#endif
}

int main(void)
{
	struct list *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	a->next = b;
	for (int i = 0; i < 8; i++)
		add(a, i);
	for (int i = 0; i < 7; i++)
		move(a, b);
	return 0;
}
