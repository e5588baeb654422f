// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Circular lists: see single.c.
#include <stdlib.h>

struct node {
	int data;
	struct node *next;
};

int input(void);

struct node *head, *other;

void B4_create(int n)
{
	struct node *fresh, *last;

	last = NULL;
	while (n > 0) {
		fresh = malloc(sizeof(*fresh));
		fresh->data = n;
		if (head == NULL) {
			head = fresh;
		} else {
			last->next = fresh;
		}
		fresh->next = head;
		last = fresh;
		n = n - 1;
	}
}

void test_B4(void)
{
	int n = input() % 4 + 1;

	B4_create(n);
}

static void build(int least)
{
	int n = input() % 5 + least;
	struct node *last = NULL;

	while (n > 0) {
		struct node *fresh = malloc(sizeof(*fresh));

		fresh->data = input() % 10;
		fresh->next = head;
		head = fresh;
		if (last == NULL)
			last = fresh;
		n = n - 1;
	}
	last->next = head;
}

/* The list of two nodes at least is two, from behind the middle on. */
void B12_split(void)
{
	struct node *slow, *fast;

	slow = head;
	fast = head->next;
	while (fast != head && fast->next != head) {
		fast = fast->next->next;
		slow = slow->next;
	}
	other = slow->next;
	slow->next = head;
	slow = other;
	while (slow->next != head) {
		slow = slow->next;
	}
	slow->next = other;
}

void test_B12(void)
{
	build(2);
	B12_split();
}

void L8_split(void)
{
	struct node *slow, *fast, *last;

	if (head != NULL) {
		slow = head;
		fast = head;
		while (fast->next != head && fast->next->next != head) {
			fast = fast->next;
			fast = fast->next;
			slow = slow->next;
		}
		last = fast;
		if (fast->next->next == head) {
			last = fast->next;
		}
		if (head->next != head) {
			other = slow->next;
			last->next = other;
			slow->next = head;
		}
	}
}

void test_L8(void)
{
	build(1);
	L8_split();
}
