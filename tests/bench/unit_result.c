// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// Rows: ratios to native or to the best peer, who is the best, what is noise; the same after
// a way through JSON; what moved from one result to another.

#include <math.h>
#include <string.h>

#include "bench/bench_compare.h"
#include "bench/bench_emit.h"
#include "bench/bench_format.h"
#include "tests/unit.h"

static const struct bench_row base = {
	.suite = "s", .work = "w", .command = "ours", .metric = "time", .unit = "s"
};

static void add(struct bench_results *r, enum bench_role role, const char *command,
		const double *runs, size_t n)
{
	struct bench_row row = base;

	row.role = role;
	row.command = command;
	ok(bench_row_add(r, &row, runs, n));
}

static void says(const struct bench_row *row, const char *want)
{
	char *note = bench_format_note(row);

	assert_string_equal(note, want);
	free(note);
}

static const double one[] = { 1, 1, 1 }, two[] = { 2, 2.2, 1.9 },
		    three[] = { 3, 3.3, 3.1 }, around[] = { 0.9, 1.1, 1 };

static void test_ratios_are_to_native(void **state)
{
	struct bench_results r = {};

	(void)state;
	add(&r, BENCH_NATIVE, "native", one, 3);
	add(&r, BENCH_OURS, "ours", three, 3);
	add(&r, BENCH_PEER, "slow", three, 3);
	add(&r, BENCH_PEER, "fast", two, 3);
	add(&r, BENCH_OURS, "free", around, 3);
	bench_rows_finish(&r);
	assert_string_equal(r.rows.data[1].ratio_to, "native");
	assert_string_equal(r.rows.data[1].beaten_by, "fast");
	assert_null(r.rows.data[0].ratio_to);
	assert_null(r.rows.data[4].beaten_by);
	says(&r.rows.data[1], "not the best: fast is 1.50x (1.50-1.63) better");
	says(&r.rows.data[4], "noise: as native");
	says(&r.rows.data[3], "");
	bench_results_deinit(&r);
}

static void test_without_native_they_are_to_the_best_peer(void **state)
{
	struct bench_results r = {};

	(void)state;
	add(&r, BENCH_OURS, "ours", one, 3);
	add(&r, BENCH_PEER, "slow", three, 3);
	add(&r, BENCH_PEER, "fast", two, 3);
	add(&r, BENCH_PEER, "missing", NULL, 0);
	bench_rows_finish(&r);
	assert_string_equal(r.rows.data[0].ratio_to, "fast");
	assert_null(r.rows.data[0].beaten_by);
	assert_null(r.rows.data[2].ratio_to);
	assert_null(r.rows.data[3].ratio_to);
	bench_results_deinit(&r);
}

/** Other works and metrics are never compared, nor what was finished before. */
static void test_groups_stay_apart(void **state)
{
	struct bench_results r = {};
	struct bench_row other = base;

	(void)state;
	add(&r, BENCH_NATIVE, "native", one, 3);
	other.work = "another";
	ok(bench_row_add(&r, &other, two, 3));
	other = base;
	other.metric = "bytes";
	ok(bench_row_add(&r, &other, two, 3));
	bench_rows_finish(&r);
	assert_null(r.rows.data[1].ratio_to);
	assert_null(r.rows.data[2].ratio_to);
	bench_results_deinit(&r);
}

static void test_more_may_be_better(void **state)
{
	struct bench_results r = {};
	struct bench_row row = base;

	(void)state;
	row.better = BENCH_HIGHER;
	row.limit = 0.9;
	row.unit = "instr/s";
	ok(bench_row_add(&r, &row, one, 3));
	row.role = BENCH_PEER;
	row.command = "peer";
	ok(bench_row_add(&r, &row, two, 3));
	bench_rows_finish(&r);
	assert_string_equal(r.rows.data[0].beaten_by, "peer");
	assert_true(bench_row_misses_limit(&r.rows.data[0]));
	says(&r.rows.data[0], "not the best: peer is 2.00x (1.90-2.20) better; "
			      "wanted at least 0.90x: MISSED");
	bench_results_deinit(&r);
}

static void test_values_read_well(void **state)
{
	static const struct {
		double value;
		const char *unit, *text;
	} values[] = {
		{ 0.00123, "s", "1.23 ms" },
		{ 12.34, "s", "12.3 s" },
		{ 4.2e-8, "s", "42.0 ns" },
		{ 0, "s", "0 s" },
		{ 1536, "B", "1.50 KiB" },
		{ 512, "B", "512 B" },
		{ 2.5e8, "instr/s", "250 Minstr/s" },
		{ 7, "", "7" },
		{ 1.5e6, "", "1.50 M" },
		{ 99.5, "%", "99.5%" },
		{ 1.5, "x", "1.50x" },
	};
	char text[BENCH_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		bench_format_value(text, values[i].value, values[i].unit);
		assert_string_equal(text, values[i].text);
	}
}

