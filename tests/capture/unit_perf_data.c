// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf.data: what the writer wrote comes back from the reader; files of other perfs (older
 * records, compressed ones, unknown ones) are read; files that are cut or flipped anywhere
 * never harm. Whether perf itself understands the writer is tests/decode's question.
 */

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/capture.h"
#include "capture/perf_format.h"
#include "tests/unit.h"

static char dir[512], path[600];
static int memory; ///< a file that is written thousands of times
static char memory_path[32];

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

static void write_file(bool adds_id)
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

	assert_int_equal(info->n_streams, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct perf_stream *s = &info->streams[i];
		uint64_t at = 0;

		assert_int_equal(s->number, i);
		assert_int_equal(s->tid, 7 + i);
		assert_int_equal(s->cpu, PERF_NONE);
		assert_int_equal(s->n_pieces, N_RECORDS / 2);
		for (size_t j = 0; j < s->n_pieces; j++) {
			const struct perf_piece *p = &info->pieces[s->first_piece + j];
			size_t given = (2 * j + i) * 3;
			uint8_t buf[256];

			assert_int_equal(p->offset, at);
			assert_int_equal(p->bytes, (given + 7) / 8 * 8);
			ok(perf_reader_piece(r, p, 0, buf, p->bytes));
			for (size_t k = 0; k < p->bytes; k++)
				assert_int_equal(buf[k],
						 k < given ? pt_byte(i, at + k) : 0);
			expect(ERR_RANGE, perf_reader_piece(r, p, 1, buf, p->bytes));
			at += given;
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
	write_file(true);
	assert_true(perf_data_is(path));
	ok(perf_reader_open(path, &r));
	read_info(perf_reader_info(r));
	read_records(r);
	perf_reader_rewind(r);
	read_records(r);
	read_streams(r);
	perf_reader_close(r);
}

/* ---- streams ----------------------------------------------------------------------------- */

static void test_streams_in_pieces(void **state)
{
	static uint8_t data[600000];
	struct perf_piece piece = { .stream = 5,
				    .tid = PERF_NONE,
				    .cpu = 3,
				    .offset = UINT64_MAX,
				    .reference = 7 };
	const uint64_t offsets[] = { 0, 13, 600000, 1 << 20 };
	const uint64_t sizes[] = { 16, 599992, 8, 8 };
	const struct perf_info *info;
	struct perf_writer *w;
	struct perf_reader *r;
	uint8_t buf[16];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = pt_byte(5, i);
	ok(perf_writer_create(path, &options, &w));
	ok(perf_writer_stream(w, &piece, data, 13));
	ok(perf_writer_stream(w, &piece, data + 13, sizeof(data) - 13));
	ok(perf_writer_stream(w, &piece, data, 3));
	piece.offset = 1 << 20; // leaps
	piece.reference = 0;	// now
	ok(perf_writer_stream(w, &piece, data, 8));
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	ok(perf_reader_open(path, &r));
	info = perf_reader_info(r);
	assert_int_equal(info->n_streams, 1);
	assert_int_equal(info->streams[0].cpu, 3);
	assert_int_equal(info->n_pieces, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(info->pieces[i].offset, offsets[i]);
		assert_int_equal(info->pieces[i].bytes, sizes[i]);
	}
	assert_int_equal(info->pieces[0].reference, 7);
	assert_true(info->pieces[3].reference > 7);
	ok(perf_reader_piece(r, &info->pieces[1], 1000, buf, 16));
	assert_memory_equal(buf, data + 1013, 16);
	ok(perf_reader_piece(r, &info->pieces[2], 0, buf, 8));
	assert_memory_equal(buf, "\x9b\xa2\xa9\0\0\0\0\0", 8);
	perf_reader_close(r);
}

/* A piece that goes on becomes one with that before it, whatever their sizes are. */
static void test_rings_in_halves(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 1000, 262000, 300001 };
	static uint8_t data[700000], back[700000];
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);
	const struct perf_record round = { .kind = PERF_ROUND };
	struct perf_piece piece = { .stream = 1, .tid = 4, .cpu = PERF_NONE };
	const struct perf_info *info;
	struct perf_writer *w;
	struct perf_reader *r;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = pt_byte(1, i);
	ok(perf_writer_create(path, &options, &w));
	for (size_t i = 0; i < n * n; i++) {
		size_t a = sizes[i / n], b = sizes[i % n];

		piece.offset = 64 + i * 1000000;
		ok(perf_writer_stream(w, &piece, data, a));
		piece.offset += a;
		ok(perf_writer_stream(w, &piece, data + a, b));
		// What a flush told of stays as it is; what other records are between, too.
		if (i % 3 == 0)
			ok(perf_writer_flush(w));
		else if (i % 3 == 1)
			ok(perf_writer_record(w, &round));
		piece.offset += b + (i % 3 == 2);
		ok(perf_writer_stream(w, &piece, data, 8));
	}
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	ok(perf_reader_open(path, &r));
	info = perf_reader_info(r);
	assert_null(info->damage);
	assert_int_equal(info->n_pieces, 2 * n * n);
	for (size_t i = 0; i < n * n; i++) {
		const struct perf_piece *p = &info->pieces[2 * i];
		size_t bytes = sizes[i / n] + sizes[i % n];

		assert_int_equal(p->bytes, (bytes + 7) / 8 * 8);
		ok(perf_reader_piece(r, p, 0, back, p->bytes));
		assert_memory_equal(back, data, bytes);
		assert_int_equal(p[1].bytes, 8);
	}
	perf_reader_close(r);
}

