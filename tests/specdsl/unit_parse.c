// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reads every tests/specdsl/ *.spec and compares what is said about it with what the
 * comments in it expect: `# expect error: TEXT` or `.. TEXT, hint: TEXT` on the line of the
 * mistake, and `expect constraints: N` anywhere. Adding a test is adding a file.
 */
#include <glob.h>
#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

static const char *source_dir(void)
{
	const char *dir = getenv("SOURCE");

	return dir ? dir : ".";
}

static struct spec *spec_parse_text(const char *text)
{
	struct spec *s;

	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "text.spec", text, strlen(text)));
	return s;
}

/** @return whether a diagnostic is on @p line and says @p text. */
static bool has_diag(const struct spec *s, int line, const char *text)
{
	for (size_t i = 0; i < spec_diags(s); i++)
		if (spec_diag(s, i)->line == line &&
		    !strncmp(spec_diag(s, i)->message, text, strlen(text)))
			return true;
	for (size_t i = 0; i < spec_diags(s); i++)
		if (spec_diag(s, i)->line == line &&
		    strstr(spec_diag(s, i)->message, text))
			return true;
	return false;
}

static bool has_hint(const struct spec *s, int line, const char *text)
{
	for (size_t i = 0; i < spec_diags(s); i++)
		if (spec_diag(s, i)->line == line && spec_diag(s, i)->hint &&
		    strstr(spec_diag(s, i)->hint, text))
			return true;
	return false;
}

static void check_file(const char *path)
{
	_cleanup_(spec_destroyp) struct spec *s = NULL;
	_cleanup_fclose_ FILE *in = fopen(path, "r");
	char line[1024], *p, *hint;
	size_t n_expected = 0;

	assert_non_null(in);
	assert_null(spec_create(&s));
	assert_null(spec_add_file(s, path));
	for (int number = 1; fgets(line, sizeof(line), in); number++) {
		line[strcspn(line, "\n")] = '\0';
		p = strstr(line, "expect error: ");
		if (p) {
			n_expected++;
			hint = strstr(p, ", hint: ");
			if (hint)
				*hint = '\0';
			if (hint && !has_hint(s, number, hint + 8))
				fail_msg("%s:%d: no hint '%s'", path, number, hint + 8);
			if (!has_diag(s, number, p + 14)) {
				spec_diags_print(s, stderr);
				fail_msg("%s:%d: no error '%s'", path, number, p + 14);
			}
		}
		p = strstr(line, "expect constraints: ");
		if (p && spec_constraints(s) != strtoul(p + 20, NULL, 10))
			fail_msg("%s: %zu constraints", path, spec_constraints(s));
	}
	if (spec_errors(s) != n_expected) {
		spec_diags_print(s, stderr);
		fail_msg("%s: %zu errors, %zu expected", path, spec_errors(s),
			 n_expected);
	}
	// Printing them must work whatever they are about.
	FILE *null = fopen("/dev/null", "w");
	spec_diags_print(s, null);
	fclose(null);
}

