// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Units and the search, without a program: what is interesting is told by functions.
 */

#include <string.h>

#include "faultlocate/inputs/inputs.h"
#include "faultlocate/reduce/tree.h"
#include "tests/unit.h"

struct asked {
	const char *needed; ///< bytes that must be there, in this order
	const char *units;  ///< or pairs that go together only
	uint64_t n;
	VEC(char *) seen;
};

static bool has(const char *needed, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size && *needed; i++)
		needed += data[i] == (uint8_t)*needed;
	return !*needed;
}

static bool is_balanced(const uint8_t *data, size_t size)
{
	int depth = 0;

	for (size_t i = 0; i < size && depth >= 0; i++)
		depth += data[i] == '(' ? 1 : data[i] == ')' ? -1 : 0;
	return !depth;
}

static struct err *answer(void *ctx, const struct fl_text *c, size_t n, bool *ret)
{
	struct asked *a = ctx;

	for (size_t i = 0; i < n; i++) {
		char *text = strndup((const char *)c[i].data, c[i].size);

		for (size_t k = 0; k < a->seen.size; k++)
			assert_string_not_equal(a->seen.data[k], text);
		assert_null(vec_add(&a->seen, text));
		a->n++;
		ret[i] = has(a->needed, c[i].data, c[i].size) &&
			 (!a->units || is_balanced(c[i].data, c[i].size));
	}
	return NULL;
}

static void asked_deinit(struct asked *a)
{
	for (size_t i = 0; i < a->seen.size; i++)
		free(a->seen.data[i]);
	vec_deinit(&a->seen);
}

/* Begin to reduce @p input by bytes, so many at once. */
static struct fl_reduce *begin(const char *input, struct asked *a, unsigned at_once,
			       fl_units *units)
{
	struct fl_reduce_options o = { .data = (const uint8_t *)input,
				       .size = strlen(input),
				       .at_once = at_once,
				       .test = answer,
				       .ctx = a };
	struct fl_reduce *r;

	assert_null(fl_units_split(FL_UNIT_BYTES, o.data, o.size, units));
	o.units = units->data;
	o.n_units = units->size;
	assert_null(fl_reduce_create(&o, &r));
	return r;
}

/* ddmin of @p input. @p runs: in order. @return the result, free(). */
static char *reduced_as(const char *input, struct asked *a, unsigned at_once,
			bool is_published, uint64_t *runs)
{
	fl_units units = {};
	struct fl_reduce *r = begin(input, a, at_once, &units);
	struct fl_text t;
	char *ret;

	assert_null(fl_reduce_ddmin(r, is_published));
	assert_null(fl_reduce_text(r, &t));
	ret = strndup((const char *)t.data, t.size);
	*runs = fl_reduce_stats(r).runs;
	assert_int_equal(*runs + fl_reduce_stats(r).ahead, a->n);
	fl_reduce_destroy(r);
	vec_deinit(&units);
	return ret;
}

static char *reduced(const char *input, struct asked *a, unsigned at_once, uint64_t *runs)
{
	return reduced_as(input, a, at_once, false, runs);
}

static void test_ddmin(void **state)
{
	static const char input[] = "a long input, of which (nearly) nothing is (needed)";
	uint64_t runs[3];

	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		struct asked a = { .needed = "lof" };
		char *got = reduced(input, &a, n, &runs[n - 1]);

		assert_string_equal(got, "lof");
		free(got);
		asked_deinit(&a);
	}
	assert_int_equal(runs[0], runs[1]);
	assert_int_equal(runs[0], runs[2]);
	assert_in_range(runs[0], 10, 120);
}

static void test_minimal(void **state)
{
	struct asked a = { .needed = "x", .units = "()" };
	uint64_t runs;
	char *got = reduced("(a(b)c)(x)((d))", &a, 2, &runs);

	// Brackets go in pairs only, which ddmin may miss; no single byte can go.
	(void)state;
	for (size_t i = 0; got[i]; i++) {
		char less[64];

		snprintf(less, sizeof(less), "%.*s%s", (int)i, got, got + i + 1);
		assert_false(has("x", (uint8_t *)less, strlen(less)) &&
			     is_balanced((uint8_t *)less, strlen(less)));
	}
	free(got);
	asked_deinit(&a);
}

