// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What moved between two results, beyond noise.
 *
 * Compared are our own rows, by their ratios, taken round by round: so that what the machine
 * does to the native program or the peer as well cancels out. A ratio has moved when both
 * hold:
 *  1. The exact two-sided Mann-Whitney test gives at most 1 % that runs of one and the same
 *     thing fall apart like this; with 3 to 4 rounds, where it cannot give so little: when no
 *     ratio of one lies among those of the other. Fewer rounds tell nothing.
 *  2. The medians are 5 % apart or more.
 * Figures that are no times (is_exact) have moved when they differ at all. An exponent has
 * moved when its intervals do not overlap.
 */
#ifndef BENCH_BENCH_COMPARE_H
#define BENCH_BENCH_COMPARE_H

#include <stdio.h>

#include "bench/bench_result.h"

enum bench_verdict {
	BENCH_NOISE,
	BENCH_WORSE,
	BENCH_BETTER,
	BENCH_CHANGED, ///< and neither is better
	BENCH_TOO_FEW, ///< runs, to tell
};

/** How many rows there are of each verdict. */
struct bench_comparison {
	size_t n[BENCH_TOO_FEW + 1];
	size_t n_only_old, n_only_new;
	double expected; ///< rows that would move by chance alone
};

/** Find the verdict on one row. @p shift: new to old; @p chance: of the test, 0 without. */
enum bench_verdict bench_compare_runs(const double *before, size_t n_before,
				      const double *after, size_t n_after,
				      enum bench_better better, double *shift,
				      double *chance);

/** Compare, print what moved and what is in one only, and count. */
void bench_compare(FILE *out, const struct bench_results *before,
		   const struct bench_results *after, struct bench_comparison *ret);

#endif
