// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which parts structs have that a guard is told of: of unions, of names that a base has, too, and of a
 * struct of very many fields.
 */
#include "heapgraph/hg_fields.h"

#include "heapgraph/hg_access_int.h"
#include "tests/unit.h"

/* "start-end" of each part told of, in hexadecimal, in order of the fields; those for the same of another
 * element in brackets. */
static const char *parts_of(const struct dec_struct *t)
{
	static char text[1024];
	hg_hooks hooks = {};
	size_t n = 0;

	text[0] = '\0';
	ok(hg_fields_hooks(t, 0, &hooks));
	for (size_t i = 0; i < hooks.size; i++) {
		const struct dec_hook *h = &hooks.data[i];
		bool is_such = h->which == DEC_HOOK_AS_SUCH;

		n += snprintf(text + n, sizeof(text) - n, "%s%s%lx-%lx%s", n ? " " : "",
			      is_such ? "(" : "", h->start, h->end, is_such ? ")" : "");
	}
	vec_deinit(&hooks);
	return text;
}

#define F(n, at, bytes)                                      \
	{                                                    \
		.name = (n), .offset = (at), .size = (bytes) \
	}

#define STRUCT(bytes, ...)                                                               \
	(&(struct dec_struct){ .name = "t",                                              \
			       .size = (bytes),                                          \
			       .fields = (struct dec_field[]){ __VA_ARGS__ },            \
			       .n_fields = sizeof((struct dec_field[]){ __VA_ARGS__ }) / \
					   sizeof(struct dec_field) })

static void test_parts(void **state)
{
	(void)state;
	assert_string_equal(parts_of(STRUCT(24, F("a[0]", 0, 4), F("a[1]", 4, 4),
					    F("n", 8, 8), F("p.x", 16, 4),
					    F("p.y", 20, 2))),
			    "0-8 10-18");
	// Rows are gone through as one; elements that are structs begin parts of their own.
	assert_string_equal(parts_of(STRUCT(48, F("m[0][0]", 0, 4), F("m[0][1]", 4, 4),
					    F("m[1][0]", 8, 4), F("m[1][1]", 12, 4),
					    F("s[0].c[0]", 16, 1), F("s[0].c[1]", 17, 1),
					    F("s[0].n", 20, 4), F("s[1].c[0]", 24, 1),
					    F("s[1].c[1]", 25, 1), F("s[1].n", 28, 4),
					    F("end", 32, 8), F("last[0]", 40, 1))),
			    "0-10 0-10 10-20 (10-18) (10-12) 18-20 (18-1a) 28-30");
}

static void test_unions_end_with_their_longest(void **state)
{
	(void)state;
	assert_string_equal(
		parts_of(STRUCT(32, F("n", 0, 8), F("u.a[0]", 8, 4), F("u.a[1]", 12, 4),
				F("u.b", 8, 4), F("v[0]", 16, 2), F("v[1]", 18, 2),
				F("w[0]", 16, 4), F("w[1]", 20, 4), F("end", 24, 8))),
		"8-10 10-18");
}

// struct of a base { int a[2]; } with a field b and { int a[3]; } of its own.
static void test_names_of_a_base(void **state)
{
	(void)state;
	assert_string_equal(parts_of(STRUCT(32, F("a[0]", 0, 4), F("a[1]", 4, 4),
					    F("b", 8, 4), F("a[0]", 12, 4),
					    F("a[1]", 16, 4), F("a[2]", 20, 4),
					    F("c", 24, 8))),
			    "0-8 c-18");
}

// Of an element all of them are told, of arrays of arrays, too; what fills up the last one is its.
static void test_elements(void **state)
{
	const struct dec_struct *t = STRUCT(40, F("n", 0, 8), F("s[0][0].k", 8, 4),
					    F("s[0][0].c", 12, 2), F("s[0][1].k", 16, 4),
					    F("s[0][1].c", 20, 2), F("s[1][0].k", 24, 4),
					    F("s[1][0].c", 28, 2), F("s[1][1].k", 32, 4),
					    F("s[1][1].c", 36, 2));
	const struct hg_part p = {
		.in = t, .name = "s[1][0].k", .field = 5, .length = 7
	};
	struct hg_fields *o;
	uint64_t start, end;

	(void)state;
	ok(hg_fields_create(t, &o));
	assert_int_equal(hg_fields_elements(o, &p, &start, &end), 8);
	assert_int_equal(start, 8);
	assert_int_equal(end, 40);
	hg_fields_destroy(o);
}

/* An array of 40,000 structs, and as many rows of two: work that is the square of it does not end. */
static void test_many_fields(void **state)
{
	enum { MANY = 40000 };
	static struct dec_field fields[4 * MANY];
	static char names[4 * MANY][20];
	struct dec_struct t = { .name = "t", .size = 16 * MANY, .fields = fields };
	hg_hooks hooks = {};

	(void)state;
	for (uint32_t i = 0; i < 4 * MANY; i++) {
		uint32_t k = i / 2 % MANY;

		snprintf(names[i], sizeof(names[i]),
			 i >= 2 * MANY ? "m[%u][%u]" : "s[%u].%u", k, i % 2);
		fields[i] = (struct dec_field)F(names[i], 4 * i, 4);
	}
	t.n_fields = 4 * MANY;
	ok(hg_fields_hooks(&t, 0, &hooks));
	// The first is the array's, and stands for its own struct, too; so is each row's.
	assert_int_equal(hooks.size, MANY + 1 + MANY);
	assert_int_equal(hooks.data[0].end, 8 * MANY);
	assert_int_equal(hooks.data[2].start, 8);
	assert_int_equal(hooks.data[2].end, 16);
	assert_int_equal(hooks.data[2 * MANY].start, 8 * MANY);
	assert_int_equal(hooks.data[2 * MANY].end, 16 * MANY);
	vec_deinit(&hooks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_unions_end_with_their_longest),
		cmocka_unit_test(test_names_of_a_base),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_many_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
