// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading the kernel side's ring, of ordinary memory: records come whole and in order, over its
 * end, round and round; none before it is marked; what an earlier round left is none.
 */
#include <stdlib.h>
#include <string.h>

#include "pt-collect/kernel/records.h"
#include "tests/unit.h"

#define SECRET 0x9e3779b97f4a7c15ull

static struct rec_ring *ring;
static uint64_t n_taken, bytes_taken;

/** As claim() and finish() of bpf/record_ring.h. */
static struct rec_frame *claim(uint64_t size, uint64_t *at)
{
	struct rec_frame *f;

	*at = ring->claimed;
	ring->claimed += REC_FRAMED(size);
	f = (struct rec_frame *)&ring->data[*at % REC_RING_BYTES];
	f->size = size;
	return f;
}

static void finish(struct rec_frame *f, uint64_t at)
{
	f->mark = REC_MARK(SECRET, at);
}

/** Each record's first word is its number, all bytes behind are of it. */
static void put(uint64_t number, uint64_t size)
{
	uint64_t at;
	struct rec_frame *f = claim(size, &at);

	memset(f + 1, (int)number, size);
	memcpy(f + 1, &number, sizeof(number));
	finish(f, at);
}

static void take(void *ctx, void *rec, size_t size)
{
	const uint8_t *bytes = rec;
	uint64_t number;

	(void)ctx;
	memcpy(&number, rec, sizeof(number));
	assert_int_equal(number, n_taken);
	for (size_t i = sizeof(number); i < size; i++)
		assert_int_equal(bytes[i], (uint8_t)number);
	n_taken++;
	bytes_taken += size;
}

static int begin(void **state)
{
	(void)state;
	ring = calloc(1, sizeof(*ring));
	ring->secret = SECRET;
	n_taken = bytes_taken = 0;
	return ring ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(ring);
	return 0;
}

static void records_come_in_order_round_after_round(void **state)
{
	struct ptc_records r = { ring, 0 };
	uint64_t number = 0, bytes = 0, size = 8;
	bool is_over_the_end = false;

	(void)state;
	while (ring->claimed < 5ull * REC_RING_BYTES) {
		for (int i = 0; i < 40; i++) {
			uint64_t place = ring->claimed % REC_RING_BYTES;

			is_over_the_end |= place + REC_FRAMED(size) > REC_RING_BYTES;
			put(number++, size);
			bytes += size;
			size = size * 7919 % 33000 + 8;
		}
		ptc_records_take(&r, take, NULL);
		assert_int_equal(n_taken, number);
		// All the room is there again.
		assert_int_equal(ring->consumed, ring->claimed);
	}
	assert_int_equal(bytes_taken, bytes);
	assert_true(is_over_the_end);
}

static void what_is_not_whole_is_waited_for(void **state)
{
	struct ptc_records r = { ring, 0 };
	struct rec_frame *f;
	uint64_t at, number = 1;

	(void)state;
	put(0, 100);
	f = claim(8, &at);
	memcpy(f + 1, &number, sizeof(number));
	put(2, 100);
	ptc_records_take(&r, take, NULL);
	assert_int_equal(n_taken, 1);
	assert_int_equal(ring->consumed, at);
	ptc_records_take(&r, take, NULL);
	assert_int_equal(n_taken, 1);
	finish(f, at);
	ptc_records_take(&r, take, NULL);
	assert_int_equal(n_taken, 3);
}

static void an_earlier_round_is_no_record(void **state)
{
	struct ptc_records r = { ring, 0 };
	uint64_t number = 0, at;

	(void)state;
	// Records of one size that divides the ring: old marks lie where new ones will.
	while (ring->claimed < REC_RING_BYTES) {
		put(number++, 240);
		ptc_records_take(&r, take, NULL);
	}
	assert_int_equal(ring->claimed, REC_RING_BYTES);
	assert_int_equal(n_taken, number);
	claim(240, &at);
	ptc_records_take(&r, take, NULL);
	assert_int_equal(n_taken, number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_come_in_order_round_after_round,
						begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_whole_is_waited_for, begin,
						end),
		cmocka_unit_test_setup_teardown(an_earlier_round_is_no_record, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
