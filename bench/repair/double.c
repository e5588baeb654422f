// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Doubly linked lists: see single.c.
#include <stdlib.h>

struct node {
	int data;
	struct node *next, *prev;
};

int input(void);

struct node *head, *other;

static void build(int least, int values)
{
	int n = input() % 4 + least;

	while (n > 0) {
		struct node *fresh = malloc(sizeof(*fresh));

		fresh->data = input() % values;
		fresh->prev = NULL;
		fresh->next = head;
		if (head != NULL)
			head->prev = fresh;
		head = fresh;
		n = n - 1;
	}
}

void B2_reverse(void)
{
	struct node *current, *before, *after;

	before = NULL;
	current = head;
	while (current != NULL) {
		after = current->next;
		current->next = before;
		current->prev = after;
		before = current;
		current = after;
	}
	head = before;
}

void test_B2(void)
{
	build(2, 10);
	B2_reverse();
}

/* The second half to `other'. */
void L12_split(void)
{
	struct node *slow, *fast, *after;

	if (head != NULL && head->next != NULL) {
		slow = head;
		fast = head->next;
		while (fast != NULL) {
			fast = fast->next;
			if (fast != NULL) {
				fast = fast->next;
				slow = slow->next;
			}
		}
		after = slow->next;
		after->prev = NULL;
		slow->next = NULL;
		other = after;
	}
}

void test_L12(void)
{
	build(2, 10);
	L12_split();
}

void L17_delete(struct node *which)
{
	struct node *before, *after;

	if (head != NULL && which != NULL) {
		before = which->prev;
		after = which->next;
		if (head == which) {
			head = after;
		}
		if (after != NULL) {
			after->prev = before;
		}
		if (before != NULL) {
			before->next = after;
		}
		free(which);
	}
}

void test_L17(void)
{
	struct node *which;
	int by = input() % 4;

	build(2, 10);
	which = head;
	while (by > 0 && which->next != NULL) {
		which = which->next;
		by = by - 1;
	}
	L17_delete(which);
}

/* Of a list in which equal ones stand anywhere. */
void L19_remove_duplicates(void)
{
	struct node *current, *runner, *before, *after;

	current = head;
	while (current != NULL) {
		runner = current->next;
		while (runner != NULL) {
			after = runner->next;
			if (runner->data == current->data) {
				before = runner->prev;
				before->next = after;
				if (after != NULL) {
					after->prev = before;
				}
				free(runner);
			}
			runner = after;
		}
		current = current->next;
	}
}

void test_L19(void)
{
	build(3, 3);
	L19_remove_duplicates();
}
