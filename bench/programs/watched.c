// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Two words are written, and long afterwards the program ends. In between it works on its memory,
 * with what it finds there, and on the page of one of them.
 */
#include <sys/mman.h>

#include "bench/programs/program.h"
#include "bench/programs/watched.h"

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), state = 1, sum = 0;
	uint32_t *memory = malloc(WATCHED_BYTES), words = WATCHED_BYTES / 4;
	volatile uint64_t *busy = (void *)WATCHED_BUSY;
	volatile uint64_t *word = mmap((void *)WATCHED_ADDRESS, 8192,
				       PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (!memory || word == MAP_FAILED)
		return 1;
	for (uint32_t i = 0; i < words; i++)
		memory[i] = random_next(&state);
	*word = *busy = n;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = (i * 3 + sum) & 0x3fff;

		memory[at] += i;
		sum += memory[at ^ 7] & 15;
		busy[1] = sum;
	}
	printf("watched: %llx\n", (unsigned long long)(sum + *word + *busy));
	return 0;
}
