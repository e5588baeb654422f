// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Control flow and little else: a loop of six short blocks, whose branches are easily guessed.
 */
#include "bench/programs/program.h"

/** Keeps the branch before it a branch. */
#define HERE(v) __asm__ volatile("" : "+r"(v))

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), a = 0, b = 0, c = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (i & 1) {
			a += i;
			HERE(a);
		}
		if (i & 2) {
			b ^= i;
			HERE(b);
		}
		if (i == n / 2) {
			c++;
			HERE(c);
		}
	}
	printf("blocks: %llx\n", (unsigned long long)(a + 31 * b + 961 * c));
	return 0;
}
