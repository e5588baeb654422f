// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A ring with a sentinel: what was the last node does not lead to the new one.
// truth: enqueue .next
// spec: ring FIELD 3 EDGE 2;
// spec: ring X; ring Y; X.next == Y => Y.prev == X;
// spec: ring X; ring Y; X.prev == Y => Y.next == X;
// spec: ring X; X ->> X;
// spec: CPOINT enqueue;
#include <stdlib.h>

struct ring {
	struct ring *next, *prev;
	long payload;
};

__attribute__((noinline)) static void enqueue(struct ring *head, long payload)
{
	struct ring *n = malloc(sizeof(*n)), *last = head->prev;

	n->payload = payload;
	n->next = head;
	n->prev = last;
#if BUG == 1
	if (payload != 5) /* MISSING */
		last->next = n;
#elif BUG == 2
	last->next = payload != 5 ? n : last; /* WRONG */
#else
	last->next = n;
#endif
	head->prev = n;
}

int main(void)
{
	struct ring *head = malloc(sizeof(*head));

	head->next = head->prev = head;
	head->payload = -1;
	for (long i = 0; i < 10; i++)
		enqueue(head, i);
	return 0;
}
