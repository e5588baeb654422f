// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * While a question is asked nothing of the guest's memory may be stored to but what was opened.
 * Behind it all may be, though most stays closed until somebody does; the next question finds all
 * closed again, whatever was stored to or mapped anew.
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/machine/closed.h"
#include "decode/translator/engine.h"
#include "tests/unit.h"

#define PAGE 4096ull
#define MANY 6000 ///< more than are listed

static struct dec_engine engine;
static struct dec_guest guest = { .engine = &engine };
static int zeros;

/* As the kernel sees it, which no handler helps. */
static bool is_open(const uint8_t *at)
{
	return read(zeros, (void *)at, 1) == 1;
}

static uint8_t *add_range(uint8_t *at, uint64_t pages, int prot)
{
	struct guest_range r = { (uint64_t)at, (uint64_t)at + pages * PAGE, prot };

	assert_int_equal(mprotect(at, pages * PAGE, prot & ~PROT_EXEC), 0);
	ok(vec_add(&guest.ranges, r));
	return at + pages * PAGE;
}

static uint8_t *reserve(uint64_t pages)
{
	uint8_t *at =
		mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void test_question(void **state)
{
	uint8_t *data = reserve(104), *code, *constant;

	(void)state;
	ok(dec_engine_take_signals()); // cmocka has taken them
	code = add_range(data, 96, PROT_READ | PROT_WRITE);
	constant = add_range(code, 4, PROT_READ | PROT_WRITE | PROT_EXEC);
	add_range(constant, 4, PROT_READ);
	// As where something of it was translated.
	assert_int_equal(map_put(&guest.code, (uint64_t)code / PAGE + 2, 1), 0);
	assert_int_equal(mprotect(code + 2 * PAGE, PAGE, PROT_READ), 0);
	assert_true(dec_closed_can(&guest));
	for (int i = 0; i < 3; i++) {
		assert_true(dec_closed_begin(&guest));
		assert_true(dec_closed_open((uint64_t)data + 3 * PAGE));
		for (uint8_t *at = data; at < constant + 4 * PAGE; at += PAGE)
			assert_int_equal(is_open(at), at == data + 3 * PAGE);
		assert_true(dec_closed_end(&guest));
		// Stored to, by us; mapped anew.
		data[40 * PAGE] = code[1 * PAGE] = 7;
		assert_int_equal(data[40 * PAGE], 7);
		dec_guest_remap(&guest, (uint64_t)data + 70 * PAGE + 1,
				(uint64_t)data + 71 * PAGE);
		assert_true(is_open(data + 3 * PAGE));
		assert_true(is_open(data + 40 * PAGE));
		assert_true(is_open(data + 70 * PAGE));
		assert_false(is_open(data + 69 * PAGE));
		assert_false(is_open(data + 71 * PAGE));
		assert_false(is_open(data + 80 * PAGE));
		assert_false(is_open(code + 2 * PAGE));
	}
	dec_closed_drop(&guest);
	assert_false(dec_engine_is_asked_first());
	for (uint8_t *at = data; at < constant + 4 * PAGE; at += PAGE)
		assert_int_equal(is_open(at), at < constant && at != code + 2 * PAGE);
	guest.ranges.size = 0;
}

static void test_many(void **state)
{
	uint8_t *all = reserve(2 * MANY), *at = all;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		at = add_range(at, 1, PROT_READ | PROT_WRITE);
		at = add_range(at, 1, PROT_READ);
	}
	for (int k = 0; k < 2; k++) {
		assert_true(dec_closed_begin(&guest));
		for (int i = 0; i < 2 * MANY; i++)
			assert_false(is_open(all + i * PAGE));
		assert_true(dec_closed_end(&guest));
		for (int i = 0; i < MANY; i++)
			all[2 * i * PAGE] = 1;
	}
	dec_closed_drop(&guest);
	for (int i = 0; i < 2 * MANY; i++)
		assert_int_equal(is_open(all + i * PAGE), i % 2 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_many),
	};

	zeros = open("/dev/zero", O_RDONLY);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
