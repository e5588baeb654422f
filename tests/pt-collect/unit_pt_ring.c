// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel's ring and AUX area, made of ordinary memory: wrap-around at every place,
 * overflow, records that are none, a head that moves on while it is read, and what a
 * snapshot finds. The expectation is what was put in.
 */
#include <pthread.h>
#include <string.h>

#include "pt-collect/pt/ring.h"
#include "tests/unit.h"

#define DATA_BYTES 4096u
#define AUX_BYTES 8192u
#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

static struct perf_event_mmap_page page;
static _Alignas(8) uint8_t data[DATA_BYTES], aux[AUX_BYTES];
static struct ptc_ring ring;

static void fresh(uint64_t at, bool is_overwriting)
{
	memset(&page, 0, sizeof(page));
	memset(data, 0xee, sizeof(data));
	memset(aux, 0, sizeof(aux));
	page.data_head = page.data_tail = page.aux_head = page.aux_tail = at;
	ring = (struct ptc_ring){ &page,     data,	     DATA_BYTES, aux,
				  AUX_BYTES, is_overwriting, 0,		 0 };
}

/* ---- a kernel ------------------------------------------------------------------------------ */

static void put_bytes(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[(page.data_head + i) % DATA_BYTES] = ((const uint8_t *)bytes)[i];
	__atomic_store_n(&page.data_head, page.data_head + n, __ATOMIC_RELEASE);
}

/** Record number @p number of @p size bytes; every byte tells which one it is of. */
static bool put_record(uint32_t number, uint16_t size)
{
	_Alignas(8) uint8_t rec[4096];
	struct perf_event_header h = { number, 0, size };

	if (page.data_head + size - __atomic_load_n(&page.data_tail, __ATOMIC_ACQUIRE) >
	    DATA_BYTES)
		return false;
	memset(rec, number * 7 + 1, size);
	memcpy(rec, &h, sizeof(h));
	put_bytes(rec, size);
	return true;
}

static void put_aux(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		aux[(page.aux_head + i) % AUX_BYTES] = bytes[i];
	page.aux_head += n;
	if (ring.is_overwriting)
		page.aux_head %= AUX_BYTES;
}

/* ---- a reader -------------------------------------------------------------------------------- */

struct seen {
	uint32_t next, stop_at;
	bool is_wrong;
	unsigned n_pieces;
	uint64_t offset, bytes;
	uint8_t all[4 * AUX_BYTES];
};

static bool take_record(void *ctx, const struct perf_event_header *rec)
{
	const uint8_t *byte = (const uint8_t *)rec;
	struct seen *s = ctx;

	s->is_wrong |= rec->type != s->next++;
	for (unsigned i = sizeof(*rec); i < rec->size; i++)
		s->is_wrong |= byte[i] != (uint8_t)(rec->type * 7 + 1);
	return rec->type + 1 != s->stop_at;
}

static bool take_piece(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n)
{
	struct seen *s = ctx;

	if (!s->n_pieces++)
		s->offset = offset;
	s->is_wrong |= offset != s->offset + s->bytes;
	memcpy(s->all + s->bytes, bytes, n);
	s->bytes += n;
	return true;
}

/* ---- records ------------------------------------------------------------------------------- */

static void test_records_wrap_anywhere(void **state)
{
	static const uint16_t sizes[] = { 8, 64, 16, 1032, 40, 24 };

	(void)state;
	for (uint64_t at = 0; at < 2 * DATA_BYTES; at += 8) {
		struct seen s = {};

		// From close to where 64 bits end, too.
		fresh(at - DATA_BYTES, false);
		for (uint32_t i = 0; i < 6; i++)
			assert_true(put_record(i, sizes[i]));
		ptc_ring_drain(&ring, take_record, &s);
		assert_int_equal(s.next, 6);
		assert_false(s.is_wrong);
		assert_int_equal(ring.n_damaged, 0);
		assert_true(page.data_tail == page.data_head);
	}
}

static void test_full_ring_is_read_and_freed(void **state)
{
	struct seen s = {};
	uint32_t n = 0;

	(void)state;
	fresh(24, false);
	while (put_record(n, 56))
		n++;
	assert_int_equal(n, DATA_BYTES / 56);
	// Whoever stops early keeps what is behind.
	s.stop_at = 10;
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(s.next, 10);
	assert_true(page.data_tail == 24 + 560);
	for (unsigned i = 0; i < 10; i++)
		assert_true(put_record(n++, 56));
	s.stop_at = 0;
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(s.next, n);
	assert_false(s.is_wrong);
}

