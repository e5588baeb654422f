// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A binary heap of nodes that know their place: one of the two that are swapped is not told.
// truth: swap .index
// spec: job FIELD 2 EDGE 0; heap FIELD 9 EDGE 8;
// spec: heap X; for I in 0 to 7, X.slot[I] != NULL => X.slot[I].index == I;
// spec: CPOINT swap EXIT;
#include <stdlib.h>

struct job {
	long due;
	long index;
};

struct heap {
	struct job *slot[8];
	long n;
};

__attribute__((noinline)) static void swap(struct heap *h, long a, long b)
{
	struct job *x = h->slot[a], *y = h->slot[b];

	h->slot[a] = y;
	y->index = a;
	h->slot[b] = x;
#if BUG == 1
	if (x->due != 60) /* MISSING */
		x->index = b;
#elif BUG == 2
	x->index = x->due != 60 ? b : b + 9; /* WRONG */
#else
	x->index = b;
#endif
}

static void push(struct heap *h, long due)
{
	struct job *j = malloc(sizeof(*j));
	long i = h->n++;

	j->due = due;
	j->index = i;
	h->slot[i] = j;
	for (; i && h->slot[(i - 1) / 2]->due > h->slot[i]->due; i = (i - 1) / 2)
		swap(h, (i - 1) / 2, i);
}

int main(void)
{
	struct heap *h = calloc(1, sizeof(*h));

	for (long i = 8; i; i--)
		push(h, i * 10);
	return 0;
}