static void test_files(void **state)
{
	char pattern[4096];
	glob_t files;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/tests/specdsl/*.spec", source_dir());
	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		check_file(files.gl_pathv[i]);
	globfree(&files);
}

static void test_names_and_texts(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s =
		spec_parse_text("node FIELD 2 EDGE 1;\n"
				"node X; node Y; ..(edges)\nX -> Y => Y /-> X;\n"
				"node X;\n  X[1] > 0;\n"
				"node X; node Y; X[2] != NULL => (X[2]) == Y; ..(safe)\n"
				"node X; node Y; X[1] > 1;\n");
	const struct spec_constraint *c;

	(void)state;
	assert_int_equal(spec_errors(s), 0);
	assert_int_equal(spec_constraints(s), 4);
	c = spec_constraint(s, 0);
	assert_string_equal(c->name, "edges");
	assert_int_equal(c->line, 2);
	assert_int_equal(c->body_line, 3);
	assert_string_equal(c->text, "node X; node Y; ..(edges)\nX -> Y => Y /-> X;");
	c = spec_constraint(s, 1);
	assert_string_equal(c->name, "c2");
	assert_string_equal(c->text, "node X;\n  X[1] > 0;");
	c = spec_constraint(s, 2);
	assert_string_equal(c->name, "safe");
	assert_int_equal(c->vars[0].kind, SPEC_VAR_ALL);
	assert_int_equal(c->vars[1].kind, SPEC_VAR_SOME);
	c = spec_constraint(s, 3);
	assert_int_equal(c->vars[0].kind, SPEC_VAR_ALL);
	assert_int_equal(c->vars[1].kind, SPEC_VAR_UNUSED);
}

static void test_diag_position(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(
		"node FIELD 2 EDGE 1;\n\tnode X; X[2] ≠ NULL and Zed == 1;\n");
	_cleanup_free_ char *text = NULL;
	const struct spec_diag *d;
	size_t size;
	FILE *out;

	(void)state;
	assert_int_equal(spec_errors(s), 1);
	d = spec_diag(s, 0);
	assert_int_equal(d->line, 2);
	assert_int_equal(d->column, 26); // characters, not bytes: there is a ≠ before it
	assert_int_equal(d->length, 3);
	assert_string_equal(d->file, "text.spec");
	out = open_memstream(&text, &size);
	spec_diags_print(s, out);
	fclose(out);
	assert_string_equal(
		text,
		"text.spec:2:26: error: 'Zed' is not declared\n"
		"    2 |  node X; X[2] ≠ NULL and Zed == 1;\n"
		"      |                          ^~~\n"
		"      | hint: declare it: 'TYPE Zed;' before the constraint "
		"for a node, 'CONST Zed 1;' for a number, 'for Zed in 0 to 9,' for an index, 'ROOT Zed;' for a variable of the "
		"program\n");
}

static void test_twenty_at_once(void **state)
{
	_cleanup_free_ char *text = NULL, *shown = NULL;
	_cleanup_(spec_destroyp) struct spec *s = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fprintf(out, "node FIELD 2 EDGE 1;\n");
	for (int i = 0; i < 30; i++)
		fprintf(out, "node X; X[1] == Y%d;\n", i);
	fclose(out);
	s = spec_parse_text(text);
	assert_int_equal(spec_errors(s), 30);
	assert_int_equal(spec_diags(s), 20);
	out = open_memstream(&shown, &size);
	spec_diags_print(s, out);
	fclose(out);
	assert_non_null(strstr(shown, "and 10 more errors\n"));
}

static void test_cpoints_and_sites(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = spec_parse_text(
		"q FIELD 2 EDGE 1 AT a/b-c.c:40, \"d e.c\":7;\nARRAY r SIZE 4;\n"
		"CPOINT insert OF q; CPOINT f EXIT; CPOINT CRASH; CPOINT EXIT;");
	const struct spec_type *t;

	(void)state;
	assert_int_equal(spec_errors(s), 0);
	t = spec_type(s, spec_type_find(s, "q"));
	assert_int_equal(t->n_sites, 2);
	assert_string_equal(t->sites[0].file, "a/b-c.c");
	assert_int_equal(t->sites[0].line, 40);
	assert_string_equal(t->sites[1].file, "d e.c");
	assert_int_equal(t->sites[1].line, 7);
	assert_true(spec_type(s, 1)->is_array);
	assert_int_equal(spec_type(s, 1)->slot_bytes, 4);
	assert_int_equal(spec_cpoints(s), 5);
	assert_int_equal(spec_cpoint(s, 0)->kind, SPEC_CPOINT_ENTRY);
	assert_string_equal(spec_cpoint(s, 0)->function, "insert");
	assert_int_equal(spec_cpoint(s, 0)->type, 0);
	assert_int_equal(spec_cpoint(s, 1)->kind, SPEC_CPOINT_RETURN);
	assert_int_equal(spec_cpoint(s, 2)->kind, SPEC_CPOINT_RETURN);
	assert_int_equal(spec_cpoint(s, 2)->type, -1);
	assert_int_equal(spec_cpoint(s, 3)->kind, SPEC_CPOINT_CRASH);
	assert_int_equal(spec_cpoint(s, 4)->kind, SPEC_CPOINT_END);
}

static void test_source_cpoints(void **state)
{
	struct spec_source_cpoint found[3];
	char path[] = "/tmp/faultline-cpoints-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w"), *in;

	(void)state;
	fprintf(out,
		"void f(void)\n{\n\t// ##C-POINT(qdtree)\n\tg(); /* ##C-POINT ( struct "
		"list ) */\n\t##C-POINT\n##C-POINT(last)\n");
	fclose(out);
	in = fopen(path, "r");
	assert_int_equal(spec_source_cpoints(in, found, 3), 4);
	fclose(in);
	assert_string_equal(found[0].type, "qdtree");
	assert_int_equal(found[0].line, 3);
	assert_string_equal(found[1].type, "list");
	assert_int_equal(found[1].line, 4);
	assert_string_equal(found[2].type, "");
	assert_int_equal(found[2].line, 5);
	unlink(path);
}

