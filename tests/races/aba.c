// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: ABA in a lock-free stack whose nodes are used again. Between reading head and next
 * and the compare-and-swap, another thread pops two nodes and pushes the first back: the
 * swap succeeds and puts a node in use at the head.
 * Races: `next = head->next` and the swap in pop() against pop(), pop(), push() of the
 * other thread.
 * Failure: a node is handed out twice: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define NODES 4
#define ROUNDS 500

struct node {
	struct node *volatile next;
	atomic_int is_used;
};

static struct node nodes[NODES];
static struct node *_Atomic top;

static void push(struct node *n)
{
	struct node *head = top;

	n->is_used = 0;
	do
		n->next = head;
	while (!atomic_compare_exchange_weak(&top, &head, n));
}

static struct node *pop(void)
{
	struct node *head = top, *next;

	do {
		if (!head)
			return NULL;
		next = head->next;
	} while (!atomic_compare_exchange_weak(&top, &head, next));
	assert(!atomic_exchange(&head->is_used, 1));
	return head;
}

static void *use(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct node *a = pop(), *b = pop();

		if (a)
			push(a);
		if (b)
			push(b);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	for (int i = 0; i < NODES; i++)
		push(&nodes[i]);
	pthread_create(&a, NULL, use, NULL);
	pthread_create(&b, NULL, use, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	puts("done");
	return 0;
}
