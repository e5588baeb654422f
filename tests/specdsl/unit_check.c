// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The meaning of the papers' constraints, on heap graphs built by hand: which bindings
 * violate them, and which operations change their arguments.
 */
#include <string.h>

#include "tests/specdsl/world.h"

#define QUAD                                                \
	"qdtree FIELD 9 EDGE 5;\n"                          \
	"qdtree X; X.ISROOT == FALSE => X.INDEGREE == 1;\n" \
	"qdtree X; qdtree Y; X -> Y => Y /-> X;\n"          \
	"qdtree X; qdtree Y; X -> Y => X.OUTDEGREE == 4;\n"

/** Figure 4.3: n1 with four children, n5 (the fourth) being split, then line 12 sets
 * n1.child[0] to NULL. @p at: positions (operations) of execution points 1 to 4. */
static void build_figure_4_3(struct world *w, uint64_t at[5])
{
	uint32_t n[10];

	for (int i = 1; i <= 5; i++)
		n[i] = node(w, "qdtree", 72);
	for (int i = 2; i <= 5; i++)
		point(w, n[1], 6 + i - 2, n[i]);
	n[6] = node(w, "qdtree", 72);
	point(w, n[5], 6, n[6]);
	n[7] = node(w, "qdtree", 72);
	point(w, n[5], 7, n[7]);
	at[1] = hg_graph_ops(w->g);
	n[8] = node(w, "qdtree", 72);
	point(w, n[5], 8, n[8]);
	at[2] = hg_graph_ops(w->g);
	point(w, n[1], 6, 0);
	at[3] = hg_graph_ops(w->g);
	n[9] = node(w, "qdtree", 72);
	point(w, n[5], 9, n[9]);
	at[4] = hg_graph_ops(w->g);
}

static void test_figure_4_3(void **state)
{
	struct world w = begin(QUAD);
	uint64_t at[5];

	(void)state;
	build_figure_4_3(&w, at);
	finish(&w);
	assert_string_equal(violations(&w), "c3:1,3 c3:1,4 c3:1,5");
	hg_view_seek(w.v, at[3]);
	assert_string_equal(violations(&w), "c3:1,3 c3:1,4 c3:1,5 c3:5,6 c3:5,7 c3:5,8");
	hg_view_seek(w.v, at[2]);
	assert_string_equal(violations(&w), "c3:5,6 c3:5,7 c3:5,8");
	hg_view_seek(w.v, at[1]);
	assert_string_equal(violations(&w), "c3:5,6 c3:5,7");
	hg_view_seek(w.v, at[4]);
	assert_string_equal(violations(&w), "c3:1,3 c3:1,4 c3:1,5");
	end(&w);
}

