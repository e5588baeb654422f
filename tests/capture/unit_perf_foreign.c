// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf.data of other perfs: older records, compressed ones, unknown ones are read; what is no
 * such file is refused.
 */

#include <zstd.h>

#include "tests/capture/perf_file.h"

/* A file is put together here. */
struct maker {
	uint8_t data[65536];
	size_t n;
};

static void put(struct maker *m, const void *data, size_t n)
{
	assert_true(m->n + n <= sizeof(m->data));
	memcpy(m->data + m->n, data, n);
	m->n += n;
}

/* One event of perf record without IDENTIFIER: TID, TIME, CPU; attrs of another size. */
static void put_head(struct maker *m, uint64_t sample_type)
{
	struct perf_head head = { .magic = PERF_MAGIC,
				  .size = sizeof(head),
				  .attr_size = 136 + 16,
				  .attrs = { 104, 136 + 16 },
				  .data = { 104 + 136 + 16, 0 } };
	struct perf_attr_disk attr = { .type = 8,
				       .size = 136,
				       .sample_type = sample_type,
				       .flags = PERF_ATTR_SAMPLE_ID_ALL };
	uint64_t rest[3] = {};

	m->n = 0;
	put(m, &head, sizeof(head));
	put(m, &attr, sizeof(attr));
	put(m, rest, sizeof(rest));
}

static void put_tail(struct maker *m, uint64_t bytes)
{
	FILE *f = fopen(path, "w");

	memcpy(m->data + offsetof(struct perf_head, data.size), &bytes, sizeof(bytes));
	assert_non_null(f);
	assert_int_equal(fwrite(m->data, 1, m->n, f), m->n);
	assert_int_equal(fclose(f), 0);
}

static void put_rec(struct maker *m, uint32_t type, uint16_t misc, const void *body,
		    size_t bytes)
{
	struct perf_rec rec = { type, misc, sizeof(rec) + bytes };

	put(m, &rec, sizeof(rec));
	put(m, body, bytes);
}

#define TID_TIME_CPU (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* MMAP, COMM, two kinds that nobody knows, a sample. */
static void put_foreign(struct maker *m)
{
	const struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		char path[8];
		uint32_t id_pid, id_tid;
		uint64_t time, cpu;
	} map = { 3, 4, 0x400000, 0x1000, 0, "/bin/y", 3, 4, 50, 1 };
	const struct {
		uint32_t pid, tid;
		char name[8];
		uint32_t id_pid, id_tid;
		uint64_t time, cpu;
	} comm = { 3, 4, "y", 3, 4, 51, 1 };
	const uint64_t id[3] = { 0, 52, 0 }, sample[4] = { 3 | 4ull << 32, 53, 1, 0xabc };

	put_rec(m, PERF_TYPE_MMAP, PERF_MISC_USER, &map, sizeof(map));
	put_rec(m, 200, 0, id, sizeof(id));
	put_rec(m, PERF_TYPE_COMM, 0, &comm, sizeof(comm));
	put_rec(m, 30, 0, id, sizeof(id));
	put_rec(m, PERF_TYPE_SAMPLE, 0, sample, sizeof(sample));
}

static void read_foreign(void)
{
	const struct perf_info *info;
	struct perf_record rec;
	struct perf_reader *r;
	bool is_end;

	ok(perf_reader_open(path, &r));
	info = perf_reader_info(r);
	assert_int_equal(info->n_other, 2);
	assert_int_equal(info->n_records, 5);
	assert_int_equal(info->last_ns, 53);
	ok(perf_reader_next(r, &rec, &is_end));
	assert_int_equal(rec.kind, PERF_MMAP);
	assert_int_equal(rec.mmap.prot, 5);
	assert_int_equal(rec.mmap.addr, 0x400000);
	assert_string_equal(rec.mmap.path, "/bin/y");
	assert_int_equal(rec.time_ns, 50);
	assert_int_equal(rec.cpu, 1);
	ok(perf_reader_next(r, &rec, &is_end));
	assert_int_equal(rec.kind, PERF_OTHER);
	assert_int_equal(rec.type, 200);
	ok(perf_reader_next(r, &rec, &is_end));
	assert_string_equal(rec.comm.name, "y");
	ok(perf_reader_next(r, &rec, &is_end));
	assert_int_equal(rec.type, 30);
	ok(perf_reader_next(r, &rec, &is_end));
	assert_int_equal(rec.kind, PERF_SAMPLE);
	assert_int_equal(rec.tid, 4);
	assert_int_equal(rec.sample.rest_bytes, 8);
	ok(perf_reader_next(r, &rec, &is_end));
	assert_true(is_end);
	perf_reader_close(r);
}

static void test_other_records(void **state)
{
	struct maker m;
	size_t head;

	(void)state;
	put_head(&m, TID_TIME_CPU);
	head = m.n;
	put_foreign(&m);
	put_tail(&m, m.n - head);
	read_foreign();
	// The recorder was killed before it said how much there is.
	put_tail(&m, 0);
	read_foreign();
}

