// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
/* What glibc does with free memory: three neighbours are freed and merged, part of that is
 * given out again, so the rest is split off; small ones go to the thread's cache, and beyond
 * seven of a size to a fast bin. Prints what it did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG 1200
#define SMALL 24

static char *big[3], *small[10];

__attribute__((noinline)) static void merged(void)
{
	puts("merged three");
}

__attribute__((noinline)) static void split(void)
{
	puts("split one");
}

__attribute__((noinline)) static void cached(void)
{
	puts("cached seven");
}

int main(void)
{
	char *between, *taken;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++)
		big[i] = malloc(BIG);
	between = malloc(SMALL); /* or they would become part of the top */
	for (int i = 0; i < 10; i++)
		small[i] = malloc(SMALL);
	free(big[0]);
	free(big[2]);
	free(big[1]);
	merged();
	taken = malloc(2000);
	if (!taken || !between)
		return 2;
	memset(taken, 1, 2000);
	split();
	for (int i = 0; i < 10; i++)
		free(small[i]);
	cached();
	free(taken);
	return 0;
}