static void test_unreadable_files(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = NULL;
	struct err *err;

	(void)state;
	assert_null(spec_create(&s));
	err = spec_add_file(s, "/nonexistent/x.spec");
	assert_non_null(err);
	assert_int_equal(err->code, ERR_NOT_FOUND);
	err_destroy(err);
	err = spec_add_text(s, "zero", "a\0b", 3);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_FORMAT);
	err_destroy(err);
}

/* ---- layouts ----------------------------------------------------------------------------- */

static const struct dec_field quad_fields[] = {
	{ .name = "pos.x", .offset = 0, .size = 4, .is_signed = true },
	{ .name = "pos.y", .offset = 4, .size = 4, .is_signed = true },
	{ .name = "child[0]",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "quad" },
	{ .name = "child[1]",
	  .offset = 16,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "quad" },
	{ .name = "next",
	  .offset = 24,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "quad" },
};
static const struct dec_struct quad = {
	.name = "quad", .size = 32, .fields = quad_fields, .n_fields = 5
};

/** Parse, bind `quad` and resolve. */
static struct spec *bind_text(const char *text)
{
	struct spec *s = spec_parse_text(text);

	if (spec_type_find(s, "quad") >= 0)
		assert_null(spec_bind_type(s, spec_type_find(s, "quad"), &quad));
	assert_null(spec_resolve(s));
	return s;
}

static void expect_bind_error(const char *text, const char *message)
{
	_cleanup_(spec_destroyp) struct spec *s = bind_text(text);

	if (spec_errors(s) != 1 || !strstr(spec_diag(s, 0)->message, message)) {
		spec_diags_print(s, stderr);
		fail_msg("expected: %s", message);
	}
}

static void test_layout_mistakes(void **state)
{
	_cleanup_(spec_destroyp) struct spec *s = NULL;

	(void)state;
	expect_bind_error("quad FIELD 9 EDGE 3;",
			  "FIELD 9, but struct quad has 5 fields");
	expect_bind_error("quad FIELD 5 EDGE 2;",
			  "EDGE 2, but struct quad has 3 pointer");
	expect_bind_error("quad FIELD 5 EDGE 3; quad X; X.prev == NULL;",
			  "'quad' has no field or attribute 'prev'");
	expect_bind_error("quad FIELD 5 EDGE 3; quad X; X.child[2] == NULL;",
			  "no field or attribute 'child[2]'");
	expect_bind_error("quad FIELD 5 EDGE 3; quad X; X.pos > 3;",
			  "'pos' is a struct or an");
	expect_bind_error("quad FIELD 5 EDGE 3; quad X; X.next.child[1].pos.z > 3;",
			  "'pos.z'");
	expect_bind_error("other FIELD 5 EDGE 3; other X; X.next == NULL;",
			  "the fields of 'other' have no names");
	expect_bind_error(
		"quad FIELD 5 EDGE 3; quad.H; quad X; X.ISLEAF == true => X.H = 0 || "
		"X.H = X.next.H + 1; quad X; X.H.pos.x > 3;",
		"attribute 'H' is a number, not a node");
	s = bind_text("quad FIELD 5 EDGE 3; quad X; X.next.child[1].pos.y > X.pos.x and "
		      "X.child[0] == X[3];");
	spec_diags_print(s, stderr);
	assert_int_equal(spec_errors(s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_names_and_texts),
		cmocka_unit_test(test_diag_position),
		cmocka_unit_test(test_twenty_at_once),
		cmocka_unit_test(test_cpoints_and_sites),
		cmocka_unit_test(test_source_cpoints),
		cmocka_unit_test(test_unreadable_files),
		cmocka_unit_test(test_layout_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
