// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// Packed files unpack to what they were; damaged, or to more than they may, they do not.

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/cap_pack.h"
#include "tests/unit.h"

#define N 3000

static char dir[4096];
static int dir_fd;
static uint8_t bytes[N];

static int make(const char *name, const uint8_t *from, size_t n)
{
	int fd = file_open_below(dir_fd, name, O_RDWR | O_CREAT);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, from, n), n);
	return fd;
}

/* File @p fd, which this closes, has them, and nobody can write to it. */
static void check_bytes(int fd, uint64_t size)
{
	uint8_t back[N];

	assert_int_equal(size, N);
	assert_int_equal(pread(fd, back, N, 0), N);
	assert_memory_equal(back, bytes, N);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	close(fd);
}

static void test_comes_back(void **state)
{
	uint64_t size;
	int fd, in_memory;

	(void)state;
	for (size_t i = 0; i < N; i++)
		bytes[i] = i * i >> 14;
	fd = make("file", bytes, N);
	ok(cap_pack_file(dir_fd, "file", fd, N));
	close(fd);
	ok(cap_pack_open(dir_fd, "file", "file", &in_memory, &size));
	check_bytes(in_memory, size);
	expect(ERR_NOT_FOUND, cap_pack_open(dir_fd, "none", "none", &in_memory, &size));
}

static void test_damage(void **state)
{
	uint8_t packed[N];
	struct err *err;
	uint64_t size;
	ssize_t n, n_refused = 0;
	int fd = file_open_below(dir_fd, "file" CAP_PACKED, O_RDONLY), in_memory;

	(void)state;
	n = read(fd, packed, N);
	close(fd);
	assert_true(n > 8 && n < N);
	for (ssize_t i = 0; i < n; i++) {
		packed[i] ^= 0x40;
		err = cap_pack_take(packed, n, NULL, 0, "it", &in_memory, &size);
		packed[i] ^= 0x40;
		n_refused += err != NULL;
		if (err)
			assert_int_equal(err->code, ERR_FORMAT);
		else // a bit that says nothing
			check_bytes(in_memory, size);
		err_destroy(err);
		expect(ERR_FORMAT,
		       cap_pack_take(packed, i, NULL, 0, "it", &in_memory, &size));
	}
	assert_true(n_refused > n - 8);
	ok(cap_pack_take(packed, n, NULL, 0, "it", &in_memory, &size));
	check_bytes(in_memory, size);
}

static void test_bomb(void **state)
{
	static uint8_t zeros[CAP_PACK_MOST + 1];
	int fd = make("zeros", zeros, 1), in_memory;
	uint64_t size;

	(void)state;
	assert_int_equal(ftruncate(fd, sizeof(zeros)), 0);
	ok(cap_pack_file(dir_fd, "zeros", fd, sizeof(zeros)));
	close(fd);
	expect(ERR_FORMAT, cap_pack_open(dir_fd, "zeros", "zeros", &in_memory, &size));
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_bomb),
	};

	snprintf(dir, sizeof(dir), "%s/pack.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert_non_null(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir_fd >= 0);
	return cmocka_run_group_tests(unit_tests, NULL, NULL) ||
	       unit_run("rm -r '%s'", dir);
}
