// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A graph that keeps what is stored outside of nodes, against a model of bytes: nodes of any
 * size begin anywhere and hold what memory held, but for some that are bare; stores are of any size.
 */
#include <string.h>

#include "heapgraph/hg_int.h"
#include "tests/unit.h"

#define BASE 0x7000ull
#define BYTES (5 * HG_PAGE_BYTES)
#define STEPS 6000

struct birth {
	uint32_t id;
	uint64_t ops; ///< after it
	uint64_t size;
	uint8_t *contents;
};

struct model {
	struct hg_graph *g;
	uint32_t state;
	uint64_t time;
	uint8_t bytes[BYTES];
	uint32_t owner[BYTES]; ///< 0: none
	uint32_t bare[BYTES];  ///< likewise of bare nodes
	VEC(struct birth) births;
};

static uint32_t any(struct model *m, uint32_t below)
{
	m->state = m->state * 1664525 + 1013904223;
	return (uint64_t)(m->state >> 8) * below >> 24;
}

// As a rule small and aligned as malloc's are, but not always.
static void place(struct model *m, uint32_t *at, uint32_t *size)
{
	static const uint32_t most[] = { 48, 48, 300, 3 * HG_PAGE_BYTES };

	*size = any(m, most[any(m, 4)]);
	*at = any(m, BYTES);
	if (any(m, 4))
		*at &= ~15u;
	if (*size > BYTES - *at)
		*size = BYTES - *at;
}

static void forget(struct model *m, uint32_t id)
{
	for (uint32_t i = 0; id && i < BYTES; i++) {
		if (m->owner[i] == id)
			m->owner[i] = 0;
		if (m->bare[i] == id)
			m->bare[i] = 0;
	}
}

static void alloc_bare(struct model *m)
{
	uint32_t at, size;

	place(m, &at, &size);
	for (uint32_t i = at; i < at + (size ? size : 1); i++) {
		forget(m, m->owner[i]);
		forget(m, m->bare[i]);
	}
	ok(hg_graph_alloc_bare(m->g, m->time, BASE + at, size, 1));
	for (uint32_t i = at; i < at + size; i++)
		m->bare[i] = hg_graph_nodes(m->g);
}

static void alloc(struct model *m, bool is_zeroed)
{
	struct birth *b = vec_push(&m->births);
	struct hg_node_id id;
	uint32_t at, size;

	place(m, &at, &size);
	// What it meets ends; one of no bytes has its address to itself.
	for (uint32_t i = at; i < at + (size ? size : 1); i++) {
		forget(m, m->owner[i]);
		forget(m, m->bare[i]);
	}
	if (is_zeroed) {
		ok(hg_graph_alloc(m->g, m->time, BASE + at, size, 1, NULL, &id));
		memset(m->bytes + at, 0, size);
	} else {
		ok(hg_graph_alloc_found(m->g, m->time, BASE + at, size, 1, &id));
	}
	for (uint32_t i = at; i < at + size; i++)
		m->owner[i] = id.v;
	*b = (struct birth){ id.v, hg_graph_ops(m->g), size, malloc(size + 1) };
	memcpy(b->contents, m->bytes + at, size);
}

static void release(struct model *m)
{
	uint32_t at = any(m, BYTES), id = m->owner[at] ? m->owner[at] : m->bare[at];

	if (!id)
		return;
	ok(hg_graph_free(m->g, m->time,
			 hg_graph_node(m->g, (struct hg_node_id){ id })->start, 2));
	forget(m, id);
}

static void store(struct model *m)
{
	static const uint32_t sizes[] = { 1, 2, 4, 8, 8, 8, 16, 32, 13, 200, 5000 };
	uint32_t size = sizes[any(m, 11)], at = any(m, BYTES);
	uint8_t data[5000];

	if (size > BYTES - at)
		size = BYTES - at;
	for (uint32_t i = 0; i < size; i++)
		data[i] = any(m, 256);
	ok(hg_graph_store(m->g, m->time, BASE + at, size, data, 3));
	memcpy(m->bytes + at, data, size);
}

static void zero(struct model *m)
{
	uint32_t at, size;

	place(m, &at, &size);
	assert_int_equal(hg_memory_zero(m->g, BASE + at, size), 0);
	for (uint32_t i = at; i < at + size; i++)
		if (!m->owner[i])
			m->bytes[i] = 0;
}

