// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A table of records that corrupts the allocator's list of free chunks (paper 001, Figure
 * 3.8). update() copies the new value to the address of a pointer instead of the buffer
 * that it points to; the copy runs over the end of the record into the next chunk of
 * memory, which is free and in glibc's doubly linked list. glibc notices at some later
 * allocation, far from the cause, and aborts.
 *
 *	| header | id, target, next | header | fd | bk | ...          |
 *	          `- tmp             `- a free page buffer
 *	              `--- the copy: 48 bytes --->
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 60
#define PAGE_BYTES 2000 /* freed pages go to the bins, not to the thread's cache */
#define VALUE_MAX 48
#define NOINLINE __attribute__((noinline))

struct node {
	long id;
	char *target;
	struct node *next;
};

static struct node *table;
static char *page[RECORDS]; /* scratch space of each record, while it is loaded */

/* The text of record id. @return its size. */
NOINLINE static size_t make_value(char value[VALUE_MAX], long id)
{
	return 1 +
	       snprintf(value, VALUE_MAX, "record %04ld, %033ld", id % 10000, id * id);
}

/* Put a record in front of the table: the value first, then the node. */
NOINLINE static void add(long id, const char *value, size_t value_size)
{
	char *target = malloc(value_size);
	struct node *n = malloc(sizeof(struct node));

	if (!target || !n)
		exit(1);
	memcpy(target, value, value_size);
	n->id = id;
	n->target = target;
	n->next = table;
	table = n;
}

NOINLINE static void drop(long id)
{
	struct node **link = &table, *n;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	n = *link;
	if (!n)
		return;
	*link = n->next;
	free(n->target);
	free(n);
}

/* A new record in the place of an old one. @return the bytes it took. */
NOINLINE static size_t replace(long id, const char *value, size_t value_size)
{
	struct node *tmp;

	drop(id);
	tmp = (struct node *)malloc(sizeof(struct node));
	if (!tmp)
		exit(1);
	tmp->id = id;
	tmp->target = malloc(value_size);
	tmp->next = table;
	table = tmp;
#ifdef FIXED
	memcpy(tmp->target, value, value_size);
#else
	memcpy(&tmp->target, value, value_size); /* BUG */
#endif
	return sizeof(struct node) + value_size;
}

NOINLINE static void load_page(int i)
{
	page[i] = malloc(PAGE_BYTES);
	if (!page[i])
		exit(1);
	memset(page[i], i, PAGE_BYTES);
}

int main(void)
{
	char value[VALUE_MAX];
	size_t bytes = 0;
	int i;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	for (i = 0; i < RECORDS; i++) {
		bytes += make_value(value, i);
		add(i, value, make_value(value, i));
		load_page(i);
	}
	printf("%d records, %zu bytes\n", RECORDS, bytes);
	/* The even ones are done loading. */
	for (i = 0; i < RECORDS; i += 2) {
		free(page[i]);
		page[i] = NULL;
	}
	bytes = replace(30, value, make_value(value, 30));
	printf("replaced one: %zu bytes\n", bytes);
	/* Much later: more pages. */
	for (i = 0; i < RECORDS; i += 2)
		load_page(i);
	printf("loaded all pages\n");
	return 0;
}
