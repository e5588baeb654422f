// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// A new file is there whole or not at all.

#include <fcntl.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

#include "base/new_file.h"
#include "tests/unit.h"

static char path[4096], partial[4200];

static bool has(const char *name, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(name, "re");

	if (!f)
		return false;
	got[fread(got, 1, sizeof(got) - 1, f)] = 0;
	fclose(f);
	return !strcmp(got, text);
}

static void test_is_there_after_commit(void **state)
{
	struct new_file f = {};

	(void)state;
	ok(new_file_open(&f, path));
	fputs("first", f.stream);
	assert_int_equal(access(path, F_OK), -1);
	ok(new_file_commit(&f));
	new_file_deinit(&f);
	assert_true(has(path, "first"));
	assert_int_equal(access(partial, F_OK), -1);
}

static void test_old_stays_until_commit(void **state)
{
	struct new_file f = {};

	(void)state;
	ok(new_file_open(&f, path));
	fputs("second", f.stream);
	new_file_deinit(&f);
	assert_true(has(path, "first"));
	assert_int_equal(access(partial, F_OK), -1);
}

static void test_full_disk_leaves_nothing(void **state)
{
	struct new_file f = {};
	struct err *err;

	(void)state;
	ok(new_file_open(&f, path));
	// A device that is always full, in the place of the stream's file.
	assert_non_null(freopen("/dev/full", "we", f.stream));
	fputs("third", f.stream);
	err = new_file_commit(&f);
	assert_non_null(err);
	assert_non_null(strstr(err->message, path));
	err_destroy(err);
	new_file_deinit(&f);
	assert_true(has(path, "first"));
	assert_int_equal(access(partial, F_OK), -1);
}

static void test_no_such_directory(void **state)
{
	struct new_file f;

	(void)state;
	expect(ERR_NOT_FOUND, new_file_open(&f, "/nowhere/at/all"));
	new_file_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_there_after_commit),
		cmocka_unit_test(test_old_stays_until_commit),
		cmocka_unit_test(test_full_disk_leaves_nothing),
		cmocka_unit_test(test_no_such_directory),
	};
	const char *dir = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/file", dir ? dir : "/tmp");
	snprintf(partial, sizeof(partial), "%s.part", path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
