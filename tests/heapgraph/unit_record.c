// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From events to graphs. The events of the application's view are made by hand; those of
 * the allocator's view are the stores of glibc's malloc (2.36) for a small scenario.
 */
#include <string.h>

#include "heapgraph/hg_record.h"
#include "tests/unit.h"

#define HEAP 0x100000ull
#define BIN 0x7f0000000060ull ///< head of the unsorted list, in libc's data

struct tape {
	struct hg_recorder *r;
	struct dec_heap_events ev;
	struct hg_graph *app, *chunks;
	uint64_t time;
};

static void tape_init(struct tape *t, bool with_chunks)
{
	*t = (struct tape){};
	ok(hg_recorder_create(with_chunks, &t->r));
	hg_recorder_events(t->r, &t->ev);
	ok(t->ev.region(t->ev.ctx, ++t->time, HEAP, 0x21000, false));
}

static void tape_finish(struct tape *t)
{
	hg_recorder_finish(t->r, &t->app, &t->chunks);
}

static void tape_deinit(struct tape *t)
{
	hg_graph_destroy(t->app);
	hg_graph_destroy(t->chunks);
	hg_recorder_destroy(t->r);
}

static void alloc(struct tape *t, uint64_t addr, uint64_t size, bool is_zeroed)
{
	ok(t->ev.alloc(t->ev.ctx, ++t->time, addr, size, is_zeroed, 0x400100, 0x400100));
}

static void release(struct tape *t, uint64_t addr)
{
	ok(t->ev.release(t->ev.ctx, ++t->time, addr, 0x400200, 0x400200));
}

static void released(struct tape *t, uint64_t addr)
{
	ok(t->ev.released(t->ev.ctx, ++t->time, addr));
}

static void store_by(struct tape *t, uint64_t addr, uint64_t value, bool in_allocator)
{
	const struct dec_heap_store s = { .time = ++t->time,
					  .addr = addr,
					  .rip = in_allocator ? 0x400400 : 0x400300,
					  .pc = in_allocator ? 0x7f1000 : 0x400300,
					  .data = &value,
					  .size = 8,
					  .in_allocator = in_allocator };

	ok(t->ev.stores(t->ev.ctx, &s, 1));
}

static void store(struct tape *t, uint64_t addr, uint64_t value)
{
	store_by(t, addr, value, false);
}

// A store by the allocator.
static void inside(struct tape *t, uint64_t addr, uint64_t value)
{
	store_by(t, addr, value, true);
}

static uint64_t read_word(const struct hg_graph *g, const struct hg_view *v, uint32_t id,
			  uint64_t offset)
{
	uint64_t value = ~0ull;

	(void)g;
	assert_true(hg_view_read(v, (struct hg_node_id){ id }, offset, 8, &value));
	return value;
}

/* ---- the application's view -------------------------------------------------------------- */

static void test_contents_at_birth(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, false);
	alloc(&t, HEAP + 16, 24, false);
	store(&t, HEAP + 16, 11);
	store(&t, HEAP + 24, 22);
	release(&t, HEAP + 16);
	inside(&t, HEAP + 16, 33); // tcache: next
	inside(&t, HEAP + 24, 44); // tcache: key
	released(&t, HEAP + 16);
	inside(&t, HEAP + 24, 0);
	alloc(&t, HEAP + 16, 24, false);
	release(&t, HEAP + 16);
	released(&t, HEAP + 16);
	alloc(&t, HEAP + 16, 24, true);
	tape_finish(&t);

	assert_int_equal(hg_graph_nodes(t.app), 3);
	assert_int_equal(hg_graph_ops(t.app),
			 7); // the allocator's stores are not among them
	ok(hg_view_create(t.app, 5, &v));
	assert_int_equal(read_word(t.app, v, 2, 0), 33);
	assert_int_equal(read_word(t.app, v, 2, 8), 0);
	hg_view_seek(v, 7);
	assert_int_equal(read_word(t.app, v, 3, 0), 0);
	hg_view_seek(v, 3);
	assert_int_equal(read_word(t.app, v, 1, 0), 11);
	assert_int_equal(read_word(t.app, v, 1, 8), 22);
}

