// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Maps what lies below 2 GiB, 256 MiB at a time from the top: wherever there the machine has
 * something of its own, it must give way.
 */

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define STEP 0x10000000ul

static uint64_t fill(uint64_t at)
{
	uint64_t *p = mmap(
		(void *)at, STEP, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	uint64_t sum = 0;

	if (p == MAP_FAILED)
		return 0;
	for (uint64_t i = 0; i < STEP / 8; i += 1 << 17) {
		p[i] += at + i;
		sum = sum * 31 + p[i];
	}
	return sum;
}

int main(void)
{
	for (uint64_t at = 7 * STEP; at; at -= STEP)
		printf("%lx: %lx\n", at, fill(at));
	return 0;
}
