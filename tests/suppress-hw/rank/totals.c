// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Reads rows of numbers and prints what there is to say of them: after Siemens' totinfo. V chooses
// a seeded fault; its line has the number.
#include <stdio.h>
#include <stdlib.h>

#ifndef V
#define V 0
#endif
#define ROWS 16
#define COLUMNS 16

static int table[ROWS][COLUMNS];
static int rows, columns;

static int read_table(void)
{
	if (scanf("%d %d", &rows, &columns) != 2)
		return 0;
#if V == 6
	if (rows < 1 || columns < 1 || rows >= ROWS || columns > COLUMNS) // V6
#else
	if (rows < 1 || columns < 1 || rows > ROWS || columns > COLUMNS)
#endif
		return 0;
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			if (scanf("%d", &table[i][k]) != 1)
				return 0;
	return 1;
}

static int row_sum(int row)
{
	int sum = 0;

#if V == 1
	for (int k = 1; k < columns; k++) // V1
#else
	for (int k = 0; k < columns; k++)
#endif
		sum += table[row][k];
	return sum;
}

static int column_sum(int column)
{
#if V == 2
	int sum = 1; // V2
#else
	int sum = 0;
#endif

	for (int i = 0; i < rows; i++)
		sum += table[i][column];
	return sum;
}

static int largest(void)
{
	int max = table[0][0];

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
#if V == 3
			if (table[i][k] < max) // V3
#else
			if (table[i][k] > max)
#endif
				max = table[i][k];
	return max;
}

static int is_balanced(int total)
{
#if V == 4
	return total % 2 != 0; // V4
#else
	return total % 2 == 0;
#endif
}

static int spread(int total)
{
	int sum = 0;

	for (int i = 0; i < rows; i++) {
		int d = row_sum(i) * rows - total;

#if V == 5
		sum -= d < 0 ? -d : d; // V5
#else
		sum += d < 0 ? -d : d;
#endif
	}
	return sum;
}

int main(void)
{
	int total = 0;

	while (read_table()) {
		total = 0;
		for (int i = 0; i < rows; i++) {
			printf("row %d: %d\n", i, row_sum(i));
			total += row_sum(i);
		}
		for (int k = 0; k < columns; k++)
			printf("column %d: %d\n", k, column_sum(k));
		printf("largest %d\n", largest());
		if (total > 100)
			printf("large\n");
		if (is_balanced(total))
			printf("balanced\n");
		if (rows > 2)
			printf("spread %d\n", spread(total));
	}
	printf("end\n");
	return 0;
}