static void test_json_keeps_all(void **state)
{
	const double x[] = { 1, 2, 4 };
	const struct bench_range y[] = { { 1, 1, 1 }, { 2, 2, 2 }, { 4, 3.9, 4.1 } };
	const struct bench_series s = { .suite = "s",
					.work = "w",
					.command = "ours",
					.x_name = "operations",
					.y_name = "time",
					.y_unit = "s",
					.fixed = 0.25 };
	struct bench_results r = { .header = { .commit = "abc", .rounds = 3 } },
			     back = {};
	struct bench_row row = base;
	char path[4200];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/results.json", getenv("TMPDIR") ?: "/tmp");
	add(&r, BENCH_NATIVE, "native", one, 3);
	add(&r, BENCH_OURS, "ours", two, 3);
	row.command = "gone";
	row.skipped = "not \"here\"";
	row.published = 7;
	ok(bench_row_add(&r, &row, NULL, 0));
	bench_rows_finish(&r);
	ok(bench_series_add(&r, &s, x, y, 3));
	f = fopen(path, "we");
	assert_non_null(f);
	ok(bench_json_write(f, &r));
	fclose(f);
	ok(bench_json_read(path, &back));
	assert_string_equal(back.header.commit, "abc");
	assert_int_equal(back.rows.size, 3);
	assert_int_equal(back.rows.data[1].n_runs, 3);
	assert_memory_equal(back.rows.data[1].runs, two, sizeof(two));
	assert_string_equal(back.rows.data[1].ratio_to, "native");
	assert_true(back.rows.data[1].ratio.median == r.rows.data[1].ratio.median);
	assert_int_equal(back.rows.data[0].role, BENCH_NATIVE);
	assert_string_equal(back.rows.data[2].skipped, "not \"here\"");
	assert_true(back.rows.data[2].published == 7);
	assert_int_equal(back.series.size, 1);
	assert_int_equal(back.series.data[0].n, 3);
	assert_true(back.series.data[0].fit.exponent == r.series.data[0].fit.exponent);
	assert_true(back.series.data[0].y[2].max == 4.1);
	bench_results_deinit(&r);
	bench_results_deinit(&back);
}

static void test_verdicts(void **state)
{
	const double slow[] = { 1.3, 1.31, 1.29, 1.32, 1.28 };
	const double fast[] = { 1.1, 1.11, 1.09, 1.12, 1.08 };
	const double same[] = { 1.3, 1.11, 1.29, 1.12, 1.28 };
	const double near[] = { 1.12, 1.13, 1.121, 1.14, 1.125 };
	double shift, chance;

	(void)state;
	assert_int_equal(bench_compare_runs(fast, 5, slow, 5, BENCH_LOWER, &shift,
					    &chance),
			 BENCH_WORSE);
	assert_true(fabs(chance - 2.0 / 252) < 1e-9);
	assert_true(fabs(shift - 1.3 / 1.1) < 1e-9);
	assert_int_equal(bench_compare_runs(fast, 5, slow, 5, BENCH_HIGHER, &shift,
					    &chance),
			 BENCH_BETTER);
	assert_int_equal(bench_compare_runs(fast, 5, same, 5, BENCH_LOWER, &shift,
					    &chance),
			 BENCH_NOISE);
	// Apart without doubt, and by too little to matter.
	assert_int_equal(bench_compare_runs(fast, 5, near, 5, BENCH_LOWER, &shift,
					    &chance),
			 BENCH_NOISE);
	assert_int_equal(bench_compare_runs(fast, 2, slow, 2, BENCH_LOWER, &shift,
					    &chance),
			 BENCH_TOO_FEW);
	assert_int_equal(bench_compare_runs(fast, 3, slow, 3, BENCH_LOWER, &shift,
					    &chance),
			 BENCH_WORSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios_are_to_native),
		cmocka_unit_test(test_without_native_they_are_to_the_best_peer),
		cmocka_unit_test(test_groups_stay_apart),
		cmocka_unit_test(test_more_may_be_better),
		cmocka_unit_test(test_values_read_well),
		cmocka_unit_test(test_json_keeps_all),
		cmocka_unit_test(test_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
