// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A list that knows its length: nobody counts.
// truth: append .n
// spec: list FIELD 3 EDGE 2; item FIELD 2 EDGE 1;
// spec: item.LENGTH NULL 0; item X; X.LENGTH = X.next.LENGTH + 1;
// spec: list X; X.n == X.first.LENGTH;
// spec: CPOINT append EXIT;
#include <stdlib.h>

struct item {
	struct item *next;
	int value;
};

struct list {
	struct item *first, *last;
	long n;
};

__attribute__((noinline)) static void append(struct list *l, int value)
{
	struct item *i = malloc(sizeof(*i));

	i->next = NULL;
	i->value = value;
	if (l->last)
		l->last->next = i;
	else
		l->first = i;
	l->last = i;
#if BUG == 1
	/* MISSING */
#elif BUG == 2
	l->n += 2; /* WRONG */
#else
	l->n++;
#endif
}

int main(void)
{
	struct list *l = calloc(1, sizeof(*l));

	for (int i = 0; i < 9; i++)
		append(l, i);
	return 0;
}
