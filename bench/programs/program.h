// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the programs that are measured share. Each takes a count, does so many of one thing,
 * and prints a number that depends on all of them.
 */
#ifndef BENCH_PROGRAMS_PROGRAM_H
#define BENCH_PROGRAMS_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** The count on the command line; ends the program when there is none. */
static inline uint64_t count_of(int argc, char **argv)
{
	char *end;
	uint64_t n = argc > 1 ? strtoull(argv[1], &end, 10) : 0;

	if (argc < 2 || *end || end == argv[1]) {
		fprintf(stderr, "usage: %s COUNT\n", argv[0]);
		exit(2);
	}
	return n;
}

/** The next of a sequence of numbers that look random, the same on each run. */
static inline uint32_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#endif
