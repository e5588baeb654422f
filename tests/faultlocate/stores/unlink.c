// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A singly linked list: the node before a removed one keeps pointing at it.
// truth: cut .next
// spec: cell FIELD 2 EDGE 1;
// spec: cell X; cell Y; X.next != NULL => X.next == Y;
// spec: CPOINT cut;
#include <stdlib.h>

struct cell {
	struct cell *next;
	long value;
};

static struct cell *cells;

static void add(long value)
{
	struct cell *c = malloc(sizeof(*c));

	c->value = value;
	c->next = cells;
	cells = c;
}

__attribute__((noinline)) static void cut(long value)
{
	struct cell *before = NULL, *c = cells;

	while (c && c->value != value) {
		before = c;
		c = c->next;
	}
	if (!c)
		return;
	if (!before)
		cells = c->next;
#if BUG == 1
	else if (value != 8) /* MISSING */
		before->next = c->next;
#elif BUG == 2
	else
		before->next = value == 8 ? (struct cell *)8 : c->next; /* WRONG */
#else
	else
		before->next = c->next;
#endif
	c->value = 0;
	free(c);
}

int main(void)
{
	for (long i = 1; i < 16; i++)
		add(i);
	cut(4);
	cut(12);
	cut(15);
	cut(8);
	return 0;
}
