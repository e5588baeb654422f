// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "tests/unit.h"

static void test_new(void **state)
{
	struct err *err = err_new(ERR_FORMAT, "cannot read '%s': line %d", "x", 3);

	(void)state;
	assert_int_equal(err->code, ERR_FORMAT);
	assert_int_equal(err->saved_errno, 0);
	assert_string_equal(err->message, "cannot read 'x': line 3");
	err_destroy(err);
}

static void test_errno_decides_code(void **state)
{
	static const struct {
		int number;
		enum err_code code;
	} cases[] = {
		{ EPERM, ERR_PERMISSION }, { EACCES, ERR_PERMISSION },
		{ ENOENT, ERR_NOT_FOUND }, { ENOMEM, ERR_NOMEM },
		{ ENOSPC, ERR_OS },	   { EIO, ERR_OS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char want[200];
		struct err *err;

		errno = cases[i].number;
		err = err_errno("cannot open '%s'", "f");
		assert_int_equal(err->code, cases[i].code);
		assert_int_equal(err->saved_errno, cases[i].number);
		snprintf(want, sizeof(want), "cannot open 'f': %s",
			 strerror(cases[i].number));
		assert_string_equal(err->message, want);
		err_destroy(err);
	}
}

static void test_prefix_keeps_the_rest(void **state)
{
	struct err *err;

	(void)state;
	errno = ENOSPC;
	err = err_prefix(err_errno("cannot write"), "capture '%s'", "c");
	assert_int_equal(err->code, ERR_OS);
	assert_int_equal(err->saved_errno, ENOSPC);
	assert_string_equal(err->message,
			    "capture 'c': cannot write: No space left on device");
	err_destroy(err);
}

static void test_nomem_is_static(void **state)
{
	(void)state;
	err_destroy(&err_nomem);
	err_destroy(NULL);
	assert_int_equal(err_nomem.code, ERR_NOMEM);
	assert_non_null(err_nomem.message);
	assert_ptr_equal(err_prefix(&err_nomem, "anything"), &err_nomem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_errno_decides_code),
		cmocka_unit_test(test_prefix_keeps_the_rest),
		cmocka_unit_test(test_nomem_is_static),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