/** Figure 4.4: which operations contributed to <c3, {n1 -> n3}>. */
static void test_definition_3(void **state)
{
	struct world w = begin(QUAD);
	struct spec_binding b = { .node = { { 1 }, { 3 } } };
	struct spec_args before = {}, after = {};
	uint64_t at[5];
	struct hg_op op;
	const uint32_t *tags;
	uint32_t watch = 0;
	size_t n_touched;

	(void)state;
	build_figure_4_3(&w, at);
	finish(&w);
	assert_null(spec_args(w.e, 2, &b, &after));
	assert_int_equal(after.args.size, 2); // the edge's truth and n1.OUTDEGREE
	assert_int_equal(after.args.data[0].value, 1);
	assert_int_equal(after.args.data[1].value, 3);
	// O3: n5.child[3] = n9 modifies none of its arguments, and is predicted not to.
	assert_null(spec_watch(w.e, &after, 1, &watch));
	assert_null(spec_eval_back(w.e, w.v, &op));
	assert_int_equal(op.node.v, 5);
	assert_null(spec_touched(w.e, &tags, &n_touched));
	assert_int_equal(n_touched, 0);
	assert_null(spec_args(w.e, 2, &b, &before));
	assert_true(spec_args_equal(&before, &after));
	hg_view_seek(w.v, at[3]);
	assert_null(spec_args(w.e, 2, &b, &after));
	// O2: n1.child[0] = NULL does.
	assert_null(spec_watch(w.e, &after, 7, &watch));
	assert_null(spec_eval_back(w.e, w.v, &op));
	assert_int_equal(op.node.v, 1);
	assert_null(spec_touched(w.e, &tags, &n_touched));
	assert_int_equal(n_touched, 1);
	assert_int_equal(tags[0], 7);
	assert_null(spec_args(w.e, 2, &b, &before));
	assert_false(spec_args_equal(&before, &after));
	assert_int_equal(before.args.data[1].value, 4);
	// Before n3 existed the arguments that need it are absent or false.
	hg_view_seek(w.v, 1);
	assert_null(spec_args(w.e, 2, &b, &before));
	assert_int_equal(before.args.size, 2);
	assert_true(before.args.data[0].is_absent);
	hg_view_seek(w.v, 0);
	assert_null(spec_args(w.e, 2, &b, &before));
	assert_true(before.args.data[0].is_absent);
	assert_true(before.args.data[1].is_absent);
	spec_args_deinit(&before);
	spec_args_deinit(&after);
	end(&w);
}

static void test_degrees(void **state)
{
	struct world w = begin("t FIELD 3 EDGE 2;\n"
			       "t X; X.INDEGREE == 2;\nt X; X.OUTDEGREE == 1;\n"
			       "t X; X.EXTERNAL == true;\nt X; X.INTERNAL == true;\n"
			       "t X; X.ISROOT == true;\nt X; X.ISLEAF == true;\n");
	uint32_t a = node(&w, "t", 24), b = node(&w, "t", 24), other = node(&w, NULL, 64);
	uint32_t leaf = node(&w, "t", 24), gone = node(&w, "t", 24);

	(void)state;
	point(&w, a, 2, b);
	set(&w, a, 3, addr(&w, b) + 8); // an interior pointer counts
	point(&w, b, 2, other);		// undeclared nodes count for OUTDEGREE ..
	point(&w, other, 1, leaf);	// .. but not for INDEGREE
	point(&w, b, 3, gone);
	release(&w, gone); // a dangling pointer is no edge
	finish(&w);
	// a: in 0, out 2; b: in 2, out 1; leaf: in 0, out 0
	assert_string_equal(violations(&w), "c1:1 c1:4 c2:1 c2:4 c3:2 c4:1 c4:4 c5:2 "
					    "c6:1 c6:2");
	end(&w);
}

static void test_type_safety(void **state)
{
	// Example 5: next is NULL or some node of the list.
	struct world w = begin("node FIELD 2 EDGE 1;\nother FIELD 1 EDGE 0;\n"
			       "node X; node Y; X[2] ≠ NULL ⇒ (X[2]) == Y;\n");
	uint32_t a = node(&w, "node", 16), b = node(&w, "node", 16),
		 c = node(&w, "node", 16);
	uint32_t d = node(&w, "node", 16), e = node(&w, "node", 16);
	struct spec_binding binding = { .node = { { 3 } } };
	struct spec_args args = {}, again = {};
	uint64_t at;

	(void)state;
	point(&w, a, 2, b);
	point(&w, c, 2, node(&w, "other", 8)); // wrong type
	set(&w, d, 2, 0x1234);		       // no node at all
	point(&w, e, 2, a);
	at = hg_graph_ops(w.g);
	release(&w, a); // dangling, and b's pointer with it
	finish(&w);
	assert_string_equal(violations(&w), "c1:3 c1:4 c1:5");
	hg_view_seek(w.v, at);
	assert_string_equal(violations(&w), "c1:3 c1:4");
	assert_null(spec_args(w.e, 0, &binding, &args));
	assert_int_equal(args.args.size, 3); // X[2], the vertex (X[2]), the body's truth
	assert_int_equal(args.args.data[2].value, 0);
	// Storing the wild pointer of d does not concern c.
	hg_view_seek(w.v, at - 2);
	assert_null(spec_args(w.e, 0, &binding, &again));
	assert_true(spec_args_equal(&args, &again));
	hg_view_seek(w.v, at - 3);
	assert_null(spec_args(w.e, 0, &binding, &again));
	assert_false(spec_args_equal(&args, &again));
	spec_args_deinit(&args);
	spec_args_deinit(&again);
	end(&w);
}

