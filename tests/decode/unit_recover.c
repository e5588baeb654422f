// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Recovery from a crash against ground truth: programs crash while they are recorded; the
 * replay tells what each of the last instructions read and wrote, and dec_recover, which
 * sees only which instructions they were and what the crash left, must find it again.
 * What it calls known is never wrong. FAULTLINE_FLIGHT=full: all programs, windows up to
 * a million instructions (the table in doc/flight-recorder.md).
 */
#include "tests/unit.h"

#include "tests/decode/flight.h"

struct subject {
	const char *program, *mode, *rounds;
	double share; ///< of values that must be recovered and right, percent
};

static const struct subject subjects[] = {
	{ "crashes", "list", "", 75 },	     { "crashes", "strings", "", 90 },
	{ "crashes", "hash", "", 90 },	     { "crashes", "recursion", "", 95 },
	{ "crashes", "machine", "", 75 },    { "crashes-O0", "list", "", 75 },
	{ "crashes-O0", "strings", "", 90 },
};

static void capture_make(const struct subject *s, struct capture **ret)
{
	_cleanup_free_ char *dir = NULL;

	assert_true(asprintf(&dir, "%s/%s-%s", unit_env("TMPDIR"), s->program, s->mode) >
		    0);
	assert_int_not_equal(unit_run("%s record -o %s -- %s/tests/programs/%s %s %s "
				      ">/dev/null 2>&1",
				      unit_env("FAULTLINE"), dir, unit_env("BUILD"),
				      s->program, s->mode, s->rounds),
			     0);
	ok(capture_open(dir, ret));
}

static void judge(const struct subject *s, const struct capture *c, uint64_t n)
{
	_cleanup_free_ char *name = NULL;
	struct flight f;

	assert_true(asprintf(&name, "%s %s", s->program, s->mode) > 0);
	flight_init(&f, c, n);
	flight_run(&f);
	flight_print(&f, name);
	assert_int_equal(f.wrong_at, UINT64_MAX);
	assert_int_equal(f.stats.known_conflicts, 0);
	if (flight_share(&f) < s->share)
		fail_msg(
			"%s: %.1f%% of the values of %lu instructions recovered, not %.1f%%",
			name, flight_share(&f), n, s->share);
	flight_deinit(&f);
}

static void test_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		struct capture *c;

		capture_make(&subjects[i], &c);
		judge(&subjects[i], c, 1000);
		judge(&subjects[i], c, 20000);
		capture_close(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
