// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Which alternates are tried; suspicion, ties, ranks and scores, by numbers worked out by hand.
 */
#include <math.h>
#include <string.h>

#include "suppress-hw/rank/rank_lists.h"
#include "tests/unit.h"

/* Paper 003, section 4.1. */
static void spanning(void **state)
{
	uint64_t v[] = { 2, 4, 5, 9, 12, 18, 22, 24, 34, 56 };
	uint64_t around[] = { 7, 7 }, negative[] = { (uint32_t)-3, (uint32_t)-9, 4 };
	const uint64_t want[] = { 2, 9, 12, 56 };

	(void)state;
	assert_int_equal(rank_spanning(v, 10, 11, 8), 4);
	assert_memory_equal(v, want, sizeof(want));
	assert_int_equal(rank_spanning(around, 2, 7, 8), 0);
	assert_int_equal(rank_spanning(around, 1, 3, 4), 1);
	assert_int_equal(rank_spanning(negative, 3, 0, 4), 3);
	assert_true(negative[0] == (uint32_t)-9 && negative[1] == (uint32_t)-3 &&
		    negative[2] == 4);
}

static struct rank_statement statement(int line, uint32_t failed, uint32_t passed,
				       uint32_t ivmp)
{
	return (struct rank_statement){ .file = "a.c",
					.function = "f",
					.line = line,
					.n_failed = failed,
					.n_passed = passed,
					.n_ivmp = ivmp };
}

static void ranks(void **state)
{
	struct rank_statement s[] = { statement(1, 2, 4, 0), statement(2, 2, 4, 2),
				      statement(3, 1, 0, 1), statement(4, 1, 3, 1),
				      statement(5, 2, 4, 0) };

	(void)state;
	rank_sort(s, 5, RANK_IVMP, 2, 4);
	// The number of IVMPs first, then Tarantula; equals get the last one's rank.
	assert_int_equal(s[0].line, 2);
	assert_int_equal(s[1].line, 3);
	assert_int_equal(s[2].line, 4);
	assert_int_equal(s[3].rank, 5);
	assert_int_equal(s[4].rank, 5);
	assert_true(s[0].score == 0.8 && s[4].score == 0);
	assert_true(s[1].tie == 1 && s[0].tie == 0.5);
	assert_true(fabs(s[2].tie - 0.4) < 1e-12); // 1/2 by (3/4 + 1/2)
	rank_sort(s, 5, RANK_OCHIAI, 2, 4);
	assert_int_equal(s[0].line, 3); // 1 / sqrt(2 * 1)
	assert_true(fabs(s[0].suspicion - sqrt(0.5)) < 1e-12);
	rank_sort(s, 5, RANK_DSTAR, 2, 4);
	assert_true(s[0].suspicion == 1 && s[4].suspicion == 0.25); // 1 / (3 + 1)
	// No test passed, none failed.
	rank_sort(s, 5, RANK_TARANTULA, 2, 0);
	rank_sort(s, 0, RANK_TARANTULA, 0, 0);
}

/* ---- paper 003, Figures 3.5 and 3.6 -------------------------------------------------------- */

#define N 5

// Statements 1 to 5, of which 2 and 4 are faulty; run 3 alone executes 4.
static const uint8_t executed[3][N] = { { 1, 1, 1, 0, 1 },
					{ 1, 1, 1, 0, 1 },
					{ 1, 1, 0, 1, 1 } };
static uint8_t ivmp[3][N] = { { 0, 1, 1, 0, 0 }, { 0, 1, 0, 0, 1 }, { 0, 1, 0, 1, 1 } };
static struct rank_statement five[N];

static struct rank_rows figure(struct rank_row rows[3])
{
	for (int i = 0; i < 3; i++)
		rows[i] = (struct rank_row){ executed[i], ivmp[i], true, false };
	for (int i = 0; i < N; i++)
		five[i] = (struct rank_statement){ .file = "a.c", .line = i + 1 };
	return (struct rank_rows){ rows, 3, five, N };
}

/* The list of statement @p of begins with these, and has these numbers of runs. */
static void check_list(const struct rank_rows *r, uint32_t of, int n, const int *lines,
		       const int *suspicion)
{
	rank_ranked list = {};

	assert_null(rank_lists_make(r, of - 1, &list));
	assert_true(list.size >= (size_t)n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(list.data[i].line, lines[i]);
		assert_true(list.data[i].suspicion == suspicion[i]);
	}
	vec_deinit(&list);
}

#define LIST(of, lines, suspicion)                                           \
	check_list(&r, of, sizeof((int[])lines) / sizeof(int), (int[])lines, \
		   (int[])suspicion)
#define L(...)              \
	{                   \
		__VA_ARGS__ \
	}

static void several_faults(void **state)
{
	struct rank_row rows[3];
	struct rank_rows r = figure(rows);
	// As list 1 was.
	uint32_t first[] = { 1, 4, 3, 2, 0, UINT32_MAX };
	const struct rank_shown shown[] = { { 0, first } };
	uint32_t of;

	(void)state;
	for (int i = 1; i <= N; i++)
		if (i != 3 && i != 4)
			LIST(i, L(2, 5), L(3, 2));
	LIST(3, L(2), L(2));
	LIST(4, L(2, 4, 5), L(1, 1, 1));
	assert_null(rank_lists_choose(&r, NULL, 0, &of));
	assert_int_equal(of + 1, 1);
	// Statement 2 is fixed: run 3, which executes it, has an IVMP at 4 alone now.
	memcpy(ivmp[2], (uint8_t[]){ 0, 0, 0, 1, 0 }, N);
	rows[0].is_over = rows[1].is_over = true;
	LIST(2, L(2), L(2));
	LIST(5, L(2), L(2));
	LIST(3, L(2), L(2));
	LIST(4, L(4), L(1));
	assert_null(rank_lists_choose(&r, shown, 1, &of));
	assert_int_equal(of + 1, 4);
}

