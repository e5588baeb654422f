// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What tests of perf.data share: a folder of their own, and a file in it that has one record
 * of each kind and two streams.
 */
#ifndef TESTS_CAPTURE_PERF_FILE_H
#define TESTS_CAPTURE_PERF_FILE_H

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/perf_format.h"
#include "tests/unit.h"

static char dir[512], path[600];

static const uint8_t build_id[20] = { 0xde, 0xad, 1, 2, 3 };

static const struct perf_writer_options options = {
	.pt = { .pmu_type = 8,
		.config = PERF_PT_ENABLE | PERF_PT_TSC | PERF_PT_BRANCH,
		.tsc_bit = PERF_PT_TSC,
		.noretcomp_bit = PERF_PT_NORETCOMP,
		.mtc_bit = PERF_PT_MTC,
		.cyc_bit = PERF_PT_CYC,
		.mtc_freq_bits = PERF_PT_MTC_PERIOD,
		.tsc_ctc_n = 168,
		.tsc_ctc_d = 2,
		.max_nonturbo_ratio = 21,
		.is_user_only = true,
		.filter = (char *)"filter main @ /bin/x",
		.clock = { .mult = 1015, .shift = 10, .zero = 77, .is_known = true } },
	.host = { .hostname = (char *)"here",
		  .os_release = (char *)"6.1.0",
		  .version = (char *)"faultline",
		  .arch = (char *)"x86_64",
		  .cpu_desc = (char *)"A processor",
		  .cpu_id = (char *)"GenuineIntel,6,85,7",
		  .cpus_available = 4,
		  .cpus_online = 2 },
	.cmdline = (const char *const[]){ "faultline", "encode", "x.flt", NULL },
};

/* One record of each kind, at time 1000 and on. */
static const struct perf_record records[] = {
	{ .kind = PERF_COMM,
	  .comm = { .pid = 7, .tid = 7, .is_exec = true, .name = "prog" } },
	{ .kind = PERF_MMAP,
	  .time_ns = 1000,
	  .pid = 7,
	  .tid = 7,
	  .cpu = 1,
	  .mmap = { .pid = 7,
		    .tid = 7,
		    .addr = 0x555555554000,
		    .bytes = 0x1000,
		    .file_offset = 0x2000,
		    .prot = 5,
		    .flags = 2,
		    .build_id_bytes = 20,
		    .build_id = { 0xde, 0xad, 1, 2, 3 },
		    .path = "/bin/x" } },
	{ .kind = PERF_MMAP,
	  .time_ns = 1001,
	  .pid = 7,
	  .tid = 7,
	  .mmap = { .pid = 7,
		    .tid = 7,
		    .addr = 0x7ffff7000000,
		    .bytes = 0x3000,
		    .prot = 3,
		    .flags = 2,
		    .major = 8,
		    .minor = 1,
		    .inode = 123456,
		    .generation = 9,
		    .path = "/lib/with a long name.so" } },
	{ .kind = PERF_FORK,
	  .time_ns = 1002,
	  .task = { .pid = 7, .tid = 8, .parent_pid = 7, .parent_tid = 7 } },
	{ .kind = PERF_ITRACE_START, .time_ns = 1003, .start = { .pid = 7, .tid = 8 } },
	{ .kind = PERF_SWITCH, .time_ns = 1004, .pid = 7, .tid = 8 },
	{ .kind = PERF_SWITCH,
	  .time_ns = 1005,
	  .pid = 7,
	  .tid = 8,
	  .change = { .is_out = true,
		      .is_preempted = true,
		      .has_other = true,
		      .other_pid = 7,
		      .other_tid = 7 } },
	{ .kind = PERF_ROUND },
	{ .kind = PERF_AUX,
	  .time_ns = 1006,
	  .aux = { .offset = 64, .bytes = 32, .flags = PERF_AUX_TRUNCATED } },
	{ .kind = PERF_LOST, .time_ns = 1007, .lost = { .id = 2, .n = 5 } },
	{ .kind = PERF_LOST_SAMPLES, .time_ns = 1008, .lost = { .n = 6 } },
	{ .kind = PERF_AUXTRACE_ERROR,
	  .error = { .type = 1,
		     .code = 5,
		     .cpu = 1,
		     .pid = 7,
		     .tid = 8,
		     .ip = 0x1234,
		     .time_ns = 1009,
		     .message = "overflow" } },
	{ .kind = PERF_EXIT,
	  .time_ns = 1010,
	  .task = { .pid = 7, .tid = 8, .parent_pid = 7, .parent_tid = 7 } },
	{ .kind = PERF_INIT },
};

#define N_RECORDS (sizeof(records) / sizeof(records[0]))

static inline uint8_t pt_byte(uint32_t stream, uint64_t i)
{
	return stream * 31 + i * 7 + i / 256;
}

/* Give @p n bytes more to a stream. */
static inline void put_stream(struct perf_writer *w, uint32_t stream, uint64_t *at,
			      size_t n)
{
	struct perf_piece piece = { .stream = stream,
				    .tid = 7 + stream,
				    .cpu = PERF_NONE,
				    .offset = UINT64_MAX,
				    .reference = 1000 };
	uint8_t *data = malloc(n + 1);

	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = pt_byte(stream, *at + i);
	ok(perf_writer_stream(w, &piece, data, n));
	*at += n;
	free(data);
}

/* Write the file. @p adds_id: the events of sideband have a second id. */
static inline void write_file(bool adds_id)
{
	uint64_t at[2] = {}, bytes = 0;
	struct perf_writer *w;
	struct stat st;

	ok(perf_writer_create(path, &options, &w));
	for (size_t i = 0; i < N_RECORDS; i++) {
		ok(perf_writer_record(w, &records[i]));
		put_stream(w, i % 2, &at[i % 2], i * 3);
	}
	ok(perf_writer_build_id(w, 7, "/bin/x", build_id, sizeof(build_id)));
	if (adds_id)
		ok(perf_writer_add_id(w, false, 99));
	ok(perf_writer_finish(w, &bytes));
	perf_writer_destroy(w);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, bytes);
}

/* Write the file. @return what it holds, to be freed. */
static inline uint8_t *load_file(bool adds_id, size_t *bytes)
{
	struct stat st;
	uint8_t *data;
	FILE *f;

	write_file(adds_id);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	data = malloc(st.st_size);
	assert_non_null(data);
	*bytes = fread(data, 1, st.st_size, f);
	assert_int_equal(*bytes, st.st_size);
	fclose(f);
	return data;
}

static inline int setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.400s/perf.XXXXXX", tmp ?: "/tmp");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

#endif
