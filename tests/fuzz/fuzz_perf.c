// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any bytes may stand in a perf.data file: open it, walk its records twice, touch all that
 * they point to, read from each piece. An input too short to mean anything becomes a good
 * file made by the writer, one with compressed records in every second case; mutations of
 * that are what is tried.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/perf_format.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define GOOD_MAX 16384

static int memory; ///< the file
static char path[64];
static uint8_t good[2][GOOD_MAX];
static size_t good_bytes[2];

static void must(struct err *err)
{
	if (err) {
		fprintf(stderr, "%s\n", err->message);
		abort();
	}
}

static void put_records(struct perf_writer *w)
{
	static const struct perf_record records[] = {
		{ .kind = PERF_COMM, .comm = { .pid = 7, .tid = 7, .name = "prog" } },
		{ .kind = PERF_MMAP,
		  .time_ns = 10,
		  .mmap = { .pid = 7,
			    .addr = 0x1000,
			    .bytes = 0x1000,
			    .build_id_bytes = 20,
			    .path = "/bin/x" } },
		{ .kind = PERF_FORK, .time_ns = 11, .task = { .pid = 7, .tid = 8 } },
		{ .kind = PERF_ITRACE_START, .time_ns = 12, .start = { 7, 8 } },
		{ .kind = PERF_SWITCH, .time_ns = 13, .change = { .has_other = true } },
		{ .kind = PERF_ROUND },
		{ .kind = PERF_AUX, .time_ns = 14, .aux = { 0, 16, 1 } },
		{ .kind = PERF_LOST, .time_ns = 15, .lost = { 1, 2 } },
		{ .kind = PERF_LOST_SAMPLES, .time_ns = 16, .lost = { 0, 2 } },
		{ .kind = PERF_AUXTRACE_ERROR, .error = { .message = "lost" } },
		{ .kind = PERF_THREAD_MAP,
		  .map = { 1, (const uint8_t *)"01234567890123456789012" } },
		{ .kind = PERF_EXIT, .time_ns = 17, .task = { .pid = 7, .tid = 8 } },
	};
	struct perf_piece piece = { .tid = 7, .cpu = PERF_NONE, .reference = 1 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		must(perf_writer_record(w, &records[i]));
		piece.stream = i % 2;
		piece.offset = UINT64_MAX;
		must(perf_writer_stream(w, &piece, "packets", 7));
	}
}

static void make_good(void)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	const char *cmdline[] = { "a", "b", NULL };
	struct perf_writer_options o = {
		.pt = { .pmu_type = 8,
			.filter = (char *)"filter f",
			.clock = { .mult = 3, .shift = 1, .is_known = true } },
		.host = { .hostname = (char *)"h",
			  .cpu_id = (char *)"GenuineIntel,6,1,2" },
		.cmdline = cmdline,
	};
	struct perf_writer *w;
	ssize_t n;

	must(perf_writer_create_fd(fcntl(memory, F_DUPFD_CLOEXEC, 0), path, &o, &w));
	put_records(w);
	must(perf_writer_build_id(w, 7, "/bin/x", id, sizeof(id)));
	must(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	n = pread(memory, good[0], GOOD_MAX, 0);
	if (n <= 0 || n == GOOD_MAX)
		abort();
	good_bytes[0] = n;
}

