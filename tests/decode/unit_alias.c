// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Checkpoints of a program whose memory lies under several addresses: going back brings
 * back what shared memory held, too, and the rest of the run prints the same again. Mappings
 * of other parts of the same file have nothing to do with it.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/machine/alias.h"
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

/* @p n pages of file 7, from its page @p offset on, are mapped, and may grow by one; the first byte is @p first. */
static uint8_t *map_part(struct dec_guest *g, uint64_t offset, uint64_t n, bool is_shared,
			 uint8_t first)
{
	uint8_t *at = mmap(NULL, (n + 1) * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	*at = first;
	ok(dec_alias_add(g, 7, offset * 4096, (uint64_t)at, (uint64_t)(at + n * 4096),
			 is_shared));
	return at;
}

static void test_parts(void **state)
{
	struct dec_engine engine = {};
	struct dec_guest g = { .engine = &engine };
	uint8_t *shared = map_part(&g, 4, 4, true, 'a'), *before, *behind, *same;

	(void)state;
	before = map_part(&g, 0, 4, false, 'b');
	behind = map_part(&g, 8, 4, false, 'c');
	map_part(&g, 9, 1, false, 'd');
	assert_int_equal(g.alias_fd, 0);
	same = map_part(&g, 5, 1, true, 0);
	shared[4096] = 'e';
	assert_int_equal(*same, 'e');
	assert_int_equal(*shared, 'a');
	for (size_t i = 0; i < g.aliases.size; i++)
		assert_int_equal(g.aliases.data[i].is_real, g.aliases.data[i].is_shared);
	// It grows into the shared part.
	before[4 * 4096] = 'a';
	ok(dec_alias_grow(&g, (uint64_t)before + 4 * 4096, 4096));
	*shared = 'f';
	assert_int_equal(before[4 * 4096], 'f');
	assert_int_equal(*before, 'b');
	assert_int_equal(*behind, 'c');
	close(g.alias_fd);
	vec_deinit(&g.aliases);
	vec_deinit(&g.alias_keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
