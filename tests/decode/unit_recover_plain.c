// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Recovery looks again only where something may have changed. It must find what it finds
 * when it looks at all accesses in each sweep: the plain form, which is the oracle here. What
 * is known does not depend on the order in which it is found, so it must be the same to
 * the bit; a guess may.
 */
#include "tests/unit.h"

#include "decode/past/recover_int.h"
#include "tests/decode/flight.h"

enum { PLAIN_WINDOW = 10000 };

static void flight_take(const struct capture *c, bool is_plain, struct flight *f)
{
	flight_init(f, c, PLAIN_WINDOW, NULL);
	f->recover->mem.is_plain = is_plain;
	ok(dec_recover_run(f->recover, &f->stats));
	assert_int_equal(f->stats.known_conflicts, 0);
}

static void known_compare(const struct dec_recover *a, const struct dec_recover *b)
{
	assert_int_equal(a->bits.size, b->bits.size);
	assert_int_equal(a->bytes.size, b->bytes.size);
	assert_memory_equal(a->known_bits, b->known_bits,
			    a->bits.size * sizeof(uint64_t));
	assert_memory_equal(a->known_bytes, b->known_bytes,
			    a->bytes.size * sizeof(uint64_t));
	for (size_t i = 0; i < a->bits.size; i++)
		assert_int_equal(
			(a->bits.data[i].v ^ b->bits.data[i].v) & a->known_bits[i], 0);
}

/* @return how many accesses have a place. */
static size_t n_placed(const struct dec_recover *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->ran.accesses.size; i++)
		n += r->ran.accesses.data[i].placed >= PAST_INFERRED;
	return n;
}

static void test_plain(void **state)
{
	static const char *const programs[] = { "crashes list", "crashes hash",
						"crashes strings", "crashes-O0 double",
						"crashes-O0 machine" };

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		_cleanup_free_ char *dir = NULL;
		struct flight quick, plain;
		struct capture *c;

		assert_true(asprintf(&dir, "%s/%zu", unit_env("TMPDIR"), i) > 0);
		assert_int_not_equal(unit_run("%s record -e heap -o %s -- "
					      "%s/tests/programs/%s >/dev/null 2>&1",
					      unit_env("FAULTLINE"), dir,
					      unit_env("BUILD"), programs[i]),
				     0);
		ok(capture_open(dir, &c));
		flight_take(c, false, &quick);
		flight_take(c, true, &plain);
		known_compare(quick.recover, plain.recover);
		printf("%s: %zu accesses have a place, %zu in the plain form\n",
		       programs[i], n_placed(quick.recover), n_placed(plain.recover));
		assert_in_range(n_placed(quick.recover),
				n_placed(plain.recover) - PLAIN_WINDOW / 100, UINT64_MAX);
		flight_deinit(&plain);
		flight_deinit(&quick);
		capture_close(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
