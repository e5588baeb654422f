// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Address filters: what the user writes becomes the bytes of files that nm names; and why
 * there is no PT, for each reason that there can be.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "pt-collect/pt/pt.h"
#include "tests/pt-collect/pt_tree.h"
#include "tests/unit.h"

static char program[PATH_MAX];

/** The kernel's form of @p text. free() */
static char *resolved(const char *text, unsigned most)
{
	struct ptc_names names = {};
	const char **slot = vec_push(&names);
	char *ret = NULL;

	*slot = text;
	ok(ptc_pt_filter(&names, program, most, &ret));
	vec_deinit(&names);
	return ret;
}

static void refused(const char *text, enum err_code code, const char *why)
{
	struct ptc_names names = {};
	const char **slot = vec_push(&names);
	struct err *err;
	char *ret = (char *)"";

	*slot = text;
	err = ptc_pt_filter(&names, program, 2, &ret);
	if (!err || err->code != code || !strstr(err->message, why))
		fail_msg("%s: %s", text, err ? err->message : "taken");
	assert_null(ret);
	err_destroy(err);
	vec_deinit(&names);
}

/** Offset and size of function @p name, by binutils: its address less that of .text, plus
 * where .text is in the file. */
static void by_binutils(const char *name, unsigned long *offset, unsigned long *size)
{
	unsigned long addr, text_addr, text_offset;
	char command[PATH_MAX + 200];
	FILE *f;

	snprintf(command, sizeof(command), "nm -S '%s' | grep ' %s$'", program, name);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%lx %lx", &addr, size), 2);
	pclose(f);
	snprintf(command, sizeof(command),
		 "readelf -SW '%s' | sed -n 's/.* \\.text  *PROGBITS *//p'", program);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%lx %lx", &text_addr, &text_offset), 2);
	pclose(f);
	*offset = addr - text_addr + text_offset;
}

static void test_functions(void **state)
{
	unsigned long main_at, main_size, error_at, error_size;
	char want[2 * PATH_MAX + 100], text[PATH_MAX + 100];
	char *got;

	(void)state;
	by_binutils("main", &main_at, &main_size);
	by_binutils("report_error", &error_at, &error_size);
	snprintf(want, sizeof(want), "filter 0x%lx/0x%lx@%s", main_at, main_size,
		 program);
	got = resolved("filter main", 1);
	assert_string_equal(got, want);
	free(got);
	snprintf(text, sizeof(text), "  filter   main@%s ", program);
	got = resolved(text, 1);
	assert_string_equal(got, want);
	free(got);
	snprintf(want, sizeof(want), "stop 0x%lx/0x10@%s,filter 0x1000/0x20@%s", error_at,
		 program, program);
	got = resolved("tracestop report_error / 0x10, filter 0x1000/32", 2);
	assert_string_equal(got, want);
	free(got);
	// Up to the end of another function.
	if (main_at < error_at) {
		snprintf(want, sizeof(want), "filter 0x%lx/0x%lx@%s", main_at,
			 error_at + error_size - main_at, program);
		got = resolved("filter main / report_error", 1);
		assert_string_equal(got, want);
		free(got);
	}
}

static void test_whole_file_and_none(void **state)
{
	struct ptc_names none = {};
	char want[PATH_MAX + 100], *got;
	struct stat st;

	(void)state;
	assert_int_equal(stat(program, &st), 0);
	snprintf(want, sizeof(want), "filter 0x0/0x%lx@%s", (long)st.st_size, program);
	got = resolved("filter *", 1);
	assert_string_equal(got, want);
	free(got);
	ok(ptc_pt_filter(&none, program, 0, &got));
	assert_null(got);
}

static void test_mistakes(void **state)
{
	(void)state;
	refused("main", ERR_USAGE, "begins with 'filter' or 'tracestop'");
	refused("start main", ERR_USAGE, "ranges only");
	refused("filter", ERR_USAGE, "a filter is 'filter FUNCTION");
	refused("filter main /", ERR_USAGE, "a filter is");
	refused("filter main @", ERR_USAGE, "a filter is");
	refused("filter nowhere", ERR_NOT_FOUND, "no function 'nowhere'");
	refused("filter main @ /nonexistent", ERR_NOT_FOUND, "/nonexistent");
	refused("filter main @ /etc/passwd", ERR_FORMAT, "not an ELF file");
	refused("filter 0x1000", ERR_USAGE, "write '0x1000 / SIZE'");
	refused("filter main,filter main,filter main", ERR_USAGE,
		"2 address ranges, not 3");
}

static void because(struct ptc_pt_machine m, const char *why)
{
	const struct ptc_pt_options o = { .is_wanted = true };
	struct ptc_pt_setup setup;
	char *why_not;

	pt_begin("none");
	m.sysfs = pt_root;
	ok(ptc_pt_setup_init(&o, &m, &setup, &why_not));
	if (!why_not || !strstr(why_not, why))
		fail_msg("%s: %s", why, why_not ?: "there is PT");
	free(why_not);
}

static void test_why_there_is_none(void **state)
{
	(void)state;
	because((struct ptc_pt_machine){}, "not an Intel CPU");
	because((struct ptc_pt_machine){ .is_intel = true }, "this CPU does not have it");
	because((struct ptc_pt_machine){ .is_intel = true, .is_virtual = true },
		"this virtual machine's CPU does not have it");
	because((struct ptc_pt_machine){ .is_intel = true, .has_pt = true },
		"the kernel has no intel_pt PMU");
	because((struct ptc_pt_machine){ .is_intel = true,
					 .is_virtual = true,
					 .has_pt = true },
		"virtual machine's kernel has no intel_pt PMU");
}

static void explained(int saved_errno, enum err_code code, const char *why)
{
	char path[600];
	struct ptc_pt_machine m = { .paranoid = path };
	struct err *err;

	snprintf(path, sizeof(path), "%s/paranoid", pt_root);
	err = ptc_pt_explain(&m, "cannot open it", saved_errno);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, why) || strncmp(err->message, "cannot open it: ", 16))
		fail_msg("%s: %s", why, err->message);
	err_destroy(err);
}

static void test_why_it_may_not_be_used(void **state)
{
	(void)state;
	pt_begin("refused");
	pt_put("paranoid", "4");
	explained(EACCES, ERR_PERMISSION, "perf_event_paranoid is 4");
	explained(EPERM, ERR_PERMISSION, "CAP_PERFMON, or `sysctl");
	explained(EBUSY, ERR_OS, "somebody else traces");
	explained(ENOMEM, ERR_OS, "--pt-buffer");
	explained(EOPNOTSUPP, ERR_UNSUPPORTED, "refuses it");
}

static int setup(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/programs/flight", unit_env("BUILD"));
	return realpath(path, program) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_whole_file_and_none),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_why_there_is_none),
		cmocka_unit_test(test_why_it_may_not_be_used),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
