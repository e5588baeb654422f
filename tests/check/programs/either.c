// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// One of two arrays by a condition, counted from 1: gcc makes a constant of both, without optimization, too, which leads to
// the array before. With argument `wrong' such are left.
#include <stdio.h>

static int first[8] = { 1, 2, 3 }, second[8] = { 4, 5, 6 };

static int fixed(int is_first, int n)
{
	return (is_first ? first : second)[n - 1];
}

static int own(int is_first, int n)
{
	int one[8] = { 1, 2, 3 }, two[8] = { 4, 5, 6 };

	return (is_first ? one : two)[n - 1] + (is_first ? two : one)[n - 1];
}

static int left_fixed(int is_first, int n)
{
	return (is_first ? first : second)[n]; // expect: GLOBAL-OVERFLOW
}

static int left_own(int is_first, int n)
{
	int one[8] = { 1, 2, 3 }, two[8] = { 4, 5, 6 };

	return (is_first ? one : two)[n] + (is_first ? two[n - 1] : one[n - 1]); // expect: STACK-OVERFLOW
}

int main(int argc, char **argv)
{
	int sum = 0, n = argc > 1 ? 8 : 7;

	(void)argv;
	for (int i = 0; i < 2; i++)
		sum += fixed(i, 8) + own(i, 8) + left_fixed(i, n) + left_own(i, n);
	printf("%d\n", sum & 0);
	return 0;
}
