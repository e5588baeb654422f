// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* CPOINT at a line, and after so many returns. */
#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

static struct spec *spec_parse_text(const char *text)
{
	struct spec *s;

	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "text.spec", text, strlen(text)));
	return s;
}

static void test_a_line(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(
		"q FIELD 2 EDGE 1;\nCPOINT a-b/list.c:40;\nCPOINT \"a b.c\":7 OF q;\n"
		"CPOINT 3d.c:1;\n");
	const struct spec_cpoint *c;

	(void)state;
	assert_int_equal(spec_errors(s), 0);
	assert_int_equal(spec_cpoints(s), 3);
	c = spec_cpoint(s, 0);
	assert_int_equal(c->kind, SPEC_CPOINT_LINE);
	assert_null(c->function);
	assert_string_equal(c->site.file, "a-b/list.c");
	assert_int_equal(c->site.line, 40);
	assert_int_equal(c->type, -1);
	c = spec_cpoint(s, 1);
	assert_string_equal(c->site.file, "a b.c");
	assert_int_equal(c->site.line, 7);
	assert_int_equal(c->type, 0);
	assert_string_equal(spec_cpoint(s, 2)->site.file, "3d.c");
}

static void test_after_returns(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(
		"q FIELD 2 EDGE 1;\nCPOINT AFTER insert RETURNS 5;\n"
		"CPOINT AFTER \"list<int>::insert\" RETURNS 1 TIMES OF q;\n"
		"CPOINT AFTER;\nCPOINT AFTER EXIT OF q;\nCPOINT AFTER OF q;\n"
		"CPOINT AFTER AFTER RETURNS 2;\n");
	const struct spec_cpoint *c;

	(void)state;
	assert_int_equal(spec_errors(s), 0);
	assert_int_equal(spec_cpoints(s), 8);
	c = spec_cpoint(s, 0);
	assert_int_equal(c->kind, SPEC_CPOINT_AFTER);
	assert_string_equal(c->function, "insert");
	assert_int_equal(c->returns, 5);
	c = spec_cpoint(s, 1);
	assert_string_equal(c->function, "list<int>::insert");
	assert_int_equal(c->returns, 1);
	assert_int_equal(c->type, 0);
	// A function may have this name.
	assert_int_equal(spec_cpoint(s, 2)->kind, SPEC_CPOINT_ENTRY);
	assert_int_equal(spec_cpoint(s, 3)->kind, SPEC_CPOINT_RETURN);
	assert_int_equal(spec_cpoint(s, 4)->kind, SPEC_CPOINT_RETURN);
	assert_string_equal(spec_cpoint(s, 4)->function, "AFTER");
	assert_int_equal(spec_cpoint(s, 5)->type, 0);
	assert_int_equal(spec_cpoint(s, 7)->kind, SPEC_CPOINT_AFTER);
	assert_string_equal(spec_cpoint(s, 7)->function, "AFTER");
}

static void expect_mistake(const char *text, const char *message)
{
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(text);

	assert_int_equal(spec_errors(s), 1);
	assert_non_null(strstr(spec_diag(s, 0)->message, message));
	assert_int_equal(spec_cpoints(s), 0);
}

static void test_mistakes(void **state)
{
	(void)state;
	expect_mistake("CPOINT AFTER f;", "expected RETURNS");
	expect_mistake("CPOINT AFTER f RETURNS 0;", "how many times it returns");
	expect_mistake("CPOINT AFTER f RETURNS;", "expected how many times");
	expect_mistake("CPOINT list.c:0;", "expected");
	expect_mistake("CPOINT list.c:40 EXIT;", "expected ';'");
	expect_mistake("CPOINT list.c;", "expected ';'");
}

static void test_format(void **state)
{
	static const char text[] = "CPOINT   src/my-list.c:40  OF q;\n"
				   "CPOINT AFTER insert   RETURNS 5 TIMES ;\n";
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(text);
	_cleanup_free_ char *out = NULL;
	bool is_changed;

	(void)state;
	assert_null(spec_format(s, 0, &out, &is_changed));
	assert_string_equal(out, "CPOINT src/my-list.c:40 OF q;\n"
				 "CPOINT AFTER insert RETURNS 5 TIMES;\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line),
		cmocka_unit_test(test_after_returns),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