static bool is_large(void *ctx, uint64_t rip, uint64_t size)
{
	(void)ctx;
	return rip == 0x400100 && size > 32;
}

/* Nobody asks what is in the first: it is there, no store into it is an operation, and what follows at its
 * place begins with what was stored. */
static void test_nobody_asks(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	uint64_t value;

	(void)state;
	tape_init(&t, false);
	hg_recorder_ask(t.r, is_large, NULL);
	alloc(&t, HEAP + 16, 24, false);
	store(&t, HEAP + 16, 11);
	store(&t, HEAP + 24, 22);
	release(&t, HEAP + 16);
	released(&t, HEAP + 16);
	release(&t, HEAP + 16); // once more
	alloc(&t, HEAP + 16, 40, false);
	store(&t, HEAP + 16, 33);
	alloc(&t, HEAP + 64, 32, true);
	tape_finish(&t);
	assert_int_equal(hg_graph_nodes(t.app), 3);
	assert_int_equal(hg_graph_ops(t.app), 5);
	assert_int_equal(hg_graph_unknown_free(t.app, 0)->node.v, 1);
	ok(hg_view_create(t.app, 1, &v));
	assert_true(hg_graph_node(t.app, (struct hg_node_id){ 1 })->is_bare);
	assert_int_equal(hg_view_find(v, HEAP + 20).v, 1);
	assert_false(hg_view_read(v, (struct hg_node_id){ 1 }, 0, 8, &value));
	hg_view_seek(v, 5);
	assert_int_equal(read_word(t.app, v, 2, 0), 33);
	assert_int_equal(read_word(t.app, v, 2, 8), 22);
	assert_int_equal(hg_view_find(v, HEAP + 64).v, 3);
}

static void test_a_mapping_is_fresh(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, false);
	store(&t, HEAP + 0x1ff8, 55); // across the page's end
	store(&t, HEAP + 0x2ffc, 66);
	ok(t.ev.region(t.ev.ctx, ++t.time, HEAP + 0x2000, 0x1000, false));
	alloc(&t, HEAP + 0x1ff0, 0x1100, false);
	tape_finish(&t);
	ok(hg_view_create(t.app, 1, &v));
	assert_int_equal(read_word(t.app, v, 1, 8), 55);
	assert_int_equal(read_word(t.app, v, 1, 0x100c), 0);
}

static void test_nothing_at_null(void **state)
{
	_cleanup_(tape_deinit) struct tape t;

	(void)state;
	tape_init(&t, true);
	alloc(&t, 0, 24, false); // malloc failed
	release(&t, 0);		 // free(NULL)
	released(&t, 0);
	tape_finish(&t);
	assert_int_equal(hg_graph_ops(t.app), 0);
	assert_int_equal(hg_graph_unknown_frees(t.app), 0);
}

// realloc tells of its release late, with the time of its entry, after it has moved the
// bytes and the old memory was put into the cache.
static void test_realloc_releases_late(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	uint64_t entry;

	(void)state;
	tape_init(&t, false);
	alloc(&t, HEAP + 16, 24, false);
	store(&t, HEAP + 16, 11);
	entry = ++t.time;
	inside(&t, HEAP + 0x200, 11);  // the copy
	inside(&t, HEAP + 16, 0x1111); // the cache's link
	ok(t.ev.release(t.ev.ctx, entry, HEAP + 16, 0x400200, 0x400200));
	alloc(&t, HEAP + 0x200, 48, false);
	store(&t, HEAP + 0x208, 12);
	tape_finish(&t);
	assert_int_equal(hg_graph_ops(t.app), 5);
	ok(hg_view_create(t.app, 5, &v));
	assert_int_equal(read_word(t.app, v, 2, 0), 11);
	assert_int_equal(read_word(t.app, v, 2, 8), 12);
	hg_view_seek(v, 2);
	assert_int_equal(read_word(t.app, v, 1, 0), 11);
}

