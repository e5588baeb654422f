// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What constraints mean that name roots, on a graph built by hand: which of a pointer variable, a
 * struct and an array is meant where; and how ROOT is formatted.
 */
#include <string.h>

#include "specdsl/specdsl.h"
#include "tests/unit.h"

enum {
	HEAD = 0x1000,
	TABLE = 0x1100,
	LIST = 0x1200,
	LOCAL = 0x1300,
	WORD = 0x1400,
	NODES = 0x10000
};

static const struct dec_field list_fields[] = {
	{ .name = "first", .size = 8, .is_pointer = true, .points_to = "node" },
	{ .name = "count", .offset = 8, .size = 8 },
};
static const struct dec_field head_fields[] = {
	{ .name = "head", .size = 8, .is_pointer = true, .points_to = "node" },
};
static const struct dec_field table_fields[] = {
	{ .name = "table[0]", .size = 8, .is_pointer = true, .points_to = "node" },
	{ .name = "table[1]",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "node" },
};
static const struct dec_field word_fields[] = {
	{ .name = "word[0]", .size = 1 },
	{ .name = "word[1]", .offset = 1, .size = 1 },
	{ .name = "word[2]", .offset = 2, .size = 1 },
};
static const struct dec_field node_fields[] = {
	{ .name = "key", .size = 8 },
	{ .name = "next",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "node" },
	{ .name = "of",
	  .offset = 16,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "list" },
};

#define LAYOUT(n, b)                                                 \
	{                                                            \
		.name = #n, .size = b, .fields = n##_fields,         \
		.n_fields = sizeof(n##_fields) / sizeof(*n##_fields) \
	}
static const struct dec_struct list = LAYOUT(list, 16), head = LAYOUT(head, 8),
			       table = LAYOUT(table, 16), node = LAYOUT(node, 24),
			       word = LAYOUT(word, 3);

static const char types[] = "node FIELD 3 EDGE 2;\nlist FIELD 2 EDGE 1;\nROOT head;\n"
			    "ROOT table;\nROOT list;\nROOT f::mine;\n"
			    "ROOT word;\n";

static void add(struct hg_graph *g, uint64_t addr, uint64_t bytes, int type)
{
	static uint64_t time;
	struct hg_node_id id;

	assert_null(hg_graph_alloc(g, ++time, addr, bytes, 1, NULL, &id));
	assert_null(hg_graph_set_type(g, id, type + 1));
}

static void set(struct hg_graph *g, uint64_t addr, uint64_t value)
{
	assert_null(hg_graph_store(g, 1000, addr, 8, &value, 2));
}

/** head and table[1] lead to the first of three nodes, list to the second, mine, of two calls, to
 * the third and nowhere. Nodes know list. */
static struct hg_graph *build(const struct spec *s)
{
	struct hg_graph *g;

	assert_null(hg_graph_create(&g));
	for (uint64_t i = 0; i < 3; i++)
		add(g, NODES + 32 * i, 24, 0);
	add(g, HEAD, 8, spec_root(s, 0)->type);
	add(g, TABLE, 16, spec_root(s, 1)->type);
	add(g, LIST, 16, spec_root(s, 2)->type);
	add(g, LOCAL, 16, spec_root(s, 3)->type);
	add(g, LOCAL + 32, 16, spec_root(s, 3)->type);
	add(g, WORD, 3, spec_root(s, 4)->type);
	for (uint64_t i = 0; i < 3; i++) {
		set(g, NODES + 32 * i, i + 1);
		set(g, NODES + 32 * i + 8, i < 2 ? NODES + 32 * (i + 1) : 0);
		set(g, NODES + 32 * i + 16, LIST);
	}
	set(g, HEAD, NODES);
	set(g, TABLE + 8, NODES);
	set(g, LIST, NODES + 32);
	set(g, LIST + 8, 2);
	set(g, LOCAL, NODES + 64);
	set(g, LOCAL + 8, 1);
	assert_null(hg_graph_store(g, 1000, WORD, 3, &(uint64_t){ 'i' | 'f' << 8 }, 2));
	return g;
}

/** @return how many violations of @p text there are; -1: it is a mistake. */
static int count(const char *text)
{
	const struct dec_struct *layouts[] = { &head, &table, &list, &list, &word };
	spec_violations found = {};
	struct spec_eval *e;
	struct hg_graph *g;
	struct hg_view *v;
	struct spec *s;
	int n;

	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "types", types, strlen(types)));
	assert_null(spec_add_text(s, "text", text, strlen(text)));
	assert_null(spec_bind_type(s, 0, &node));
	assert_null(spec_bind_type(s, 1, &list));
	for (size_t i = 0; i < 5; i++)
		assert_null(spec_bind_root(s, i, layouts[i], i == 2 || i == 3,
					   i == 2 || i == 3 ? 1 : -1, "t"));
	assert_null(spec_resolve(s));
	if (spec_errors(s)) {
		spec_destroy(s);
		return -1;
	}
	g = build(s);
	assert_null(hg_view_create(g, hg_graph_ops(g), &v));
	assert_null(spec_eval_create(s, g, v, &e));
	assert_null(spec_check(e, 0, &found));
	n = found.size;
	vec_deinit(&found);
	spec_eval_destroy(e);
	hg_view_destroy(v);
	hg_graph_destroy(g);
	spec_destroy(s);
	return n;
}

