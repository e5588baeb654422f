// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// suite.json: what was written is read again; damage is an error, or another suite, and no more.

#include <string.h>
#include <unistd.h>

#include "capture/cap_suite.h"
#include "tests/unit.h"

static char dir[4096];

static char *command[] = { "./prog", "--strict", NULL };
static char *args[] = { "-n", "\"2\" \\ \n\x01", NULL };
static char *no_args[] = { NULL };

static struct cap_suite_test tests[] = {
	{ .name = "first one",
	  .args = args,
	  .n_args = 2,
	  .input = "/in",
	  .expected = "/out",
	  .want_status = 0,
	  .is_recorded = true,
	  .outcome = CAP_SUITE_PASSED },
	{ .name = "second",
	  .args = no_args,
	  .oracle = "/oracle",
	  .want_status = CAP_SUITE_ANY,
	  .is_recorded = true,
	  .outcome = CAP_SUITE_FAILED,
	  .status = 139,
	  .why = "killed by signal 11" },
	{ .name = "third",
	  .args = no_args,
	  .want_status = 255,
	  .status = CAP_SUITE_ANY,
	  .why = "cannot execute" },
};

static const struct cap_suite suite = {
	.command = command, .n_command = 2, .tests = tests, .n_tests = 3
};

static void same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void same_texts(char **a, char **b, size_t n)
{
	for (size_t i = 0; i <= n; i++)
		same_text(a[i], b[i]);
}

static void test_reads_what_was_written(void **state)
{
	struct cap_suite s = {};

	(void)state;
	ok(cap_suite_write(dir, CAP_SUITE_FILE, &suite));
	ok(cap_suite_read(dir, CAP_SUITE_FILE, &s));
	assert_int_equal(s.n_command, 2);
	same_texts(s.command, command, 2);
	assert_int_equal(s.n_tests, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct cap_suite_test *is = &s.tests[i], *want = &tests[i];

		same_text(is->name, want->name);
		assert_int_equal(is->n_args, want->n_args);
		same_texts(is->args, want->args, want->n_args);
		same_text(is->input, want->input);
		same_text(is->expected, want->expected);
		same_text(is->oracle, want->oracle);
		same_text(is->why, want->why);
		assert_int_equal(is->want_status, want->want_status);
		assert_int_equal(is->is_recorded, want->is_recorded);
		assert_int_equal(is->outcome, want->outcome);
		assert_int_equal(is->status, want->status);
	}
	assert_ptr_equal(cap_suite_find(&s, "second"), &s.tests[1]);
	assert_null(cap_suite_find(&s, "fourth"));
	cap_suite_deinit(&s);
	expect(ERR_NOT_FOUND, cap_suite_read(dir, CAP_SUITE_PLAN, &s));
	expect(ERR_NOT_FOUND, cap_suite_read("/nonexistent", CAP_SUITE_FILE, &s));
}

/* However many there are, and in whatever order they are asked for. */
static void test_list(void **state)
{
	enum { N = 1000 };
	static struct cap_suite_test many[N];
	const struct cap_suite all = { .command = no_args, .tests = many, .n_tests = N };
	struct cap_suite s = {};
	char names[N][16];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "t%zu", i);
		many[i] = tests[i % 3];
		many[i].name = names[i];
	}
	ok(cap_suite_write(dir, CAP_SUITE_FILE, &all));
	ok(cap_suite_list(dir, CAP_SUITE_FILE, &s));
	assert_int_equal(s.n_tests, N);
	assert_null(s.tests);
	for (size_t i = 0, at = 0; i < N; i++, at = (at + 613) % N) {
		const struct cap_suite_test *is = cap_suite_at(&s, at);

		assert_string_equal(is->name, names[at]);
		assert_int_equal(is->outcome, many[at].outcome);
		same_texts(is->args, many[at].args, many[at].n_args);
	}
	cap_suite_deinit(&s);
	expect(ERR_NOT_FOUND, cap_suite_list(dir, CAP_SUITE_PLAN, &s));
	cap_suite_deinit(&s);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", ".a", "a/b", "a\nb", "\x7f" };
	char name[300] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(cap_suite_name_is_fine(bad[i]));
	assert_true(cap_suite_name_is_fine("a. b"));
	memset(name, 'a', 200);
	assert_true(cap_suite_name_is_fine(name));
	name[200] = 'a';
	assert_false(cap_suite_name_is_fine(name));
}

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/** @return whether it can be read. */
static bool is_readable(void)
{
	struct cap_suite s = {};
	struct err *err = cap_suite_read(dir, CAP_SUITE_FILE, &s);
	bool is = !err;

	if (err)
		assert_true(err->code == ERR_FORMAT || err->code == ERR_VERSION);
	err_destroy(err);
	cap_suite_deinit(&s);
	err = cap_suite_list(dir, CAP_SUITE_FILE, &s);
	assert_int_equal(is, !err);
	err_destroy(err);
	cap_suite_deinit(&s);
	return is;
}

static void test_damage(void **state)
{
	char path[4200], text[4096];
	size_t n, n_refused = 0;
	FILE *f;

	(void)state;
	ok(cap_suite_write(dir, CAP_SUITE_FILE, &suite));
	snprintf(path, sizeof(path), "%s/" CAP_SUITE_FILE, dir);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_in_range(n, 100, sizeof(text) - 1);
	for (size_t i = 0; i + 2 < n; i++) { // without its last brace and newline
		put(path, text, i);
		assert_false(is_readable());
	}
	for (size_t i = 0; i < n; i++) {
		text[i] ^= 1 << i % 8;
		put(path, text, n);
		n_refused += !is_readable();
		text[i] ^= 1 << i % 8;
	}
	assert_in_range(n_refused, n / 4, n);
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(test_reads_what_was_written),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_damage),
	};

	snprintf(dir, sizeof(dir), "%s/suite.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert_non_null(mkdtemp(dir));
	return cmocka_run_group_tests(unit_tests, NULL, NULL) ||
	       unit_run("rm -r '%s'", dir);
}
