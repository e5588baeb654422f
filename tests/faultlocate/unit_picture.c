// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Names and pictures: the list of paper 001, Figures 3.1 and 3.2. A statement's address is
 * its line.
 */
#include <string.h>

#include "report/dot.h"
#include "tests/unit.h"

static void place_is_line(void *ctx, uint64_t rip, struct dec_place *ret)
{
	(void)ctx;
	ret->file = "list.c";
	ret->line = rip;
	ret->function = "main";
}

static const struct fl_places places = { place_is_line, NULL };

static const struct dec_field snode_fields[] = {
	{ .name = "value", .offset = 0, .size = 4, .is_signed = true },
	{ .name = "weight", .offset = 4, .size = 4, .is_float = true },
	{ .name = "next",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = "snode" },
};
static const struct dec_struct snode = {
	.name = "snode", .size = 16, .fields = snode_fields, .n_fields = 3
};

#define NODE 0x5000ull
#define NEW_NODE 0x5020ull

struct list {
	struct spec *spec;
	struct hg_graph *g;
	struct fl_namer namer;
};

static void store(struct hg_graph *g, uint64_t time, uint64_t addr, uint64_t value,
		  int line)
{
	ok(hg_graph_store(g, time, addr, 8, &value, line));
}

// Figure 3.2, then a value, a freed node and a wild pointer.
static void list_init(struct list *l)
{
	const char *text = "snode FIELD 3 EDGE 1;\nsnode X; X.OUTDEGREE == 1; ..(c1)\n";
	struct hg_node_id a, b;

	ok(spec_create(&l->spec));
	ok(spec_add_text(l->spec, "list.spec", text, strlen(text)));
	ok(spec_bind_type(l->spec, 0, &snode));
	ok(spec_resolve(l->spec));
	ok(hg_graph_create(&l->g));
	ok(hg_graph_alloc(l->g, 1, NODE, 16, 11, NULL, &a));
	store(l->g, 2, NODE + 8, 0, 12);
	ok(hg_graph_alloc(l->g, 3, NEW_NODE, 16, 13, NULL, &b));
	store(l->g, 4, NEW_NODE + 8, 0, 14);
	store(l->g, 5, NODE + 8, NEW_NODE, 15);
	store(l->g, 6, NODE + 8, 0, 19);
	store(l->g, 7, NODE, 0x3f000000fffffffd, 20); // value -3, weight 0.5
	store(l->g, 8, NEW_NODE + 8, 0x4141414141414141, 21);
	store(l->g, 9, NODE + 8, NEW_NODE + 8, 22);
	ok(hg_graph_free(l->g, 10, NEW_NODE, 23));
	ok(hg_graph_set_type(l->g, a, 1));
	ok(hg_graph_set_type(l->g, b, 1));
	l->namer = (struct fl_namer){ .spec = l->spec, .graph = l->g, .places = &places };
}

static void list_deinit(struct list *l)
{
	spec_destroy(l->spec);
	hg_graph_destroy(l->g);
}

