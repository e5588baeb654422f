// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory from each of the C library's functions that give some, all freed once. `releases again`
 * frees a node twice, `releases inside` what is not its beginning; the library ends both.
 */
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	long value, more;
};

static void drop(struct node *n)
{
	free(n); /* FIRST */
}

static void drop_again(struct node *n)
{
	free(n); /* AGAIN */
}

static void drop_inside(struct node *n)
{
	free(&n->more); /* INSIDE */
}

static void each_kind(size_t n)
{
	FILE *f = fopen("/etc/passwd", "r");
	void *p = NULL, *q;
	char *line = NULL;

	free(memalign(64, n));
	free(valloc(n));
	free(pvalloc(n));
	free(aligned_alloc(32, 32 * n));
	if (!posix_memalign(&p, 128, n))
		free(p);
	p = reallocarray(NULL, n, 3);
	q = realloc(p, 3000);
	free(q ? q : p);
	free(strdup("releases"));
	free(calloc(n, 2));
	if (f && getline(&line, &n, f) > 0)
		fclose(f);
	free(line);
	free(NULL);
}

int main(int argc, char **argv)
{
	struct node *a = malloc(sizeof(*a)); /* MADE */
	struct node *b = malloc(sizeof(*b));

	a->next = b;
	for (size_t n = 1; n < 60; n++)
		each_kind(n);
	drop(a);
	if (argc > 1 && !strcmp(argv[1], "again"))
		drop_again(a);
	if (argc > 1 && !strcmp(argv[1], "inside"))
		drop_inside(b);
	drop(b);
	return 0;
}
