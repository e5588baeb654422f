// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// What the C library reads of variables, piece by piece, in functions that are no string functions: with argument
// `wrong' each line that says `expect:' has it read behind one, and no other.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static char fixed[8];
static wchar_t wide[4];
static volatile long sum;
static FILE *to;

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void right(int n)
{
	char text[10], digits[8], other[8] = "other";
	struct {
		char first[4], second[4];
	} both = { "12", "34" };

	memset(text, 'a', sizeof(text));
	memset(digits, '1', sizeof(digits));
	digits[7] = 0;
	wcscpy(wide, L"123");
	memcpy(fixed, digits, sizeof(fixed));
	fwrite(text, 1, n, to);
	fwrite(text, n, 1, to);
	fwrite(&both, 1, sizeof(both), to);
	fwrite(fixed, sizeof(fixed), 1, to);
	sum += strtol(digits, NULL, 10) + atoi(fixed) + strtoul(both.second, NULL, 16);
	sum += wcstol(wide, NULL, 10) + (long)strtod(digits, NULL);
	qsort(text, n, 1, compare);
	swab(digits, other, 8);
	memcpy(text, other, 8);
	sum += text[n - 1] + (long)memmem(text, n, digits, 4);
	fputs(both.first, to);
	fflush(to);
}
static void wrong(int n)
{
	char text[10], digits[8], other[8];

	memset(text, 'a', sizeof(text));
	memset(digits, '1', sizeof(digits));
	memset(fixed, '2', sizeof(fixed));
	wmemset(wide, L'3', 4);
	fwrite(text, 1, n + 4, to);	   // expect: STACK-OVERFLOW
	fwrite(fixed, n - 1, 1, to);	   // expect: GLOBAL-OVERFLOW
	sum += strtol(digits, NULL, 10);   // expect: STACK-OVERFLOW
	sum += atoi(fixed);		   // expect: GLOBAL-OVERFLOW
	sum += wcstol(wide, NULL, 10);	   // expect: GLOBAL-OVERFLOW
	sum += strtoul(digits + 4, 0, 16); // expect: STACK-OVERFLOW
	swab(digits, other, n - 2);
	sum += text[0] + other[0];
}

int main(int argc, char **argv)
{
	to = fopen("/dev/null", "w");
	for (int i = 0; i < 3; i++)
		right(10);
	if (argc > 1 && !strcmp(argv[1], "wrong"))
		wrong(10);
	fclose(to);
	return 0;
}
