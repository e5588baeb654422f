// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any bytes may stand where a capture's files should: open it, walk its events, its start
 * state and its memory. A good capture made by the writer is the beginning of each input;
 * the first byte says which of its files the rest replaces. Records are put into a frame
 * with a right checksum, or no mutation would ever come past that.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include "capture/cap_format.h"
#include "tests/scratch.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum part { PART_MANIFEST, PART_LOG, PART_RECORDS, PART_CORE, PARTS };

static const char *const part_file[PARTS] = { "manifest.json", "events.flt", "events.flt",
					      "start.core" };

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes good[PARTS];

static void must(struct err *err)
{
	if (err) {
		fprintf(stderr, "%s\n", err->message);
		abort();
	}
}

static void file_path(char *ret, size_t size, enum part part)
{
	snprintf(ret, size, "%s/c/%s", scratch, part_file[part]);
}

static void file_write(enum part part, const void *data, size_t size)
{
	char path[128];
	FILE *f;

	file_path(path, sizeof(path), part);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
}

static struct bytes file_read(enum part part)
{
	struct bytes b = {};
	char path[128];
	struct stat st;
	FILE *f;

	file_path(path, sizeof(path), part);
	f = fopen(path, "r");
	if (!f || fstat(fileno(f), &st))
		abort();
	b.size = st.st_size;
	b.data = malloc(b.size + 1);
	if (!b.data || fread(b.data, 1, b.size, f) != b.size)
		abort();
	fclose(f);
	return b;
}

/** The first frame of the log, unpacked. */
static struct bytes log_unpack(struct bytes log)
{
	struct cap_frame_head head;
	struct bytes raw;

	memcpy(&head, log.data + sizeof(struct cap_log_head), sizeof(head));
	raw.data = malloc(head.raw_bytes);
	raw.size = ZSTD_decompress(raw.data, head.raw_bytes,
				   log.data + sizeof(struct cap_log_head) + sizeof(head),
				   head.packed_bytes);
	if (!raw.data || raw.size != head.raw_bytes)
		abort();
	return raw;
}

/** Write @p size bytes of records as a log of one frame whose checksum is right. */
static void records_write(const uint8_t *records, size_t size)
{
	size_t heads = sizeof(struct cap_log_head) + sizeof(struct cap_frame_head);
	size_t max = ZSTD_compressBound(size);
	uint8_t *log = malloc(heads + max);
	struct cap_frame_head head = { .raw_bytes = size };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t n;

	if (!log || !zstd)
		abort();
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(zstd, log + heads, max, records, size);
	if (ZSTD_isError(n))
		abort();
	head.packed_bytes = n;
	memcpy(log, good[PART_LOG].data, sizeof(struct cap_log_head));
	memcpy(log + sizeof(struct cap_log_head), &head, sizeof(head));
	file_write(PART_RECORDS, log, heads + n);
	ZSTD_freeCCtx(zstd);
	free(log);
}

static struct err *no_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	memset(buf, (int)(addr >> 12), size);
	return NULL;
}

static void events_add(struct cap_writer *w)
{
	static const uint8_t data[48] = "what a system call wrote";
	struct cap_write writes[2] = { { 0x7000, 48, data }, { 0x9010, 5, data } };
	const struct cap_value value = { 17, sizeof(data), data };
	struct cap_event ev = { .tid = 7, .at_ns = 1, .writes = writes };

	for (ev.kind = CAP_EV_SYSCALL; ev.kind < CAP_EV_KINDS; ev.kind++) {
		ev.n_writes = ev.kind == CAP_EV_SYSCALL ? 2 : ev.kind == CAP_EV_SIGNAL;
		ev.has_after = ev.kind == CAP_EV_SIGNAL;
		ev.text = ev.kind == CAP_EV_GAP ? "a gap" : NULL;
		ev.values = &value;
		ev.n_values = ev.kind == CAP_EV_OMITTED;
		must(cap_writer_event(w, &ev));
	}
}

