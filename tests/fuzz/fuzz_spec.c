// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any text is a specification, if perhaps a wrong one: parse it, show what is wrong, and
 * when nothing is, evaluate it over a small graph, also with layouts for its types.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "specdsl/bugs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// clang-format off
static const struct dec_field fields[] = {
	{ .name = "value", .offset = 0, .size = 4, .is_signed = true },
	{ .name = "name[0]", .offset = 4, .size = 1 },
	{ .name = "name[1]", .offset = 5, .size = 1 },
	{ .name = "ratio", .offset = 8, .size = 8, .is_float = true, .is_signed = true },
	{ .name = "child[0]", .offset = 16, .size = 8, .is_pointer = true, .points_to = "node" },
	{ .name = "child[1]", .offset = 24, .size = 8, .is_pointer = true, .points_to = "node" },
	{ .name = "pos.next", .offset = 32, .size = 8, .is_pointer = true, .points_to = "node" },
};
// clang-format on
static const struct dec_struct layout = {
	.name = "node", .size = 40, .fields = fields, .n_fields = 7
};

static void must(struct err *err)
{
	if (err)
		abort();
}

/** Six nodes of all types in turn, pointing at each other, one of them freed. */
static struct hg_graph *make_graph(const struct spec *s)
{
	size_t n_types = spec_types(s);
	uint64_t time = 0, addr = 0x1000;
	struct hg_graph *g;

	must(hg_graph_create(&g));
	for (uint32_t i = 0; i < 6; i++) {
		struct hg_node_id id;

		must(hg_graph_alloc(g, ++time, addr + i * 64, 40 + i % 2 * 8, 1, NULL,
				    &id));
		hg_graph_set_type(g, id, n_types ? 1 + i % n_types : 0);
	}
	for (uint32_t i = 0; i < 6; i++)
		for (uint32_t field = 0; field < 5; field++) {
			uint64_t value = field < 2 ? i - 2 :
						     addr + (i * field + 1) % 7 * 64;

			must(hg_graph_store(g, ++time, addr + i * 64 + field * 8, 8,
					    &value, 2));
		}
	must(hg_graph_free(g, ++time, addr + 3 * 64, 3));
	return g;
}

static void evaluate(const struct spec *s)
{
	struct hg_graph *g = make_graph(s);
	spec_violations found = {};
	struct spec_args args = {};
	struct spec_eval *e;
	struct hg_view *v;
	struct hg_op op;

	must(hg_view_create(g, hg_graph_ops(g), &v));
	must(spec_eval_create(s, g, v, &e));
	for (int i = 0; i < 3; i++) {
		found.size = 0;
		must(spec_check(e, 100, &found));
		for (size_t k = 0; k < found.size && k < 50; k++) {
			bool holds;

			must(spec_check_one(e, found.data[k].constraint,
					    &found.data[k].binding, &holds));
			if (holds)
				abort();
			must(spec_args(e, found.data[k].constraint,
				       &found.data[k].binding, &args));
		}
		hg_view_back(v, &op);
	}
	spec_args_deinit(&args);
	vec_deinit(&found);
	spec_eval_destroy(e);
	hg_view_destroy(v);
	hg_graph_destroy(g);
}

/** Of each rule, whatever its point: of a pointer into each block, and of a number. */
static void ask(const struct spec *s)
{
	struct hg_graph *g = make_graph(s);
	const struct spec_bug_value pointer = { 0x1008, 1, 0, true };
	const struct spec_bug_world w = {
		.graph = g, .time = 99, .width = 8, .pointers = &pointer, .n_pointers = 1
	};

	for (size_t i = 0; i < spec_bugs(s) && i < 50; i++)
		for (uint32_t bid = 0; bid < 3; bid++) {
			struct spec_bug_value slots[SPEC_BUG_SLOTS] = {};
			bool may = spec_bug_may_hold(s, i, bid);
			uint32_t next = 0;

			for (int k = 0; k < spec_bug(s, i)->n_args; k++)
				slots[k] =
					(struct spec_bug_value){ 0x1000 + bid * 64 - 64,
								 bid, 0, true };
			// Blocks 1 and 2 live, and this is inside of them.
			if (spec_bug_holds(s, i, &w, slots) && !may &&
			    spec_bug(s, i)->point <= SPEC_POINT_DEREF)
				abort();
			for (int k = 0; k < 8 && spec_bug_next(s, i, &w, slots, &next);
			     k++)
				;
		}
	hg_graph_destroy(g);
}

/** An intra-node constraint over a wide range, or many nested loops, is slow, not wrong. */
static bool is_cheap(const struct spec *s)
{
	for (size_t i = 0; i < spec_constraints(s); i++)
		if (spec_constraint(s, i)->is_intra || spec_constraint(s, i)->n_vars > 4)
			return false;
	return spec_constraints(s) < 50;
}

static void run(const char *text, size_t size, bool has_layout)
{
	_cleanup_fclose_ FILE *null = fopen("/dev/null", "w");
	struct spec *s;
	struct err *err;

	must(spec_create(&s));
	err = spec_add_text(s, "fuzz.spec", text, size);
	if (!err) {
		for (size_t i = 0; has_layout && i < spec_types(s); i++)
			must(spec_bind_type(s, i, &layout));
		for (size_t i = 0; has_layout && i < spec_roots(s); i++)
			must(spec_bind_root(s, i, &layout, i % 2 == 0, -1, "root"));
		must(spec_resolve(s));
		spec_diags_print(s, null);
		if (!spec_errors(s) && is_cheap(s))
			evaluate(s);
		if (!spec_errors(s))
			ask(s);
	}
	err_destroy(err);
	spec_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run((const char *)data, size, false);
	run((const char *)data, size, true);
	return 0;
}
