// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Paper 004, Figure 6: what Figure 7 executes forward and backward. Nothing is wrong in it.
#include <stdlib.h>

struct node {
	struct node *next;
};

struct node *a, *b, *curr;

void f(void)
{
	a = a->next;
	a = curr;
	if (curr != NULL) {
		b = b->next;
		b = curr;
		curr = curr->next;
	}
}

int main(void)
{
	struct node *n1 = malloc(sizeof(*n1)), *n2 = malloc(sizeof(*n2));

	n1->next = n2;
	n2->next = NULL;
	a = n2;
	b = n1;
	curr = n1;
	f();
	return 0;
}
