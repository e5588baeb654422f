// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * posix_memalign() puts a block's address where that of another was that began there: in a variable, in an array.
 */
#include <stdlib.h>

static char *slots[4];

int main(int argc, char **argv)
{
	void *block = malloc(2000);
	volatile char *bytes;
	int is_wrong = argc > 1;

	((volatile char *)block)[1] = 1;
	free(block);
	if (posix_memalign(&block, 16, 1990))
		return 1;
	bytes = block;
	for (int i = 0; i < 1990 + is_wrong; i++)
		bytes[i] = i; // expect: HEAP-OVERFLOW
	free(block);
	if (is_wrong)
		bytes[3] = 1; // expect: DANGLING-WRITE
	for (int i = 0; i < 4; i++) {
		slots[2] = malloc(600);
		slots[2][7] = i;
		free(slots[2]);
		if (posix_memalign((void **)&slots[2], 8, 600 - i))
			return 1;
		slots[2][599 - i] = 1;
		slots[3] = slots[2];
		free(slots[2]);
	}
	return 0;
}
