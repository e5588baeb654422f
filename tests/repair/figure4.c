// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Paper 004, Figure 4: the middle of a list is deleted, with one fault in the loop.
#include <stdlib.h>

struct node {
	int data;
	struct node *next;
};

struct node *head, *slow_ptr, *fast_ptr;

void deleteMid(void)
{
	struct node *temp, *prev = NULL;
	slow_ptr = head;
	fast_ptr = head;
	temp = fast_ptr->next;
	while (fast_ptr != NULL && temp != NULL) {
		fast_ptr = temp->next;
		if (fast_ptr != NULL) {
			temp = fast_ptr; // FIX: fast_ptr->next
		}
		prev = slow_ptr;
		slow_ptr = slow_ptr->next;
	}
	temp = slow_ptr->next;
	prev->next = temp;
	free(slow_ptr);
}

void push(int data)
{
	struct node *n = malloc(sizeof(*n));

	n->data = data;
	n->next = head;
	head = n;
}

int main(void)
{
	push(2);
	push(4);
	push(8);
	deleteMid();
	return 0;
}