// Freed twice, given out twice: the allocator writes into memory that is in use.
static void test_allocator_writes_into_a_node(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, false);
	alloc(&t, HEAP + 16, 24, false);
	inside(&t, HEAP + 24, 0);
	alloc(&t, HEAP + 64, 24, false);
	inside(&t, HEAP + 16, 0x1234);
	released(&t, HEAP + 128);
	tape_finish(&t);
	assert_int_equal(hg_graph_ops(t.app), 4);
	ok(hg_view_create(t.app, 4, &v));
	assert_int_equal(read_word(t.app, v, 1, 0), 0x1234);
}

static struct err *count_watch(void *ctx, const struct hg_position *at, size_t index,
			       bool is_return)
{
	struct hg_position *last = ctx;

	assert_int_equal(index, 3);
	assert_true(is_return);
	*last = *at;
	return NULL;
}

static uint32_t any(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint64_t)(*state >> 8) * below >> 24;
}

// An event, the same for every tape that begins with the same state.
static void random_event(struct tape *t, uint32_t *state)
{
	uint64_t addr = HEAP + any(state, 2048) * 8, size = any(state, 160);

	switch (any(state, 16)) {
	case 0:
		alloc(t, addr, size, any(state, 4) == 0); // may cover others
		break;
	case 1:
		release(t, addr); // may release nothing
		inside(t, addr, *state);
		released(t, addr);
		break;
	case 2:
		inside(t, addr, *state); // a realloc: it tells late
		release(t, addr);
		alloc(t, addr, size, false);
		break;
	case 3:
		inside(t, addr, *state);
		break;
	default:
		store(t, addr + any(state, 8), *state);
		break;
	}
}

// With chunks every store is kept apart from the graph, without them most are not: the
// nodes have the same contents at birth.
static void test_contents_are_the_same_with_chunks(void **state)
{
	_cleanup_(tape_deinit) struct tape a, b;
	_cleanup_(hg_view_destroyp) struct hg_view *va = NULL, *vb = NULL;
	struct tape *both[] = { &a, &b };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t x = 7;

		tape_init(both[i], i == 1);
		for (int k = 0; k < 20000; k++)
			random_event(both[i], &x);
		tape_finish(both[i]);
	}
	assert_int_equal(hg_graph_ops(a.app), hg_graph_ops(b.app));
	assert_true(hg_graph_nodes(a.app) > 1000);
	ok(hg_view_create(a.app, 0, &va));
	ok(hg_view_create(b.app, 0, &vb));
	for (struct hg_op op, other; hg_view_forward(va, &op);) {
		const struct hg_node *n = hg_graph_node(a.app, op.node);
		uint64_t x, y;

		assert_true(hg_view_forward(vb, &other));
		assert_memory_equal(&op, &other, sizeof(op));
		for (uint64_t at = 0; op.kind == HG_OP_ALLOC && at < n->size; at++) {
			assert_true(hg_view_read(va, op.node, at, 1, &x));
			assert_true(hg_view_read(vb, op.node, at, 1, &y));
			assert_int_equal(x, y);
		}
	}
}

static void test_watch_tells_the_position(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	struct hg_position at = {};

	(void)state;
	tape_init(&t, false);
	hg_recorder_on_watch(t.r, count_watch, &at);
	alloc(&t, HEAP + 16, 24, false);
	store(&t, HEAP + 16, 1);
	ok(t.ev.watch(t.ev.ctx, 77, 3, true));
	store(&t, HEAP + 16, 2);
	assert_int_equal(at.time, 77);
	assert_int_equal(at.app_ops, 2);
	tape_finish(&t);
}

/* ---- the allocator's view ------------------------------------------------------------------ */

// Chunks A, B, C, D of 0x500 bytes, each followed by one of 0x20 that stays in use, so that
// neighbours do not merge by themselves; then the top.
#define CHUNK(i) (HEAP + (i)*0x520ull)
#define MEM(i) (CHUNK(i) + 16)
#define SIZE 0x500ull
#define N 4