#define AVL                                                                           \
	"avltree FIELD 3 EDGE 2;\n"                                                   \
	"avltree.HEIGHT; avltree X; X.ISLEAF == true ⇒ X.HEIGHT = 0 ||\n"           \
	"X.HEIGHT = (X[2].HEIGHT ≥ X[3].HEIGHT) ? X[2].HEIGHT+1 : X[3].HEIGHT+1;\n" \
	"avltree X; (X[2]).HEIGHT - (X[3]).HEIGHT ≤ 1 and\n"                        \
	"(X[2]).HEIGHT - (X[3]).HEIGHT ≥ -1;\n"

static void test_avl(void **state)
{
	struct world w = begin(AVL);
	uint32_t n[8];
	uint64_t at;

	(void)state;
	for (int i = 1; i <= 5; i++)
		n[i] = node(&w, "avltree", 24);
	point(&w, n[1], 2, n[2]);
	point(&w, n[1], 3, n[3]);
	point(&w, n[2], 2, n[4]);
	at = hg_graph_ops(w.g);
	point(&w, n[4], 2, n[5]); // now n2 leans by two and n1 too: 3 against 0
	finish(&w);
	assert_string_equal(violations(&w), "c1:1 c1:2");
	hg_view_seek(w.v, at);
	assert_string_equal(violations(&w), "");
	end(&w);
}

static void test_attribute_cycle(void **state)
{
	struct world w = begin(AVL);
	uint32_t a = node(&w, "avltree", 24), b = node(&w, "avltree", 24);

	(void)state;
	point(&w, a, 2, b);
	point(&w, b, 2, a);
	finish(&w);
	assert_string_equal(violations(&w), "c1:1@ c1:2@");
	end(&w);
}

/** Whether a value is on a cycle does not depend on what is asked first: node 3 needs node
 * 1, and node 1 would need node 3 only if node 2 did not suffice. */
static void test_attribute_order(void **state)
{
	struct world w = begin("n FIELD 3 EDGE 2;\nn.S NULL 0; n X; "
			       "X[2].S >= 0 or X[3].S >= 0 => X.S = 1 || X.S = 5;\n"
			       "n X; X.S == 1;\n");
	uint32_t a = node(&w, "n", 24), b = node(&w, "n", 24), c = node(&w, "n", 24);

	(void)state;
	point(&w, a, 2, b);
	point(&w, a, 3, c);
	point(&w, c, 2, a);
	finish(&w);
	assert_string_equal(violations(&w), "");
	end(&w);
}

static void test_attribute_of_long_list(void **state)
{
	struct world w =
		begin("n FIELD 2 EDGE 1;\nn.LEN NULL 0; n X; X.LEN = X[2].LEN + 1;\n"
		      "n X; X.ISROOT == true => X.LEN == 200000;\n");
	uint32_t first = node(&w, "n", 16), last = first;

	(void)state;
	for (int i = 1; i < 200000; i++) {
		uint32_t next = node(&w, "n", 16);

		point(&w, last, 2, next);
		last = next;
	}
	finish(&w);
	assert_string_equal(violations(&w), "");
	hg_view_seek(w.v,
		     hg_graph_ops(w.g) - 1); // the last is not linked: a root of its own
	assert_string_equal(violations(&w), "c1:1 c1:200000");
	end(&w);
}

