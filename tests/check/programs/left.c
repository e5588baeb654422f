// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What main() leaves: blocks whose last pointers are in its frame, of which what runs at the exit overwrites some and
 * keeps others; while much is mapped that nobody touches.
 */
#include <stdlib.h>
#include <sys/mman.h>

static char *volatile reserved, *volatile kept; // lead to what is not lost

int main(void)
{
	void *volatile p[24] = { 0 };

	reserved = mmap(NULL, 64ul << 30, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	kept = malloc(3ul << 30);
	if (reserved == MAP_FAILED || !kept)
		return 2;
	*(void **)(kept + (1ul << 30)) = malloc(8);
	*(void **)(reserved + (33ul << 30)) = malloc(16);
#define LEAVE(i) p[i] = malloc(24 + i)
	LEAVE(0); // expect: DEFINITE-LEAK
	LEAVE(1); // expect: DEFINITE-LEAK
	LEAVE(2); // expect: DEFINITE-LEAK
	LEAVE(3); // expect: DEFINITE-LEAK
	LEAVE(4); // expect: DEFINITE-LEAK
	LEAVE(5); // expect: DEFINITE-LEAK
	LEAVE(6); // expect: DEFINITE-LEAK
	LEAVE(7); // expect: DEFINITE-LEAK
	LEAVE(8); // expect: DEFINITE-LEAK
	LEAVE(9); // expect: DEFINITE-LEAK
	LEAVE(10); // expect: DEFINITE-LEAK
	LEAVE(11); // expect: DEFINITE-LEAK
	LEAVE(12); // expect: DEFINITE-LEAK
	LEAVE(13); // expect: DEFINITE-LEAK
	LEAVE(14); // expect: DEFINITE-LEAK
	LEAVE(15); // expect: DEFINITE-LEAK
	LEAVE(16); // expect: DEFINITE-LEAK
	LEAVE(17); // expect: DEFINITE-LEAK
	LEAVE(18); // expect: DEFINITE-LEAK
	LEAVE(19); // expect: DEFINITE-LEAK
	LEAVE(20); // expect: DEFINITE-LEAK
	LEAVE(21); // expect: DEFINITE-LEAK
	LEAVE(22); // expect: DEFINITE-LEAK
	LEAVE(23); // expect: DEFINITE-LEAK
	return 0;
}
