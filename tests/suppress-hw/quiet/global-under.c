// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The same before a global array, where another one lies.
#include <stdio.h>

static long before[4];
static const char *title = "title";
static int table[16];

static void put(int at, int value)
{
	table[at] = value; // FAULT
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 16; i++)
		put(i, i);
	put(-1, 77);
	for (int i = 0; i < 16; i++)
		sum += table[i];
	printf("%d %c %ld\n", sum, title[0], before[1]);
	return 0;
}
