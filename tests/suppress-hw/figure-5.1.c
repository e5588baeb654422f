// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Figure 5.1 of paper 003; the numbers are its line numbers.
#include <stdio.h>
#include <stdlib.h>

struct s {
	int f;
};

static const int *input;

static int readInt(void)
{
	return *input++;
}

int main(void)
{
	static const int ints[] = { 1, 2, 3, 1500000000 };
	int *x = malloc(2 * sizeof(int)), *y = malloc(2 * sizeof(int));
	int *intArray = malloc(16 * sizeof(int));
	struct s **structArray = calloc(16, sizeof(*structArray));

	puts("begins");
	input = ints;
	int *p1 = &x[1];	 // 1
	int *p2 = &x[0];	 // 2
	int *q1 = &y[1];	 // 3
	int *q2 = &x[0];	 // 4: should be &y[0]
	*p1 = readInt();	 // 5
	*p2 = readInt();	 // 6
	*q1 = readInt();	 // 7
	*q2 = readInt();	 // 8
	int a = *p1 + *p2;	 // 9
	int b = *q1 + *q2;	 // 10
	int c = a + b + 1;	 // 11
	intArray[c] = 0;	 // 12
	structArray[*p2]->f = 0; // 13
	free(p2);		 // 14
	free(q2);		 // 15
	puts("done");
	return 0;
}
