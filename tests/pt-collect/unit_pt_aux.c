// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From rings to the perf.data: prepared rings with PT data, AUX and LOST records of all
 * kinds stand for what a CPU with PT would leave. What the file holds must be what was put
 * in, and what was lost must be told.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pt-collect/pt/pt.h"
#include "tests/pt-collect/pt_tree.h"
#include "tests/unit.h"

#define PAGE 4096u
#define AUX_BYTES 16384u
#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

static struct ptc_pt_options options;
static struct ptc_pt_setup setup;
static struct ptc_pt *pt;
static struct ptc_pt_stream *stream; ///< owned by pt
static uint64_t began_tsc;

static const char *file_path(void)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/perf.data", unit_env("TMPDIR"));
	return path;
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/** A stream of thread 4711 (or of CPU 3), of memory. */
static void begin(bool is_snapshot, bool is_per_cpu)
{
	struct ptc_pt_machine machine = ptc_pt_machine_here();
	char *why_not;

	began_tsc = __builtin_ia32_rdtsc();
	pt_begin("dummy");
	pt_put("type", "1");
	pt_put("format/what", "config:0-3");
	machine.sysfs = pt_root;
	options = (struct ptc_pt_options){ .is_wanted = true,
					   .terms = "what=9",
					   .is_snapshot = is_snapshot,
					   .is_per_cpu = is_per_cpu };
	ok(ptc_pt_setup_init(&options, &machine, &setup, &why_not));
	ok(ptc_pt_create(&setup, getpid(), "/bin/sh", file_path(), &pt));
	stream = calloc(1, sizeof(*stream));
	stream->tid = is_per_cpu ? 0 : 4711;
	stream->cpu = is_per_cpu ? 3 : -1;
	stream->ring.page = pages(PAGE + PTC_PT_DATA_BYTES);
	stream->ring.data = (uint8_t *)stream->ring.page + PAGE;
	stream->ring.data_bytes = PTC_PT_DATA_BYTES;
	stream->ring.aux = pages(AUX_BYTES);
	stream->ring.aux_bytes = AUX_BYTES;
	stream->ring.is_overwriting = is_snapshot;
	ok(ptc_pt_adopt(pt, stream));
}

static void end(void)
{
	ptc_pt_destroy(pt);
	ptc_pt_setup_deinit(&setup);
}

/** A record as the kernel makes it: its own words, then the sample id. */
static void put_record(uint32_t type, const uint64_t *words, unsigned n)
{
	struct perf_event_mmap_page *page = stream->ring.page;
	uint64_t rec[16] = {};
	struct perf_event_header h = { type, 2, 8 + 8 * n + 32 };

	memcpy(rec, &h, sizeof(h));
	memcpy(rec + 1, words, 8 * n);
	rec[1 + n] = 4711ull << 32 | 4711;	// pid, tid
	rec[2 + n] = 1000000 + page->data_head; // time
	rec[3 + n] = 3;				// cpu
	rec[4 + n] = 1;				// id
	for (unsigned i = 0; i < h.size; i++)
		stream->ring.data[(page->data_head + i) % PTC_PT_DATA_BYTES] =
			((uint8_t *)rec)[i];
	page->data_head += h.size;
}

static void put_aux_record(uint64_t offset, uint64_t bytes, uint64_t flags)
{
	put_record(PERF_RECORD_AUX, (uint64_t[]){ offset, bytes, flags }, 3);
}

/** @p n bytes of a stream that goes on from call to call. */
static void put_aux(const uint8_t *bytes, size_t n)
{
	struct perf_event_mmap_page *page = stream->ring.page;

	for (size_t i = 0; i < n; i++)
		stream->ring.aux[(page->aux_head + i) % AUX_BYTES] = bytes[i];
	page->aux_head += n;
	if (stream->ring.is_overwriting)
		page->aux_head %= AUX_BYTES;
}

