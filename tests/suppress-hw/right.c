// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Nothing is wrong here: all ways to get a block, resize it and give it back.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static long texts(void)
{
	char *line = NULL, *s;
	size_t size = 0;
	long sum = 0;
	FILE *f = fopen("/etc/passwd", "r");

	while (getline(&line, &size, f) > 0) {
		sum += asprintf(&s, "<%s>", line);
		free(s);
	}
	free(line);
	fclose(f);
	f = open_memstream(&s, &size);
	for (int i = 0; i < 500; i++)
		fprintf(f, "%d ", i);
	fclose(f);
	free(s);
	s = realpath("/usr/../etc", NULL);
	sum += size + strlen(s);
	free(s);
	return sum;
}

static long sizes(void)
{
	long sum = 0;
	void *p = realloc(NULL, 10);

	p = realloc(realloc(p, 1000), 5);
	free(realloc(p, 3));
	p = malloc(20);
	memset(p, 4, malloc_usable_size(p));
	p = realloc(p, 2000);
	sum += ((char *)p)[19];
	free(p);
	p = malloc(21);
	memset(p, 4, malloc_usable_size(p));
	free(p);
	p = calloc(10, 4);
	((int *)p)[9] = 1;
	p = reallocarray(p, 20, 4);
	sum += ((int *)p)[9];
	free(p);
	p = malloc(300000);
	memset(p, 1, 300000);
	p = realloc(p, 900000);
	sum += ((char *)p)[299999];
	free(p);
	free(NULL);
	return sum;
}

static void aligned(void)
{
	void *p;

	if (posix_memalign(&p, 64, 100))
		return;
	memset(p, 1, 100);
	p = realloc(p, 300);
	memset(p, 2, 300);
	free(p);
	p = aligned_alloc(64, 128);
	memset(p, 3, 128);
	free(p);
}

int main(void)
{
	long sum = texts() + sizes();
	int *v = malloc(3000 * sizeof(*v));

	aligned();
	for (int i = 0; i < 3000; i++)
		v[i] = i * 7919 % 3001;
	qsort(v, 3000, sizeof(*v), compare);
	sum += v[1500];
	free(v);
	for (int i = 0; i < 300; i++) {
		char *x = malloc(i);

		memset(x, 1, i);
		if (i % 3)
			free(x);
	}
	printf("%ld\n", sum);
	return 0;
}
