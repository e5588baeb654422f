// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As xv-3.10a: what a file says is its number of colours is believed.
#include <stdio.h>
#include <string.h>

static const unsigned char file[] = { 'B', 'M', 40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
	13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
	34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45 };

static int load(void)
{
	struct {
		unsigned char colours[16];
		const unsigned char *pixels;
	} map;
	int n = file[2];

	map.pixels = file + 3;
	for (int i = 0; i < n; i++)
		map.colours[i] = file[3 + i]; // FAULT
	int sum = 0;
	for (int i = 0; i < 16; i++)
		sum += map.colours[i];
	for (int i = 0; i < 4; i++)
		sum += map.pixels[i];
	return sum;
}

int main(void)
{
	puts("start");
	printf("%d\n", load());
	return 0;
}