/** What the file has of stream @p number: its bytes, and where they stood. */
static size_t read_stream(uint32_t tid, uint32_t cpu, uint8_t *to, uint64_t *first_offset)
{
	_cleanup_(perf_reader_closep) struct perf_reader *r = NULL;
	const struct perf_info *info;
	size_t n = 0;

	ok(perf_reader_open(file_path(), &r));
	info = perf_reader_info(r);
	assert_false(info->is_unfinished);
	assert_null(info->damage);
	for (size_t i = 0; i < info->n_pieces; i++) {
		const struct perf_piece *p = &info->pieces[i];

		if (p->tid != tid || p->cpu != cpu)
			continue;
		if (!n)
			*first_offset = p->offset;
		assert_true(p->offset == *first_offset + n);
		// Without the time at which it was taken perf knows no times, or crashes.
		assert_true(p->reference >= began_tsc &&
			    p->reference <= __builtin_ia32_rdtsc());
		ok(perf_reader_piece(r, p, 0, to + n, p->bytes));
		n += p->bytes;
	}
	return n;
}

struct flags {
	size_t n_aux, n_truncated, n_partial, n_collisions, n_overwrite, n_lost, n_rounds;
	uint64_t lost;
};

static struct flags read_flags(void)
{
	_cleanup_(perf_reader_closep) struct perf_reader *r = NULL;
	struct perf_record rec;
	struct flags f = {};
	bool is_end = false;

	ok(perf_reader_open(file_path(), &r));
	for (;;) {
		ok(perf_reader_next(r, &rec, &is_end));
		if (is_end)
			return f;
		f.n_rounds += rec.kind == PERF_ROUND;
		if (rec.kind == PERF_LOST) {
			f.n_lost++;
			f.lost += rec.lost.n;
		}
		if (rec.kind != PERF_AUX)
			continue;
		f.n_aux++;
		f.n_truncated += !!(rec.aux.flags & PERF_AUX_TRUNCATED);
		f.n_partial += !!(rec.aux.flags & PERF_AUX_PARTIAL);
		f.n_collisions += !!(rec.aux.flags & PERF_AUX_COLLISION);
		f.n_overwrite += !!(rec.aux.flags & PERF_AUX_OVERWRITE);
	}
}

/* ---- tests --------------------------------------------------------------------------------- */

/** Many times round, drained at odd places: the stream in the file is what was put in. */
static void stream_comes_through(bool is_per_cpu)
{
	static uint8_t all[40 * 8 * 1000], got[sizeof(all) + 64];
	uint64_t offset = 0;
	size_t done = 0, n;

	begin(false, is_per_cpu);
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = i * 37 % 255 + 1;
	for (unsigned i = 0; done < sizeof(all); i++) {
		n = 8 * (1 + i * 7919 % (AUX_BYTES / 8));
		if (n > sizeof(all) - done)
			n = sizeof(all) - done;
		put_aux(all + done, n);
		put_aux_record(done, n, 0);
		done += n;
		ok(ptc_pt_drain(pt));
		assert_true(stream->ring.page->aux_tail == done);
	}
	ok(ptc_pt_finish(pt));
	assert_int_equal(ptc_pt_stats(pt)->aux_bytes, sizeof(all));
	assert_int_equal(ptc_pt_stats(pt)->n_truncated, 0);
	n = read_stream(is_per_cpu ? PERF_NONE : 4711, is_per_cpu ? 3 : PERF_NONE, got,
			&offset);
	assert_int_equal(n, sizeof(all));
	assert_int_equal(offset, 0);
	assert_memory_equal(got, all, n);
	assert_true(read_flags().n_rounds > 10);
	end();
}

static void test_stream_of_a_thread(void **state)
{
	(void)state;
	stream_comes_through(false);
}

static void test_stream_of_a_cpu(void **state)
{
	(void)state;
	stream_comes_through(true);
}

