// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The C library's functions on memory and strings, from one block of the heap to another, right up
 * to the end of each: with sizes from nothing to two megabytes at many alignments. Nothing goes
 * beyond a block. `strings over SIZE` does nothing but copy a byte too many.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static unsigned long sum;

/* Exactly @size bytes, which begin @shift bytes into a block and end where it ends. */
static char *block(size_t size, size_t shift, char **ret)
{
	*ret = malloc(size + shift);
	if (!*ret)
		exit(1);
	return *ret + shift;
}

static void memory(size_t n, size_t shift_a, size_t shift_b)
{
	char *whole_a, *whole_b, *a = block(n, shift_a, &whole_a),
				 *b = block(n, shift_b, &whole_b);

	memset(a, 'a', n);
	memcpy(b, a, n);
	sum += memcmp(a, b, n) == 0;
	sum += (char *)mempcpy(a, b, n) - a;
	if (n > 1) {
		memmove(a + 1, a, n - 1);
		memmove(a, a + 1, n - 1);
	}
	sum += memchr(a, 'x', n) == NULL;
	sum += memrchr(a, 'x', n) == NULL;
	if (n < 5000)
		sum += memmem(a, n, "xy", 2) == NULL;
	if (n)
		a[n - 1] = 'x', sum += (char *)rawmemchr(a, 'x') - a;
	sum += bcmp(a, b, n) != 0;
	sum += malloc_usable_size(whole_a) < n;
	free(whole_a);
	free(whole_b);
}

static void text(size_t n, size_t shift_a, size_t shift_b)
{
	char *whole_a, *whole_b, *a = block(n + 1, shift_a, &whole_a),
				 *b = block(n + 1, shift_b, &whole_b), *copy;

	memset(a, 'a', n);
	a[n] = 0;
	sum += strlen(a) + strnlen(a, n) + strnlen(a, n + 1);
	strcpy(b, a);
	sum += stpcpy(b, a) - b;
	strncpy(b, a, n + 1);
	sum += stpncpy(b, a, n + 1) - b;
	sum += strcmp(a, b) + strncmp(a, b, n) + strcasecmp(a, b) + strncasecmp(a, b, n);
	sum += strchr(a, 'x') == NULL;
	sum += strrchr(a, 'x') == NULL;
	sum += *strchrnul(a, 'x');
	sum += strspn(a, "ab") + strcspn(a, "xy");
	sum += strpbrk(a, "xyz") == NULL;
	if (n < 5000)
		sum += strstr(a, "ax") == NULL;
	b[n / 2] = 0;
	strncat(b, a, n - n / 2);
	b[n / 2] = 0;
	strcat(b, a + n / 2);
	copy = strdup(a);
	sum += copy[n];
	free(copy);
	copy = strndup(a, n / 2);
	sum += copy[n / 2];
	free(copy);
	free(whole_a);
	free(whole_b);
}

static void wide(size_t n)
{
	wchar_t *a = malloc((n + 1) * sizeof(*a)), *b = malloc((n + 1) * sizeof(*b));

	if (!a || !b)
		exit(1);
	wmemset(a, L'a', n);
	a[n] = 0;
	wcscpy(b, a);
	wmemcpy(b, a, n + 1);
	sum += wcslen(a) + wcsnlen(b, n) + wmemcmp(a, b, n) + wcscmp(a, b);
	sum += wcschr(a, L'x') == NULL;
	sum += wcsrchr(a, L'x') == NULL;
	sum += wmemchr(a, L'x', n) == NULL;
	free(a);
	free(b);
}

/* A byte too many. */
static void copy_over(size_t n)
{
	char *a = malloc(n + 1), *b = malloc(n), *between = malloc(64);

	memset(a, 1, n + 1);
	memcpy(b, a, n + 1);
	sum += b[n / 2] +
	       (between == a); // nothing is freed: the allocator's own words are spoilt
}

int main(int argc, char **argv)
{
	static const size_t large[] = { 300,	511,	512,	 1023,	 2047,
					2048,	4095,	4096,	 4097,	 8191,
					8192,	12288,	16385,	 65536,	 100000,
					262144, 786432, 1000000, 1 << 21 };

	if (argc > 2) {
		copy_over(strtoul(argv[2], NULL, 10));
		return 0;
	}
	for (size_t n = 0; n < 300; n += n < 40 ? 1 : n < 70 ? 3 : 23)
		for (size_t i = 0; i < 3; i++) {
			memory(n, (i * 7) % 16, (i * 29) % 33);
			text(n, (i * 5) % 16, (i * 31) % 64);
		}
	for (size_t k = 0; k < sizeof(large) / sizeof(*large); k++)
		for (size_t i = 0; i < 2; i++)
			memory(large[k], i * 21 % 64, i * 35 % 64);
	for (size_t k = 0; large[k] < 20000; k++)
		text(large[k], k * 3 % 32, k * 17 % 64);
	for (size_t n = 0; n < 200; n += 7)
		wide(n);
	printf("strings: %lu\n", sum);
	return 0;
}
