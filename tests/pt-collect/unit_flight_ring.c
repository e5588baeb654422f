// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The flight recorder's rings of allocator calls and of what store probes tell: the last ones
 * are kept and the others counted; and which return addresses probes have replaced when it
 * all ends.
 */
#include <string.h>

#include "pt-collect/flight/flight.h"
#include "tests/unit.h"

#define TRAMPOLINE 0x7fffffffe000ull

static struct ptc_heap_ring *ring;
static uint64_t now;

static void enter(uint32_t tid, enum cap_heap_fn fn, uint64_t sp, uint64_t return_to)
{
	struct rec_heap rec = { .head = { .kind = REC_HEAP, .tid = tid, .at_ns = ++now },
				.fn = fn,
				.args = { now, 2 * now, 3 * now },
				.sp = sp,
				.return_to = return_to };

	ptc_heap_ring_add(ring, &rec);
}

static void leave(uint32_t tid, enum cap_heap_fn fn)
{
	struct rec_heap rec = {
		.head = { .kind = REC_HEAP_DONE, .tid = tid, .at_ns = ++now },
		.fn = fn,
		.args = { 0x1000 + now }
	};

	ptc_heap_ring_add(ring, &rec);
}

/** Exactly these words are to be put right. */
static void patched(size_t n, const struct ptc_patch *want)
{
	struct ptc_patch *got;
	size_t n_got;

	ok(ptc_heap_ring_patches(ring, &got, &n_got));
	assert_int_equal(n_got, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(got[i].addr == want[i].addr);
		assert_true(got[i].value == want[i].value);
	}
	free(got);
}

#define PATCHED(...)                                                                    \
	patched(sizeof((struct ptc_patch[]){ __VA_ARGS__ }) / sizeof(struct ptc_patch), \
		(struct ptc_patch[]){ __VA_ARGS__ })

static int setup(void **state)
{
	(void)state;
	now = 0;
	return ptc_heap_ring_create(1 << 16, &ring) ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	ptc_heap_ring_destroy(ring);
	return 0;
}

static void test_calls_that_returned(void **state)
{
	(void)state;
	enter(1, CAP_HEAP_MALLOC, 0x100, 0xa);
	leave(1, CAP_HEAP_MALLOC);
	enter(1, CAP_HEAP_FREE, 0x100, 0xb); // nobody waits for its end
	patched(0, NULL);
}

static void test_threads_are_apart(void **state)
{
	(void)state;
	enter(1, CAP_HEAP_MALLOC, 0x100, 0xa);
	enter(2, CAP_HEAP_MALLOC, 0x900, 0xb);
	enter(3, CAP_HEAP_REALLOC, 0x500, 0xc);
	leave(1, CAP_HEAP_MALLOC);
	PATCHED({ 0x900, 0xb }, { 0x500, 0xc });
	ptc_heap_ring_forget(ring, 2);
	PATCHED({ 0x500, 0xc });
}

static void test_nested_calls(void **state)
{
	(void)state;
	enter(1, CAP_HEAP_REALLOC, 0x200, 0xa);
	enter(1, CAP_HEAP_MALLOC, 0x180, 0xb);
	PATCHED({ 0x200, 0xa }, { 0x180, 0xb });
	leave(1, CAP_HEAP_MALLOC);
	PATCHED({ 0x200, 0xa });
	leave(1, CAP_HEAP_REALLOC);
	patched(0, NULL);
}

/** aligned_alloc jumps to another one: both return to the same place, which the first
 * probe had replaced when the second looked. */
static void test_calls_that_jump(void **state)
{
	(void)state;
	enter(1, CAP_HEAP_ALIGNED_ALLOC, 0x200, 0xa);
	enter(1, CAP_HEAP_MALLOC, 0x200, TRAMPOLINE);
	PATCHED({ 0x200, 0xa });
	leave(1, CAP_HEAP_MALLOC);
	leave(1, CAP_HEAP_ALIGNED_ALLOC);
	patched(0, NULL);
}