static void malloc_all(struct tape *t)
{
	inside(t, BIN + 16, BIN); // an empty bin leads to itself
	inside(t, BIN + 24, BIN);
	for (int i = 0; i < N; i++) {
		inside(t, CHUNK(i) + 8, SIZE | 1);
		inside(t, CHUNK(i + 1) - 0x20 + 8, 0x20 | 1);
		inside(t, CHUNK(i + 1) + 8, (HEAP + 0x21000 - CHUNK(i + 1)) | 1); // top
		alloc(t, MEM(i), SIZE - 8, false);
		store(t, MEM(i), 1000 + i);
		store(t, MEM(i) + 16, CHUNK(0)); // user data that looks like a link
	}
}

// free() of a chunk next to none that is free: it becomes the first of the unsorted list.
static void free_to_unsorted(struct tape *t, int i, uint64_t first)
{
	release(t, MEM(i));
	inside(t, CHUNK(i) + 24, BIN);
	inside(t, CHUNK(i) + 16, first ? first : BIN);
	inside(t, BIN + 16, CHUNK(i));
	inside(t, (first ? first : BIN) + 24, CHUNK(i));
	inside(t, CHUNK(i) + 32, 0);
	inside(t, CHUNK(i) + 40, 0);
	inside(t, CHUNK(i) + 8, SIZE | 1);
	inside(t, CHUNK(i) + SIZE, SIZE);     // its size at its end
	inside(t, CHUNK(i) + SIZE + 8, 0x20); // PREV_INUSE of the next chunk
	released(t, MEM(i));
}

static void test_free_chunks_are_nodes(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 0, 0);
	free_to_unsorted(&t, 2, CHUNK(0));
	tape_finish(&t);
	assert_int_equal(hg_graph_nodes(t.chunks), 2);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_find(v, CHUNK(0)).v, 1);
	assert_int_equal(hg_view_find(v, CHUNK(2)).v, 2);
	assert_int_equal(read_word(t.chunks, v, 2, 16), CHUNK(0)); // fd
	assert_int_equal(read_word(t.chunks, v, 1, 24), CHUNK(2)); // bk
	assert_int_equal(hg_graph_node(t.chunks, (struct hg_node_id){ 1 })->size,
			 HG_CHUNK_LARGE_BYTES);
	// When the second was born the first got its new bk: by the allocator, in order.
	while (hg_view_is_live(v, (struct hg_node_id){ 2 }))
		hg_view_back(v, NULL);
	assert_int_equal(read_word(t.chunks, v, 1, 24), CHUNK(2));
	hg_view_seek(v, 1);
	assert_int_equal(read_word(t.chunks, v, 1, 24), BIN);
}

static void test_taken_chunk_ends(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 0, 0);
	free_to_unsorted(&t, 2, CHUNK(0));
	// malloc takes chunk 0 as a whole: unlinked, and in use for its successor.
	inside(&t, BIN + 24, CHUNK(2));
	inside(&t, CHUNK(2) + 16, BIN);
	inside(&t, CHUNK(0) + SIZE + 8, 0x20 | 1);
	alloc(&t, MEM(0), SIZE - 8, false);
	tape_finish(&t);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_find(v, CHUNK(0)).v, 0);
	assert_int_equal(hg_view_find(v, CHUNK(2)).v, 2);
	assert_int_equal(read_word(t.chunks, v, 2, 16), BIN);
}

static void test_split_leaves_a_remainder(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	const uint64_t rest = CHUNK(0) + 0x100;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 0, 0);
	inside(&t, BIN + 16, rest);
	inside(&t, BIN + 24, rest);
	inside(&t, rest + 24, BIN);
	inside(&t, rest + 16, BIN);
	inside(&t, CHUNK(0) + 8, 0x100 | 1);
	inside(&t, rest + 8, 0x400 | 1);
	inside(&t, rest + 0x400, 0x400);
	alloc(&t, MEM(0), 0xf8, false);
	tape_finish(&t);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_find(v, CHUNK(0)).v, 0);
	assert_int_equal(hg_view_find(v, rest).v, 2);
}

