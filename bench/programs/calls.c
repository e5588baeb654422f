// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Calls and returns and little else: Fibonacci's numbers by the plainest recursion.
 */
#include "bench/programs/program.h"

/** As written: neither inlined into itself nor turned into a loop. */
__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls"))) static uint64_t
fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv);

	printf("calls: %llu\n", (unsigned long long)fibonacci(n));
	return 0;
}
