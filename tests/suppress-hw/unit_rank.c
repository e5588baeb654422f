// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Which alternates are tried; suspicion, ties, ranks and scores, by numbers worked out by hand.
 */
#include <math.h>
#include <string.h>

#include "suppress-hw/rank/rank.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spanning),
		cmocka_unit_test(ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
