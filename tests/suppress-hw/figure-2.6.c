// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Figure 2.6 of paper 003; the numbers are its line numbers.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int x = atoi(argv[1]), y = atoi(argv[2]), a;

	(void)argc;
	a = x + y;		   // 2: should be x - y
	if (x < y)		   // 3
		printf("%d\n", a); // 4
	else
		printf("%d\n", a + 1); // 6
	return 0;
}