static void test_red_black(void **state)
{
	struct world w =
		begin("CONST BLACK 1; rbtree FIELD 3 EDGE 2;\n"
		      "rbtree.BR; rbtree X; X.ISLEAF == true ⇒ X.BR = 0 ||\n"
		      "X.BR = (X[2].(1) != BLACK) ? X[2].BR : X[2].BR+1;\n"
		      "rbtree.BL; rbtree X; X.ISLEAF == true ⇒ X.BL = 0 ||\n"
		      "X.BL = (X[3].(1) != BLACK) ? X[3].BL : X[3].BL+1;\n"
		      "rbtree X; X.BR == X.BL;\n"
		      "rbtree X; rbtree Y; X -> Y and X[1] != BLACK => Y[1] == BLACK;\n");
	uint32_t n[6];
	uint64_t at;

	(void)state;
	for (int i = 1; i <= 4; i++)
		n[i] = node(&w, "rbtree", 24);
	set(&w, n[1], 1, 1); // black root, right black, left black with a red child
	set(&w, n[2], 1, 1);
	set(&w, n[3], 1, 1);
	point(&w, n[1], 2, n[2]);
	point(&w, n[1], 3, n[3]);
	point(&w, n[3], 3, n[4]);
	at = hg_graph_ops(w.g);
	set(&w, n[4], 1, 1); // its child turns black: n3 has unequal heights
	set(&w, n[3], 1, 0);
	set(&w, n[4], 1, 0); // both red
	finish(&w);
	assert_string_equal(violations(&w), "c1:1 c2:3,4");
	hg_view_seek(w.v, at + 1);
	assert_string_equal(violations(&w), "c1:1 c1:3"); // 2 against 1, 1 against 0
	hg_view_seek(w.v, at);
	assert_string_equal(violations(&w), "");
	end(&w);
}

static void test_btree(void **state)
{
	struct world w = begin("btree FIELD 6 EDGE 3;\n"
			       "btree X; btree Y; X.ISROOT == FALSE ⇒ X.INDEGREE == 1;\n"
			       "btree X; btree Y; X → Y ⇒ Y ↛ X;\n"
			       "btree X; btree Y; X → Y ⇒ 2 ≤ X.OUTDEGREE;\n"
			       "btree X; btree Y; X → Y ⇒ X.OUTDEGREE ≤ 3;\n"
			       "btree X; X.OUTDEGREE == X.[1] + 1;\n");
	uint32_t n[5];

	(void)state;
	for (int i = 1; i <= 4; i++)
		n[i] = node(&w, "btree", 48);
	set(&w, n[1], 1, 1);
	point(&w, n[1], 4, n[2]);
	point(&w, n[1], 5, n[3]);
	for (int i = 2; i <= 4; i++)
		set(&w, n[i], 1, -1); // c5 as printed holds for leaves only so
	point(&w, n[4], 4, n[3]);     // n3 has two parents; n4 one child
	finish(&w);
	assert_string_equal(violations(&w), "c1:3 c3:4,3 c5:4");
	end(&w);
}

static void test_shard(void **state)
{
	struct world w = begin("ARRAY shard;\nshard X;\n"
			       "for I in 0 to 8, X[I*4 + 1] < X[(I+1)*4 + 1];\n");
	uint32_t s = node(&w, "shard", 8 * 4 * 8);
	struct spec_binding b = { .node = { { 1 } }, .index = 4 };
	struct spec_args args = {};

	(void)state;
	for (int i = 0; i < 8; i++)
		set(&w, s, i * 4 + 1, 10 + i);
	set(&w, s, 5 * 4 + 1, 3);
	finish(&w);
	// The eighth entry is the last: pairs beyond it do not exist.
	assert_string_equal(violations(&w), "c1:1[4]");
	assert_null(spec_args(w.e, 0, &b, &args));
	assert_int_equal(args.args.size, 2);
	assert_int_equal(args.args.data[0].value, 14);
	assert_int_equal(args.args.data[1].value, 3);
	spec_args_deinit(&args);
	end(&w);
}