/* The same records compressed, the zstd stream cut into records of @p piece bytes. */
static void put_packed(struct maker *m, size_t piece, uint32_t type)
{
	size_t head_bytes, max = ZSTD_compressBound(sizeof(m->data));
	uint8_t *packed = malloc(max);
	struct maker plain = {};
	size_t n;

	assert_non_null(packed);
	put_foreign(&plain);
	put_head(m, TID_TIME_CPU);
	head_bytes = m->n;
	n = ZSTD_compress(packed, max, plain.data, plain.n, 1);
	assert_false(ZSTD_isError(n));
	for (size_t at = 0; at < n; at += piece) {
		uint64_t now = n - at < piece ? n - at : piece;
		struct perf_rec rec = { type, 0, sizeof(rec) + now };

		if (type == PERF_TYPE_COMPRESSED2)
			rec.size = sizeof(rec) + 8 + now + 3;
		put(m, &rec, sizeof(rec));
		if (type == PERF_TYPE_COMPRESSED2)
			put(m, &now, sizeof(now));
		put(m, packed + at, now);
		if (type == PERF_TYPE_COMPRESSED2)
			put(m, "pad", 3);
	}
	put_tail(m, m->n - head_bytes);
	free(packed);
}

static void test_compressed(void **state)
{
	static struct maker m;
	struct perf_record rec;
	struct perf_reader *r;
	bool is_end = false;

	(void)state;
	for (size_t piece = 1; piece < 200; piece += 13) {
		put_packed(&m, piece, PERF_TYPE_COMPRESSED);
		read_foreign();
		put_packed(&m, piece, PERF_TYPE_COMPRESSED2);
		read_foreign();
	}
	// Cut: the last compressed record is not there.
	m.n -= 30;
	put_tail(&m, m.n - 256);
	ok(perf_reader_open(path, &r));
	assert_non_null(perf_reader_info(r)->damage);
	for (;;) {
		struct err *err = perf_reader_next(r, &rec, &is_end);

		assert_false(is_end);
		if (!err)
			continue;
		assert_int_equal(err->code, ERR_TRUNCATED);
		assert_non_null(strstr(err->message, "byte"));
		err_destroy(err);
		break;
	}
	perf_reader_close(r);
}

/* A few kilobytes that grow to more than a hundred megabytes of records. */
static void test_bomb(void **state)
{
	static const struct perf_rec rec = { 30, 0, sizeof(rec) + 24 };
	static struct maker m;
	size_t plain_bytes = 128 << 20, max = ZSTD_compressBound(plain_bytes), n;
	uint8_t *plain = calloc(1, plain_bytes), *packed = malloc(max);
	struct perf_reader *r;

	(void)state;
	assert_true(plain && packed);
	for (size_t at = 0; at < plain_bytes; at += rec.size)
		memcpy(plain + at, &rec, sizeof(rec));
	put_head(&m, TID_TIME_CPU);
	n = ZSTD_compress(packed, max, plain, plain_bytes, 7);
	for (size_t at = 0; at < n; at += 32768)
		put_rec(&m, PERF_TYPE_COMPRESSED, 0, packed + at,
			n - at < 32768 ? n - at : 32768);
	put_tail(&m, m.n - 256);
	free(plain);
	free(packed);
	ok(perf_reader_open(path, &r));
	assert_non_null(strstr(perf_reader_info(r)->damage, "256 times"));
	assert_true(perf_reader_info(r)->n_records < 4 << 20);
	perf_reader_close(r);
}

static void refused(const void *data, size_t n, enum err_code code, const char *why)
{
	FILE *f = fopen(path, "w");
	struct perf_reader *r;
	struct err *err;

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	err = perf_reader_open(path, &r);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, why))
		fail_msg("'%s' does not say '%s'", err->message, why);
	err_destroy(err);
}

static void test_refused(void **state)
{
	struct perf_reader *r;
	struct perf_head head = { .magic = PERF_MAGIC, .size = 16 };

	(void)state;
	refused("", 0, ERR_FORMAT, "not a perf.data file");
	refused("#!/bin/sh\necho something\n", 24, ERR_FORMAT, "not a perf.data file");
	refused(&head, 16, ERR_UNSUPPORTED, "pipe mode");
	refused(&head, sizeof(head), ERR_UNSUPPORTED, "pipe mode");
	head.size = sizeof(head);
	refused(&head, 100, ERR_TRUNCATED, "head");
	refused(&head, sizeof(head), ERR_FORMAT, "events");
	memcpy(head.magic, PERF_MAGIC_SWAPPED, 8);
	refused(&head, sizeof(head), ERR_UNSUPPORTED, "byte order");
	memcpy(head.magic, PERF_MAGIC_OLD, 8);
	refused(&head, sizeof(head), ERR_UNSUPPORTED, "format");
	assert_true(perf_data_is(path));
	expect(ERR_NOT_FOUND, perf_reader_open("/nonexistent/perf.data", &r));
	expect(ERR_UNSUPPORTED, perf_reader_open(dir, &r));
	assert_false(perf_data_is(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_records),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