static void good_capture_make(const char *path)
{
	static uint8_t xstate[832];
	static uint64_t auxv[4] = { 6, 4096, 0, 0 };
	struct cap_mapping maps[2] = {
		{ .start = 0x7000,
		  .end = 0x9000,
		  .prot = PROT_READ,
		  .name = (char *)"",
		  .core_bytes = 0x1000 },
		{ .start = 0x9000,
		  .end = 0xa000,
		  .prot = PROT_READ | PROT_WRITE,
		  .is_stack = true,
		  .name = (char *)"[stack]",
		  .core_bytes = 0x1000 },
	};
	struct cap_thread threads[2] = {
		{ .tid = 7, .xstate = xstate, .xstate_bytes = sizeof(xstate) },
		{ .tid = 8,
		  .xstate = xstate,
		  .xstate_bytes = 576,
		  .clear_child_tid = 0x7010,
		  .robust_list = 0x7020 },
	};
	struct cap_core core = { .threads = threads,
				 .n_threads = 2,
				 .tid = 7,
				 .exe = (char *)"/bin/x",
				 .xstate = xstate,
				 .xstate_bytes = sizeof(xstate),
				 .mappings = maps,
				 .n_mappings = 2,
				 .auxv = auxv,
				 .n_auxv = 2,
				 .fd = -1 };
	char *argv[] = { (char *)"x", NULL };
	struct cap_info info = { .version = CAP_VERSION,
				 .argv = argv,
				 .cwd = (char *)"/",
				 .exe = (char *)"/bin/x",
				 .pid = 7,
				 .end = CAP_END_EXIT };
	struct cap_writer *w;
	uint64_t bytes;

	must(cap_writer_create(path, &w));
	must(cap_writer_core(w, &core, no_memory, NULL));
	events_add(w);
	must(cap_writer_finish(w, &info, &bytes));
	cap_writer_destroy(w);
	for (size_t i = 0; i < info.n_missing; i++) // the writer adds what it knows of
		free(info.missing[i]);
	free(info.missing);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[80];

	(void)argc;
	(void)argv;
	if (!scratch_make())
		abort();
	snprintf(path, sizeof(path), "%s/c", scratch);
	good_capture_make(path);
	for (enum part part = 0; part < PARTS; part++)
		good[part] = file_read(part);
	free(good[PART_RECORDS].data);
	good[PART_RECORDS] = log_unpack(good[PART_LOG]);
	return 0;
}

/** An input that is too short to mean anything becomes a good file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	enum part part = seed % PARTS;

	if (size < 2 && good[part].size + 1 <= max_size) {
		data[0] = part;
		memcpy(data + 1, good[part].data, good[part].size);
		return good[part].size + 1;
	}
	return LLVMFuzzerMutate(data, size, max_size);
}

static volatile uint8_t sink;

static void touch(const void *data, uint64_t size)
{
	const uint8_t *p = data;

	for (uint64_t i = 0; i < size; i += 64)
		sink ^= p[i];
	if (size)
		sink ^= p[size - 1];
}

static void walk_events(const struct capture *c)
{
	_cleanup_err_ struct err *err = NULL;
	struct cap_events *it;
	struct cap_event ev;
	bool is_end = false;
	uint64_t seq = 0;

	err = cap_events_open(c, &it);
	if (err)
		return;
	while (!(err = cap_events_next(it, &ev, &is_end)) && !is_end) {
		if (ev.kind < CAP_EV_SYSCALL || ev.kind >= CAP_EV_KINDS ||
		    ev.seq != seq++)
			abort();
		for (size_t i = 0; i < ev.n_writes; i++)
			touch(ev.writes[i].data, ev.writes[i].size);
		if (ev.kind == CAP_EV_GAP)
			touch(ev.text, strlen(ev.text));
	}
	cap_events_close(it);
}

static void walk_core(const struct capture *c)
{
	_cleanup_err_ struct err *err = NULL;
	struct cap_core *core;
	uint8_t page[4096];

	err = cap_core_open(c, &core);
	if (err)
		return;
	if (!core->n_threads)
		abort();
	touch(core->xstate, core->xstate_bytes);
	for (size_t i = 0; i < core->n_threads; i++)
		touch(core->threads[i].xstate, core->threads[i].xstate_bytes);
	touch(core->auxv, core->n_auxv * 16);
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->start >= m->end || (i && m->start < m[-1].end))
			abort();
		touch(m->name, strlen(m->name));
		err_destroy(cap_core_read(c, core, m->start, page,
					  m->end - m->start < 4096 ? m->end - m->start :
								     4096));
		err_destroy(cap_core_read(c, core, m->end - 1, page, 4096));
	}
	cap_core_close(core);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	char path[PATH_MAX];
	enum part part;
	struct err *err;

	if (size < 1)
		return 0;
	part = data[0] % PARTS;
	if (part == PART_RECORDS)
		records_write(data + 1, size - 1);
	else
		file_write(part, data + 1, size - 1);
	snprintf(path, sizeof(path), "%s/c", scratch);
	err = capture_open(path, &c);
	if (!err) {
		for (uint32_t i = 0; i <= capture_info(c)->n_files + 1; i++)
			err_destroy(capture_file_path(c, i, path, sizeof(path)));
		walk_events(c);
		walk_core(c);
	}
	err_destroy(err);
	file_write(part, good[part == PART_RECORDS ? PART_LOG : part].data,
		   good[part == PART_RECORDS ? PART_LOG : part].size);
	return 0;
}