/* Ten statements that were not shown are worth more than an earlier difference. */
static void different_lists(void **state)
{
	enum { MANY = 40 };
	static uint8_t executed[3][MANY], found[3][MANY];
	struct rank_row rows[3];
	struct rank_statement s[MANY];
	struct rank_rows r = { rows, 3, s, MANY };
	uint32_t first[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, UINT32_MAX };
	const struct rank_shown shown[] = { { UINT32_MAX, first }, { 20, first } };
	uint32_t of;

	(void)state;
	for (int i = 0; i < MANY; i++)
		s[i] = (struct rank_statement){ .file = "a.c", .line = i + 1 };
	for (int k = 0; k < 3; k++)
		rows[k] = (struct rank_row){ executed[k], found[k], true, false };
	// Run 1 executes 0 to 11, as shown; run 2 one other and those, run 3 one of those and others.
	memset(executed[0], 1, 12);
	memset(executed[1], 1, 12);
	executed[1][12] = found[1][12] = 1;
	executed[2][0] = found[2][0] = 1;
	memset(executed[2] + 20, 1, 20);
	assert_null(rank_lists_choose(&r, shown, 1, &of));
	assert_int_equal(of, 20);
	// One that was shown is not shown again, while there is another.
	assert_null(rank_lists_choose(&r, shown, 2, &of));
	assert_int_equal(of, 0);
	rows[1].is_failed = rows[0].is_failed = false;
	assert_null(rank_lists_choose(&r, shown, 2, &of));
	assert_int_equal(of, 0);
	// No run failed.
	for (int k = 0; k < 3; k++)
		rows[k].is_failed = false;
	assert_null(rank_lists_choose(&r, NULL, 0, &of));
	assert_int_equal(of, UINT32_MAX);
}

/* Of two lists that have as many other statements the one by which more runs say so is next. */
static void equally_different(void **state)
{
	enum { MANY = 40 };
	static uint8_t executed[3][MANY], found[3][MANY];
	struct rank_row rows[3];
	struct rank_statement s[MANY];
	struct rank_rows r = { rows, 3, s, MANY };
	uint32_t first[] = { 0, 1, 2, UINT32_MAX }, of;
	const struct rank_shown shown[] = { { 0, first } };

	(void)state;
	for (int i = 0; i < MANY; i++)
		s[i] = (struct rank_statement){ .file = "a.c", .line = i + 1 };
	// Run 1 executes 3 to 17, runs 2 and 3 20 to 34.
	for (int k = 0; k < 3; k++) {
		rows[k] = (struct rank_row){ executed[k], found[k], true, false };
		memset(executed[k] + (k ? 20 : 3), 1, 15);
		memset(found[k] + (k ? 20 : 3), 1, 15);
	}
	assert_null(rank_lists_choose(&r, shown, 1, &of));
	assert_int_equal(of, 20);
}

/* A run that passes behind a fix goes on to have its IVMPs, and passes. */
static void runs_that_are_over(void **state)
{
	static const uint8_t executed[2][4] = { { 1, 1, 1, 0 }, { 1, 0, 1, 1 } };
	static const uint8_t found[2][4] = { { 0, 1, 0, 0 }, { 0, 0, 0, 0 } };
	struct rank_statement s[4];
	struct rank_row rows[2] = { { executed[0], found[0], true, true },
				    { executed[1], found[1], true, false } };
	struct rank_rows r = { rows, 2, s, 4 };
	rank_ranked list = {};

	(void)state;
	for (int i = 0; i < 4; i++)
		s[i] = (struct rank_statement){ .file = "a.c", .line = i + 1 };
	assert_null(rank_lists_make(&r, 0, &list));
	assert_int_equal(list.size, 4);
	assert_int_equal(list.data[0].line, 2);
	assert_true(list.data[0].suspicion == 1);
	// No passing run executes it.
	assert_int_equal(list.data[1].line, 4);
	assert_int_equal(list.data[1].rank, 2);
	assert_int_equal(list.data[2].n_passed, 1);
	vec_deinit(&list);
}

/* Of five statements that failing runs execute, run 3 executes four, three of which are tied at the head. */
static void scores_of_lists(void **state)
{
	struct rank_row rows[3];
	struct rank_rows r = figure(rows);
	rank_ranked list = {};

	(void)state;
	assert_null(rank_lists_make(&r, 3, &list));
	assert_int_equal(list.size, 4);
	assert_int_equal(list.data[0].rank, 3);
	assert_true(fabs(list.data[0].score - 2 / 5.0) < 1e-12);
	vec_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_of_lists),   cmocka_unit_test(runs_that_are_over),
		cmocka_unit_test(spanning),	     cmocka_unit_test(ranks),
		cmocka_unit_test(several_faults),    cmocka_unit_test(different_lists),
		cmocka_unit_test(equally_different),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
