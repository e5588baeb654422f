// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Algorithm 2's decisions by hand: what is accessed by which pointers, and which nodes there
 * are then. Addresses are small numbers.
 */
#include "heapgraph/hg_pieces.h"
#include "tests/unit.h"

#define REGION 0x1000
#define SITE 0x400100
#define PLACE 0x400200
#define GIVER 0x500000
#define TAKER 0x600000

struct run {
	struct hg_pieces *p;
	hg_plan plan;
	uint64_t time;
	uint32_t call;
};

static void run_init(struct run *r)
{
	*r = (struct run){};
	ok(hg_pieces_create(&r->p));
}

static void run_deinit(struct run *r)
{
	hg_pieces_destroy(r->p);
	vec_deinit(&r->plan);
}

static uint32_t begin(struct run *r, uint64_t addr)
{
	return hg_pieces_begin(r->p, ++r->time, addr, 0, SITE);
}

static uint32_t split(struct run *r, uint32_t from, uint64_t addr)
{
	return hg_pieces_split(r->p, ++r->time, from, addr, 0, SITE, PLACE);
}

static void touch(struct run *r, uint32_t head, uint64_t addr, bool is_write)
{
	hg_pieces_access(r->p, ++r->time, head, addr, 8, is_write, r->call);
}

// The nodes that live at a time, as text: start+size ...
static const char *nodes_at(struct run *r, uint64_t time)
{
	static char text[256];
	int n = 0;

	text[0] = 0;
	for (size_t i = 0; i < r->plan.size; i++) {
		const struct hg_life *l = &r->plan.data[i];

		if (l->born <= time && l->died > time)
			n += snprintf(text + n, sizeof(text) - n, "%s%lx+%lu",
				      n ? " " : "", l->start, l->size);
	}
	return text;
}

static void finish(struct run *r)
{
	ok(hg_pieces_plan(r->p, &r->plan));
	for (size_t i = 1; i < r->plan.size; i++)
		assert_true(r->plan.data[i - 1].born <= r->plan.data[i].born);
}

static void test_fields_are_joined(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t a, b;

	(void)state;
	run_init(&r);
	a = begin(&r, 0x1000);
	touch(&r, a, 0x1010, true);
	b = begin(&r, 0x1040);
	touch(&r, b, 0x1048, true);
	touch(&r, a, 0x1020, false);
	finish(&r);
	assert_string_equal(nodes_at(&r, r.time), "1000+40 1040+16");
	assert_int_equal(r.plan.data[0].rip, SITE);
}

// A bump allocator: what is given out is a node, wherever it is reached from.
static void test_parts_have_their_source(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t region, part[3];

	(void)state;
	run_init(&r);
	region = begin(&r, REGION);
	touch(&r, region, REGION, true);
	touch(&r, region, REGION + 0x38, true); // the region was used as a whole before
	for (int i = 0; i < 3; i++) {
		part[i] = split(&r, region, REGION + 0x10 + 16 * i);
		touch(&r, part[i], REGION + 0x10 + 16 * i, true);
		touch(&r, part[i], REGION + 0x18 + 16 * i, true);
	}
	finish(&r);
	assert_string_equal(nodes_at(&r, 3), "1000+64");
	assert_string_equal(nodes_at(&r, r.time), "1000+16 1010+16 1020+16 1030+16");
	for (size_t i = 1; i < r.plan.size; i++)
		assert_true(r.plan.data[i].source >= 1 && r.plan.data[i].source <= i);
}

static void test_a_field_is_no_node(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t whole, field;

	(void)state;
	run_init(&r);
	whole = begin(&r, 0x1000);
	touch(&r, whole, 0x1000, true);
	field = split(&r, whole, 0x1010); // its address is stored
	touch(&r, field, 0x1010, true);
	touch(&r, whole, 0x1010, false); // and it is read by the struct's pointer
	touch(&r, field, 0x1018, true);
	finish(&r);
	assert_string_equal(nodes_at(&r, r.time), "1000+32");
	assert_true(hg_pieces_is_same(r.p, whole, field));
}

static void test_a_cursor_splits_nothing(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t cursor;

	(void)state;
	run_init(&r);
	cursor = begin(&r, 0x1000);
	for (uint64_t at = 0x1000; at < 0x1040; at += 8) {
		touch(&r, cursor, at, true);
		cursor = split(&r, cursor, at + 8);
		hg_pieces_keep(r.p, ++r.time, cursor, PLACE);
	}
	finish(&r);
	assert_string_equal(nodes_at(&r, r.time), "1000+64");
}

