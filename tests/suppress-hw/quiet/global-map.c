// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As xv-3.10a: a loop fills a global table as far as a file says. What lies behind is a table, too.
#include <stdio.h>

static unsigned char red[16];
static unsigned char spare[256];
static unsigned char histogram[64];
static unsigned char *where = histogram;
static int first, colours;

static void read_map(const unsigned char *file, int n)
{
	for (int i = 0; i < n; i++)
		red[i] = file[i]; // FAULT
	colours = n < 16 ? n : 16;
}

static int look(int colour)
{
	return where[red[colour] & 63] + histogram[first];
}

int main(void)
{
	static const unsigned char file[] = "forty bytes of red, though 16 is the most";
	int sum = 0;

	read_map(file, 40);
	for (int i = 0; i < colours; i++)
		sum += look(i);
	spare[200] = sum;
	printf("%d\n", sum);
	return 0;
}