static void test_paths(void **state)
{
	struct world w = begin("n FIELD 2 EDGE 1;\nn X; n Y; X ->> Y => Y /->> X;\n"
			       "n X; X ->> X;\nn X; n Y; X -> Y => (X[2]) ->> Y;\n");
	uint32_t a = node(&w, "n", 16), b = node(&w, "n", 16), c = node(&w, "n", 16);
	uint64_t at;

	(void)state;
	point(&w, a, 2, b);
	point(&w, b, 2, c);
	at = hg_graph_ops(w.g);
	point(&w, c, 2, b);
	finish(&w);
	assert_string_equal(violations(&w), "c1:2,2 c1:2,3 c1:3,2 c1:3,3 c2:1");
	hg_view_seek(w.v, at);
	assert_string_equal(violations(&w), "c2:1 c2:2 c2:3 c3:1,2 c3:2,3");
	end(&w);
}

static void test_unreadable(void **state)
{
	struct world w =
		begin("n FIELD 2 EDGE 1;\nn X; (X[2])[1] > 0;\n"
		      "n X; (X[2])[1] != 7 => X[1] == 1;\n"
		      "n X; X[2] != NULL and (X[2])[1] > 0 or X[2] == NULL;\n"
		      "n X; 10 / X[1] > 0;\nn X; (X[2]) /-> X;\nn X; (X[2]) -> X;\n");
	uint32_t a = node(&w, "n", 16), b = node(&w, "n", 16);

	(void)state;
	point(&w, a, 2, b);
	set(&w, b, 1, 5);
	finish(&w);
	// b[2] is NULL: c1's body and c6 are false, c2's guard too, c5 is true.
	assert_string_equal(violations(&w), "c1:2? c2:1 c4:1? c6:1 c6:2");
	end(&w);
}

static void test_orders_of_loops(void **state)
{
	struct world w = begin("n FIELD 3 EDGE 2;\n"
			       "n X; n Y; Y -> X => Y[1] > X[1];\n"
			       "n X; n Y; n Z; X -> Z and Y -> Z => X == Y;\n"
			       "n X; n Y; X[1] > 7 and (X[2]) == Y => Y[1] == 0;\n"
			       "n X; n Y; X.ISLEAF == true => Y -> X and Y[1] == 9;\n");
	uint32_t a = node(&w, "n", 24), b = node(&w, "n", 24), c = node(&w, "n", 24);

	(void)state;
	point(&w, a, 2, c);
	point(&w, a, 3, c); // twice the same: one binding
	point(&w, b, 2, c);
	set(&w, a, 1, 8);
	set(&w, c, 1, 3);
	finish(&w);
	assert_string_equal(violations(&w), "c1:3,2 c2:1,2,3 c2:2,1,3 c3:1,3 c4:3");
	end(&w);
}

// clang-format off
static const struct dec_field packed_fields[] = {
	{ .name = "small", .offset = 0, .size = 2, .is_signed = true },
	{ .name = "flag", .offset = 2, .size = 1, .bit_size = 2, .bit_offset = 3 },
	{ .name = "ratio", .offset = 4, .size = 4, .is_float = true, .is_signed = true },
	{ .name = "key[0]", .offset = 8, .size = 1 },
	{ .name = "key[1]", .offset = 9, .size = 1 },
	{ .name = "key[2]", .offset = 10, .size = 1 },
	{ .name = "pos.next", .offset = 16, .size = 8, .is_pointer = true, .points_to = "p" },
};
// clang-format on
static const struct dec_struct packed = {
	.name = "p", .size = 24, .fields = packed_fields, .n_fields = 7
};

