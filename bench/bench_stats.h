// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The statistics of the benchmarks: medians, ratios of paired runs, growth, and whether two
 * sets of runs differ. Pure functions.
 */
#ifndef BENCH_BENCH_STATS_H
#define BENCH_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

/** A value and the range around it. */
struct bench_range {
	double median, min, max;
};

/** @return median, least and greatest of @p n values; zeroes when there are none. */
struct bench_range bench_range_of(const double *values, size_t n);

/**
 * The ratio of runs @p a to runs @p b.
 *
 * Where there are as many of both they are of the same rounds: the ratio is taken round by
 * round, so that a busy spell of the machine, which hits both, cancels out; median and range
 * are of those. Otherwise: that of the medians, from min/max to max/min.
 *
 * @return zeroes when there is nothing to divide, or to divide by.
 */
struct bench_range bench_ratio_of(const double *a, size_t n_a, const double *b,
				  size_t n_b);

/** @return whether 1 lies within the range: neither side is ahead. */
bool bench_range_is_noise(const struct bench_range *ratio);

/** How y grows with x: y = coefficient * x^exponent. */
struct bench_fit {
	double exponent;
	double low, high; ///< its 95 % interval; low = high = exponent with two points
	double coefficient;
	double slope; ///< of a straight line through the same points: what one more x costs
	bool is_valid;
};

/**
 * Fit by least squares, in logarithms; the interval is Student's, of the residuals.
 *
 * @return is_valid is false when there are fewer than two different x, or when a point is not
 *	   above 0: noise was more than what is measured, and to leave it out would bend the
 *	   line.
 */
struct bench_fit bench_fit_of(const double *x, const double *y, size_t n);

/**
 * The two-sided Mann-Whitney test, exact: how likely it is that runs of one and the same
 * thing fall apart as @p a and @p b do. Ties count half. Up to 64 of each.
 */
double bench_same_chance(const double *a, size_t n_a, const double *b, size_t n_b);

/** @return the least that bench_same_chance() can give for so many runs. */
double bench_same_chance_min(size_t n_a, size_t n_b);

#endif
