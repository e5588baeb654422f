// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As bc-1.06: the wrong bound in a loop that clears new elements: the pointer of the block behind
// is gone.
#include <stdio.h>
#include <stdlib.h>

struct var {
	struct var *next;
	int value;
};

static struct var **vars;
static int v_count, a_count = 10;

static void more_arrays(void)
{
	struct var **old = vars;

	vars = malloc(4 * sizeof(*vars));
	struct var *keep = malloc(sizeof(*keep));
	struct var **list = malloc(8 * sizeof(*list));

	list[0] = keep;
	keep->value = 3;
	for (int i = 0; i < 4 && i < v_count; i++)
		vars[i] = old[i];
	for (int i = v_count; i < a_count + 4; i++)
		vars[i] = NULL; // FAULT
	for (int i = 0; i < 100; i++)
		v_count += i % 2;
	printf("%d\n", list[0]->value);
}

int main(void)
{
	puts("start");
	more_arrays();
	return 0;
}
