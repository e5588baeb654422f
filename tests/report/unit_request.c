// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/request.h"
#include "tests/unit.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static const struct report_door door = { .port = 8080, .token = TOKEN };

static unsigned asked(const char *method, const char *host, const char *path)
{
	struct report_request r;

	return report_request_read(&door, method, host, path, &r);
}

/* What is let through, and as what. */
static void test_fine(void **state)
{
	struct report_request r;

	(void)state;
	assert_int_equal(report_request_read(&door, "GET", "localhost:8080",
					     "/" TOKEN "/", &r),
			 200);
	assert_int_equal(r.ask, REPORT_ASK_PAGE);
	assert_int_equal(report_request_read(&door, "GET", "127.0.0.1:8080",
					     "/" TOKEN "/here/18446744073709551615", &r),
			 200);
	assert_int_equal(r.ask, REPORT_ASK_HERE);
	assert_true(r.position == UINT64_MAX);
	assert_int_equal(report_request_read(&door, "GET", "127.0.0.1:8080",
					     "/" TOKEN "/origin/70/3", &r),
			 200);
	assert_int_equal(r.ask, REPORT_ASK_ORIGIN);
	assert_true(r.position == 70 && r.n == 3);
	assert_int_equal(asked("GET", "127.0.0.1:8080", "/" TOKEN "/heap/0"), 200);
}

static void test_refused(void **state)
{
	static const char *const nothing[] = {
		"here",
		"here/",
		"here/1/",
		"here/01",
		"here/-1",
		"here/ 1",
		"here/0x1",
		"here/18446744073709551616",
		"origin/1",
		"origin/1/",
		"origin/1/4294967296",
		"page",
		"heap/1/2",
		"/",
		"here/99999999999999999999",
	};
	static const char *const others[] = {
		"",
		"/",
		"/" TOKEN,
		"/" TOKEN "x",
		"//" TOKEN "/",
		"/0123456789abcdef0123456789abcdee/",
		"/x" TOKEN "/",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/" TOKEN "/%s", nothing[i]);
		assert_int_equal(asked("GET", "127.0.0.1:8080", path), 404);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(asked("GET", "127.0.0.1:8080", others[i]), 403);
	assert_int_equal(asked("GET", NULL, "/" TOKEN "/"), 403);
	assert_int_equal(asked("GET", "", "/" TOKEN "/"), 403);
	assert_int_equal(asked("GET", "127.0.0.1", "/" TOKEN "/"), 403);
	assert_int_equal(asked("GET", "127.0.0.1:80800", "/" TOKEN "/"), 403);
	assert_int_equal(asked("GET", "evil.example:8080", "/" TOKEN "/"), 403);
	assert_int_equal(asked("POST", "127.0.0.1:8080", "/" TOKEN "/"), 405);
	assert_int_equal(asked("get", "127.0.0.1:8080", "/" TOKEN "/"), 405);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fine),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
