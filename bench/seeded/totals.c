// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Tables of numbers, and what there is to say of them: after Siemens' totinfo. Reads rows, columns
 * and the numbers, table after table.
 */
#include <stdio.h>
#include <stdlib.h>

#define ROWS 12
#define COLUMNS 12
#define LARGE 1000

static int table[ROWS][COLUMNS];
static int rows, columns;
static int tables, grand_total, widest;

static int read_table(void)
{
	if (scanf("%d %d", &rows, &columns) != 2)
		return 0;
	if (rows < 1 || columns < 1)
		return -1;
	if (rows > ROWS || columns > COLUMNS)
		return -2;
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			if (scanf("%d", &table[i][k]) != 1)
				return -3;
	return 1;
}

static int row_sum(int row)
{
	int sum = 0;

	for (int k = 0; k < columns; k++)
		sum += table[row][k];
	return sum;
}

static int column_sum(int column)
{
	int sum = 0;

	for (int i = 0; i < rows; i++)
		sum += table[i][column];
	return sum;
}

static int total(void)
{
	int sum = 0;

	for (int i = 0; i < rows; i++)
		sum += row_sum(i);
	return sum;
}

static int largest(int *row, int *column)
{
	int max = table[0][0];

	*row = 0;
	*column = 0;
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			if (table[i][k] > max) {
				max = table[i][k];
				*row = i;
				*column = k;
			}
	return max;
}

static int smallest(void)
{
	int min = table[0][0];

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			if (table[i][k] < min)
				min = table[i][k];
	return min;
}

/* Half of what rows' means differ from the mean, in hundredths. */
static int spread(int sum)
{
	int mean = sum * 100 / (rows * columns);
	int ret = 0;

	for (int i = 0; i < rows; i++) {
		int d = row_sum(i) * 100 / columns - mean;

		if (d < 0)
			d = -d;
		ret += d;
	}
	return ret / 2;
}

/* Chi squared, in tenths. */
static int chi_squared(int sum)
{
	int chi = 0;

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++) {
			int expected = row_sum(i) * column_sum(k) / sum;
			int d = table[i][k] - expected;

			if (expected > 0)
				chi += 10 * d * d / expected;
		}
	return chi;
}

static int degrees(void)
{
	return (rows - 1) * (columns - 1);
}

static int count_above(int limit)
{
	int n = 0;

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			if (table[i][k] >= limit)
				n++;
	return n;
}

static int longest_run(int row)
{
	int best = 1, n = 1;

	for (int k = 1; k < columns; k++) {
		if (table[row][k] == table[row][k - 1])
			n++;
		else
			n = 1;
		if (n > best)
			best = n;
	}
	return best;
}

static int is_sorted(int row)
{
	for (int k = 1; k < columns; k++)
		if (table[row][k] < table[row][k - 1])
			return 0;
	return 1;
}

static void tell(void)
{
	int sum = total(), row, column, max;

	tables++;
	printf("table %d: total %d\n", tables, sum);
	for (int i = 0; i < rows; i++) {
		printf("row %d: %d, run %d", i, row_sum(i), longest_run(i));
		if (is_sorted(i))
			printf(", sorted");
		printf("\n");
	}
	for (int k = 0; k < columns; k++)
		printf("column %d: %d\n", k, column_sum(k));
	max = largest(&row, &column);
	printf("largest %d at %d, %d; smallest %d\n", max, row, column, smallest());
	printf("above mean: %d\n", count_above(sum / (rows * columns)));
	printf("spread %d\n", spread(sum));
	if (sum > 0 && degrees() > 0)
		printf("chi %d by %d\n", chi_squared(sum), degrees());
	if (sum > LARGE)
		printf("large\n");
	grand_total += sum;
	if (columns > widest)
		widest = columns;
}

int main(void)
{
	int got;

	while ((got = read_table()) > 0)
		tell();
	if (got < 0)
		printf("error %d\n", -got);
	printf("%d tables, %d in all, %d wide\n", tables, grand_total, widest);
	return got < 0;
}
