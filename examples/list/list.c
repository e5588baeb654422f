// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A sorted singly linked list of measurements. Removing duplicates reads the next pointer
 * of a node that was just freed, and so links the list to wherever the allocator left its
 * own data. The program crashes at the next step.
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>

#define VALUES 120
#define NOINLINE __attribute__((noinline))

struct node {
	long value;
	struct node *next;
};

static struct node *head;
static int n_freed;

NOINLINE static void node_free(struct node *n)
{
	free(n);
	n_freed++;
}

NOINLINE static void list_insert(long value)
{
	struct node *n = malloc(sizeof(struct node));
	struct node *prev = NULL, *at = head;

	if (!n)
		exit(1);
	while (at && at->value < value) {
		prev = at;
		at = at->next;
	}
	n->value = value;
	n->next = at;
	if (prev)
		prev->next = n;
	else
		head = n;
}

NOINLINE static int list_remove(long value)
{
	struct node *prev = NULL, *at = head;

	while (at && at->value < value) {
		prev = at;
		at = at->next;
	}
	if (!at || at->value != value)
		return 0;
	if (prev)
		prev->next = at->next;
	else
		head = at->next;
	node_free(at);
	return 1;
}

/* Keep one node of each value. @return how many went. */
NOINLINE static int list_unique(void)
{
	struct node *n = head;
	int before = n_freed;

	while (n && n->next) {
		struct node *dup = n->next;

		if (dup->value != n->value) {
			n = dup;
			continue;
		}
#ifdef FIXED
		n->next = dup->next;
		node_free(dup);
#else
		node_free(dup);
		n->next = dup->next; /* BUG */
#endif
	}
	return n_freed - before;
}

static int list_length(void)
{
	struct node *n;
	int length = 0;

	for (n = head; n; n = n->next)
		length++;
	return length;
}

int main(void)
{
	unsigned int seed = 42;
	int i, removed = 0;

	for (i = 0; i < VALUES; i++) {
		seed = seed * 1103515245 + 12345;
		list_insert((seed >> 16) % 1000);
	}
	for (i = 0; i < 40; i++) {
		seed = seed * 1103515245 + 12345;
		removed += list_remove((seed >> 16) % 1000);
	}
	printf("%d values, %d removed\n", list_length(), removed);
	removed = list_unique();
	printf("%d values, %d were duplicates\n", list_length(), removed);
	return 0;
}
