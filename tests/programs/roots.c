// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Lists whose heads are variables: a global pointer, a static table of buckets, structs on the
 * stack, one for each call, and in a block. Names in the arguments make it do what is marked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	int key;
	struct node *next;
};

struct list {
	struct node *head;
	long count;
};

#define BUCKETS 8

struct node *queue;
static struct node *table[BUCKETS];
static struct list pool;
static struct list *handle = &pool;

static int n_args;
static char **args;

static int does(const char *what)
{
	for (int i = 1; i < n_args; i++)
		if (!strcmp(args[i], what))
			return 1;
	return 0;
}

static struct node *new_node(int key, struct node *next)
{
	struct node *n = malloc(sizeof(*n));

	n->key = key;
	n->next = next;
	return n;
}

__attribute__((noinline)) void push(struct list *l, int key)
{
	l->head = new_node(key, l->head);
	l->count++;
}

__attribute__((noinline)) void enqueue(int key)
{
	queue = new_node(key, queue);
}

__attribute__((noinline)) void file(int key)
{
	struct node **bucket = &table[key % BUCKETS];

	*bucket = new_node(key, *bucket);
}

__attribute__((noinline)) long total(const struct list *l)
{
	static long calls;
	long sum = ++calls / 1000;

	for (const struct node *n = l->head; n; n = n->next)
		sum += n->key;
	return sum;
}

__attribute__((noinline)) long descend(int depth)
{
	struct list mine = { NULL, 0 };
	long sum = depth;

	for (int i = 0; i <= depth; i++)
		push(&mine, i);
	if (depth)
		sum += descend(depth - 1);
	if (depth == 2 && does("mine"))
		mine.count--; /* BUG mine */
	push(&mine, depth);
	return sum + total(&mine);
}

__attribute__((noinline)) long rounds(void)
{
	long sum = 0;

	for (int round = 0; round < 3; round++) {
		struct list inner = { NULL, 0 };

		push(&inner, round);
		push(&inner, round + 1);
		if (round == 2 && does("inner"))
			inner.head = NULL; /* BUG inner */
		push(&inner, round + 2);
		sum += total(&inner);
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct list stack = { NULL, 0 };
	long sum = 0;

	n_args = argc;
	args = argv;
	for (int key = 1; key < 20; key++) {
		push(&stack, key);
		push(handle, key);
		enqueue(key);
		file(key);
	}
	if (does("queue"))
		queue = table[5]; /* BUG queue */
	if (does("table"))
		table[3] = table[4]; /* BUG table */
	if (does("stack"))
		stack.head->next = NULL; /* BUG stack */
	if (does("pool"))
		pool.count += 2; /* BUG pool */
	if (does("handle"))
		handle = &stack; /* BUG handle */
	enqueue(100);
	file(100);
	push(&stack, 100);
	sum = total(&stack) + total(&pool) + rounds() + descend(4);
	if (does("free"))
		free((void *)handle); /* BUG free */
	printf("%ld %d\n", sum, queue->key);
	fflush(stdout);
	exit(0);
}