static void test_layout(void **state)
{
	struct world w =
		begin("p FIELD 7 EDGE 1;\n"
		      "p X; X.small == -2 and X.flag == 2 and X.ratio * 2 == 3;\n"
		      "p X; X[1] == -2 and X[2] == 2;\n"
		      "p X; for I in 0 to 9, X.key[I] < X.key[I + 1];\n"
		      "p X; X.pos.next.small == -2 or X.pos.next == NULL;\n"
		      "p X; X.OUTDEGREE == 0;\n"
		      "p X; X.key[2] == 9;\n");
	uint8_t bytes[24] = { 0xfe, 0xff, 0xf7, 0, 0, 0, 0xc0, 0x3f, 200, 255, 9 };
	uint32_t a = node(&w, "p", 24), b = node(&w, "p", 24);

	(void)state;
	for (int i = 0; i < 24; i += 8)
		assert_null(
			hg_graph_store(w.g, ++w.time, addr(&w, a) + i, 8, bytes + i, 1));
	point(&w, a, 3, b);
	assert_null(spec_bind_type(w.s, 0, &packed));
	finish(&w);
	assert_string_equal(violations(&w),
			    "c1:2 c2:2 c3:1[1] c3:2[0] c3:2[1] c4:1 c5:1 c6:2");
	end(&w);
}

static const struct dec_field sheet_fields[] = {
	{ .name = "n", .offset = 0, .size = 4 },
	{ .name = "m[0][0]", .offset = 4, .size = 1 },
	{ .name = "m[0][1]", .offset = 5, .size = 1 },
	{ .name = "m[1][0]", .offset = 6, .size = 1 },
	{ .name = "m[1][1]", .offset = 7, .size = 1 },
	{ .name = "slot[0].key", .offset = 8, .size = 2 },
	{ .name = "slot[0].used", .offset = 10, .size = 2 },
	{ .name = "slot[1].key", .offset = 12, .size = 2 },
	{ .name = "slot[1].used", .offset = 14, .size = 2 },
	{ .name = "own.p",
	  .offset = 16,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "sheet" },
	{ .name = "row[0].key", .offset = 24, .size = 8 },
	{ .name = "row[0].to",
	  .offset = 32,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "sheet" },
};
static const struct dec_struct sheet = { .name = "sheet",
					 .size = 24,
					 .fields = sheet_fields,
					 .n_fields = 10,
					 .tail = "row",
					 .tail_offset = 24,
					 .tail_bytes = 16,
					 .n_tail = 2 };

/** Indices in the middle of a name, two in one, a flexible array, a struct with one field. */
static void test_indices(void **state)
{
	struct world w =
		begin("sheet FIELD 10 EDGE 1;\n"
		      "sheet X; for I in 0 to 5, X.slot[I].key == X.slot[I].used;\n"
		      "sheet X; for I in 0 to 5, X.m[I][1 - I] == X.m[1 - I][I];\n"
		      "sheet X; for I in 0 to 5, X.row[I].key < X.row[I + 1].key;\n"
		      "sheet X; for I in 0 to 5, X.row[I].to.row[X.n].key == 7;\n"
		      "sheet X; X.own.n == 1 or X.own == NULL;\n"
		      "sheet X; X.row[1].to == NULL or X.OUTDEGREE == 3;\n"
		      "sheet X; X.n == (X.own == NULL ? X.m[0][0] - 7 : 1);\n");
	uint64_t head[2][2] = { { 0x0908070600000001, 0x0004000400020001 },
				{ 0x0808080800000001, 0 } };
	uint32_t a = node(&w, "sheet", 24 + 3 * 16), b = node(&w, "sheet", 24 + 2 * 16);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_null(hg_graph_store(w.g, ++w.time, addr(&w, a) + 8 * i, 8,
					   &head[0][i], 1));
		assert_null(hg_graph_store(w.g, ++w.time, addr(&w, b) + 8 * i, 8,
					   &head[1][i], 1));
	}
	point(&w, a, 3, b);
	set(&w, a, 4, 1);
	point(&w, a, 5, b);
	set(&w, a, 6, 5);
	point(&w, a, 7, b);
	set(&w, a, 8, 5);
	set(&w, b, 4, 7);
	set(&w, b, 6, 7);
	assert_null(spec_bind_type(w.s, 0, &sheet));
	finish(&w);
	assert_string_equal(violations(&w), "c1:1[0] c2:1[0] c2:1[1] c3:1[1] c3:2[0] "
					    "c4:1[2]? c4:2[0]? c4:2[1]?");
	end(&w);
}