static void check_now(struct model *m)
{
	uint8_t bytes[BYTES];
	uint32_t at = any(m, BYTES), size = any(m, 40);
	struct hg_live n;

	assert_int_equal(hg_graph_covers(m->g, BASE + at).v,
			 m->owner[at] ? m->owner[at] : m->bare[at]);
	hg_memory_get(m->g, BASE, bytes, BYTES);
	assert_memory_equal(bytes, m->bytes, BYTES);
	n = hg_owners_first(m->g, BASE + at, size);
	for (uint32_t i = at; i < at + size && i < BYTES; i++) {
		if (!m->owner[i])
			continue;
		assert_int_equal(n.id, m->owner[i]);
		return;
	}
	assert_int_equal(n.id, 0);
}

static void check_births(const struct model *m)
{
	struct hg_view *v;

	ok(hg_view_create(m->g, 0, &v));
	for (size_t i = 0; i < m->births.size; i++) {
		const struct birth *b = &m->births.data[i];

		hg_view_seek(v, b->ops);
		for (uint64_t at = 0; at < b->size; at++) {
			uint64_t byte;

			assert_true(hg_view_read(v, (struct hg_node_id){ b->id }, at, 1,
						 &byte));
			assert_int_equal(byte, b->contents[at]);
		}
	}
	hg_view_destroy(v);
}

static void run(uint32_t seed)
{
	struct model *m = calloc(1, sizeof(*m));

	m->state = seed;
	ok(hg_graph_create(&m->g));
	hg_graph_keep_outside(m->g);
	for (int i = 0; i < STEPS; i++, m->time++) {
		uint32_t what = any(m, 100);

		if (what < 8)
			alloc(m, any(m, 4) == 0);
		else if (what < 14)
			release(m);
		else if (what < 15)
			zero(m);
		else if (what < 17)
			alloc_bare(m);
		else
			store(m);
		if (i % 16 == 0)
			check_now(m);
	}
	check_births(m);
	for (size_t i = 0; i < m->births.size; i++)
		free(m->births.data[i].contents);
	vec_deinit(&m->births);
	hg_graph_destroy(m->g);
	free(m);
}

static void test_model(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 8; seed++)
		run(seed);
}

// A graph that is complete can grow: what its image holds is known again.
static void test_grows_again(void **state)
{
	const uint64_t value = 0x1122334455667788, other = 7;
	struct hg_node_id id;
	struct hg_graph *g;
	struct hg_op op;

	(void)state;
	ok(hg_graph_create(&g));
	ok(hg_graph_alloc(g, 1, 0x1000, 64, 1, NULL, NULL));
	ok(hg_graph_store(g, 2, 0x1008, 8, &value, 3));
	hg_graph_trim(g);
	ok(hg_graph_store(g, 3, 0x1008, 8, &other, 3));
	op = hg_graph_op(g, 2);
	assert_int_equal(op.before, value);
	assert_int_equal(op.after, other);
	ok(hg_graph_free(g, 4, 0x1000, 5));
	hg_graph_trim(g);
	ok(hg_graph_alloc_found(g, 5, 0x1000, 16, 1, &id));
	assert_int_equal(hg_graph_node_at(g, 0x1000), id.v);
	hg_graph_destroy(g);
}

// A stretch as wide as memory is as quick as the few pages there are.
static void test_far_apart(void **state)
{
	static const uint64_t at[] = { 0x1000, 0x700000002000, 1ull << 62 };
	const uint64_t value = 0x1122334455667788;
	struct hg_span s = {};
	struct hg_graph *g;
	uint64_t word;

	(void)state;
	ok(hg_graph_create(&g));
	for (int i = 0; i < 3; i++)
		assert_int_equal(hg_memory_put(g, at[i], &value, 8), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(hg_memory_next(g, 0x10, UINT64_MAX, &s));
		assert_int_equal(s.addr, at[i] / HG_PAGE_BYTES * HG_PAGE_BYTES);
		assert_true(s.page);
	}
	assert_false(hg_memory_next(g, 0x10, UINT64_MAX, &s));
	assert_int_equal(hg_memory_zero(g, 0, at[2]), 0);
	for (int i = 0; i < 3; i++) {
		hg_memory_get(g, at[i], &word, 8);
		assert_int_equal(word, i < 2 ? 0 : value);
	}
	hg_graph_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_grows_again),
		cmocka_unit_test(test_far_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