/** A handler that ran inside malloc left it by siglongjmp: its frame is gone. */
static void test_calls_that_were_left(void **state)
{
	(void)state;
	enter(1, CAP_HEAP_MALLOC, 0x100, 0xa);
	enter(1, CAP_HEAP_MALLOC, 0x300, 0xb);
	PATCHED({ 0x300, 0xb });
	enter(1, CAP_HEAP_FREE, 0x400, 0xc);
	patched(0, NULL);
}

static char dir[512];

/** The log's events, as they were put in. */
static void test_the_last_are_kept(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	char *argv[] = { (char *)"x", NULL };
	struct cap_info info = { .argv = argv, .cwd = (char *)"/" };
	uint64_t n_overwritten, from_ns, next, bytes, n = 0;
	struct cap_events *it;
	struct cap_writer *w;
	struct cap_event ev;
	bool is_end = false;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		enter(7, CAP_HEAP_CALLOC, 0x100, 0xa);
		leave(7, CAP_HEAP_CALLOC);
	}
	snprintf(dir, sizeof(dir), "%s/c", unit_env("TMPDIR"));
	ok(cap_writer_create(dir, &w));
	n_overwritten = next = ptc_heap_ring_oldest(ring, &from_ns);
	assert_int_equal(from_ns, n_overwritten + 1);
	ok(ptc_heap_ring_write(ring, &next, UINT64_MAX, w));
	assert_int_equal(next, ptc_heap_ring_count(ring));
	ok(cap_writer_finish(w, &info, &bytes));
	cap_writer_destroy(w);
	ok(capture_open(dir, &c));
	ok(cap_events_open(c, &it));
	for (;; n++) {
		ok(cap_events_next(it, &ev, &is_end));
		if (is_end)
			break;
		assert_int_equal(ev.at_ns, n_overwritten + n + 1);
		assert_int_equal(ev.tid, 7);
		assert_int_equal(ev.heap_fn, CAP_HEAP_CALLOC);
		if (ev.at_ns % 2) {
			assert_int_equal(ev.kind, CAP_EV_HEAP);
			assert_true(ev.heap_args[2] == 3 * ev.at_ns);
		} else {
			assert_int_equal(ev.kind, CAP_EV_HEAP_DONE);
			assert_true(ev.heap_args[0] == 0x1000 + ev.at_ns);
		}
	}
	cap_events_close(it);
	assert_int_equal(n + n_overwritten, 10000);
	assert_in_range(n, (1 << 16) / 64, (1 << 16) / 32);
}

/* ---- both rings --------------------------------------------------------------------- */

static struct ptc_store_ring *stores;

/** What event number @p n looks like: all of it follows from @p n. */
static void make_store(uint64_t n, uint8_t bytes[3][64], struct cap_write writes[3],
		       struct cap_event *ev)
{
	*ev = (struct cap_event){ .kind = CAP_EV_PROBE,
				  .tid = 1 + n % 5,
				  .at_ns = n,
				  .regs.rip = n * 7,
				  .probe_site = n % 1000,
				  .probe_gprs = n * 40503,
				  .writes = writes,
				  .n_writes = n % 11 < 8 ? 0 : n % 11 - 7 };
	for (int i = 0; i < CAP_GPRS; i++)
		if (ev->probe_gprs >> i & 1)
			ev->regs.gpr[i] = n << i;
	for (int i = 0; i < 3; i++) {
		memset(bytes[i], n + i, 64);
		writes[i] = (struct cap_write){ n * 3 + i, 1 + (n + i) % 64, bytes[i] };
	}
}

static void same_store(const struct cap_event *ev)
{
	struct cap_write writes[3];
	uint8_t bytes[3][64];
	struct cap_event want;

	make_store(ev->at_ns, bytes, writes, &want);
	assert_int_equal(ev->kind, CAP_EV_PROBE);
	assert_int_equal(ev->tid, want.tid);
	assert_true(ev->regs.rip == want.regs.rip);
	assert_int_equal(ev->probe_site, want.probe_site);
	assert_int_equal(ev->probe_gprs, want.probe_gprs);
	assert_memory_equal(ev->regs.gpr, want.regs.gpr, sizeof(want.regs.gpr));
	assert_int_equal(ev->n_writes, want.n_writes);
	for (size_t i = 0; i < ev->n_writes; i++) {
		assert_true(ev->writes[i].addr == writes[i].addr);
		assert_int_equal(ev->writes[i].size, writes[i].size);
		assert_memory_equal(ev->writes[i].data, bytes[i], writes[i].size);
	}
}

