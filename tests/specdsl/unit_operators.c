// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Operators as in C, the address of a node and of its fields, arrays of char as text.
 */
#include "tests/specdsl/world.h"

/** Is @p condition true of a node X with 12, 10, -3 and 2.5 in its fields a, b, c and f? */
static bool is_true(const char *condition)
{
	static const struct dec_field fields[] = {
		{ .name = "a", .offset = 0, .size = 8, .is_signed = true },
		{ .name = "b", .offset = 8, .size = 8 },
		{ .name = "c", .offset = 16, .size = 8, .is_signed = true },
		{ .name = "f", .offset = 24, .size = 8, .is_float = true },
		{ .name = "g", .offset = 32, .size = 1, .bit_size = 3, .bit_offset = 2 },
	};
	static const struct dec_struct layout = {
		.name = "n", .size = 40, .fields = fields, .n_fields = 5
	};
	char text[256];
	struct world w;
	double f = 2.5;
	uint64_t bits;
	bool ret;
	uint32_t x;

	snprintf(text, sizeof(text), "n FIELD 5 EDGE 0; n X; %s;", condition);
	w = begin(text);
	x = node(&w, "n", 40);
	set(&w, x, 1, 12);
	set(&w, x, 2, 10);
	set(&w, x, 3, -3);
	memcpy(&bits, &f, sizeof(bits));
	set(&w, x, 4, bits);
	set(&w, x, 5, 0x1c);
	assert_null(spec_bind_type(w.s, 0, &layout));
	finish(&w);
	ret = !*violations(&w);
	end(&w);
	return ret;
}

