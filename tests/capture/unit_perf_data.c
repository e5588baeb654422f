// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf.data: what the writer wrote comes back from the reader; files of other perfs (older
 * records, compressed ones, unknown ones) are read; files that are cut or flipped anywhere
 * never harm. Whether perf itself understands the writer is tests/decode's question.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/perf_format.h"

static char dir[512], path[600];

#define ok(call)                                                  \
	do {                                                      \
		struct err *err_ = (call);                        \
		if (err_)                                         \
			fail_msg("%s: %s", #call, err_->message); \
	} while (0)

#define expect(want, call)                                                             \
	do {                                                                           \
		struct err *err_ = (call);                                             \
		assert_non_null(err_);                                                 \
		if (err_->code != (want))                                              \
			fail_msg("%s: code %d: %s", #call, err_->code, err_->message); \
		err_destroy(err_);                                                     \
	} while (0)

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

static uint8_t pt_byte(uint32_t stream, uint64_t i)
{
	return stream * 31 + i * 7 + i / 256;
}

/* Give @p n bytes more to a stream. */
static void put_stream(struct perf_writer *w, uint32_t stream, uint64_t *at, size_t n)
{
	struct perf_piece piece = { .stream = stream,
				    .tid = 7 + stream,
				    .cpu = PERF_NONE,
				    .offset = UINT64_MAX };
	uint8_t *data = malloc(n + 1);

	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = pt_byte(stream, *at + i);
	ok(perf_writer_stream(w, &piece, data, n));
	*at += n;
	free(data);
}

static void write_file(void)
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
	ok(perf_writer_add_id(w, false, 99));
	ok(perf_writer_finish(w, &bytes));
	perf_writer_destroy(w);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, bytes);
}

/* ---- coming back ------------------------------------------------------------------------- */

static void same_mmap(const struct perf_record *a, const struct perf_record *b)
{
	assert_int_equal(a->mmap.pid, b->mmap.pid);
	assert_int_equal(a->mmap.tid, b->mmap.tid);
	assert_int_equal(a->mmap.addr, b->mmap.addr);
	assert_int_equal(a->mmap.bytes, b->mmap.bytes);
	assert_int_equal(a->mmap.file_offset, b->mmap.file_offset);
	assert_int_equal(a->mmap.prot, b->mmap.prot);
	assert_int_equal(a->mmap.flags, b->mmap.flags);
	assert_int_equal(a->mmap.major, b->mmap.major);
	assert_int_equal(a->mmap.minor, b->mmap.minor);
	assert_int_equal(a->mmap.inode, b->mmap.inode);
	assert_int_equal(a->mmap.generation, b->mmap.generation);
	assert_int_equal(a->mmap.build_id_bytes, b->mmap.build_id_bytes);
	assert_memory_equal(a->mmap.build_id, b->mmap.build_id, sizeof(build_id));
	assert_string_equal(a->mmap.path, b->mmap.path);
}

static void same_other(const struct perf_record *a, const struct perf_record *b)
{
	switch (a->kind) {
	case PERF_COMM:
		assert_int_equal(a->comm.pid, b->comm.pid);
		assert_int_equal(a->comm.tid, b->comm.tid);
		assert_int_equal(a->comm.is_exec, b->comm.is_exec);
		assert_string_equal(a->comm.name, b->comm.name);
		break;
	case PERF_FORK:
	case PERF_EXIT:
		assert_int_equal(a->task.pid, b->task.pid);
		assert_int_equal(a->task.tid, b->task.tid);
		assert_int_equal(a->task.parent_pid, b->task.parent_pid);
		assert_int_equal(a->task.parent_tid, b->task.parent_tid);
		assert_int_equal(a->time_ns, b->task.time_ns);
		break;
	case PERF_SWITCH:
		assert_int_equal(a->change.is_out, b->change.is_out);
		assert_int_equal(a->change.is_preempted, b->change.is_preempted);
		assert_int_equal(a->change.has_other, b->change.has_other);
		assert_int_equal(a->change.other_pid, b->change.other_pid);
		assert_int_equal(a->change.other_tid, b->change.other_tid);
		break;
	case PERF_AUXTRACE_ERROR:
		assert_int_equal(a->error.code, b->error.code);
		assert_int_equal(a->error.ip, b->error.ip);
		assert_int_equal(a->error.time_ns, b->error.time_ns);
		assert_string_equal(a->error.message, b->error.message);
		break;
	case PERF_LOST_SAMPLES:
		assert_int_equal(a->lost.n, b->lost.n);
		break;
	default: // fixed fields alone
		assert_memory_equal(&a->aux, &b->aux, sizeof(a->aux));
	}
}

