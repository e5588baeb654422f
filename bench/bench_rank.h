// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Programs with seeded faults (bench/seeded/), recorded: what bench_rank.c and bench_rank_many.c
 * share.
 */
#ifndef BENCH_BENCH_RANK_H
#define BENCH_BENCH_RANK_H

#include <limits.h>

#include "bench/bench_suite.h"

#define BENCH_SEEDED 15 ///< faults of each program
#define BENCH_SEEDED_MOST 5

/** Programs, and what the paper's table 3.2 has for the one in its place: IDEAL, FULL, PARTIAL, MIN. */
struct bench_seeded_program {
	const char *name, *theirs;
	double published[4];
};

extern const struct bench_seeded_program bench_seeded_programs[];

/** One version of a program: its directory, and where its faults are. */
struct bench_seeded {
	char suite[PATH_MAX];
	int line[BENCH_SEEDED_MOST];
	char right[BENCH_SEEDED_MOST]
		  [256]; ///< what the line should be; "": one is missing there
	size_t n;
	const char *skip; ///< why there is none
};

/** Build @p program with @p numbers ("3,7") of its faults below @p b's scratch, and record its
 * suite. One that was there is removed. */
struct err *bench_seeded_make(struct bench *b, const char *program, const char *numbers,
			      struct bench_seeded *ret);

/** Rows of @p program, a number of bench_seeded_programs, with several faults. @p ideal: the score of
 * each fault alone; NAN: no test shows it. */
struct err *bench_rank_many(struct bench *b, int program,
			    const double ideal[BENCH_SEEDED]);

#endif
