// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is left in memory that was given out again, or on the stack, leads to nothing. What was stored there since does, whoever
 * stored it: the program, a string function, the kernel, the allocator that moved it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 30
#define LARGE 400000 // gets a mapping of its own

static void **kept[8], **moved;

/* An array of pointers, given back, and the same memory once more: as it was, but for what the allocator keeps there. */
static void **again(void)
{
	void *volatile *old = malloc(N * sizeof(*old));

	for (int i = 0; i < N; i++)
		old[i] = malloc(40); // expect: DEFINITE-LEAK
	free((void *)old);
	return malloc(N * sizeof(*old));
}

__attribute__((noinline)) static void leave(void)
{
	void *volatile block[64];

	for (int i = 0; i < 64; i++)
		block[i] = malloc(136); // expect: DEFINITE-LEAK
}

__attribute__((noinline)) static void end(void)
{
	void *volatile block[64]; // where leave() had its

	block[0] = NULL;
	exit(!!block[0]);
}

int main(void)
{
	void *block[N], *at;
	int ends[2];

	kept[0] = again();
	kept[1] = again();
	for (int i = 0; i < N; i++) {
		at = malloc(24);
		memcpy(&kept[1][i], &at, sizeof(at));
	}
	for (int i = 0; i < N; i++)
		block[i] = malloc(56);
	kept[2] = malloc(sizeof(block));
	if (pipe(ends) || write(ends[1], block, sizeof(block)) != sizeof(block) ||
	    read(ends[0], kept[2], sizeof(block)) != sizeof(block))
		return 2;
	memset(block, 0, sizeof(block));

	for (int i = 0; i < 200; i++) {
		kept[3] = realloc(kept[3], (i + 1) * sizeof(at));
		kept[3][i] = malloc(72);
	}
	kept[4] = malloc(LARGE);
	kept[4][LARGE / 8 - 1] = malloc(88);
	kept[4] = realloc(kept[4], 100 * LARGE);

	// To where a block was that had no values, and a mapping of its own.
	at = malloc(LARGE);
	free(at);
	moved = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved[10] = malloc(104);
	moved = mremap(moved, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)at - 16);

	leave();
	end();
}
