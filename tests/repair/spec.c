// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A doubly linked list from which a node is taken, with a fault: what is behind it keeps its prev.
#include <stdlib.h>

struct node {
	int data;
	struct node *next, *prev;
};

struct node *head;

void push(int data)
{
	struct node *n = malloc(sizeof(*n));

	n->data = data;
	n->prev = NULL;
	n->next = head;
	if (head != NULL)
		head->prev = n;
	head = n;
}

void take(int data)
{
	struct node *n, *before, *after;

	n = head;
	while (n != NULL && n->data != data)
		n = n->next;
	if (n == NULL)
		return;
	before = n->prev;
	after = n->next;
	if (before != NULL) {
		before->next = after;
	} else {
		head = after;
	}
	if (after != NULL) {
		after->prev = n; // FIX: before
	}
	free(n);
}

int main(void)
{
	push(2);
	push(4);
	push(8);
	push(10);
	take(8);
	take(10);
	take(2);
	return 0;
}
