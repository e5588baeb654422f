// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// An index that may be negative: it is written before a block, where another one's last bytes are that nobody uses.
#include <stdio.h>
#include <stdlib.h>

static short *table;

static void put(int at, int value)
{
	table[at] = value; // FAULT
}

int main(void)
{
	char *other = realloc(NULL, 10);
	int sum = 0;

	table = malloc(40);
	other = realloc(other, 100);
	other[99] = 3;
	for (int i = 0; i < 20; i++)
		put(i, i);
	put(-5, 7);
	for (int i = 0; i < 20; i++)
		sum += table[i];
	printf("%d\n", sum + other[99]);
	free(other);
	free(table);
	return 0;
}