/* What the kernel's ring gives goes in as it is, and comes back taken apart. */
static void test_raw_records(void **state)
{
	struct {
		struct perf_rec_ids ids;
		uint32_t pid, tid;
		uint64_t time_ns, cpu, id;
	} rec = { { { .type = PERF_TYPE_ITRACE_START, .size = sizeof(rec) }, 4, 5 },
		  4,
		  5,
		  123456,
		  1,
		  77 };
	const uint64_t id = 77;
	struct perf_writer_options o = options;
	struct perf_record back = {};
	struct perf_writer *w;
	struct perf_reader *r;
	bool is_end = false;

	(void)state;
	o.pt_ids = &id;
	o.n_pt_ids = 1;
	ok(perf_writer_create(path, &o, &w));
	ok(perf_writer_raw(w, &rec, sizeof(rec)));
	expect(ERR_FORMAT, perf_writer_raw(w, &rec, sizeof(rec) - 8));
	expect(ERR_FORMAT, perf_writer_raw(w, &rec, 16));
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	ok(perf_reader_open(path, &r));
	while (back.kind != PERF_ITRACE_START) {
		ok(perf_reader_next(r, &back, &is_end));
		assert_false(is_end);
	}
	assert_int_equal(back.start.tid, 5);
	assert_int_equal(back.tid, 5);
	assert_int_equal(back.cpu, 1);
	assert_int_equal(back.id, 77);
	assert_int_equal(back.time_ns, 123456);
	assert_int_equal(perf_reader_info(r)->first_ns, 123456);
	perf_reader_close(r);
}

/* ---- files of others --------------------------------------------------------------------- */

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

/* perf's directories: `--kcore' has one file in it, `--threads' several. */
static void test_directory(void **state)
{
	_cleanup_free_ char *in = NULL, *data = NULL, *part = NULL;
	struct perf_reader *r;
	struct capture *c;

	(void)state;
	write_file(true);
	assert_true(asprintf(&in, "%s.dir", path) > 0);
	assert_true(asprintf(&data, "%s/data", in) > 0);
	assert_true(asprintf(&part, "%s/data.0", in) > 0);
	assert_int_equal(mkdir(in, 0700), 0);
	assert_false(perf_data_is(in));
	assert_int_equal(link(path, data), 0);
	assert_true(perf_data_is(in));
	ok(perf_reader_open(in, &r));
	read_info(perf_reader_info(r));
	perf_reader_close(r);
	expect(ERR_UNSUPPORTED, capture_open(in, &c));
	assert_int_equal(link(path, part), 0);
	expect(ERR_UNSUPPORTED, perf_reader_open(in, &r));
	unlink(part);
	unlink(data);
	rmdir(in);
}

/* ---- damage ------------------------------------------------------------------------------ */

static uint8_t *good;
static size_t good_bytes;

static void load_good(bool adds_id)
{
	struct stat st;
	FILE *f;

	write_file(adds_id);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	good_bytes = st.st_size;
	good = malloc(good_bytes);
	assert_non_null(good);
	assert_int_equal(fread(good, 1, good_bytes, f), good_bytes);
	fclose(f);
}

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
	int err, all, last = -1;

	(void)state;
	load_good(false);
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
	int err, n_told = 0;

	(void)state;
	load_good(true);
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

/* The format does not change unnoticed; FAULTLINE_BLESS=1 writes the file anew. */
static void test_golden(void **state)
{
	static const char golden[] = "tests/capture/perf-1.data";
	struct perf_reader *r;
	uint8_t buf[8192];
	FILE *f;

	(void)state;
	load_good(true);
	if (getenv("FAULTLINE_BLESS")) {
		f = fopen(golden, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(good, 1, good_bytes, f), good_bytes);
		fclose(f);
	}
	f = fopen(golden, "r");
	assert_non_null(f);
	assert_int_equal(fread(buf, 1, sizeof(buf), f), good_bytes);
	fclose(f);
	assert_memory_equal(buf, good, good_bytes);
	ok(perf_reader_open(golden, &r));
	read_info(perf_reader_info(r));
	read_records(r);
	perf_reader_close(r);
	free(good);
}

static void test_clock(void **state)
{
	struct perf_clock c = { .mult = 1015, .shift = 10, .zero = 5 };
	const uint64_t ns[] = { 5, 6, 1000, 123456789012345678ull };

	(void)state;
	assert_int_equal(perf_clock_ns(&c, 1024), 1020);
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		uint64_t back = perf_clock_ns(&c, perf_clock_tsc(&c, ns[i]));

		assert_true(back <= ns[i] && back + 2 > ns[i]);
	}
}

static void test_host(void **state)
{
	struct perf_host h;

	(void)state;
	ok(perf_host_init(&h));
	assert_non_null(h.cpu_id);
	assert_non_null(strchr(h.cpu_id, ','));
	assert_string_equal(h.arch, "x86_64");
	assert_true(h.cpus_online >= 1);
	perf_host_deinit(&h);
}

static int setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.400s/perf.XXXXXX", tmp ?: "/tmp");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	memory = memfd_create("perf.data", MFD_CLOEXEC);
	snprintf(memory_path, sizeof(memory_path), "/proc/self/fd/%d", memory);
	return memory < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(memory);
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_streams_in_pieces),
		cmocka_unit_test(test_rings_in_halves),
		cmocka_unit_test(test_raw_records),
		cmocka_unit_test(test_other_records),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_flipped_anywhere),
		cmocka_unit_test(test_killed_recorder),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
