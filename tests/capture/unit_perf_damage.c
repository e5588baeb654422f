// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf.data that is cut or flipped anywhere, or was not finished: what there is of it is read,
 * and nothing is harmed.
 */

#include <sys/mman.h>

#include "tests/capture/perf_file.h"

static int memory; ///< a file that is written thousands of times
static char memory_path[32];

/* Write @p n bytes and read what can be read. @return how many records there were; -1:
 * it does not open. @p err_ret: 0 when all was well. */
static int read_damaged(const uint8_t *data, size_t n, int *err_ret)
{
	struct perf_reader *r = NULL;
	struct err *err;
	bool is_end = false;
	int count = 0;

	assert_int_equal(ftruncate(memory, 0), 0);
	assert_int_equal(pwrite(memory, data, n, 0), n);
	err = perf_reader_open(memory_path, &r);
	while (!err && !is_end) {
		struct perf_record rec;

		err = perf_reader_next(r, &rec, &is_end);
		if (!err && !is_end)
			count++;
	}
	*err_ret = err ? err->code : 0;
	if (err)
		assert_non_null(strstr(err->message, memory_path));
	err_destroy(err);
	if (!r)
		return -1;
	for (size_t i = 0; i < perf_reader_info(r)->n_pieces; i++) {
		const struct perf_piece *p = &perf_reader_info(r)->pieces[i];

		assert_true(p->at <= n && p->bytes <= n - p->at);
	}
	perf_reader_close(r);
	return count;
}

static void test_cut_anywhere(void **state)
{
	size_t good_bytes;
	int err, all, last = -1;
	uint8_t *good = load_file(false, &good_bytes);

	(void)state;
	all = read_damaged(good, good_bytes, &err);
	assert_int_equal(err, 0);
	for (size_t n = 0; n < good_bytes; n++) {
		int count = read_damaged(good, n, &err);

		if (err != ERR_TRUNCATED && err != ERR_FORMAT)
			fail_msg("cut at %zu of %zu: error %d", n, good_bytes, err);
		// The longer the more; whole records alone.
		assert_true(count >= last && count <= all);
		last = count;
	}
	assert_int_equal(last, all);
	free(good);
}

static void test_flipped_anywhere(void **state)
{
	size_t good_bytes;
	int err, n_told = 0;
	uint8_t *good = load_file(true, &good_bytes);

	(void)state;
	for (size_t i = 0; i < good_bytes; i++) {
		for (int bit = 0; bit < 8; bit += 7) {
			good[i] ^= 1 << bit;
			read_damaged(good, good_bytes, &err);
			n_told += err != 0;
			good[i] ^= 1 << bit;
		}
	}
	assert_true(n_told > 100);
	free(good);
}

/* What was flushed is a file; what was not is not missed. */
static void test_killed_recorder(void **state)
{
	struct perf_writer *w;
	struct perf_reader *r;
	struct perf_record rec;
	uint64_t at = 0, n = 0;
	bool is_end = false;

	(void)state;
	ok(perf_writer_create(path, &options, &w));
	for (size_t i = 0; i < N_RECORDS; i++)
		ok(perf_writer_record(w, &records[i]));
	put_stream(w, 0, &at, 800);
	ok(perf_writer_flush(w));
	put_stream(w, 0, &at, 400000); // some of it gets to the file
	perf_writer_destroy(w);
	ok(perf_reader_open(path, &r));
	assert_true(perf_reader_info(r)->is_unfinished);
	assert_int_equal(perf_reader_info(r)->pt_bytes, 800);
	while (!is_end) {
		ok(perf_reader_next(r, &rec, &is_end));
		n++;
	}
	assert_int_equal(n, N_RECORDS + 1 + 1 + 3);
	perf_reader_close(r);
}

static int setup_memory(void **state)
{
	memory = memfd_create("perf.data", MFD_CLOEXEC);
	snprintf(memory_path, sizeof(memory_path), "/proc/self/fd/%d", memory);
	return memory < 0 ? -1 : setup(state);
}

static int teardown_memory(void **state)
{
	close(memory);
	return teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_flipped_anywhere),
		cmocka_unit_test(test_killed_recorder),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
