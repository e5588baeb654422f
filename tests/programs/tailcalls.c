// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * tailcalls wipe|overflow: a list is damaged by the C library, in functions that end with a
 * call to it, of which optimising compilers make jumps: no return address tells of them.
 */
// FLAGS: -fno-builtin
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct node {
	struct node *next, *prev;
	long uses;
	char name[16];
};

static struct node *head;

NOINLINE static struct node *make(long uses)
{
	if (uses < 0)
		abort();
	return malloc(sizeof(struct node)); /* MAKE */
}

NOINLINE static void *call_it(struct node *n, const char *name)
{
	n->uses++;
	return strcpy(n->name, name); /* OVERFLOW */
}

NOINLINE static void *wipe(struct node *n)
{
	n->uses++;
	return memset(n, 0, sizeof(*n)); /* WIPE */
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 8; i++) {
		struct node *n = make(i);

		*n = (struct node){ .next = head, .uses = i };
		if (head)
			head->prev = n;
		head = n;
		call_it(n, "short");
	}
	if (argc > 1 && !strcmp(argv[1], "wipe"))
		wipe(head->next);
	else
		call_it(head->next, "a name for which there is no room");
	printf("%ld\n", head->uses);
	return 0;
}