/** The range of I in a field of a node that may be any. */
static void test_index_of_some(void **state)
{
	struct world w = begin(
		"a FIELD 3 EDGE 3;\n"
		"a X; a Y; a Z; for I in 2 to 5, (X[I]) == Y => (Z[I - 1]) == Y;\n");
	uint32_t x = node(&w, "a", 24), y = node(&w, "a", 24), z = node(&w, "a", 24);

	(void)state;
	point(&w, x, 2, y);
	point(&w, z, 1, y);
	point(&w, x, 3, z);
	finish(&w);
	assert_string_equal(violations(&w), "c1:1,3[3]");
	end(&w);
}

/** A random history of nodes of types a, b and none: allocations, releases, reuse of
 * memory, stores of pointers, of interior and wild ones, of halves and unaligned. */
static void build_random(struct world *w, int n_steps)
{
	uint32_t live[64];
	size_t n_live = 0;

	srandom(7);
	for (int i = 0; i < n_steps; i++) {
		int what = random() % 10;
		uint32_t any = n_live ? live[random() % n_live] : 0;

		if (n_live < 4 || (what < 2 && n_live < 64)) {
			live[n_live++] = node(w,
					      what & 1	   ? "a" :
					      random() % 4 ? "b" :
							     NULL,
					      32);
		} else if (what == 2) {
			size_t k = random() % n_live;
			uint64_t next = w->next_addr;

			release(w, live[k]);
			// Half of the time the memory is used again at once.
			w->next_addr = addr(w, live[k]);
			if (random() % 2)
				live[k] = node(w, random() % 2 ? "a" : "b", 32);
			else
				live[k] = live[--n_live];
			w->next_addr = next;
		} else if (what == 3) {
			uint64_t value = addr(w, live[random() % n_live]);

			assert_null(hg_graph_store(w->g, ++w->time,
						   addr(w, any) + random() % 25,
						   1 + random() % 8, &value, 1));
		} else {
			set(w, any, 1 + random() % 4,
			    random() % 3 ? addr(w, live[random() % n_live]) +
						   8 * (random() % 4) :
					   (uint64_t)random() % 4 * 5000);
		}
	}
	finish(w);
}

#define RANDOM                                                          \
	"a FIELD 4 EDGE 3;\nb FIELD 2 EDGE 1;\n"                        \
	"a X; a Y; X -> Y => Y /->> X;\na X; X.INDEGREE < 2;\n"         \
	"b X; X.OUTDEGREE == 1;\nb X; X[2] != NULL => X[2] > 4096 and " \
	"X.INDEGREE > 0;\n"                                             \
	"a.H; a X; X.ISLEAF == true => X.H = 0 || X.H = X[1].H + 1;\n"  \
	"a X; X.H < 2;\na X; a Y; X[3] != NULL => (X[3]) == Y;\n"       \
	"a X; b Y; X[2] > 1 => Y -> X and Y.INDEGREE > 0;\n"            \
	"a X; b Y; Y -> X => X[1] < X[X[4]] or (X[2])[1] == Y[2];\n"

