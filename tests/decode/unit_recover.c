// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Recovery from a crash against ground truth: programs crash while they are recorded; the
 * replay tells what each of the last instructions read and wrote, and dec_recover, which
 * sees only which instructions they were and what the crash left, must find it again.
 * What it calls known is never wrong. FAULTLINE_FLIGHT=full: all programs, windows up to
 * a million instructions (the table in doc/recovery.md).
 */
#include "tests/unit.h"

#include "decode/dec_flight.h"
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

static void capture_make(const struct subject *s, const char *options,
			 struct capture **ret)
{
	_cleanup_free_ char *dir = NULL;

	assert_true(asprintf(&dir, "%s/%s-%s", unit_env("TMPDIR"), s->program, s->mode) >
		    0);
	assert_int_not_equal(unit_run("%s record %s -o %s -- %s/tests/programs/%s %s %s "
				      ">/dev/null 2>&1",
				      unit_env("FAULTLINE"), options, dir,
				      unit_env("BUILD"), s->program, s->mode, s->rounds),
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

		capture_make(&subjects[i], "-e heap", &c);
		judge(&subjects[i], c, 1000);
		judge(&subjects[i], c, 20000);
		capture_close(c);
	}
}

/* The file form: packets and end.core instead of the machine's log and memory. */
static void test_files(void **state)
{
	static const struct subject subject = { "crashes", "double", "", 0 };
	const struct dec_flight_options o = { .n_insns = 20000 };
	struct dec_flight *flight;
	struct capture *c;
	struct flight f;

	(void)state;
	capture_make(&subject, "--end-core -e heap", &c);
	assert_int_equal(unit_run("%s encode %s >/dev/null", unit_env("FAULTLINE"),
				  capture_dir(c)),
			 0);
	flight_init(&f, c, o.n_insns);
	ok(dec_flight_open(c, &o, &flight));
	assert_int_equal(flight->n_gaps, 0);
	assert_int_equal(flight->n_unmatched, 0);
	assert_in_range(flight->calls.size, 100, 1000);
	// The call that killed the program is its last step in the log, and none in a core.
	assert_in_range(f.stop - f.begin - flight->stats.steps, 0, 1);
	flight_judge_other(&f, flight->recover, &flight->stats);
	flight_print(&f, "crashes double, files");
	assert_int_equal(f.wrong_at, UINT64_MAX);
	assert_int_equal(flight->stats.known_conflicts, 0);
	assert_true(flight_share(&f) > 75);
	dec_flight_close(flight);
	flight_deinit(&f);
	capture_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