static void test_meaning(void **state)
{
	static const struct {
		const char *text;
		int n;
	} all[] = {
		// The variable itself beside an edge and before a degree, else its value.
		{ "node X; X.key == 1 => head -> X and head ->> X and head == X;", 0 },
		{ "node X; X.key > 0 => head ->> X;", 0 },
		{ "node X; X.key > 0 => head -> X;", 2 },
		{ "node X; X.key == 2 => (head) -> X and (head) /->> X;", 1 },
		{ "head.ISROOT == true and head.OUTDEGREE == 1;", 0 },
		{ "(head).ISROOT == true;", 1 },
		{ "head.key == 1 and head.next.key == 2 and head != NULL;", 0 },
		{ "head == NULL or head == table[1] and table[0] == NULL;", 0 },
		{ "head[1] == 1 and head[2] == list.first;", 0 },
		{ "node X; head == X => X.key == 2;", 1 },
		{ "node X; X.key == 1 => head != X;", 1 },
		// Arrays count from 0, and what is past their end is not asked for.
		{ "for I in 0 to 9, table[I] != NULL => table[I].key == I;", 0 },
		{ "for I in 0 to 9, table[I] != NULL;", 1 },
		{ "table ->> list;", 0 },
		// A struct is a node, also among those of its type.
		{ "node X; X.of == list and X -> list;", 0 },
		{ "node X; X.of != list;", 3 },
		{ "list.first.key == list.count and list[2] == 2;", 0 },
		{ "list L; L.count > 0;", 1 },
		{ "list L; L.count > 1 => L == list;", 0 },
		{ "node X; list L; X.of == L => L.INDEGREE == 3;", 0 },
		// Pointers in roots count.
		{ "node X; X.INDEGREE == 1;", 3 },
		{ "node X; X.key == 1 => X.INDEGREE == 2;", 0 },
		// A local one is there once a call.
		{ "mine.count == 1;", 1 },
		{ "mine.first != NULL => mine.first.key == 3;", 0 },
		{ "node X; X.key == 3 => mine -> X;", 1 },
		{ "mine.count >= 0 and head.key == 1 and list.count == 2;", 0 },
		// Its address is where the variable is, and a text is in it.
		{ "node X; X.of == &list and X.of != &head;", 0 },
		{ "node X; X.of == &list.count;", 3 },
		{ "&head < &table and &table[1] == &table + 8 and &list == &list.first;",
		  0 },
		{ "node X; X.of == &list => X.key == 2;", 2 },
		{ "!table[0] and !(head -> list);", 0 },
		{ "!head;", 1 },
		{ "word == \"if\" and word != \"i\" and word[0] == 105;", 0 },
		{ "word == \"of\";", 1 },
		{ "word == word;", 0 },
		// Mistakes.
		{ "!list;", -1 },
		{ "head == \"if\";", -1 },
		{ "list == \"if\";", -1 },
		{ "&list.nothing == 0;", -1 },
		{ "list == 3;", -1 },
		{ "list + 1 == 3;", -1 },
		{ "list < head;", -1 },
		{ "list.nothing == 0;", -1 },
		{ "head.nothing == 0;", -1 },
		{ "table == NULL;", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (count(all[i].text) != all[i].n)
			fail_msg("%s: %d, not %d", all[i].text, count(all[i].text),
				 all[i].n);
}

static void test_declared(void **state)
{
	static const char text[] =
		"ROOT a;ROOT f::b IN x/y-1.c AS c;\nROOT \"n<1, 2>::d\";";
	struct spec *s;

	(void)state;
	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "one", text, strlen(text)));
	assert_null(spec_add_text(s, "two", "ROOT a;", 7)); // the same: fine
	assert_int_equal(spec_errors(s), 0);
	assert_int_equal(spec_roots(s), 3);
	assert_string_equal(spec_root(s, 1)->variable, "f::b");
	assert_string_equal(spec_root(s, 1)->name, "c");
	assert_string_equal(spec_root(s, 1)->source, "x/y-1.c");
	assert_string_equal(spec_root(s, 2)->name, "d");
	assert_null(spec_root(s, 2)->source);
	assert_int_equal(spec_root(s, 2)->line, 2);
	assert_int_equal(spec_type_find(s, "a"), -1);
	spec_destroy(s);
}

static void test_format(void **state)
{
	static const char text[] =
		"ROOT  a ;ROOT f :: b  IN  x/y-1.c  AS c ; # why\nROOT \"n<1>::d\"IN \"a b.c\";\n"
		"node FIELD 2 EDGE 1;node X;a->>X;\n";
	static const char want[] =
		"ROOT a;\nROOT f::b IN x/y-1.c AS c; # why\nROOT \"n<1>::d\" IN \"a b.c\";\n"
		"node FIELD 2 EDGE 1;\nnode X; a ->> X;\n";
	bool is_changed;
	struct spec *s;
	char *formatted;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *from = i ? want : text;

		assert_null(spec_create(&s));
		assert_null(spec_add_text(s, "text", from, strlen(from)));
		assert_int_equal(spec_errors(s), 0);
		assert_null(spec_format(s, 0, &formatted, &is_changed));
		assert_string_equal(formatted, want);
		assert_int_equal(is_changed, !i);
		free(formatted);
		spec_destroy(s);
	}
}

/** A root leads to a struct that the specification does not name. */
static void test_not_declared(void **state)
{
	static const char text[] = "ROOT head; head != NULL => head.key == 1;";
	struct spec *s;

	(void)state;
	assert_null(spec_create(&s));
	assert_null(spec_add_text(s, "text", text, strlen(text)));
	assert_null(spec_bind_root(s, 0, &head, false, -1, "t"));
	assert_null(spec_resolve(s));
	assert_int_equal(spec_errors(s), 1);
	assert_non_null(
		strstr(spec_diag(s, 0)->message,
		       "behind a pointer to 'node', a type that is not declared"));
	assert_string_equal(spec_diag(s, 0)->hint, "declare it: 'node;'");
	spec_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_declared),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_not_declared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