static void assert_change(const struct list *l, uint64_t op, const char *want)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	report_name_change(&l->namer, op, out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void test_changes(void **state)
{
	_cleanup_(list_deinit) struct list l;

	(void)state;
	list_init(&l);
	assert_change(&l, 0, "n1 allocated (16 bytes)");
	assert_change(&l, 4, "n1.next: NULL -> n2");
	assert_change(&l, 5, "n1.next: n2 -> NULL");
	assert_change(&l, 6, "n1.value: 0 -> -3, n1.weight: 0 -> 0.5");
	assert_change(&l, 7, "n2.next: NULL -> 0x4141414141414141");
	assert_change(&l, 8, "n1.next: NULL -> n2+8");
	assert_change(&l, 9, "n2 freed");
}

static char *draw(const struct list *l, uint64_t n_ops, const struct spec_violation *v,
		  size_t n, const fl_faults *f)
{
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	struct fl_picture p = { .namer = &l->namer,
				.title = "<list>",
				.violations = v,
				.n_violations = n,
				.faults = f };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	ok(hg_view_create(l->g, n_ops, &view));
	p.view = view;
	ok(report_dot_write(&p, out));
	fclose(out);
	return text;
}

static void assert_has(const char *text, const char *want)
{
	if (!strstr(text, want))
		fail_msg("no '%s' in:\n%s", want, text);
}

static void test_figure_3_1(void **state)
{
	_cleanup_(list_deinit) struct list l;
	_cleanup_free_ char *text = NULL;

	(void)state;
	list_init(&l);
	text = draw(&l, 5, NULL, 0, NULL);
	assert_has(text, "<b>n1 </b>snode <font point-size=\"9\">(1):11</font>");
	assert_has(text, "<b>n2 </b>snode <font point-size=\"9\">(3):13</font>");
	assert_has(text,
		   "n1:f3:e -> n2:head [color=\"#5b6b7b\" penwidth=1 label=\"(5):15\"]");
	assert_has(text, "&lt;list&gt;");
}

static void test_violated_and_former_edges(void **state)
{
	_cleanup_(list_deinit) struct list l;
	struct spec_violation v = { .binding.node = { { 1 } } };
	struct fl_fault fault = { .op = 5 };
	fl_faults f = { &fault, 1, 1 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	list_init(&l);
	fault.graph = l.g;
	text = draw(&l, 6, &v, 1, &f);
	assert_has(text, "n1 [color=\"#c92a2a\"");
	assert_has(text, "style=dashed");
	assert_has(text, "label=\"until (6):19\"");
}

static void test_freed_and_wild_targets(void **state)
{
	_cleanup_(list_deinit) struct list l;
	_cleanup_free_ char *before = NULL, *after = NULL;

	(void)state;
	list_init(&l);
	before = draw(&l, 8, NULL, 0, NULL);
	assert_has(before, "n2:f3:e -> wild4141414141414141");
	after = draw(&l, 10, NULL, 0, NULL);
	assert_has(after, "n1:f3:e -> freed2");
	assert_has(after, "label=\"n2 (freed)\"");
	assert_null(strstr(after, "<b>n2 </b>"));
}

// More nodes than fit: the violation's neighbourhood, and it says so.
static void test_neighbourhood(void **state)
{
	const char *text = "snode FIELD 3 EDGE 1;\nsnode X; X.OUTDEGREE == 1; ..(c1)\n";
	struct spec_violation v = { .binding.node = { { 150 } } };
	_cleanup_free_ char *drawn = NULL;
	struct list l = {};
	size_t boxes = 0;

	(void)state;
	ok(spec_create(&l.spec));
	ok(spec_add_text(l.spec, "list.spec", text, strlen(text)));
	ok(spec_bind_type(l.spec, 0, &snode));
	ok(spec_resolve(l.spec));
	ok(hg_graph_create(&l.g));
	for (uint64_t i = 1; i <= 300; i++) {
		struct hg_node_id id;

		ok(hg_graph_alloc(l.g, 2 * i, i * 32, 16, 1, NULL, &id));
		ok(hg_graph_set_type(l.g, id, 1));
		if (i > 1)
			store(l.g, 2 * i + 1, (i - 1) * 32 + 8, i * 32, 2);
	}
	l.namer = (struct fl_namer){ .spec = l.spec, .graph = l.g, .places = &places };
	drawn = draw(&l, hg_graph_ops(l.g), &v, 1, NULL);
	for (const char *at = drawn; (at = strstr(at, "<b>n")); at++)
		boxes++;
	assert_int_equal(boxes, 7); // three rings of a chain
	assert_has(drawn, "<b>n150 </b>");
	assert_has(drawn, "<b>n147 </b>");
	assert_has(drawn, "neighbourhood");
	free(drawn);
	drawn = draw(&l, hg_graph_ops(l.g), NULL, 0, NULL);
	boxes = 0;
	for (const char *at = drawn; (at = strstr(at, "<b>n")); at++)
		boxes++;
	assert_int_equal(boxes, 5); // the chain's ends
	assert_has(drawn, "fold1 [");
	assert_has(drawn, "and 294 more in a row");
	assert_has(drawn, "fold1 -> n299:head");
	list_deinit(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_figure_3_1),
		cmocka_unit_test(test_violated_and_former_edges),
		cmocka_unit_test(test_freed_and_wild_targets),
		cmocka_unit_test(test_neighbourhood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
