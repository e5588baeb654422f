// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Paper 004, Figure 10: a doubly linked list is reversed, with two faults that hide each other.
#include <stdlib.h>

struct node {
	int data;
	struct node *next, *prev;
};

struct node *head;

void reverse(void)
{
	struct node *current, *temp1 = NULL, *temp2 = NULL;
	current = head;
	while (current != NULL) {
		temp1 = current->prev;
		temp2 = current->next;
		current->prev = temp1; // FIX1: temp2
		current->next = temp2; // FIX2: temp1
		current = current->prev;
	}
	head = temp1->prev;
}

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

int main(void)
{
	push(2);
	push(4);
	push(8);
	push(10);
	reverse();
	return 0;
}
