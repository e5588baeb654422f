// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As man-1.5h1: a loop fills a global table beyond its end; an index behind it is used later.
#include <stdio.h>

static struct {
	int width[8];
	int last;
	int pad[7];
} g;

static int heap[100];

static int parse(const char *text)
{
	int n = 0;

	for (; *text; text++)
		g.width[n++] = *text * 1000003; // FAULT
	return n;
}

static int use(int n)
{
	int sum = 0;

	for (int i = 0; i < n && i < 8; i++)
		sum += g.width[i];
	return sum;
}

int main(void)
{
	int n, sum = 0;

	puts("start");
	g.last = 5;
	n = parse("abcdefghi");
	for (int i = 0; i < 500; i++)
		sum += use(n);
	heap[g.last] = sum;
	printf("%d\n", heap[5]);
	return 0;
}
