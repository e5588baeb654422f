// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Code with no room near it for what it is translated to runs the same in every mode; the
 * machine compares the registers at each system call and in signal handlers.
 */

#include <stdio.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/machine/machine.h"
#include "tests/unit.h"

static struct err *ignore(void *ctx, const uint8_t *log, size_t bytes)
{
	(void)ctx;
	(void)log;
	(void)bytes;
	return NULL;
}

static void all_modes_end_alike(void **state)
{
	const char *faultline = unit_env("FAULTLINE"), *tmp = unit_env("TMPDIR");
	_cleanup_free_ char *command = NULL, *dir = NULL;
	struct capture *capture;
	uint64_t total = 0;

	(void)state;
	assert_true(asprintf(&dir, "%s/capture", tmp) > 0);
	assert_true(asprintf(&command, "%s record -o %s -- %s/tests/programs/surrounded",
			     faultline, dir, unit_env("BUILD")) > 0);
	assert_int_equal(system(command), 0);
	ok(capture_open(dir, &capture));
	for (int mode = DEC_LOG_NONE; mode <= DEC_LOG_VALUES; mode++) {
		struct dec_machine *m;
		struct dec_where w;

		ok(dec_machine_create(capture, NULL, &m));
		ok(dec_machine_log(m, mode, ignore, NULL));
		ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
		assert_int_equal(w.at, DEC_AT_END);
		if (mode == DEC_LOG_NONE)
			total = w.position;
		assert_int_equal(w.position, total);
		dec_machine_destroy(m);
	}
	capture_close(capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_modes_end_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
