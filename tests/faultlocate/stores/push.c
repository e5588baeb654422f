// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A doubly linked list that grows at its head; no call tells the old head.
// truth: push .prev
// spec: item FIELD 3 EDGE 2;
// spec: item X; item Y; X.next == Y => Y.prev == X;
// spec: CPOINT push;
#include <stdlib.h>

struct item {
	struct item *prev, *next;
	int key;
};

static struct item *head;
static int n_items;

__attribute__((noinline)) static void push(int key)
{
	struct item *n = malloc(sizeof(*n));

	n->key = key;
	n->prev = NULL;
	n->next = head;
	if (head)
#if BUG == 1
		n_items += 0; /* MISSING */
#elif BUG == 2
		head->prev = head; /* WRONG */
#else
		head->prev = n;
#endif
	head = n;
	n_items++;
}

int main(void)
{
	for (int i = 0; i < 12; i++)
		push(i);
	return n_items != 12;
}