static void test_neighbours_merge(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	const uint64_t small = CHUNK(1) - 0x20;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 0, 0);
	free_to_unsorted(&t, 1, CHUNK(0));
	// The small chunk between is freed: all three become one, at the place of the first.
	release(&t, small + 16);
	inside(&t, BIN + 16, BIN);
	inside(&t, BIN + 24, BIN);
	inside(&t, CHUNK(0) + 24, BIN);
	inside(&t, CHUNK(0) + 16, BIN);
	inside(&t, BIN + 16, CHUNK(0));
	inside(&t, BIN + 24, CHUNK(0));
	inside(&t, CHUNK(0) + 8, 0xa20 | 1);
	inside(&t, CHUNK(0) + 0xa20, 0xa20);
	released(&t, small + 16);
	tape_finish(&t);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_find(v, CHUNK(0)).v, 3);
	assert_int_equal(hg_view_find(v, CHUNK(1)).v, 0);
	assert_int_equal(hg_view_next(v, 0, (struct hg_node_id){ 0 }).v, 3);
}

static void test_merged_into_the_top(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 3, 0);
	// The last small chunk is freed: with the free one before it it joins the top.
	release(&t, CHUNK(4) - 0x10);
	inside(&t, BIN + 16, BIN);
	inside(&t, BIN + 24, BIN);
	inside(&t, CHUNK(3) + 8, (HEAP + 0x21000 - CHUNK(3)) | 1);
	released(&t, CHUNK(4) - 0x10);
	tape_finish(&t);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_next(v, 0, (struct hg_node_id){ 0 }).v, 0);
}

static void test_cached_chunks_are_none(void **state)
{
	_cleanup_(tape_deinit) struct tape t;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	release(&t, MEM(0));
	inside(&t, MEM(0), MEM(2)); // tcache: next, key; the successor's bit stays
	inside(&t, MEM(0) + 8, 0x1234567);
	released(&t, MEM(0));
	tape_finish(&t);
	assert_int_equal(hg_graph_nodes(t.chunks), 0);
}

// What the application overwrites is an operation on the node and does not end it.
static void test_corruption_stays_visible(void **state)
{
	_cleanup_(tape_deinit) struct tape t;
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct hg_op op;

	(void)state;
	tape_init(&t, true);
	malloc_all(&t);
	free_to_unsorted(&t, 0, 0);
	free_to_unsorted(&t, 2, CHUNK(0));
	store(&t, CHUNK(2) + 8, 0x4141414141414141);
	store(&t, CHUNK(2) + 16, 0x4242424242424242);
	inside(&t, CHUNK(2) + 24, BIN);
	released(&t, 0);
	tape_finish(&t);
	ok(hg_view_create(t.chunks, hg_graph_ops(t.chunks), &v));
	assert_int_equal(hg_view_find(v, CHUNK(2)).v, 2);
	assert_int_equal(read_word(t.chunks, v, 2, 16), 0x4242424242424242);
	op = hg_graph_op(t.chunks, hg_view_last_write(v, (struct hg_node_id){ 2 }, 16));
	assert_int_equal(op.rip, 0x400300);
	assert_int_equal(op.before, CHUNK(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents_at_birth),
		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_a_mapping_is_fresh),
		cmocka_unit_test(test_nothing_at_null),
		cmocka_unit_test(test_realloc_releases_late),
		cmocka_unit_test(test_allocator_writes_into_a_node),
		cmocka_unit_test(test_contents_are_the_same_with_chunks),
		cmocka_unit_test(test_watch_tells_the_position),
		cmocka_unit_test(test_free_chunks_are_nodes),
		cmocka_unit_test(test_taken_chunk_ends),
		cmocka_unit_test(test_split_leaves_a_remainder),
		cmocka_unit_test(test_neighbours_merge),
		cmocka_unit_test(test_merged_into_the_top),
		cmocka_unit_test(test_cached_chunks_are_none),
		cmocka_unit_test(test_corruption_stays_visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
