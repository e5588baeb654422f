// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As man-1.5h1: what a loop has overwritten is used to compute something, and that crashes. Without this
// nothing crashes, though the table has run over.
#include <stdio.h>

static int width[8];
static int last;
static int spare[64];
static int heap[100];
static int *to = heap;

static int parse(const char *text)
{
	int n = 0;

	for (; *text; text++)
		width[n++] = *text * 1000003; // FAULT
	return n;
}

int main(void)
{
	int place, n;

	last = 2;
	n = parse("abcdefghij");
	place = last * 4 + 1; // FIRST
	heap[place] = n;
	spare[3] = n;
	to[1] = spare[3];
	printf("%d %d\n", heap[1], width[1]);
	return 0;
}