static void test_what_was_lost_is_told(void **state)
{
	uint8_t bytes[64];
	struct flags f;

	(void)state;
	begin(false, false);
	memset(bytes, 0x19, sizeof(bytes));
	for (unsigned flags = 0; flags < 16; flags++) {
		put_aux(bytes, sizeof(bytes));
		put_aux_record(flags * 64, 64, flags);
	}
	put_record(PERF_RECORD_LOST, (uint64_t[]){ 1, 1000 }, 2);
	put_record(PERF_RECORD_LOST, (uint64_t[]){ 1, 23 }, 2);
	ok(ptc_pt_drain(pt));
	// It was stopped because there was no room, and goes on now that there is.
	assert_false(stream->is_cut);
	ok(ptc_pt_finish(pt));
	assert_int_equal(ptc_pt_stats(pt)->n_truncated, 8);
	assert_int_equal(ptc_pt_stats(pt)->n_partial, 8);
	assert_int_equal(ptc_pt_stats(pt)->n_collisions, 8);
	assert_int_equal(ptc_pt_stats(pt)->n_lost, 1023);
	f = read_flags();
	assert_int_equal(f.n_aux, 16);
	assert_int_equal(f.n_truncated, 8);
	assert_int_equal(f.n_partial, 8);
	assert_int_equal(f.n_collisions, 8);
	assert_int_equal(f.n_overwrite, 8);
	assert_int_equal(f.n_lost, 2);
	assert_int_equal(f.lost, 1023);
	end();
}

/** A ring full to the last byte, twice; then one that was overrun, and damaged records. */
static void test_full_overrun_damaged(void **state)
{
	static uint8_t all[AUX_BYTES];
	_cleanup_(perf_reader_closep) struct perf_reader *r = NULL;
	const struct perf_info *info;

	(void)state;
	begin(false, false);
	memset(all, 0x19, sizeof(all));
	put_aux(all, sizeof(all));
	put_aux_record(0, sizeof(all), PERF_AUX_TRUNCATED);
	ok(ptc_pt_drain(pt));
	put_aux(all, sizeof(all));
	stream->ring.page->aux_head += 800; // what no kernel does, without our room
	ok(ptc_pt_drain(pt));
	assert_int_equal(ptc_pt_stats(pt)->n_overrun, 800);
	put_aux_record(0, 8, 0);
	stream->ring.data[(stream->ring.page->data_head - 64 + 6) % PTC_PT_DATA_BYTES] =
		3;
	ok(ptc_pt_drain(pt));
	assert_int_equal(ptc_pt_stats(pt)->n_damaged, 1);
	ok(ptc_pt_finish(pt));
	assert_true(stream->ring.page->aux_tail == stream->ring.page->aux_head);
	// The hole is one in the offsets, too.
	ok(perf_reader_open(file_path(), &r));
	info = perf_reader_info(r);
	assert_true(info->n_pieces >= 2);
	assert_int_equal(info->pieces[0].offset, 0);
	assert_true(info->pieces[info->n_pieces - 1].offset +
			    info->pieces[info->n_pieces - 1].bytes ==
		    2 * AUX_BYTES + 800);
	end();
}

/** A snapshot: from the oldest PSB that is whole to the end; and again, after more. */
static void test_snapshots(void **state)
{
	static uint8_t all[3 * AUX_BYTES], got[2 * AUX_BYTES];
	uint64_t offset = 0;
	size_t n;

	(void)state;
	begin(true, false);
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = i * 37 % 255 + 1;
	for (size_t at = 1000; at + 16 < sizeof(all); at += 4096)
		memcpy(all + at, PSB, 16);
	put_aux(all, 3000);
	ok(ptc_pt_snapshot(pt, file_path()));
	n = read_stream(4711, PERF_NONE, got, &offset);
	assert_int_equal(n, 2000);
	assert_int_equal(offset, 1000);
	assert_memory_equal(got, all + 1000, n);
	put_aux(all + 3000, sizeof(all) - 3000);
	ok(ptc_pt_snapshot(pt, file_path()));
	n = read_stream(4711, PERF_NONE, got, &offset);
	// The oldest is at 2 * AUX_BYTES; the next PSB 1000 bytes behind that.
	assert_int_equal(n, AUX_BYTES - 1000);
	assert_memory_equal(got, all + 2 * AUX_BYTES + 1000, n);
	assert_int_equal(read_flags().n_overwrite, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_of_a_thread),
		cmocka_unit_test(test_stream_of_a_cpu),
		cmocka_unit_test(test_what_was_lost_is_told),
		cmocka_unit_test(test_full_overrun_damaged),
		cmocka_unit_test(test_snapshots),
	};

	if (!pt_may_open_events())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
