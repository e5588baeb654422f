// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Checkpoints of a program whose memory lies under several addresses: going back brings
 * back what shared memory held, too, and the rest of the run prints the same again.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/machine/machine.h"
#include "tests/unit.h"

#define CHECKPOINTS 8

static struct capture *capture;
static char output[300], expected[4096];

static int record(void **state)
{
	const char *faultline = unit_env("FAULTLINE"), *tmp = unit_env("TMPDIR");
	const char *build = unit_env("BUILD");
	_cleanup_free_ char *command = NULL, *dir = NULL;
	_cleanup_close_ int fd = -1;

	(void)state;
	snprintf(output, sizeof(output), "%s/out", tmp);
	if (asprintf(&dir, "%s/capture", tmp) < 0 ||
	    asprintf(&command, "%s record -o %s -- %s/tests/programs/shared >%s",
		     faultline, dir, build, output) < 0 ||
	    system(command))
		return -1;
	fd = open(output, O_RDONLY);
	if (read(fd, expected, sizeof(expected) - 1) <= 0)
		return -1;
	ok(capture_open(dir, &capture));
	return 0;
}

static int forget(void **state)
{
	(void)state;
	capture_close(capture);
	return 0;
}

/* Run to the end from @p position on; what is printed is the end of what was. */
static void run_from(struct dec_machine *m, int fd, uint64_t position)
{
	char text[4096] = {};
	struct dec_where w;
	size_t n;

	ok(dec_machine_seek(m, position, &w));
	assert_int_equal(w.position, position);
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0 && n <= strlen(expected));
	assert_string_equal(text, expected + strlen(expected) - n);
}

static void test_checkpoints(void **state)
{
	_cleanup_close_ int fd = open(output, O_RDWR);
	struct dec_machine_options o = { .output_fd = fd };
	struct dec_machine *m;
	struct dec_where w;
	uint64_t total;

	(void)state;
	ok(dec_machine_create(capture, &o, &m));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	assert_int_equal(w.at, DEC_AT_END);
	total = w.position;
	ok(dec_machine_seek(m, 0, &w));
	for (uint64_t i = 1; i <= CHECKPOINTS; i++) {
		ok(dec_machine_seek(m, total * i / (CHECKPOINTS + 2), &w));
		ok(dec_machine_checkpoint(m));
	}
	for (uint64_t i = CHECKPOINTS; i >= 1; i--) {
		run_from(m, fd, total * i / (CHECKPOINTS + 2));
		run_from(m, fd, total * i / (CHECKPOINTS + 2) + 50);
	}
	dec_machine_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoints),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