static void same(const struct perf_record *a, const struct perf_record *b)
{
	assert_int_equal(a->kind, b->kind);
	if (b->type < PERF_TYPE_USER) {
		assert_int_equal(a->time_ns, b->time_ns);
		assert_int_equal(a->pid, b->pid);
		assert_int_equal(a->tid, b->tid);
		assert_int_equal(a->cpu, b->cpu);
		assert_int_not_equal(b->id, 0);
	}
	if (a->kind == PERF_MMAP)
		same_mmap(a, b);
	else
		same_other(a, b);
}

/* All records but pieces; what the writer adds by itself comes first. */
static void read_records(struct perf_reader *r)
{
	struct perf_record rec;
	bool is_end = false;
	size_t i = 0, pieces = 0;

	for (;;) {
		ok(perf_reader_next(r, &rec, &is_end));
		if (is_end)
			break;
		if (rec.kind == PERF_TIME_CONV) {
			assert_int_equal(rec.clock.mult, 1015);
			assert_int_equal(rec.clock.zero, 77);
			assert_true(rec.clock.is_known);
		}
		pieces += rec.kind == PERF_AUXTRACE;
		if (rec.kind == PERF_AUXTRACE || rec.kind == PERF_TIME_CONV ||
		    rec.kind == PERF_CPU_MAP || rec.type == PERF_TYPE_AUXTRACE_INFO)
			continue;
		assert_true(i < N_RECORDS);
		same(&records[i++], &rec);
	}
	assert_int_equal(i, N_RECORDS);
	assert_int_equal(pieces, perf_reader_info(r)->n_pieces);
}

static void read_streams(struct perf_reader *r)
{
	const struct perf_info *info = perf_reader_info(r);
	uint64_t given[2] = {};

	for (size_t i = 0; i < N_RECORDS; i++)
		given[i % 2] += i * 3;
	assert_int_equal(info->n_streams, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct perf_stream *s = &info->streams[i];
		uint64_t at = 0;

		assert_int_equal(s->number, i);
		assert_int_equal(s->tid, 7 + i);
		assert_int_equal(s->cpu, PERF_NONE);
		assert_int_equal(s->bytes, (given[i] + 7) / 8 * 8);
		for (size_t j = 0; j < s->n_pieces; j++) {
			const struct perf_piece *p = &info->pieces[s->first_piece + j];
			uint8_t buf[256];

			assert_int_equal(p->offset, at);
			assert_true(p->bytes <= sizeof(buf));
			ok(perf_reader_piece(r, p, 0, buf, p->bytes));
			for (size_t k = 0; k < p->bytes; k++, at++)
				assert_int_equal(buf[k],
						 at < given[i] ? pt_byte(i, at) : 0);
			expect(ERR_RANGE, perf_reader_piece(r, p, 1, buf, p->bytes));
		}
	}
}

static void read_info(const struct perf_info *info)
{
	assert_null(info->damage);
	assert_false(info->is_unfinished);
	assert_true(info->has_pt);
	assert_int_equal(info->pt.pmu_type, 8);
	assert_int_equal(info->pt.config, options.pt.config);
	assert_int_equal(info->pt.mtc_freq_bits, PERF_PT_MTC_PERIOD);
	assert_int_equal(info->pt.tsc_ctc_n, 168);
	assert_int_equal(info->pt.cyc_bit, PERF_PT_CYC);
	assert_int_equal(info->pt.max_nonturbo_ratio, 21);
	assert_true(info->pt.is_user_only);
	assert_true(info->pt.clock.is_known);
	assert_string_equal(info->pt.filter, options.pt.filter);
	assert_string_equal(info->host.hostname, "here");
	assert_string_equal(info->host.cpu_id, "GenuineIntel,6,85,7");
	assert_string_equal(info->host.cpu_desc, "A processor");
	assert_int_equal(info->host.cpus_available, 4);
	assert_int_equal(info->n_cmdline, 3);
	assert_string_equal(info->cmdline[2], "x.flt");
	assert_int_equal(info->n_attrs, 2);
	assert_int_equal(info->attrs[1].n_ids, 2);
	assert_int_equal(info->attrs[1].ids[1], 99);
	assert_string_equal(info->attrs[0].name, "intel_pt//u");
	assert_int_equal(info->n_build_ids, 1);
	assert_string_equal(info->build_ids[0].path, "/bin/x");
	assert_memory_equal(info->build_ids[0].build_id, build_id, 20);
	assert_int_equal(info->first_ns, 1000);
	assert_int_equal(info->last_ns, 1010);
	assert_int_equal(info->n_lost, 11);
	assert_int_equal(info->n_other, 0);
}

static void test_comes_back(void **state)
{
	struct perf_reader *r;

	(void)state;
	write_file();
	assert_true(perf_data_is(path));
	ok(perf_reader_open(path, &r));
	read_info(perf_reader_info(r));
	read_records(r);
	perf_reader_rewind(r);
	read_records(r);
	read_streams(r);
	perf_reader_close(r);
}

static int setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.400s/perf.XXXXXX", tmp ?: "/tmp");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