/** Event n of both is of time n: so many of either before it, in any mixture. */
static void fill_both(uint64_t n)
{
	struct cap_write writes[3];
	uint8_t bytes[3][64];
	struct cap_event ev;

	while (now < n) {
		if (now / 3 % 7 < 2) {
			enter(9, CAP_HEAP_FREE, 0x100, 0xb);
			continue;
		}
		make_store(++now, bytes, writes, &ev);
		ptc_store_ring_add(stores, &ev, ptc_heap_ring_count(ring));
	}
}

/** @return how many events of each kind there are, and check them all. */
static void read_both(struct cap_info *info, uint64_t n[2])
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	uint64_t bytes, last[2] = {}, first[2] = {};
	struct cap_events *it;
	struct cap_writer *w;
	struct cap_event ev;
	bool is_end = false;

	snprintf(dir, sizeof(dir), "%s/%lu", unit_env("TMPDIR"), (unsigned long)now);
	ok(cap_writer_create(dir, &w));
	ok(ptc_rings_write(ring, stores, w, info));
	ok(cap_writer_finish(w, info, &bytes));
	cap_writer_destroy(w);
	ok(capture_open(dir, &c));
	ok(cap_events_open(c, &it));
	for (n[0] = n[1] = 0;;) {
		int is_store;

		ok(cap_events_next(it, &ev, &is_end));
		if (is_end)
			break;
		is_store = ev.kind == CAP_EV_PROBE;
		if (is_store)
			same_store(&ev);
		// Where both rings reach back that far they are in one order.
		assert_true(ev.at_ns > last[0] && ev.at_ns > last[1]);
		last[is_store] = ev.at_ns;
		first[is_store] = first[is_store] ?: ev.at_ns;
		n[is_store]++;
	}
	cap_events_close(it);
	assert_true(info->heap_from_ns == (info->n_overwritten ? first[0] : 0));
	assert_true(info->stores_from_ns == (info->n_stores_overwritten ? first[1] : 0));
}

static void test_both_rings_are_one_log(void **state)
{
	char *argv[] = { (char *)"x", NULL };
	uint64_t total = 0, n[2];

	(void)state;
	ok(ptc_store_ring_create(1 << 13, &stores));
	for (uint64_t upto = 0; upto < 6000; upto += upto / 2 + 7) {
		struct cap_info info = { .argv = argv, .cwd = (char *)"/" };

		fill_both(upto);
		read_both(&info, n);
		total = n[0] + n[1] + info.n_overwritten + info.n_stores_overwritten;
		assert_true(total == now);
		assert_int_equal(n[0] + info.n_overwritten, ptc_heap_ring_count(ring));
		// None is larger than 400 bytes.
		assert_true(!info.n_stores_overwritten || n[1] > (1 << 13) / 400 - 2);
	}
	assert_true(total > 4000);
	ptc_store_ring_destroy(stores);
}

/** Nothing fits: everything is counted. */
static void test_no_room_for_stores(void **state)
{
	char *argv[] = { (char *)"x", NULL };
	struct cap_info info = { .argv = argv, .cwd = (char *)"/" };
	uint64_t n[2];

	(void)state;
	ok(ptc_store_ring_create(0, &stores));
	fill_both(100);
	read_both(&info, n);
	assert_int_equal(n[1], 0);
	assert_int_equal(n[0] + info.n_stores_overwritten, 100);
	ptc_store_ring_destroy(stores);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_calls_that_returned, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_threads_are_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_calls_that_jump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_calls_that_were_left, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_last_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_both_rings_are_one_log, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_room_for_stores, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
