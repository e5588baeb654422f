// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * crash [abort|segv|fpe|ill|exit N]: prints a line and ends that way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "segv";
	volatile int *volatile nowhere = (volatile int *)0x10;
	volatile int seven = 7, zero = 0;

	printf("ending by %s\n", how);
	fflush(stdout);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "fpe") == 0)
		return seven / zero;
	if (strcmp(how, "ill") == 0)
		__builtin_trap();
	if (strcmp(how, "exit") == 0)
		return argc > 2 ? atoi(argv[2]) : 0;
	*nowhere = 1;
	return 0;
}
