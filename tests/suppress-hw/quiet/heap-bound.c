// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As bc-1.06: the wrong bound in a loop that clears new elements, by one.
#include <stdio.h>
#include <stdlib.h>

static long **vars;
static int v_count, a_count = 5;

static void more_arrays(void)
{
	vars = malloc(4 * sizeof(*vars));
	for (; v_count < a_count; v_count++)
		vars[v_count] = (long *)&a_count; // FAULT
}

int main(void)
{
	char *other;

	more_arrays();
	other = malloc(100);
	other[3] = *vars[2];
	printf("%d\n", other[3]);
	free(other);
	return 0;
}