static void test_operators(void **state)
{
	// clang-format off
	static const char *const right[] = {
		"X.a % 5 == 2", "X.c % 2 == -1", "-X.a % 5 == -2", "X.f % 2 == X.f - 2",
		"X.a & X.b == 8", "X.a | X.b == 14", "X.a ^ X.b == 6", "~X.a == -13",
		"X.a << 2 == 48", "X.a >> 2 == 3", "X.c >> 1 == -2", "X.c & 0xff == 253",
		"1 << 3 == 8 and X.a > 0", "X.a >> 200 == 0", "X.c >> 200 == -1",
		"X.c << 1 == -6", "1 << 100 > X.a", "~0 & X.a == X.a", "~~X.c == X.c",
		// C's order, but for comparisons
		"X.a | X.b ^ X.b & 3 == 12", "(X.a | X.b) & 3 == 2", "1 + 1 << 1 + 1 == 8 and X.a > 0",
		"X.a - 2 * 3 % 4 == 10", "X.a / 5 * 5 + X.a % 5 == X.a", "X.a & 4 | 1 == 5",
		"-X.c & 1 == 1", "~1 + 2 == 0 and X.a > 0", "X.a & 3 == 0 and X.b & 2 != 0",
		// bars
		"|X.c| == 3", "X.a | |X.c| == 15", "|(X.c | 4)| == 3",
		"|X.a - |X.c|| == 9", "||X.c| - X.a| == 9", "|X.c| | 4 == 7", "|(X.a | 1) - 20| == 7",
		// not
		"!(X.a == 3)", "!X.g == false", "!(X.a == 12 and X.b == 3)", "!!X.a", "!X.ISLEAF == false",
		"!(X -> X)", "!X.a == false", "!(X.a == 12) or X.b == 10", "!(X.a & 1)", "!(X.a > 20) and !(X.b > 20)",
	};
	static const char *const wrong[] = {
		"X.a % 0 == 0", "X.a % (X.b - 10) != 0", "X.a << -1 == 0", "X.a << 200 != 0",
		"X.c << 126 != 0", "X.f & 1 == 0", "X.f | 1 != 0", "X.f ^ X.f == 0", "X.f << 1 == 5",
		"!X.a", "!(X.a == 12)", "X.f % 0 == 0", "X.a & 3 != 0", "!X.ISLEAF",
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		if (!is_true(right[i]))
			fail_msg("%s is not true", right[i]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (is_true(wrong[i]))
			fail_msg("%s is true", wrong[i]);
}

/* ---- addresses ------------------------------------------------------------------------ */

// struct item { int v; struct head { struct head *next, **back; } link; struct item *child[2]; }
static const struct dec_field item_fields[] = {
	{ .name = "v", .offset = 0, .size = 8, .is_signed = true },
	{ .name = "link.next", .offset = 8, .size = 8, .is_pointer = true },
	{ .name = "link.back", .offset = 16, .size = 8, .is_pointer = true },
	{ .name = "child[0]",
	  .offset = 24,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "item" },
	{ .name = "child[1]",
	  .offset = 32,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "item" },
	{ .name = "bit", .offset = 40, .size = 8, .bit_size = 3 },
};
static const struct dec_struct item = {
	.name = "item", .size = 48, .fields = item_fields, .n_fields = 6
};

static void test_addresses(void **state)
{
	struct world w = begin(
		"item FIELD 6 EDGE 4;\n"
		"item X, Y; X.link.next == &Y.link => Y.link.back == &X.link.next;\n"
		"item X; item Y; X.link.next != NULL => X.link.next == &Y.link;\n"
		"item X; X.child[0] != NULL => X.child[0] == &X.child[0].child[1];\n"
		"item X; for I in 0 to 1, X.child[I] == NULL or X.child[I] == &X.child[I];\n"
		"item X; &X == &X.v and &X.link == &X + 8 and &X[3] == &X.link.back;\n"
		"item X, Y; X -> Y => &X.child[1].v - &Y >= 0;\n"
		"item X; &X.child == &X.child[0] and (&X & 15) == 0;\n");
	uint32_t n[5];

	(void)state;
	for (int i = 1; i <= 4; i++)
		n[i] = node(&w, "item", 48);
	// 1 -> 2 -> 3 by the link; 3 -> 4 by its start; 2's back is right, 3's is not.
	set(&w, n[1], 2, addr(&w, n[2]) + 8);
	set(&w, n[2], 3, addr(&w, n[1]) + 8);
	set(&w, n[2], 2, addr(&w, n[3]) + 8);
	set(&w, n[3], 3, addr(&w, n[2]));
	set(&w, n[3], 2, addr(&w, n[4]));
	set(&w, n[4], 4, addr(&w, n[4]) + 32);
	set(&w, n[3], 5, addr(&w, n[3]) + 32);
	assert_null(spec_bind_type(w.s, 0, &item));
	finish(&w);
	assert_string_equal(violations(&w),
			    "c1:2,3 c2:3 c4:4[0] c6:1,2? c6:2,1? c6:2,3? c6:3,4 c6:4,4?");
	end(&w);
}

/** A ring whose links are the exclusive or of both neighbours' addresses: of a long one the
 * second neighbour must not be searched for among all. */
static void test_exclusive_links(void **state)
{
	struct world w = begin(
		"n FIELD 2 EDGE 0;\n"
		"n X, Y, Z; X[1] > 0 => X[2] == (&Y ^ &Z);\n"
		"n X, Y, Z; X[1] == 7 => X[2] == (&Y ^ &Z) and Y[1] + Z[1] == 13;\n");
	uint32_t n[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		n[i] = node(&w, "n", 16);
	for (int i = 0; i < 200; i++) {
		set(&w, n[i], 1, i == 4 || i == 5 || i == 9 ? 7 : 6);
		set(&w, n[i], 2,
		    addr(&w, n[(i + 1) % 200]) ^ addr(&w, n[(i + 199) % 200]));
	}
	set(&w, n[9], 2, addr(&w, n[8]) << 8); // not the exclusive or
	finish(&w);
	assert_string_equal(violations(&w), "c1:10 c2:10");
	end(&w);
}

/** What cannot have an address, and what is compared with none. */
static void test_address_mistakes(void **state)
{
	static const char *const texts[] = {
		"item X; &X.bit == 0;",
		"'bit' is a bit-field: it has no address",
		"item X; X == &X;",
		"expected a node",
		"item X; &3 == X.v;",
		"expected a node",
		"item X; X.link == &X.link;",
		"'link' is a struct or an array",
		"item X; &X.nothing == 0;",
		"has no field or attribute 'nothing'",
		"item.H NULL 0; item X; X.H = X.child[0].H; item Y; &Y.H == 0;",
		"attribute 'H' is a number",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i += 2) {
		_cleanup_free_ char *text = NULL;
		struct world w;

		assert_true(asprintf(&text, "item FIELD 6 EDGE 4;\n%s", texts[i]) > 0);
		w = begin(text);
		assert_null(spec_bind_type(w.s, 0, &item));
		assert_null(spec_resolve(w.s));
		assert_int_equal(spec_errors(w.s), 1);
		if (!strstr(spec_diag(w.s, 0)->message, texts[i + 1]))
			fail_msg("%s: %s", texts[i], spec_diag(w.s, 0)->message);
		end(&w);
	}
}

/* ---- texts ----------------------------------------------------------------------------- */

// struct entry { char name[12]; uint32_t n; char word[2][4]; char rest[]; }
static struct dec_field entry_fields[22];
static char entry_names[22][16];
static const struct dec_struct entry = { .name = "entry",
					 .size = 24,
					 .fields = entry_fields,
					 .n_fields = 21,
					 .tail = "rest",
					 .tail_offset = 24,
					 .tail_bytes = 1,
					 .n_tail = 1 };

static void make_entry(void)
{
	for (uint32_t i = 0; i < 22; i++) {
		char *name = entry_names[i];

		entry_fields[i] = (struct dec_field){ .name = name,
						      .offset = i < 13 ? i : i + 3,
						      .size = i == 12 ? 4 : 1 };
		if (i < 12)
			snprintf(name, 16, "name[%u]", i);
		else if (i == 12)
			snprintf(name, 16, "n");
		else if (i < 21)
			snprintf(name, 16, "word[%u][%u]", (i - 13) / 4, (i - 13) % 4);
		else
			snprintf(name, 16, "rest[0]");
	}
	entry_fields[21].offset = 24;
}

static uint32_t add_entry(struct world *w, const char *name, const char *word,
			  const char *rest)
{
	uint32_t id = node(w, "entry", 32);
	char bytes[32] = "";

	memcpy(bytes, name, strlen(name));
	memcpy(bytes + 16, word, 8);
	memcpy(bytes + 24, rest, strlen(rest));
	for (int i = 0; i < 4; i++) {
		uint64_t value;

		memcpy(&value, bytes + 8 * i, 8);
		set(w, id, i + 1, value);
	}
	return id;
}

static void test_texts(void **state)
{
	struct world w =
		begin("entry FIELD 21 EDGE 0;\n"
		      "entry X; X.name == \"abc\";\n"
		      "entry X, Y; X.name == Y.name => X.rest == Y.rest;\n"
		      "entry X, Y; X.name < Y.name => X.rest <= Y.rest;\n"
		      "entry X; X.word[1] == \"xyz\" and \"a\\\"b\\\\\" != X.word[0];\n"
		      "entry X; for I in 0 to 5, X.word[I] > \"mn\";\n"
		      "entry X; X.name[0] == 97 and X.name != \"abcdefghijkl\";\n");

	(void)state;
	make_entry();
	add_entry(&w, "abc", "mno\0xyz", "12345678");
	add_entry(&w, "abc", "mno\0xyzz", "1234567");
	add_entry(&w, "abcdefghijkl", "a\"b\\xyz", "\xff");
	add_entry(&w, "b", "z\0ab\0\0\0", "");
	assert_null(spec_bind_type(w.s, 0, &entry));
	finish(&w);
	assert_string_equal(violations(&w),
			    "c1:3 c1:4 c2:1,2 c2:2,1 c3:1,4 c3:2,4 c3:3,4 c4:2 c4:3 c4:4 "
			    "c5:3[0] c5:4[1] c6:3 c6:4");
	end(&w);
}

static void test_text_mistakes(void **state)
{
	static const char *const texts[] = {
		"entry X; X.n == \"abc\";",
		"a text is compared with an array of char",
		"entry X; X.word == \"abc\";",
		"a text is compared with an array of char",
		"entry X; X.name == X.n;",
		"'name' is a struct or an array",
		"entry X; X.name + 1 == 2;",
		"'name' is a struct or an array",
		"entry X; X.n + \"a\" == 2;",
		"expected a number, this is a text",
		"entry X; \"a\" == \"b\" and X.n == 2;",
		"a text is compared with an array of char",
		"entry X; X == \"b\";",
		"a text is compared with an array of char",
	};

	(void)state;
	make_entry();
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i += 2) {
		_cleanup_free_ char *text = NULL;
		struct world w;

		assert_true(asprintf(&text, "entry FIELD 21 EDGE 0;\n%s", texts[i]) > 0);
		w = begin(text);
		assert_null(spec_bind_type(w.s, 0, &entry));
		assert_null(spec_resolve(w.s));
		assert_int_equal(spec_errors(w.s), 1);
		if (!strstr(spec_diag(w.s, 0)->message, texts[i + 1]))
			fail_msg("%s: %s", texts[i], spec_diag(w.s, 0)->message);
		end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_exclusive_links),
		cmocka_unit_test(test_address_mistakes),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_text_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
