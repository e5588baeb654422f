// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/uri.h"
#include "tests/unit.h"

static void test_paths(void **state)
{
	static const char *const all[][2] = {
		{ "src/list.c", "src/list.c" },
		{ "/tmp/list.c", "file:///tmp/list.c" },
		{ "/my own/a#1.c", "file:///my%20own/a%231.c" },
		{ "a:b?.c", "a%3Ab%3F.c" },
		{ "100%.c", "100%25.c" },
		{ "\xc3\xa4.c", "%C3%A4.c" },
		{ "./malloc/malloc.c", "./malloc/malloc.c" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char *got = report_uri(all[i][0]);

		assert_string_equal(got, all[i][1]);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