/** Record 0 is sound, then comes @p bytes of @p size as a header's size. */
static void damaged(uint16_t size, size_t bytes)
{
	uint64_t words[8] = {};
	struct perf_event_header h = { 1, 0, size };
	struct seen s = {};

	fresh(DATA_BYTES - 64, false);
	put_record(0, 32);
	memcpy(words, &h, sizeof(h));
	put_bytes(words, bytes);
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(s.next, 1);
	assert_int_equal(ring.n_damaged, 1);
	assert_true(page.data_tail == page.data_head);
	// The ring is usable again.
	assert_true(put_record(1, 64));
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(s.next, 2);
	assert_false(s.is_wrong);
}

static void test_records_that_are_none(void **state)
{
	(void)state;
	damaged(0, 64);	    // nothing
	damaged(7, 64);	    // less than a header
	damaged(20, 64);    // not a multiple of 8
	damaged(128, 64);   // breaks off: longer than what is there
	damaged(65528, 64); // longer than the ring
}

static void test_head_beyond_the_ring(void **state)
{
	struct seen s = {};

	(void)state;
	fresh(0, false);
	page.data_head = DATA_BYTES + 8;
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(s.next, 0);
	assert_int_equal(ring.n_damaged, 1);
	// A tail that is not ours.
	fresh(0, false);
	page.data_head = 64;
	page.data_tail = 4;
	ptc_ring_drain(&ring, take_record, &s);
	assert_int_equal(ring.n_damaged, 1);
}

#define MANY 200000u

static void *produce(void *unused)
{
	for (uint32_t i = 0; i < MANY;)
		i += put_record(i, 8 + 8 * (i * 2654435761u >> 27));
	return unused;
}

/** A kernel on another CPU: nothing is read before it is there, nothing overwritten before
 * it is read. */
static void test_producer_runs_beside(void **state)
{
	struct seen s = {};
	pthread_t t;

	(void)state;
	fresh(0, false);
	assert_int_equal(pthread_create(&t, NULL, produce, NULL), 0);
	while (s.next < MANY && !ring.n_damaged)
		ptc_ring_drain(&ring, take_record, &s);
	pthread_join(t, NULL);
	assert_int_equal(s.next, MANY);
	assert_false(s.is_wrong);
	assert_int_equal(ring.n_damaged, 0);
}

/* ---- AUX: full trace ------------------------------------------------------------------------- */

static void fill(uint8_t *bytes, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (i * 31 + seed) % 251 + 1;
}

static void test_aux_wraps_anywhere(void **state)
{
	static const size_t sizes[] = { 1, 8, 100, AUX_BYTES - 1, AUX_BYTES };
	uint8_t bytes[AUX_BYTES];

	(void)state;
	for (uint64_t at = 0; at < 2 * AUX_BYTES; at += 61)
		for (int k = 0; k < 5; k++) {
			struct seen s = {};

			fresh(at, false);
			fill(bytes, sizes[k], at);
			put_aux(bytes, sizes[k]);
			ptc_ring_drain_aux(&ring, take_piece, &s);
			assert_int_equal(s.bytes, sizes[k]);
			assert_true(s.offset == at);
			assert_memory_equal(s.all, bytes, sizes[k]);
			assert_in_range(s.n_pieces, 1, 2);
			assert_true(page.aux_tail == page.aux_head);
		}
}

static void test_aux_with_nothing_new(void **state)
{
	struct seen s = {};

	(void)state;
	fresh(777, false);
	ptc_ring_drain_aux(&ring, take_piece, &s);
	assert_int_equal(s.n_pieces, 0);
	assert_true(page.aux_tail == 777);
}

static bool take_and_add(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n)
{
	uint8_t more[100];

	// The CPU goes on tracing while we read.
	fill(more, sizeof(more), 9);
	put_aux(more, sizeof(more));
	return take_piece(ctx, offset, bytes, n);
}

static void test_aux_head_moves_meanwhile(void **state)
{
	uint8_t bytes[1000];
	struct seen s = {};

	(void)state;
	fresh(AUX_BYTES - 500, false);
	fill(bytes, sizeof(bytes), 5);
	put_aux(bytes, sizeof(bytes));
	ptc_ring_drain_aux(&ring, take_and_add, &s);
	// What came meanwhile is for the next time, and is not freed.
	assert_int_equal(s.bytes, 1000);
	assert_memory_equal(s.all, bytes, 1000);
	assert_true(page.aux_tail == AUX_BYTES + 500);
	assert_true(page.aux_head == AUX_BYTES + 500 + 200);
	ptc_ring_drain_aux(&ring, take_piece, &s);
	assert_int_equal(s.bytes, 1200);
	assert_false(s.is_wrong);
}

static bool refuse(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n)
{
	(void)ctx;
	(void)offset;
	(void)bytes;
	(void)n;
	return false;
}