static void test_groups(void **state)
{
	static const char input[] = "abcdef";
	const uint32_t group[] = { 0, 0, 1, FL_GROUP_STAYS, 7, 7 };
	const bool keep[] = { true, true, true, true, false, true };
	struct asked a = { .needed = "c" };
	fl_units units = {};
	struct fl_reduce *r;
	struct fl_text t;
	bool is_fine;

	(void)state;
	r = begin(input, &a, 2, &units);
	assert_null(fl_reduce_try(r, keep, &is_fine));
	assert_true(is_fine);
	assert_null(fl_reduce_groups(r, group, false));
	assert_null(fl_reduce_text(r, &t));
	assert_int_equal(t.size, 2);
	assert_memory_equal(t.data, "cd", 2);
	fl_reduce_destroy(r);
	vec_deinit(&units);
	asked_deinit(&a);
}

/* Behind a part that could go ddmin asks about the first one again. */
static void test_published(void **state)
{
	static const char input[] = "a-b--c---d----e-----f------g-----h----i---k--l-m";
	uint64_t runs[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct asked a = { .needed = "abcdefghiklm" };
		char *got = reduced_as(input, &a, 1, !i, &runs[i]);

		assert_string_equal(got, "abcdefghiklm");
		free(got);
		asked_deinit(&a);
	}
	assert_true(runs[0] > runs[1]);
}

/* Each group once, in their order; larger pieces as long as such can go. */
static void test_pass(void **state)
{
	struct asked a = { .needed = "xy" };
	char input[65] = "";
	struct fl_reduce *r;
	fl_units units = {};
	struct fl_text t;

	(void)state;
	memset(input, '-', 64);
	input[20] = 'x';
	input[50] = 'y';
	r = begin(input, &a, 1, &units);
	assert_null(fl_reduce_pass(r, NULL, 32));
	assert_null(fl_reduce_text(r, &t));
	assert_int_equal(t.size, 2);
	assert_memory_equal(t.data, "xy", 2);
	assert_in_range(a.n, 8, 26);
	fl_reduce_destroy(r);
	vec_deinit(&units);
	asked_deinit(&a);
}

/* Elements in brackets, all on one line and all of them with a part in control: as a parser has it. */
static void test_text(void **state)
{
	struct asked a = { .needed = "#!", .units = "()" };
	uint8_t roles[4096];
	const uint32_t nodes[4096] = {}, parents[2] = {};
	struct fl_tree tree = {
		.roles = roles, .nodes = nodes, .parents = parents, .n_nodes = 2
	};
	char input[4096] = "(";
	struct fl_reduce *r;
	fl_units units = {};
	struct fl_text t;
	size_t step1;

	(void)state;
	for (int i = 0; i < 100; i++)
		snprintf(input + strlen(input), 40, "(item, (%s, %d), ()),",
			 i == 70 ? "#, !" : "a", i);
	strcat(input, ")");
	memset(roles, FL_ROLE_CONTROL, sizeof(roles));
	tree.data = (const uint8_t *)input;
	tree.n_bytes = strlen(input);
	r = begin(input, &a, 1, &units);
	assert_null(fl_tree_reduce(r, &tree, true, &step1));
	assert_int_equal(step1, tree.n_bytes);
	assert_null(fl_reduce_text(r, &t));
	assert_true(t.size <= 8);
	assert_in_range(a.n, 20, 80); // ddmin: thousands
	fl_reduce_destroy(r);
	vec_deinit(&units);
	asked_deinit(&a);
}

