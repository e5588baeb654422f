// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a field had to hold for an equation to be true. Each answer is tried: stored there, the equation
 * is true.
 */
#include "tests/specdsl/world.h"

enum { A = 12, B = 10, C = -3 };

/** A node X with fields a, b, c of 12, 10 and -3, small d of 3, bit-field g, float f; and @p condition. */
static struct world world_of(const char *condition, uint32_t *x)
{
	static const struct dec_field fields[] = {
		{ .name = "a", .offset = 0, .size = 8, .is_signed = true },
		{ .name = "b", .offset = 8, .size = 8, .is_signed = true },
		{ .name = "c", .offset = 16, .size = 8, .is_signed = true },
		{ .name = "f", .offset = 24, .size = 8, .is_float = true },
		{ .name = "g", .offset = 32, .size = 1, .bit_size = 3, .bit_offset = 2 },
		{ .name = "d", .offset = 40, .size = 1 },
	};
	static const struct dec_struct layout = {
		.name = "n", .size = 48, .fields = fields, .n_fields = 6
	};
	char text[256];
	struct world w;

	snprintf(text, sizeof(text), "n FIELD 6 EDGE 0; n X; %s;", condition);
	w = begin(text);
	*x = node(&w, "n", 48);
	set(&w, *x, 1, A);
	set(&w, *x, 2, B);
	set(&w, *x, 3, C);
	set(&w, *x, 5, 0x1c);
	set(&w, *x, 6, 3);
	assert_null(spec_bind_type(w.s, 0, &layout));
	return w;
}

/** Does the condition hold with @p value in the field at @p offset? */
static bool holds_with(const char *condition, uint32_t offset, uint64_t value)
{
	uint32_t x;
	struct world w = world_of(condition, &x);
	bool ret;

	assert_null(hg_graph_store(w.g, ++w.time, addr(&w, x) + offset,
				   offset == 40 ? 1 : 8, &value, 0x400100));
	finish(&w);
	ret = !*violations(&w);
	end(&w);
	return ret;
}

/** What is wanted of the fields, as `a = 1 b = 2`. */
static const char *wants(const char *condition)
{
	static char text[256];
	spec_violations found = {};
	struct spec_args args = {};
	uint32_t x;
	struct world w = world_of(condition, &x);
	size_t n = 0;

	finish(&w);
	assert_null(spec_check(w.e, 0, &found));
	assert_int_equal(found.size, 1);
	assert_null(spec_args_deep(w.e, 0, &found.data[0].binding, &args));
	text[0] = '\0';
	for (size_t i = 0; i < args.wants.size; i++) {
		const struct spec_want *k = &args.wants.data[i];
		const char *names[] = { "a", "b", "c", "f", "g", "d" };

		assert_int_equal(k->node.v, x);
		n += snprintf(text + n, sizeof(text) - n, "%s%s %s %lld", n ? ", " : "",
			      names[k->offset / 8], k->is_equality ? "=" : "~",
			      (long long)k->value);
		if (k->is_equality && !holds_with(condition, k->offset, k->value))
			fail_msg("%s: not with %s", condition, text);
	}
	spec_args_deinit(&args);
	vec_deinit(&found);
	end(&w);
	return text;
}

static void test_equations(void **state)
{
	static const struct {
		const char *condition, *wants;
	} cases[] = {
		{ "X.a == X.b", "a = 10, b = 12" },
		{ "X.a + X.b == 30", "a = 20, b = 18" },
		{ "X.a - X.b == X.c", "a = 7, b = 15, c = 2" },
		{ "X.c - X.a == 0", "c = 12, a = -3" },
		{ "-X.a == X.c", "a = 3, c = -12" },
		{ "~X.c == 5", "c = -6" },
		{ "X.a * 4 == 20", "a = 5" },
		{ "X.a ^ X.b == 1", "a = 11, b = 13" },
		{ "|X.c| == 5", "c = -5" }, // of both the one with its sign
		{ "|X.a - X.b| == 7", "a = 17, b = 5" },
		{ "(X.a > 0 ? X.b : X.c) == 4", "a ~ 0, b = 4" },
		{ "(X.a < 0 ? X.b : X.c) == 4", "a ~ 0, c = 4" },
		{ "X.a << 2 == 40", "a = 10" },
		{ "2 * (X.a + 1) == 22", "a = 10" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(wants(cases[i].condition), cases[i].wants);
}

/* Of several operands that would do, the one nearest to what is there. */
static void test_nearest(void **state)
{
	static const struct {
		const char *condition, *wants;
	} cases[] = {
		{ "X.a / 8 == 2", "a = 20" },  // 12 % 8 stays
		{ "X.c / 2 == -4", "c = -9" }, // -3 % 2 stays
		{ "X.a % 8 == 1", "a = 9" },   // 12 / 8 stays
		{ "X.a >> 2 == 5", "a = 20" }, // the bits shifted out stay
		{ "X.b >> 2 == 5", "b = 22" },
		{ "X.a & 7 == 1", "a = 9" }, // the bits masked out stay
		{ "X.a | 3 == 19", "a = 16" },
		{ "X.d & 1 == 0", "d = 2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(wants(cases[i].condition), cases[i].wants);
}

/* No value of the field makes it true, or none that is a number of its own. */
static void test_nothing(void **state)
{
	static const char *const none[] = {
		"X.a * 5 == 21", "X.a << 2 == 41", "X.a & 7 == 9", "X.a | 3 == 4",
		"|X.a| == -1",	 "X.f == 4",	   "X.g == 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_string_equal(wants(none[i]), "");
	// What an inequality wants is where both would be equal.
	assert_string_equal(wants("X.a < X.b"), "a ~ 10, b ~ 12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equations),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
