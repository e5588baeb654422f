// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What is behind two nodes should change places: that takes a variable more.
#include <stdlib.h>

struct node {
	int data;
	struct node *next;
};

static void swap(struct node *a, struct node *b)
{
	a->next = b->next;
	b->next = a->next; // what a had is lost
}

static struct node *make(int data, struct node *next)
{
	struct node *n = malloc(sizeof(*n));

	n->data = data;
	n->next = next;
	return n;
}

int main(void)
{
	struct node *one = make(1, make(2, NULL)), *other = make(3, make(4, NULL));

	swap(one, other);
	return one->next->data * 10 + other->next->data;
}
