// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Functions of strings, in blocks of which the rest was never given a value: they read ahead, and what they return is right.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static unsigned chance(unsigned n)
{
	static unsigned seed = 7;

	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

// Behind it there is more.
static char *text(unsigned n, unsigned kinds)
{
	char *p = malloc(n + 1 + chance(80));

	for (unsigned i = 0; i < n; i++)
		p[i] = 'a' + chance(kinds);
	p[n] = 0;
	return p;
}

static unsigned narrow(unsigned n)
{
	char *a = text(n, 4), *b = text(1 + chance(6), 4), *c = text(chance(70), 3), *d = malloc(200);
	unsigned sum = 0;

	sum += strspn(a, b) > 3;
	sum += strcspn(a, b) > 3;
	sum += strpbrk(a, b) != NULL;
	sum += strstr(a, b) != NULL;
	sum += strcasestr(a, b) != NULL;
	sum += strcasecmp(a, c) > 0;
	sum += strncasecmp(a, c, 9) > 0;
	sum += strcmp(a, c) > 0;
	sum += strncmp(a, c, 20) > 0;
	sum += strchr(a, 'c') != NULL;
	sum += strrchr(a, 'b') != NULL;
	sum += strchrnul(a, 'd') - a > 9;
	sum += strlen(a) + strnlen(c, 30) > 20;
	sum += memchr(a, 'c', n) != NULL;
	sum += memrchr(a, 'c', n) != NULL;
	sum += memmem(a, n, b, strlen(b)) != NULL;
	sum += memcmp(a, c, strlen(c) < n ? strlen(c) : n) > 0;
	sum += stpcpy(stpcpy(d, a), b) - d > 8;
	sum += strncpy(d, c, 80)[3] == 'a';
	free(a);
	free(b);
	free(c);
	free(d);
	return sum;
}

static unsigned wide(unsigned n)
{
	wchar_t *w = malloc(4 * (n + 9));
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		w[i] = 'a' + chance(5);
	w[n] = 0;
	sum += wcslen(w) > 5;
	sum += wcschr(w, 'a') != NULL;
	sum += wcsrchr(w, 'b') != NULL;
	sum += wcscmp(w, L"abc") > 0;
	sum += wmemchr(w, 'c', n) != NULL;
	free(w);
	return sum;
}

int main(void)
{
	unsigned sum = 0;

	for (int i = 0; i < 300; i++)
		if (narrow(chance(70)) + wide(chance(40)) > 9)
			sum++;
	printf("%u\n", sum);
	return 0;
}
