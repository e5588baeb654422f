// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Functions whose addresses differ in the bits above the lowest 16 alone, called in turns; one
 * is replaced by another.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STEP 0x10000ul
#define N 7

typedef uint64_t function(uint64_t x);

/* lea rax, [rdi+rdi+i]; ret */
static void write_function(uint8_t *at, uint8_t i)
{
	const uint8_t code[] = { 0x48, 0x8d, 0x44, 0x3f, i, 0xc3 };

	memcpy(at, code, sizeof(code));
}

int main(void)
{
	uint8_t *at = mmap(NULL, N * STEP, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t x = 1;

	if (at == MAP_FAILED)
		return 1;
	for (int i = 0; i < N; i++)
		write_function(at + i * STEP, i);
	for (int n = 0; n < 3000; n++) {
		if (n % 500 == 499)
			write_function(at + n % N * STEP, n % 100);
		x ^= ((function *)(at + n * n % N * STEP))(x + n);
	}
	printf("%lx\n", x);
	return 0;
}