static void test_aux_kept_when_not_taken(void **state)
{
	uint8_t bytes[64];
	struct seen s = {};

	(void)state;
	fresh(0, false);
	fill(bytes, sizeof(bytes), 1);
	put_aux(bytes, sizeof(bytes));
	ptc_ring_drain_aux(&ring, refuse, NULL);
	assert_true(page.aux_tail == 0);
	ptc_ring_drain_aux(&ring, take_piece, &s);
	assert_int_equal(s.bytes, 64);
}

static void test_aux_overrun_is_counted(void **state)
{
	struct seen s = {};

	(void)state;
	fresh(0, false);
	page.aux_head = AUX_BYTES + 300;
	ptc_ring_drain_aux(&ring, take_piece, &s);
	assert_int_equal(ring.n_overrun, 300);
	assert_true(s.offset == 300);
	assert_int_equal(s.bytes, AUX_BYTES);
	assert_true(page.aux_tail == page.aux_head);
}

/* ---- AUX: snapshots ------------------------------------------------------------------------- */

/** What a snapshot holds, in order. */
static void copy_window(const struct ptc_aux_window *w, uint8_t *to)
{
	size_t n;

	for (uint64_t done = 0; done < w->bytes; done += n) {
		const uint8_t *piece =
			ptc_ring_piece(&ring, w->offset + done, w->bytes - done, &n);

		memcpy(to + done, piece, n);
	}
}

/** A stream of @p n bytes with PSBs @p psb_at and @p psb_at + @p period ...; what the ring
 * keeps of it must be its end, from a PSB on. */
static void snapshot_of(size_t n, size_t psb_at, size_t period)
{
	static uint8_t stream[4 * AUX_BYTES], got[AUX_BYTES];
	struct ptc_aux_window w;
	size_t kept = n < AUX_BYTES ? n : AUX_BYTES, first;

	fresh(0, true);
	fill(stream, n, n);
	for (size_t at = psb_at; at + 16 <= n; at += period)
		memcpy(stream + at, PSB, 16);
	put_aux(stream, n);
	w = ptc_ring_window(&ring);
	for (first = psb_at; first < n - kept; first += period)
		;
	assert_int_equal(w.has_wrapped, n >= AUX_BYTES);
	assert_int_equal(w.has_psb, first + 16 <= n);
	if (!w.has_psb)
		first = n - kept;
	assert_int_equal(w.bytes, n - first);
	assert_true(w.offset % AUX_BYTES == first % AUX_BYTES);
	copy_window(&w, got);
	assert_memory_equal(got, stream + first, n - first);
}

static void test_snapshots(void **state)
{
	(void)state;
	snapshot_of(100, 0, 4096); // little yet
	snapshot_of(AUX_BYTES - 8, 0, 4096);
	snapshot_of(AUX_BYTES, 0, 4096); // once round exactly
	snapshot_of(AUX_BYTES + 1, 0, 4096);
	snapshot_of(3 * AUX_BYTES - 5, 0, 4096);
	snapshot_of(2 * AUX_BYTES, 1u << 20, 4096); // no PSB at all
	// The PSB lies across the end of the area, at every place.
	for (size_t k = 0; k <= 32; k++) {
		snapshot_of(2 * AUX_BYTES + 100, 2 * AUX_BYTES - k, 1u << 20);
		// It is cut by where the oldest data begins: no PSB any more.
		snapshot_of(2 * AUX_BYTES + k, AUX_BYTES, 1u << 20);
	}
}

static void test_snapshot_of_nothing(void **state)
{
	struct ptc_aux_window w;

	(void)state;
	fresh(0, true);
	w = ptc_ring_window(&ring);
	assert_int_equal(w.bytes, 0);
	assert_false(w.has_psb || w.has_wrapped);
}

/** Some kernels let the head of a snapshot ring grow. */
static void test_snapshot_with_growing_head(void **state)
{
	struct ptc_aux_window w;

	(void)state;
	fresh(0, true);
	fill(aux, sizeof(aux), 3);
	memcpy(aux + 1000, PSB, 16);
	page.aux_head = 5 * AUX_BYTES + 300;
	w = ptc_ring_window(&ring);
	assert_true(w.has_wrapped && w.has_psb);
	assert_true(w.offset == 4 * AUX_BYTES + 1000);
	assert_int_equal(w.bytes, AUX_BYTES - 700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_wrap_anywhere),
		cmocka_unit_test(test_full_ring_is_read_and_freed),
		cmocka_unit_test(test_records_that_are_none),
		cmocka_unit_test(test_head_beyond_the_ring),
		cmocka_unit_test(test_producer_runs_beside),
		cmocka_unit_test(test_aux_wraps_anywhere),
		cmocka_unit_test(test_aux_with_nothing_new),
		cmocka_unit_test(test_aux_head_moves_meanwhile),
		cmocka_unit_test(test_aux_kept_when_not_taken),
		cmocka_unit_test(test_aux_overrun_is_counted),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_snapshot_of_nothing),
		cmocka_unit_test(test_snapshot_with_growing_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
