// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Store-heavy: each step writes two words of a 64 KiB table at a place that the step before
 * has chosen.
 */
#include "bench/programs/program.h"

#define WORDS 8192

static uint64_t table[WORDS];

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), x = 88172645463325252u, sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		table[x % WORDS] = x;
		table[i % WORDS] = x + i;
	}
	for (int i = 0; i < WORDS; i++)
		sum = sum * 31 + table[i];
	printf("stores: sum %llx\n", (unsigned long long)sum);
	return 0;
}
