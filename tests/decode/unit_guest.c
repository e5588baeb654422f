// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A program overflows its stack at the same push in the replay as it did: the machine does
 * not go on where something of its own lies in the room that the stack may grow to. Nor where a
 * fault is to come and something of its own is there to be read.
 */

#include <sys/mman.h>

#include "decode/machine/guest.h"
#include "decode/translator/engine.h"
#include "tests/unit.h"

static struct capture *record_true(void)
{
	_cleanup_free_ char *dir = NULL;
	struct capture *c;

	assert_true(asprintf(&dir, "%s/capture", unit_env("TMPDIR")) > 0);
	assert_int_equal(unit_run("ulimit -s 8192; %s record -o %s -- true",
				  unit_env("FAULTLINE"), dir),
			 0);
	ok(capture_open(dir, &c));
	return c;
}

static uint64_t stack_end(const struct cap_core *core)
{
	for (size_t i = 0; i < core->n_mappings; i++)
		if (core->mappings[i].is_stack)
			return core->mappings[i].end;
	fail_msg("no stack");
	return 0;
}

static struct dec_engine engine;

static void test_stack(void **state)
{
	static const struct dec_world world = {};
	static struct dec_guest guest;
	struct capture *c = record_true();
	struct cap_core *core;
	struct err *err;
	void *ours;

	(void)state;
	ok(cap_core_open(c, &core));
	// As this process's own stack may.
	ours = (void *)(stack_end(core) - (8 << 20));
	assert_ptr_equal(mmap(ours, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 ours);
	ok(dec_engine_init(&engine, &world));
	err = dec_guest_init(&guest, &engine, c, core);
	assert_non_null(err);
	assert_true(guest.has_collided);
	err_destroy(err);
	cap_core_close(core);
	capture_close(c);
}

static void test_ours(void **state)
{
	struct dec_guest guest = { .engine = &engine };
	uint64_t at =
		(uint64_t)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_false(dec_guest_meets_ours(&guest, 0));
	assert_false(dec_guest_meets_ours(&guest, at));
	assert_false(guest.has_collided);
	assert_int_equal(mprotect((void *)at, 4096, PROT_READ), 0);
	assert_true(dec_guest_meets_ours(&guest, at + 4095));
	assert_true(guest.has_collided);
	assert_int_equal(munmap((void *)at, 4096), 0);
	assert_false(dec_guest_meets_ours(&guest, at));
}

/* Code on a page that is stored to again and again is not protected, for once; where stores are few it is. */
static void test_restless(void **state)
{
	struct dec_guest guest = { .engine = &engine };
	uint64_t at = (uint64_t)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n[2] = {};

	(void)state;
	assert_int_equal(
		vec_add(&guest.ranges,
			((struct guest_range){ .start = at,
					       .end = at + 4096,
					       .prot = PROT_READ | PROT_WRITE })),
		0);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 100; k++) {
			n[i] += !dec_guest_protect_code(&guest, at >> 12);
			engine.now += i ? 100 : 100000;
			dec_guest_unprotect_code(&guest, at);
		}
	assert_int_equal(n[0], 0);
	assert_in_range(n[1], 3, 10);
	vec_deinit(&guest.ranges);
	map_deinit(&guest.code);
	map_deinit(&guest.stores);
	assert_int_equal(munmap((void *)at, 4096), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_ours),
		cmocka_unit_test(test_restless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
