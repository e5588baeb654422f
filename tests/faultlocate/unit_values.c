// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which bytes have a value: what is set, written and asked, and that large blocks which nobody touches cost next
 * to nothing.
 */
#include <malloc.h>

#include "faultlocate/bytes/values_int.h"
#include "tests/unit.h"

static void bytes_have_values_or_none(void **state)
{
	struct bytes_values v = {};
	uint8_t bits[4] = { 0, 0xf0, 0, 0 };

	(void)state;
	assert_int_equal(fl_values_first(&v, 0x1000, 0x3000), UINT64_MAX);
	assert_null(fl_values_set(&v, 0x1ff0, 0x2020, false));
	assert_int_equal(fl_values_first(&v, 0x1000, 0x8000), 0x1ff0);
	assert_null(fl_values_set(&v, 0x1ff0, 0x10, true));
	assert_int_equal(fl_values_first(&v, 0x1000, 0x8000), 0x2000);
	assert_null(fl_values_write(&v, 0x2002, bits, sizeof(bits)));
	fl_values_read(&v, 0x2001, bits, sizeof(bits));
	assert_memory_equal(bits, "\xff\x00\xf0\x00", 4);
	assert_null(fl_values_set(&v, 0x2000, 0x1000, true));
	assert_int_equal(fl_values_first(&v, 0x1000, 0x8000), 0x3000);
	assert_null(fl_values_set(&v, 0x3000, 0x1010, true));
	assert_int_equal(fl_values_first(&v, 0x1000, 0x8000), UINT64_MAX);
	fl_values_deinit(&v);
}

static void what_nobody_touches_costs_little(void **state)
{
	const uint64_t start = 1ull << 32, size = 1ull << 30;
	struct bytes_values v = {};
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

	(void)state;
	assert_null(fl_values_set(&v, start, size, false));
	assert_null(fl_values_set(&v, start + size / 2 + 5, 3, true));
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < size / 64);
	assert_int_equal(fl_values_first(&v, start + size / 2 + 5, 9),
			 start + size / 2 + 8);
	assert_int_equal(fl_values_first(&v, start + size / 2 - 4096 + 5, 9),
			 start + size / 2 - 4096 + 5);
	fl_values_deinit(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_have_values_or_none),
		cmocka_unit_test(what_nobody_touches_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