/* Reduce @p input as a text. @p t: of it, but for its bytes. @p runs: set. @return the result, free(). */
static char *reduced_text(const char *input, const char *needed, struct fl_tree t,
			  size_t *runs)
{
	struct asked a = { .needed = needed };
	fl_units units = {};
	struct fl_reduce *r = begin(input, &a, 1, &units);
	struct fl_text text;
	size_t step1;
	char *ret;

	t.data = (const uint8_t *)input;
	t.n_bytes = strlen(input);
	assert_null(fl_tree_reduce(r, &t, false, &step1));
	assert_null(fl_reduce_text(r, &text));
	ret = strndup((const char *)text.data, text.size);
	*runs = a.n;
	fl_reduce_destroy(r);
	vec_deinit(&units);
	asked_deinit(&a);
	return ret;
}

/* A word that has to stay as it is takes two runs, for its ends; others shrink to what is needed. */
static void test_words(void **state)
{
	const struct fl_tree t = {};
	size_t runs;
	char *text = reduced_text("abcdefgh", "abcdefgh", t, &runs);

	(void)state;
	assert_string_equal(text, "abcdefgh");
	assert_int_equal(runs, 2);
	free(text);
	text = reduced_text("--------------------------------z", "z", t, &runs);
	assert_string_equal(text, "z");
	free(text);
	text = reduced_text("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxabcyyyy", "abc", t, &runs);
	assert_string_equal(text, "abc");
	assert_in_range(runs, 8, 40); // with 36 bytes that go
	free(text);
}

/* The bytes that are nearest to the failure are tried alone, also where they are but a part of a word. */
static void test_nearest_bytes(void **state)
{
	static const char input[] = "a t4711ABC: of (words) and more, words";
	uint8_t roles[sizeof(input)];
	uint32_t nodes[sizeof(input)];
	const uint32_t parents[] = { 0, 0, 1, 2 };
	size_t runs;
	char *text;

	(void)state;
	memset(roles, FL_ROLE_CONTROL, sizeof(roles));
	for (size_t i = 0; i < sizeof(input); i++)
		nodes[i] = input[i] >= '0' && input[i] <= '9' ? 2 : 3;
	text = reduced_text(input, "4711",
			    (struct fl_tree){ .roles = roles,
					      .nodes = nodes,
					      .parents = parents,
					      .n_nodes = 4 },
			    &runs);
	assert_string_equal(text, "4711");
	assert_in_range(runs, 3, 5); // without: 17
	free(text);
}

/* That nothing is interesting is found when there is one unit left, and not asked about before. */
static void test_nothing(void **state)
{
	struct asked a = { .needed = "" };
	const bool keep[3] = {};
	fl_units units = {};
	struct fl_reduce *r = begin("abc", &a, 2, &units);
	bool is_found;

	(void)state;
	assert_null(fl_reduce_try(r, keep, &is_found));
	assert_false(is_found);
	assert_int_equal(a.n, 0);
	assert_null(fl_reduce_pass(r, NULL, 0));
	assert_int_equal(fl_reduce_stats(r).n_units, 0);
	fl_reduce_destroy(r);
	vec_deinit(&units);
	asked_deinit(&a);
}

static void check_units(enum fl_unit_kind kind, const char *text, const char *want)
{
	fl_units units = {};
	char got[256] = "";

	assert_null(fl_units_split(kind, (const uint8_t *)text, strlen(text), &units));
	for (size_t i = 0; i < units.size; i++) {
		strncat(got, text + units.data[i].from,
			units.data[i].to - units.data[i].from);
		strcat(got, "|");
	}
	assert_string_equal(got, want);
	vec_deinit(&units);
}

static void test_units(void **state)
{
	(void)state;
	check_units(FL_UNIT_BYTES, "ab", "a|b|");
	check_units(FL_UNIT_CHARS, "a\xc3\xa4\xe2\x82\xac\xff",
		    "a|\xc3\xa4|\xe2\x82\xac|\xff|");
	check_units(FL_UNIT_LINES, "one\n\ntwo", "one\n|\n|two|");
	check_units(FL_UNIT_TOKENS, "if (x1+=2)\n\ty;", "if| |(|x1|+|=|2|)|\n\t|y|;|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ddmin),	cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_groups),	cmocka_unit_test(test_published),
		cmocka_unit_test(test_pass),	cmocka_unit_test(test_text),
		cmocka_unit_test(test_words),	cmocka_unit_test(test_nearest_bytes),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
