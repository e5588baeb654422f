// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Indirect calls: through a table of four functions, as an interpreter's.
 */
#include "bench/programs/program.h"

static uint64_t op_add(uint64_t x)
{
	return x + 3;
}

static uint64_t op_xor(uint64_t x)
{
	return x ^ 0x55;
}

static uint64_t op_shift(uint64_t x)
{
	return x + (x >> 3);
}

static uint64_t op_times(uint64_t x)
{
	return x * 5;
}

typedef uint64_t op_fn(uint64_t x);

static op_fn *const volatile ops[4] = { op_add, op_xor, op_shift, op_times };

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), x = 1;

	for (uint64_t i = 0; i < n; i++)
		x = ops[i & 3](x);
	printf("pointers: %llx\n", (unsigned long long)x);
	return 0;
}