/** Records of the good file behind its first, but for PT data, in compressed ones. */
static void make_compressed(void)
{
	struct perf_head head;
	struct perf_rec rec;
	uint8_t plain[GOOD_MAX], packed[GOOD_MAX];
	size_t n = 0, at, end, to;

	memcpy(&head, good[0], sizeof(head));
	end = head.data.offset + head.data.size;
	for (at = head.data.offset; at < end; at += rec.size) {
		memcpy(&rec, good[0] + at, sizeof(rec));
		if (rec.type == PERF_TYPE_AUXTRACE) {
			at += 8;
			continue;
		}
		memcpy(plain + n, good[0] + at, rec.size);
		n += rec.size;
	}
	n = ZSTD_compress(packed, sizeof(packed), plain, n, 1);
	if (ZSTD_isError(n))
		abort();
	to = head.data.offset;
	memcpy(good[1], good[0], to);
	for (at = 0; at < n; at += 100) {
		size_t now = n - at < 100 ? n - at : 100;

		rec = (struct perf_rec){ PERF_TYPE_COMPRESSED, 0, sizeof(rec) + now };
		memcpy(good[1] + to, &rec, sizeof(rec));
		memcpy(good[1] + to + sizeof(rec), packed + at, now);
		to += sizeof(rec) + now;
	}
	head.data.size = to - head.data.offset;
	memset(head.features, 0, sizeof(head.features));
	memcpy(good[1], &head, sizeof(head));
	good_bytes[1] = to;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	memory = memfd_create("perf.data", 0);
	if (memory < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	make_good();
	make_compressed();
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned int seed)
{
	int which = seed % 2;

	if (size < 2 && good_bytes[which] <= max_size) {
		memcpy(data, good[which], good_bytes[which]);
		return good_bytes[which];
	}
	return LLVMFuzzerMutate(data, size, max_size);
}

static volatile uint8_t sink;

static void touch(const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++)
		sink ^= p[i];
}

static void touch_record(const struct perf_record *r)
{
	if (r->kind < PERF_MMAP || r->kind >= PERF_KINDS)
		abort();
	if (r->kind == PERF_MMAP)
		touch(r->mmap.path, strlen(r->mmap.path));
	if (r->kind == PERF_COMM)
		touch(r->comm.name, strlen(r->comm.name));
	if (r->kind == PERF_SAMPLE)
		touch(r->sample.rest, r->sample.rest_bytes);
	if (r->kind == PERF_AUXTRACE_ERROR)
		touch(r->error.message, strlen(r->error.message));
	if (r->kind == PERF_THREAD_MAP)
		touch(r->map.entries, r->map.n * PERF_THREAD_ENTRY);
	if (r->kind == PERF_TIME_CONV)
		sink ^= perf_clock_tsc(&r->clock, perf_clock_ns(&r->clock, 12345));
}

static uint64_t walk(struct perf_reader *r)
{
	struct perf_record rec;
	bool is_end = false;
	uint64_t n = 0;

	for (;;) {
		struct err *err = perf_reader_next(r, &rec, &is_end);

		if (err || is_end) {
			if (!err != !perf_reader_info(r)->damage)
				abort();
			err_destroy(err);
			return n;
		}
		touch_record(&rec);
		n++;
	}
}

static void touch_info(const struct perf_reader *r, const struct perf_info *info)
{
	uint8_t byte;

	for (size_t i = 0; i < info->n_pieces; i++) {
		const struct perf_piece *p = &info->pieces[i];

		if (p->bytes)
			must(perf_reader_piece(r, p, p->bytes - 1, &byte, 1));
	}
	for (size_t i = 0; i < info->n_streams; i++) {
		if (info->streams[i].first_piece + info->streams[i].n_pieces >
		    info->n_pieces)
			abort();
	}
	for (size_t i = 0; i < info->n_build_ids; i++)
		touch(info->build_ids[i].path, strlen(info->build_ids[i].path));
	for (size_t i = 0; i < info->n_cmdline; i++)
		touch(info->cmdline[i], strlen(info->cmdline[i]));
	for (size_t i = 0; i < info->n_attrs; i++)
		touch(info->attrs[i].ids, info->attrs[i].n_ids * 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(perf_reader_closep) struct perf_reader *r = NULL;
	_cleanup_err_ struct err *err = NULL;
	uint64_t n;

	if (ftruncate(memory, 0) || pwrite(memory, data, size, 0) != (ssize_t)size)
		abort();
	err = perf_reader_open(path, &r);
	if (err)
		return 0;
	n = walk(r);
	perf_reader_rewind(r);
	if (walk(r) != n || n != perf_reader_info(r)->n_records)
		abort();
	touch_info(r, perf_reader_info(r));
	return 0;
}
