// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Units and the search, without a program: what is interesting is told by functions.
 */

#include <string.h>

#include "faultlocate/reduce/reduce.h"
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

/* Reduce @p input by bytes, so many at once. @p runs: in order. @return the result, free(). */
static char *reduced(const char *input, struct asked *a, unsigned at_once, uint64_t *runs)
{
	struct fl_reduce_options o = { .data = (const uint8_t *)input,
				       .size = strlen(input),
				       .at_once = at_once,
				       .test = answer,
				       .ctx = a };
	fl_units units = {};
	struct fl_reduce *r;
	struct fl_text t;
	char *ret;

	assert_null(fl_units_split(FL_UNIT_BYTES, o.data, o.size, &units));
	o.units = units.data;
	o.n_units = units.size;
	assert_null(fl_reduce_create(&o, &r));
	assert_null(fl_reduce_ddmin(r));
	assert_null(fl_reduce_text(r, &t));
	ret = strndup((const char *)t.data, t.size);
	*runs = fl_reduce_stats(r).runs;
	assert_int_equal(*runs + fl_reduce_stats(r).ahead, a->n);
	fl_reduce_destroy(r);
	vec_deinit(&units);
	return ret;
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
	struct fl_reduce_options o = { .data = (const uint8_t *)input,
				       .size = 6,
				       .at_once = 2,
				       .test = answer,
				       .ctx = &a };
	fl_units units = {};
	struct fl_reduce *r;
	struct fl_text t;
	bool is_fine;

	(void)state;
	assert_null(fl_units_split(FL_UNIT_BYTES, o.data, o.size, &units));
	o.units = units.data;
	o.n_units = units.size;
	assert_null(fl_reduce_create(&o, &r));
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
		cmocka_unit_test(test_ddmin),
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
