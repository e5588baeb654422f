// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Masking: values at each alignment, beside each other, in pieces, over the ends of what is
 * looked at; and what only looks like one stays.
 */
#include <fcntl.h>
#include <string.h>

#include "capture/cap_mask.h"
#include "tests/unit.h"

static const char short_one[] = "secret-9", // of the least size
	long_one[] = "a-longer-value/which+has=many.bytes",
		  same[] = "aaaaaaaaaaaaaaaaaaaa";

static struct cap_mask *make(void)
{
	struct cap_mask *m = cap_mask_create();

	assert_non_null(m);
	assert_false(cap_mask_is_on(m));
	ok(cap_mask_add(m, short_one));
	ok(cap_mask_add(m, long_one));
	ok(cap_mask_add(m, long_one));
	ok(cap_mask_add(m, same));
	assert_true(cap_mask_is_on(m));
	return m;
}

static void whole(void **state)
{
	struct cap_mask *m = make();
	const char *const values[] = { short_one, long_one, same };

	(void)state;
	for (size_t v = 0; v < 3; v++)
		for (size_t at = 0; at < 9; at++)
			for (size_t behind = 0; behind < 5; behind++) {
				size_t n = strlen(values[v]);
				char text[100], want[100];

				memset(text, '.', sizeof(text));
				memcpy(want, text, sizeof(text));
				memcpy(text + at, values[v], n);
				memset(want + at, 'x', n);
				assert_int_equal(cap_mask_bytes(m, text, at + n + behind),
						 1);
				assert_memory_equal(text, want, sizeof(text));
				assert_int_equal(cap_mask_bytes(m, text, at + n + behind),
						 0);
			}
	cap_mask_destroy(m);
}

static void pieces(void **state)
{
	struct cap_mask *m = make();
	char text[] =
		"..longer-value/whi......longer-value/wh...secret-8.aaaaaaaaaaaaaaa.";
	char ends[] = "et-9....................a-longer";

	(void)state;
	assert_int_equal(cap_mask_bytes(m, text, strlen(text)), 1);
	assert_string_equal(
		text,
		"..xxxxxxxxxxxxxxxx......longer-value/wh...secret-8.aaaaaaaaaaaaaaa.");
	// Between two reads half of a short one, and 8 bytes of a long one, are enough.
	assert_int_equal(cap_mask_bytes(m, ends, strlen(ends)), 0);
	assert_int_equal(cap_mask_data(m, ends, strlen(ends)), 2);
	assert_string_equal(ends, "xxxx....................xxxxxxxx");
	assert_int_equal(cap_mask_data(m, ends, 0), 0);
	cap_mask_destroy(m);
}

static void words(void **state)
{
	struct cap_mask *m = make();
	uint64_t regs[4] = { 0, 0x7fffdeadbeef, 0, 0 }, want[4];

	(void)state;
	memcpy(&regs[0], "er-value", 8);
	memcpy(&regs[2], "ecret-9", 8);
	memcpy(&regs[3], "notvalue", 8);
	memcpy(want, regs, sizeof(regs));
	memset(&want[0], 'x', 8);
	memset(&want[2], 'x', 7);
	cap_mask_words(m, regs, 4);
	assert_memory_equal(regs, want, sizeof(regs));
	cap_mask_words(NULL, regs, 4);
	cap_mask_destroy(m);
}

/** The same text in a file, masked at once and in pieces of each size. */
static void streams(void **state)
{
	struct cap_mask *m = make();
	char path[] = "/tmp/unit_mask.XXXXXX", text[400], want[400];
	int fd = mkstemp(path);
	uint64_t n;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	memset(text, '.', sizeof(text));
	for (size_t at = 3; at + sizeof(long_one) < sizeof(text); at += 61)
		memcpy(text + at, long_one, strlen(long_one));
	memcpy(text + sizeof(text) - 8, short_one, 8);
	memcpy(want, text, sizeof(text));
	cap_mask_bytes(m, want, sizeof(want));
	for (size_t size = 1; size < 100; size++) {
		struct cap_mask_stream s = { .mask = m };
		char got[400];
		size_t done = 0;

		for (size_t at = 0; at <= sizeof(text); at += size) {
			size_t left = sizeof(text) - at,
			       bytes = left < size ? left : size;
			size_t ready;

			memcpy(cap_mask_stream_room(&s, bytes + 1), text + at, bytes);
			s.size += bytes;
			ready = cap_mask_stream_do(&s, at + size > sizeof(text));
			memcpy(got + done, s.data, ready);
			cap_mask_stream_drop(&s, ready);
			done += ready;
		}
		assert_int_equal(done, sizeof(text));
		assert_memory_equal(got, want, sizeof(want));
		cap_mask_stream_deinit(&s);
	}
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	ok(cap_mask_count(m, fd, &n));
	assert_int_equal(n, 7);
	ok(cap_mask_file(m, fd, &n));
	assert_int_equal(n, 7);
	assert_int_equal(pread(fd, text, sizeof(text), 0), sizeof(text));
	assert_memory_equal(text, want, sizeof(want));
	ok(cap_mask_count(m, fd, &n));
	assert_int_equal(n, 0);
	close(fd);
	cap_mask_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(pieces),
		cmocka_unit_test(words),
		cmocka_unit_test(streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
