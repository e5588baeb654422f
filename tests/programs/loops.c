// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Overflows of many accesses: in a loop that goes on into the next allocation, by several
 * statements of a loop, by a library's function with a wrapper that reads it again, and in a
 * wrapper alone. `loops` makes none, `loops wrong` five, `loops wrong once`
 * goes on for one round only in the loop of several.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct pair {
	int a, b;
};

static NOINLINE void *own_malloc(size_t n)
{
	void *p = malloc(n); /* MAKE */

	if (!p)
		exit(2);
	return p;
}

static NOINLINE void print_line(const char *s)
{
	if (s)
		printf("%s\n", s); /* PRINT */
}

static NOINLINE void clear(long *array, int n)
{
	for (int i = 0; i < n; i++)
		array[i] = 0; /* LOOP */
}

static NOINLINE void place(struct pair *p, int n)
{
	for (int i = 0; i < n; i++) {
		p[i].a = i;  /* PAIR */
		p[i].b += i; /* PAIR */
	}
}

static NOINLINE char *word(const char *s, size_t n)
{
	char *copy = own_malloc(8); /* WORD */

	strcpy(copy, s); /* COPY */
	copy[n] = 0;
	return copy;
}

/* No end: print_line reads on. */
static NOINLINE char *letters(size_t n)
{
	char *s = calloc(1, 25); /* LETTERS */

	memset(s, 'a', n);
	return s;
}

int main(int argc, char **argv)
{
	int wrong = argc > 1, once = argc > 2;
	long *array = own_malloc(10 * sizeof(*array)); /* ARRAY */
	long *next = own_malloc(50 * sizeof(*next));
	struct pair *pairs = calloc(4, sizeof(*pairs));
	char *text = own_malloc(100); // behind the pairs, and never freed

	(void)argv;
	clear(array, 10);
	clear(array, wrong ? 50 : 10); /* CALL */
	place(pairs, wrong ? 6 - once : 4);
	text = word(wrong ? "012345678" : "0123", 4); /* CALL2 */
	text[4] = '4';
	print_line(text);
	print_line(letters(wrong ? 25 : 24)); /* LINE */
	print_line(letters(wrong ? 25 : 24)); /* LINE */
	return next == array;
}
