// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/request.h"

#include <string.h>

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

/* What is written of a request is read as it. */
static void test_path(void **state)
{
	static const struct report_request some[] = {
		{ .ask = REPORT_ASK_PAGE },
		{ .ask = REPORT_ASK_HERE, .position = UINT64_MAX },
		{ .ask = REPORT_ASK_ORIGIN, .position = UINT64_MAX, .n = UINT32_MAX },
		{ .ask = REPORT_ASK_HEAP, .position = 7 },
		{ .ask = REPORT_ASK_WRONG },
		{ .ask = REPORT_ASK_STORY, .position = 10 },
		{ .ask = REPORT_ASK_INPUTS },
		{ .ask = REPORT_ASK_KNOWN },
		{ .ask = REPORT_ASK_FAR, .position = 1, .n = 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		char path[64 + REPORT_PATH] = "/" TOKEN "/";
		struct report_request r;

		report_request_path(&some[i], path + strlen(path));
		assert_int_equal(report_request_read(&door, "GET", "localhost:8080", path,
						     &r),
				 200);
		assert_int_equal(r.ask, some[i].ask);
		assert_true(r.position == some[i].position && r.n == some[i].n);
	}
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
		"wrong/",
		"wrong/1",
		"wron",
		"story",
		"known/1",
		"inputs/x",
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
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