/** The evaluator that follows a view must agree with one that reads it anew. */
static void test_following(void **state)
{
	struct world w = begin(RANDOM);
	char kept[4096];

	(void)state;
	build_random(&w, 1500);
	for (int i = 0; i < 1200; i++) {
		struct spec_eval *following = w.e;
		uint64_t at = hg_view_ops(w.v) - 1 - random() % 3;

		if (i % 100 == 99)
			at = random() % hg_graph_ops(w.g);
		else if (i % 3 == 2 || (int64_t)at < 0)
			at += 4;
		hg_view_seek(w.v, at);
		snprintf(kept, sizeof(kept), "%s", violations(&w));
		assert_null(spec_eval_create(w.s, w.g, w.v, &w.e));
		assert_string_equal(violations(&w), kept);
		spec_eval_destroy(w.e);
		w.e = following;
	}
	end(&w);
}

/** What is predicted not to change the arguments does not; their shape never changes. */
static void test_prediction(void **state)
{
	struct world w = begin(RANDOM);
	spec_violations found = {};
	size_t n_predicted = 0, n_equal = 0;
	uint32_t watch[40] = {};

	(void)state;
	build_random(&w, 600);
	while (hg_view_ops(w.v) > 1) {
		struct spec_args after[40] = {}, before = {};
		bool may_change[40] = {};
		const uint32_t *tags;
		size_t n = 0, n_touched;

		found.size = 0;
		assert_null(spec_check(w.e, 5, &found));
		for (; n < found.size && n < 40; n++) {
			assert_null(spec_args(w.e, found.data[n].constraint,
					      &found.data[n].binding, &after[n]));
			assert_null(spec_watch(w.e, &after[n], n, &watch[n]));
		}
		assert_null(spec_eval_back(w.e, w.v, NULL));
		assert_null(spec_touched(w.e, &tags, &n_touched));
		for (size_t i = 0; i < n_touched; i++)
			may_change[tags[i]] = true;
		for (size_t i = 0; i < n; i++) {
			bool is_equal;

			assert_null(spec_args(w.e, found.data[i].constraint,
					      &found.data[i].binding, &before));
			assert_int_equal(before.args.size, after[i].args.size);
			is_equal = spec_args_equal(&before, &after[i]);
			assert_true(may_change[i] || is_equal);
			n_predicted += !may_change[i];
			n_equal += is_equal;
			spec_args_deinit(&after[i]);
		}
		spec_args_deinit(&before);
	}
	print_message("%zu of %zu unchanged arguments were predicted\n", n_predicted,
		      n_equal);
	assert_true(n_predicted > n_equal / 2);
	for (size_t i = 0; i < 40; i++)
		spec_unwatch(w.e, watch[i]);
	vec_deinit(&found);
	end(&w);
}

/** 1,000 nodes, also where pairs of them are asked about. */
static void test_many_nodes(void **state)
{
	struct world w = begin(AVL "avltree X; avltree Y; X -> Y => Y /-> X;\n"
				   "avltree X; X.ISROOT == FALSE => X.INDEGREE == 1;\n"
				   "avltree X; avltree Y; X ->> Y => Y /->> X;\n");
	uint32_t n[1001];

	(void)state;
	for (int i = 1; i <= 1000; i++)
		n[i] = node(&w, "avltree", 24);
	for (int i = 2; i <= 1000; i++)
		point(&w, n[i / 2], 2 + i % 2, n[i]);
	finish(&w);
	assert_string_equal(violations(&w), "");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figure_4_3),
		cmocka_unit_test(test_definition_3),
		cmocka_unit_test(test_degrees),
		cmocka_unit_test(test_type_safety),
		cmocka_unit_test(test_avl),
		cmocka_unit_test(test_attribute_cycle),
		cmocka_unit_test(test_attribute_order),
		cmocka_unit_test(test_attribute_of_long_list),
		cmocka_unit_test(test_red_black),
		cmocka_unit_test(test_btree),
		cmocka_unit_test(test_shard),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_orders_of_loops),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_indices),
		cmocka_unit_test(test_index_of_some),
		cmocka_unit_test(test_following),
		cmocka_unit_test(test_prediction),
		cmocka_unit_test(test_many_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
