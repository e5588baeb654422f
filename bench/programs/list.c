// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Allocation-heavy: a doubly linked list of at most 4,096 nodes; each operation allocates a
 * node at one end, or frees one at the other.
 */
#include "bench/programs/program.h"

#define LENGTH_MAX 4096

struct node {
	struct node *next, *prev;
	uint64_t value;
};

static struct node *head, *tail;
static unsigned length;

static void push(uint64_t value)
{
	struct node *n = malloc(sizeof(*n));

	if (!n)
		exit(1);
	*n = (struct node){ .next = head, .value = value };
	if (head)
		head->prev = n;
	else
		tail = n;
	head = n;
	length++;
}

static uint64_t pop(void)
{
	struct node *n = tail;
	uint64_t value = n->value;

	tail = n->prev;
	if (tail)
		tail->next = NULL;
	else
		head = NULL;
	free(n);
	length--;
	return value;
}

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), random = 1, sum = 0;

	for (uint64_t i = 0; i < n; i++)
		if (!length || (length < LENGTH_MAX && random_next(&random) % 2))
			push(i);
		else
			sum = sum * 31 + pop();
	printf("list: %u nodes, sum %llx\n", length, (unsigned long long)sum);
	return 0;
}
