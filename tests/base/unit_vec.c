// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/vec.h"
#include "tests/unit.h"

/* What is appended is what it was before the array grew: an element of the array itself, too. */
static void appends_what_was(void **state)
{
	VEC(size_t) v = {};

	(void)state;
	for (size_t i = 0; i < 100000; i++) {
		const size_t *first = v.data;

		assert_null(vec_add(&v, i ? *first + v.size : 7));
	}
	for (size_t i = 1; i < v.size; i++)
		assert_int_equal(v.data[i], 7 + i);
	vec_deinit(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_what_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
