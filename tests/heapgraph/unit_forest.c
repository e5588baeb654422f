// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Link-cut trees against trees of which nothing is known but each node's parent.
 */
#include "heapgraph/hg_forest.h"
#include "tests/unit.h"

#define NODES 300
#define ROUNDS 30000
#define DEEP 1000000

/* The same forest, plainly. */
struct plain {
	uint32_t parent[NODES + 1], n;
	bool is_marked[NODES + 1];
};

static uint32_t any(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint64_t)(*state >> 8) * below >> 24;
}

static bool is_below(const struct plain *p, uint32_t node, uint32_t other)
{
	while ((node = p->parent[node]))
		if (node == other)
			return true;
	return false;
}

static uint32_t marked(const struct plain *p, uint32_t node)
{
	while (node && !p->is_marked[node])
		node = p->parent[node];
	return node;
}

// Anything that may happen, once. Deep trees: most parents are among the latest nodes.
static void change(struct hg_forest *f, struct plain *p, uint32_t *state)
{
	uint32_t a = p->n ? 1 + any(state, p->n) : 0, b = p->n ? 1 + any(state, p->n) : 0;

	if (p->n < NODES && !any(state, 20)) {
		if (p->n && any(state, 4))
			a = p->n - any(state, p->n < 3 ? p->n : 3);
		p->parent[++p->n] = any(state, 10) ? a : 0;
		assert_int_equal(hg_forest_add(f, p->parent[p->n]), p->n);
	} else if (a && a != b && !is_below(p, b, a) && !any(state, 10)) {
		p->parent[a] = any(state, 10) ? b : 0;
		hg_forest_move(f, a, p->parent[a]);
	} else if (a) {
		p->is_marked[a] = !any(state, 8);
		hg_forest_mark(f, a, p->is_marked[a]);
	}
}

static void test_answers_are_those_of_plain_trees(void **state)
{
	struct hg_forest f = {};
	struct plain p = {};
	uint32_t seed = 7, n_below = 0, n_marked = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a, b;

		change(&f, &p, &seed);
		if (!p.n)
			continue;
		a = 1 + any(&seed, p.n);
		b = 1 + any(&seed, p.n);
		assert_int_equal(hg_forest_is_below(&f, a, b), is_below(&p, a, b));
		assert_int_equal(hg_forest_marked(&f, b), marked(&p, b));
		n_below += is_below(&p, a, b);
		n_marked += marked(&p, b) && marked(&p, b) != b;
	}
	assert_true(n_below > 100 && n_marked > 100);
	hg_forest_deinit(&f);
}

// Walking up would take half a million steps each time.
static void test_depth_costs_nothing(void **state)
{
	struct hg_forest f = {};
	uint32_t last = 0, seed = 1;

	(void)state;
	for (uint32_t i = 1; i <= DEEP; i++)
		assert_int_equal(last = hg_forest_add(&f, last), i);
	hg_forest_mark(&f, DEEP / 2, true);
	for (int i = 0; i < DEEP / 4; i++) {
		uint32_t a = 1 + any(&seed, DEEP), b = 1 + any(&seed, DEEP);

		assert_int_equal(hg_forest_is_below(&f, a, b), a > b);
		assert_int_equal(hg_forest_marked(&f, a), a >= DEEP / 2 ? DEEP / 2 : 0);
	}
	hg_forest_move(&f, DEEP / 4, 0);
	assert_false(hg_forest_is_below(&f, DEEP, 1));
	assert_true(hg_forest_is_below(&f, DEEP, DEEP / 4));
	hg_forest_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_those_of_plain_trees),
		cmocka_unit_test(test_depth_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
