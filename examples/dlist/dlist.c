// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A doubly linked list of log records, sorted by time; old ones are cut out as a range.
 * The cut links the list together around the range, but takes the wrong node for the way
 * back: with a range of one record that is the right one, with two it is a removed one.
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 200
#define NOINLINE __attribute__((noinline))

struct dnode {
	long time;
	struct dnode *next;
	struct dnode *prev;
};

static struct dnode *head, *tail;
static int count;

NOINLINE static void dlist_insert(long time)
{
	struct dnode *n = malloc(sizeof(struct dnode));
	struct dnode *after = tail;

	if (!n)
		exit(1);
	/* Records come nearly in order: search from the end. */
	while (after && after->time > time)
		after = after->prev;
	n->time = time;
	n->prev = after;
	n->next = after ? after->next : head;
	if (n->next)
		n->next->prev = n;
	else
		tail = n;
	if (after)
		after->next = n;
	else
		head = n;
	count++;
}

NOINLINE static void dlist_remove(struct dnode *n)
{
	if (n->prev)
		n->prev->next = n->next;
	else
		head = n->next;
	if (n->next)
		n->next->prev = n->prev;
	else
		tail = n->prev;
	free(n);
	count--;
}

/* Take the records first to last, which have neighbours on both sides, out of the list;
 * they become a list of their own. */
NOINLINE static void dlist_cut(struct dnode *first, struct dnode *last)
{
	struct dnode *before = first->prev, *after = last->next;

	before->next = after;
#ifdef FIXED
	after->prev = before;
#else
	after->prev = last->prev; /* BUG */
#endif
	first->prev = NULL;
	last->next = NULL;
}

static struct dnode *dlist_find(long time)
{
	struct dnode *n = head;

	while (n && n->time < time)
		n = n->next;
	return n;
}

/* Remove what was logged from time from to time to. */
NOINLINE static void dlist_expire(long from, long to)
{
	struct dnode *first = dlist_find(from), *last = first, *dead;

	while (last->next && last->next->time <= to)
		last = last->next;
	dlist_cut(first, last);
	while (first) {
		dead = first;
		first = first->next;
		free(dead);
		count--;
	}
}

static long dlist_sum(void)
{
	struct dnode *n;
	long sum = 0;

	for (n = head; n; n = n->next)
		sum += n->time;
	return sum;
}

int main(void)
{
	unsigned int seed = 7;
	int i;

	for (i = 0; i < RECORDS; i++) {
		seed = seed * 1103515245 + 12345;
		dlist_insert(i * 10 + (seed >> 16) % 40);
	}
	for (i = 0; i < 50; i++) {
		seed = seed * 1103515245 + 12345;
		dlist_remove(dlist_find((seed >> 16) % (RECORDS * 8)));
	}
	dlist_expire(500, 600);
	printf("%d records, sum %ld\n", count, dlist_sum());
	return 0;
}
