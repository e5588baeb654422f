// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// Statistics against values that were worked out elsewhere (by enumeration, by R's lm).

#include <math.h>

#include "bench/bench_stats.h"
#include "tests/unit.h"

#define near(a, b) assert_true(fabs((a) - (b)) < 1e-5)

static void test_median_and_range(void **state)
{
	const double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };
	struct bench_range r = bench_range_of(odd, 3);

	(void)state;
	near(r.median, 2);
	near(r.min, 1);
	near(r.max, 3);
	near(bench_range_of(even, 4).median, 2.5);
	near(bench_range_of(odd, 0).median, 0);
}

static void test_ratio_is_taken_round_by_round(void **state)
{
	// The second round was slow for both: the ratio does not notice.
	const double a[] = { 2, 20, 2.2 }, b[] = { 1, 10, 1 };
	struct bench_range r = bench_ratio_of(a, 3, b, 3);

	(void)state;
	near(r.median, 2);
	near(r.min, 2);
	near(r.max, 2.2);
	assert_false(bench_range_is_noise(&r));
}

static void test_ratio_of_other_rounds_spans_all(void **state)
{
	const double a[] = { 2, 4 }, b[] = { 1, 2, 4 };
	struct bench_range r = bench_ratio_of(a, 2, b, 3);

	(void)state;
	near(r.median, 1.5);
	near(r.min, 0.5);
	near(r.max, 4);
	assert_true(bench_range_is_noise(&r));
	near(bench_ratio_of(a, 2, b, 0).median, 0);
}

static void test_exact_power_is_found(void **state)
{
	const double x[] = { 1, 2, 4, 8 };
	double y[4];
	struct bench_fit f;

	(void)state;
	for (int i = 0; i < 4; i++)
		y[i] = 3 * pow(x[i], 1.5);
	f = bench_fit_of(x, y, 4);
	assert_true(f.is_valid);
	near(f.exponent, 1.5);
	near(f.coefficient, 3);
	near(f.low, 1.5);
	near(f.high, 1.5);
}

static void test_interval_is_students(void **state)
{
	const double x[] = { 1, 2, 4, 8, 16 }, y[] = { 1.1, 1.9, 4.3, 7.8, 16.9 };
	struct bench_fit f = bench_fit_of(x, y, 5);

	(void)state;
	near(f.exponent, 0.992037);
	assert_true(fabs(f.high - f.exponent - 0.106125) < 1e-4);
	assert_true(fabs(f.exponent - f.low - 0.106125) < 1e-4);
	near(f.coefficient, 1.041006);
	near(f.slope, 1.051747);
}

static void test_fit_needs_two_sizes(void **state)
{
	const double x[] = { 2, 2, 4, 8 }, y[] = { 1, 2, 4, -1 };

	(void)state;
	assert_false(bench_fit_of(x, y, 2).is_valid);
	assert_true(bench_fit_of(x, y, 3).is_valid);
	// What is not above 0 is not left out.
	assert_false(bench_fit_of(x, y, 4).is_valid);
	assert_false(bench_fit_of(x, y, 0).is_valid);
}

static void test_mann_whitney_is_exact(void **state)
{
	const double low[] = { 1, 2, 3, 4, 5, 6, 7 },
		     high[] = { 8, 9, 10, 11, 12, 13, 14 };
	// U is 4: 12 of the 462 orders are no more apart.
	const double a[] = { 1, 2, 3, 4, 9 }, b[] = { 5, 6, 7, 8, 10, 11 };

	(void)state;
	near(bench_same_chance(low, 3, high, 3), 2.0 / 20);
	near(bench_same_chance(high, 5, low, 5), 2.0 / 252);
	near(bench_same_chance(low, 7, high, 7), 2.0 / 3432);
	near(bench_same_chance(a, 5, b, 6), 24.0 / 462);
	near(bench_same_chance(b, 6, a, 5), 24.0 / 462);
	near(bench_same_chance(low, 7, low, 7), 1);
	near(bench_same_chance_min(3, 3), 0.1);
	near(bench_same_chance_min(1, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median_and_range),
		cmocka_unit_test(test_ratio_is_taken_round_by_round),
		cmocka_unit_test(test_ratio_of_other_rounds_spans_all),
		cmocka_unit_test(test_exact_power_is_found),
		cmocka_unit_test(test_interval_is_students),
		cmocka_unit_test(test_fit_needs_two_sizes),
		cmocka_unit_test(test_mann_whitney_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
