// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_MAX 64

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_range bench_range_of(const double *values, size_t n)
{
	double sorted[SAMPLE_MAX];

	if (!n)
		return (struct bench_range){};
	n = n < SAMPLE_MAX ? n : SAMPLE_MAX;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	return (struct bench_range){
		.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2,
		.min = sorted[0],
		.max = sorted[n - 1],
	};
}

struct bench_range bench_ratio_of(const double *a, size_t n_a, const double *b,
				  size_t n_b)
{
	struct bench_range ra = bench_range_of(a, n_a), rb = bench_range_of(b, n_b);
	double ratios[SAMPLE_MAX];

	if (!n_a || rb.min <= 0)
		return (struct bench_range){};
	if (n_a != n_b)
		return (struct bench_range){ .median = ra.median / rb.median,
					     .min = ra.min / rb.max,
					     .max = ra.max / rb.min };
	n_a = n_a < SAMPLE_MAX ? n_a : SAMPLE_MAX;
	for (size_t i = 0; i < n_a; i++)
		ratios[i] = a[i] / b[i];
	return bench_range_of(ratios, n_a);
}

bool bench_range_is_noise(const struct bench_range *ratio)
{
	return ratio->min <= 1 && ratio->max >= 1;
}

/* ---- growth ------------------------------------------------------------------------------- */

/** Student's t, 97.5 %, by degrees of freedom. */
static double student(size_t freedom)
{
	static const double table[] = { 0,     12.706, 4.303, 3.182, 2.776, 2.571,
					2.447, 2.365,  2.306, 2.262, 2.228, 2.201,
					2.179, 2.160,  2.145, 2.131, 2.120, 2.110,
					2.101, 2.093,  2.086, 2.080, 2.074, 2.069,
					2.064, 2.060,  2.056, 2.052, 2.048, 2.045 };

	return freedom < sizeof(table) / sizeof(*table) ? table[freedom] : 2.0;
}

/** Sums of a straight line's least squares. */
struct line {
	double n, x, y, xx, xy, yy;
};

static void line_add(struct line *l, double x, double y)
{
	l->n++;
	l->x += x;
	l->y += y;
	l->xx += x * x;
	l->xy += x * y;
	l->yy += y * y;
}

static double line_slope(const struct line *l)
{
	return (l->n * l->xy - l->x * l->y) / (l->n * l->xx - l->x * l->x);
}

/** @return the standard error of the slope; 0 when two points leave no freedom. */
static double line_slope_error(const struct line *l, double slope)
{
	double sxx = l->xx - l->x * l->x / l->n, syy = l->yy - l->y * l->y / l->n;
	double rest = syy - slope * slope * sxx;

	return l->n > 2 && rest > 0 ? sqrt(rest / (l->n - 2) / sxx) : 0;
}

struct bench_fit bench_fit_of(const double *x, const double *y, size_t n)
{
	struct line logs = {}, plain = {};
	struct bench_fit f = {};
	double error;

	for (size_t i = 0; i < n; i++) {
		if (x[i] <= 0 || y[i] <= 0)
			return (struct bench_fit){};
		f.is_valid |= x[i] != x[0];
		line_add(&logs, log(x[i]), log(y[i]));
		line_add(&plain, x[i], y[i]);
	}
	if (!f.is_valid)
		return f;
	f.exponent = line_slope(&logs);
	f.coefficient = exp((logs.y - f.exponent * logs.x) / logs.n);
	f.slope = line_slope(&plain);
	error = line_slope_error(&logs, f.exponent) * student((size_t)logs.n - 2);
	f.low = f.exponent - error;
	f.high = f.exponent + error;
	return f;
}

/* ---- do they differ? ------------------------------------------------------------------------ */

/**
 * The share of the orders of @p n_a and @p n_b runs in which at most @p u pairs are the wrong
 * way round. Built up a run of A at a time: the number of ways to sum up to j by one more run
 * that has 0 to n_b of B before it is Gauss' binomial, whose factors are multiplied out.
 */
static double share_at_most(size_t n_a, size_t n_b, size_t u)
{
	size_t top = n_a * n_b;
	double *ways = calloc(top + 1, sizeof(*ways)), sum = 0, all = 0;

	if (!ways)
		return 1;
	ways[0] = 1;
	for (size_t k = 1; k <= n_a; k++) {
		// Times (1 - q^(n_b + k)), then divided by (1 - q^k).
		for (size_t j = top; j + 1 > n_b + k; j--)
			ways[j] -= ways[j - n_b - k];
		for (size_t j = k; j <= top; j++)
			ways[j] += ways[j - k];
	}
	for (size_t j = 0; j <= top; j++) {
		all += ways[j];
		sum += j <= u ? ways[j] : 0;
	}
	free(ways);
	return sum / all;
}

double bench_same_chance(const double *a, size_t n_a, const double *b, size_t n_b)
{
	double wrong = 0, chance;

	if (!n_a || !n_b)
		return 1;
	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0; j < n_b; j++)
			wrong += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
	wrong = fmin(wrong, n_a * n_b - wrong);
	// A half is counted as a whole: with ties the answer is on the safe side.
	chance = 2 * share_at_most(n_a, n_b, (size_t)ceil(wrong));
	return chance < 1 ? chance : 1;
}

double bench_same_chance_min(size_t n_a, size_t n_b)
{
	double chance = n_a && n_b ? 2 * share_at_most(n_a, n_b, 0) : 1;

	return chance < 1 ? chance : 1;
}