static void test_memory_is_used_again(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t a, b;
	uint64_t middle, later;

	(void)state;
	run_init(&r);
	a = begin(&r, 0x1000);
	touch(&r, a, 0x1018, true);
	middle = r.time;
	hg_pieces_release(r.p, ++r.time, a, PLACE);
	later = r.time;
	b = begin(&r, 0x1000);
	touch(&r, b, 0x1008, true);
	finish(&r);
	assert_string_equal(nodes_at(&r, middle), "1000+32");
	assert_string_equal(nodes_at(&r, later), "");
	assert_string_equal(nodes_at(&r, r.time), "1000+16");
	assert_int_equal(r.plan.data[0].free_rip, PLACE);
}

// No release is known, and the first pointer is used again: it was the same node.
static void test_a_takeover_is_taken_back(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t a, b;

	(void)state;
	run_init(&r);
	a = begin(&r, 0x1000);
	touch(&r, a, 0x1018, true);
	b = begin(&r, 0x1008);
	touch(&r, b, 0x1008, true);
	touch(&r, a, 0x1000, false);
	finish(&r);
	assert_string_equal(nodes_at(&r, r.time), "1000+32");
	assert_int_equal(r.plan.size, 1);
	assert_true(hg_pieces_is_same(r.p, a, b));
}

// Two free blocks: the first one's pointer goes on into the second, whose own is never used
// again. Paper 001, Figure 3.6, second row.
static void test_neighbours_merge_into_a_cluster(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t a, b, merged;

	(void)state;
	for (int is_used = 0; is_used < 2; is_used++) {
		run_init(&r);
		a = begin(&r, 0x1000);
		touch(&r, a, 0x1000, true);
		b = begin(&r, 0x1010);
		touch(&r, b, 0x1010, true);
		touch(&r, a, 0x1010, true);
		merged = r.time;
		if (is_used) // it went astray
			touch(&r, b, 0x1010, false);
		finish(&r);
		assert_string_equal(nodes_at(&r, merged - 1), "1000+8 1010+8");
		assert_string_equal(nodes_at(&r, r.time),
				    is_used ? "1000+8 1010+8" : "1000+24");
		if (!is_used) {
			assert_int_equal(r.plan.size, 3);
			assert_int_equal(r.plan.data[0].cluster, 3);
			assert_int_equal(r.plan.data[1].cluster, 3);
			run_deinit(&r);
		}
	}
}

static uint32_t give(struct run *r, uint32_t from, uint64_t addr)
{
	uint32_t head = split(r, from, addr);

	hg_pieces_give(r->p, ++r->time, head, GIVER, ++r->call, SITE);
	r->call++;
	touch(r, head, addr, true);
	return head;
}

static void take(struct run *r, uint32_t head)
{
	hg_pieces_pass(r->p, ++r->time, head, TAKER, ++r->call, PLACE);
	touch(r, head, hg_pieces_addr(r->p, head), true); // its free list
	r->call++;
}

// A pool: the same slot again and again, each time between two functions.
static void test_a_pool_frees(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t region, slot;
	uint64_t in_use, free, again;

	(void)state;
	run_init(&r);
	region = begin(&r, REGION);
	touch(&r, region, REGION, true);
	slot = give(&r, region, REGION + 0x40);
	in_use = r.time;
	take(&r, slot);
	free = r.time;
	hg_pieces_give(r.p, ++r.time, slot, GIVER, ++r.call, SITE);
	r.call++;
	touch(&r, slot, REGION + 0x48, true);
	again = r.time;
	take(&r, slot);
	finish(&r);
	assert_string_equal(nodes_at(&r, in_use), "1000+8 1040+16");
	assert_string_equal(nodes_at(&r, free), "1000+8");
	assert_string_equal(nodes_at(&r, again), "1000+8 1040+16");
	assert_string_equal(nodes_at(&r, r.time), "1000+8");
}

// What only finds things gives them out, too; but nobody takes them first.
static void test_a_lookup_frees_nothing(void **state)
{
	_cleanup_(run_deinit) struct run r;
	uint32_t region, slot;

	(void)state;
	run_init(&r);
	region = begin(&r, REGION);
	touch(&r, region, REGION, true);
	slot = give(&r, region, REGION + 0x40);
	take(&r, slot);
	hg_pieces_give(r.p, ++r.time, slot, GIVER, ++r.call, SITE);
	hg_pieces_give(r.p, ++r.time, slot, GIVER, ++r.call, SITE);
	finish(&r);
	assert_int_equal(r.plan.size, 2);
	assert_string_equal(nodes_at(&r, r.time), "1000+8 1040+8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_joined),
		cmocka_unit_test(test_parts_have_their_source),
		cmocka_unit_test(test_a_field_is_no_node),
		cmocka_unit_test(test_a_cursor_splits_nothing),
		cmocka_unit_test(test_memory_is_used_again),
		cmocka_unit_test(test_a_takeover_is_taken_back),
		cmocka_unit_test(test_neighbours_merge_into_a_cluster),
		cmocka_unit_test(test_a_pool_frees),
		cmocka_unit_test(test_a_lookup_frees_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
