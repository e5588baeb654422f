// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf.data: what the writer wrote comes back from the reader. Whether perf itself understands
 * the writer is tests/decode's question.
 */

#include "capture/capture.h"
#include "tests/capture/perf_file.h"

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

/* ---- files -------------------------------------------------------------------------------- */

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

/* The format does not change unnoticed; FAULTLINE_BLESS=1 writes the file anew. */
static void test_golden(void **state)
{
	static const char golden[] = "tests/capture/perf-1.data";
	struct perf_reader *r;
	uint8_t buf[8192], *good;
	size_t good_bytes;
	FILE *f;

	(void)state;
	good = load_file(true, &good_bytes);
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
	assert_int_equal(perf_clock_tsc(&c, 4), 0);
	// The TSC ran before the clock did: its 0 lies before the clock's.
	c.zero = -7000ull;
	assert_int_equal(perf_clock_ns(&c, 10240), 3150);
	assert_in_range(perf_clock_tsc(&c, 3150), 10239, 10240);
	c.zero = 5;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_streams_in_pieces),
		cmocka_unit_test(test_rings_in_halves),
		cmocka_unit_test(test_raw_records),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
