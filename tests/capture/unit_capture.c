// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The bundle: what the writer wrote the reader gives back; cut anywhere or with any byte
 * changed, it says so, or gives back the same; it never crashes.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/cap_format.h"
#include "tests/capture/bundle.h"

#define BIG_BYTES 700000u // more than one record and one part may hold

static uint8_t *big;

/* ---- the events that are written and expected back ----------------------------------- */

#define EVENTS 13

/** What event @p i says with memory. */
static void make_memory(struct cap_event *ev, unsigned i)
{
	static struct cap_write writes[2];

	ev->writes = writes;
	if (ev->kind == CAP_EV_SIGNAL) {
		writes[0] = (struct cap_write){ 0x7000, 4096, big + 1 };
		ev->n_writes = 1;
	} else {
		writes[0] = (struct cap_write){ 0x1000, 13, big };
		writes[1] = (struct cap_write){ 0x900000, i ? BIG_BYTES : 5, big + 7 };
		ev->n_writes = 2;
	}
}

/** Event @p i of a log, of kind @p kind, memory included; the same at each call. */
static struct cap_event make_kind(enum cap_event_kind kind, unsigned i)
{
	static const uint8_t x87[160] = { 1, 2, 3 };
	static const struct cap_value values[] = { { 17, 64, x87 }, { 57, 160, x87 } };
	struct cap_event ev = { .kind = kind,
				.tid = 100 + i,
				.at_ns = 1000 * i,
				.seq = i,
				.regs.rip = 0x401000 + i };

	for (int g = 0; g < CAP_GPRS; g++)
		ev.regs.gpr[g] = i * 100 + g;
	switch (ev.kind) {
	case CAP_EV_SYSCALL:
		ev.ret = -(int64_t)i;
		ev.flags = CAP_SYS_PARTIAL;
		ev.file = 1;
		ev.file_offset = 0x1000;
		ev.has_after = i > 0;
		ev.after.rip = ev.has_after ? 5 : 0;
		make_memory(&ev, i);
		break;
	case CAP_EV_SIGNAL:
		ev.signo = 11;
		ev.is_fatal = true;
		memset(ev.siginfo, 0x5a, sizeof(ev.siginfo));
		make_memory(&ev, i);
		break;
	case CAP_EV_TSC:
		ev.tsc = 1ull << 40;
		ev.tsc_aux = 3;
		ev.is_rdtscp = true;
		break;
	case CAP_EV_CPUID:
		ev.leaf = 7;
		ev.subleaf = 1;
		ev.cpuid[2] = 0xabcdef;
		break;
	case CAP_EV_HEAP:
	case CAP_EV_HEAP_DONE:
		ev.regs = (struct cap_regs){};
		ev.heap_fn = CAP_HEAP_REALLOC;
		ev.heap_args[1] = 64;
		break;
	case CAP_EV_PROBE:
		ev.regs = (struct cap_regs){ .rip = 0x401000 };
		ev.regs.gpr[CAP_RAX] = 0x1234;
		ev.regs.gpr[CAP_R15] = ~0ull;
		ev.probe_gprs = 1u << CAP_RAX | 1u << CAP_R15;
		ev.probe_site = 77;
		make_memory(&ev, 0);
		break;
	case CAP_EV_EXIT:
		ev.exit_code = 42;
		break;
	case CAP_EV_GAP:
		ev.regs = (struct cap_regs){};
		ev.text = "something is missing";
		break;
	case CAP_EV_RANDOM:
		break;
	case CAP_EV_SWITCH:
		ev.next_tid = 4243;
		ev.switch_flags = CAP_SWITCH_IN_CALL;
		ev.signature = (struct cap_signature){ 1, 2, 1024, 3 };
		break;
	case CAP_EV_OMITTED:
		ev.position = 1000;
		ev.n_steps = 77;
		ev.values = values;
		ev.n_values = 2;
		make_memory(&ev, i % 2);
		break;
	case CAP_EV_SHARED:
		ev.regs = (struct cap_regs){};
		ev.shared.start = 0x7f0000001000;
		ev.shared.size = 8192;
		ev.shared.key = 77;
		ev.shared.offset = 4096;
		make_memory(&ev, i % 2);
		break;
	case CAP_EV_KINDS:
		break;
	}
	return ev;
}

static struct cap_event make_event(unsigned i)
{
	struct cap_event ev =
		make_kind(i < 10 ? i % 7 + 1 : CAP_EV_HEAP_DONE + (i - 10), i);

	// Younger than the golden file, whose zeros say the same.
	if (ev.kind == CAP_EV_OMITTED) {
		ev.kept_gprs = 0x8421;
		ev.kept_flags = 0x8c5;
	}
	return ev;
}

static bool same_writes(const struct cap_event *a, const struct cap_event *b)
{
	if (a->n_writes != b->n_writes)
		return false;
	for (size_t i = 0; i < a->n_writes; i++)
		if (a->writes[i].addr != b->writes[i].addr ||
		    a->writes[i].size != b->writes[i].size ||
		    memcmp(a->writes[i].data, b->writes[i].data, a->writes[i].size))
			return false;
	return true;
}

static bool same_values(const struct cap_event *a, const struct cap_event *b)
{
	if (a->n_values != b->n_values)
		return false;
	for (size_t i = 0; i < a->n_values; i++)
		if (a->values[i].reg != b->values[i].reg ||
		    a->values[i].size != b->values[i].size ||
		    memcmp(a->values[i].data, b->values[i].data, a->values[i].size))
			return false;
	return true;
}

static bool same_event(struct cap_event a, struct cap_event b)
{
	if (!same_writes(&a, &b) || strcmp(a.text ?: "", b.text ?: ""))
		return false;
	a.writes = b.writes = NULL;
	a.text = b.text = NULL;
	return a.kind == b.kind && a.tid == b.tid && a.at_ns == b.at_ns &&
	       a.seq == b.seq && a.ret == b.ret && a.flags == b.flags &&
	       !memcmp(&a.regs, &b.regs, sizeof(a.regs)) && a.has_after == b.has_after &&
	       !memcmp(&a.after, &b.after, sizeof(a.after)) && a.file == b.file &&
	       a.file_offset == b.file_offset && a.signo == b.signo &&
	       a.is_fatal == b.is_fatal && !memcmp(a.siginfo, b.siginfo, 128) &&
	       a.tsc == b.tsc && a.tsc_aux == b.tsc_aux && a.is_rdtscp == b.is_rdtscp &&
	       a.leaf == b.leaf && a.subleaf == b.subleaf &&
	       !memcmp(a.cpuid, b.cpuid, sizeof(a.cpuid)) && a.heap_fn == b.heap_fn &&
	       !memcmp(a.heap_args, b.heap_args, sizeof(a.heap_args)) &&
	       a.position == b.position && a.n_steps == b.n_steps &&
	       a.kept_gprs == b.kept_gprs && a.kept_flags == b.kept_flags &&
	       same_values(&a, &b) && !memcmp(&a.shared, &b.shared, sizeof(a.shared)) &&
	       a.exit_code == b.exit_code && a.probe_site == b.probe_site &&
	       a.probe_gprs == b.probe_gprs;
}

static struct err *read_mem(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buf)[i] = (addr + i) / 3;
	return NULL;
}

static uint8_t xstates[2][832];

static struct cap_thread two_threads[2] = {
	{ .tid = 7,
	  .regs.rip = 0x400010,
	  .xstate = xstates[0],
	  .xstate_bytes = sizeof(xstates[0]),
	  .clear_child_tid = 0x7123 },
	{ .tid = 9,
	  .regs = { .rip = 0x400020, .gpr[CAP_R15] = 15, .fs_base = 0x501000 },
	  .xstate = xstates[1],
	  .xstate_bytes = 600,
	  .robust_list = 0x501040 },
};

/** Write the bundle with the first @p n_events of the events above (the eighth is the one
 * that spans several records), with a table of @p n_threads threads. */
static void write_bundle_of(unsigned n_events, size_t n_threads)
{
	static uint64_t auxv[] = { 6, 4096, 0, 0 };
	struct cap_mapping maps[] = {
		{ .start = 0x400000,
		  .end = 0x402000,
		  .prot = PROT_READ,
		  .file = 1,
		  .name = (char *)"/bin/x" },
		{ .start = 0x500000,
		  .end = 0x503000,
		  .prot = PROT_READ | PROT_WRITE,
		  .core_bytes = 0x1000,
		  .name = (char *)"",
		  .is_heap = true },
	};
	struct cap_core core = { .threads = two_threads,
				 .n_threads = n_threads,
				 .tid = 7,
				 .exe = (char *)"/bin/x",
				 .regs.rip = 0x400010,
				 .xstate = xstates[0],
				 .xstate_bytes = sizeof(xstates[0]),
				 .brk = 0x503000,
				 .mappings = maps,
				 .n_mappings = 2,
				 .auxv = auxv,
				 .n_auxv = 2,
				 .fd = -1 };
	char *argv[] = { (char *)"x", (char *)"y \"z\"", NULL };
	struct cap_heap_site site = { CAP_HEAP_FREE, 1, 0x1003, 0x1000 };
	struct cap_info info = { .argv = argv,
				 .cwd = (char *)"/",
				 .exe = (char *)"/bin/x",
				 .pid = 7,
				 .stack_limit = UINT64_MAX,
				 .heap_sites = &site,
				 .n_heap_sites = 1,
				 .has_heap = true };
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY);
	struct cap_writer *w;
	uint32_t file = 0, again = 0;
	uint64_t bytes;

	remove_bundle();
	ok(cap_writer_create(path_of(""), &w));
	ok(cap_writer_file(w, fd, "/bin/x", &file));
	ok(cap_writer_file(w, fd, "/bin/x", &again));
	assert_int_equal(file, 1);
	assert_int_equal(again, 1);
	ok(cap_writer_core(w, &core, read_mem, NULL));
	for (unsigned i = 0; i < n_events; i++) {
		struct cap_event ev = make_event(i);

		ok(cap_writer_event(w, &ev));
	}
	ok(cap_writer_finish(w, &info, &bytes));
	assert_true(bytes > 0);
	for (size_t i = 0; i < info.n_missing; i++)
		free(info.missing[i]);
	free(info.missing);
	cap_writer_destroy(w);
}

static void write_bundle(unsigned n_events)
{
	write_bundle_of(n_events, 0);
}

/** Read all events; @p same tells whether those read are those written. */
static struct err *read_events(unsigned *n, bool *same)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct cap_events *it;
	bool is_end = false;
	struct err *err = capture_open(path_of(""), &c);

	*n = 0;
	*same = true;
	if (err)
		return err;
	err = cap_events_open(c, &it);
	if (err)
		return err;
	while (!err && !is_end) {
		struct cap_event ev;

		err = cap_events_next(it, &ev, &is_end);
		if (!err && !is_end)
			*same &= same_event(ev, make_event((*n)++));
	}
	cap_events_close(it);
	return err;
}

/* ---- files as bytes -------------------------------------------------------------------- */

static uint8_t *load(const char *name, size_t *size)
{
	_cleanup_close_ int fd = open(path_of(name), O_RDONLY);
	struct stat st;
	uint8_t *data;

	assert_int_equal(fstat(fd, &st), 0);
	*size = st.st_size;
	data = malloc(*size + 1);
	assert_int_equal(read(fd, data, *size), *size);
	data[*size] = 0;
	return data;
}

static void store(const char *name, const void *data, size_t size)
{
	_cleanup_close_ int fd = open(path_of(name), O_WRONLY | O_TRUNC | O_CREAT, 0666);

	assert_int_equal(write(fd, data, size), size);
}

/* ---- tests ------------------------------------------------------------------------------ */

#define GOLDEN "tests/capture/events-5.flt"

/** One event of each kind, as this version wrote them once. FAULTLINE_BLESS=1 writes the file
 * anew: only together with a new version. */
static void test_golden(void **state)
{
	struct cap_events *it;
	struct capture *c;
	struct cap_event ev;
	bool is_end;
	size_t size;
	uint8_t *data;
	FILE *f;

	(void)state;
	if (getenv("FAULTLINE_BLESS")) {
		uint64_t bytes;
		struct cap_log *l;

		ok(cap_log_create(open(GOLDEN, O_WRONLY | O_CREAT | O_TRUNC, 0666), &l));
		for (unsigned k = 1; k < CAP_EV_KINDS; k++) {
			ev = make_kind(k, k - 1);
			if (ev.n_writes == 2)
				ev.n_writes = 1;
			ok(cap_log_append(l, &ev));
		}
		ok(cap_log_finish(l, &bytes));
		cap_log_destroy(l);
	}
	write_bundle(0);
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	data = malloc(1 << 20);
	size = fread(data, 1, 1 << 20, f);
	fclose(f);
	store("events.flt", data, size);
	free(data);
	assert_int_equal(unlink(path_of("manifest.json")), 0);
	ok(capture_open(path_of("."), &c));
	ok(cap_events_open(c, &it));
	for (unsigned k = 1; k < CAP_EV_KINDS; k++) {
		struct cap_event want = make_kind(k, k - 1);

		if (want.n_writes == 2)
			want.n_writes = 1;
		ok(cap_events_next(it, &ev, &is_end));
		assert_false(is_end);
		assert_true(same_event(want, ev));
	}
	ok(cap_events_next(it, &ev, &is_end));
	assert_true(is_end);
	cap_events_close(it);
	capture_close(c);
}

static void test_events_come_back(void **state)
{
	unsigned n;
	bool same;

	(void)state;
	write_bundle(EVENTS);
	ok(read_events(&n, &same));
	assert_int_equal(n, EVENTS);
	assert_true(same);
}

static void test_manifest_comes_back(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	const struct cap_info *info;
	char path[1024];

	(void)state;
	write_bundle(EVENTS);
	ok(capture_open(path_of(""), &c));
	info = capture_info(c);
	assert_int_equal(info->version, CAP_VERSION);
	assert_false(info->is_complete); // a gap and partial system calls
	assert_int_equal(info->n_missing, 2);
	assert_string_equal(info->missing[0], "something is missing");
	assert_string_equal(info->argv[1], "y \"z\"");
	assert_null(info->argv[2]);
	assert_true(info->stack_limit == UINT64_MAX);
	assert_int_equal(info->n_events, EVENTS);
	assert_int_equal(info->n_syscalls, 2);
	assert_int_equal(info->end, CAP_END_SIGNAL);
	assert_int_equal(info->end_value, 11);
	assert_int_equal(info->n_files, 1);
	assert_int_equal(info->heap_sites[0].file_offset, 0x1003);
	ok(capture_file_path(c, 1, path, sizeof(path)));
	assert_int_equal(access(path, R_OK), 0);
	expect(ERR_RANGE, capture_file_path(c, 2, path, sizeof(path)));
}

static void test_core_comes_back(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct cap_core *core;
	uint8_t want[64], got[64];
	int fd;

	(void)state;
	write_bundle(1);
	ok(capture_open(path_of(""), &c));
	ok(cap_core_open(c, &core));
	assert_int_equal(core->tid, 7);
	assert_int_equal(core->regs.rip, 0x400010);
	assert_int_equal(core->n_threads, 1);
	assert_ptr_equal(core->xstate, core->threads[0].xstate);
	assert_int_equal(core->brk, 0x503000);
	assert_int_equal(core->n_mappings, 2);
	assert_int_equal(core->n_auxv, 2);
	assert_true(core->mappings[1].is_heap);
	assert_string_equal(core->mappings[0].name, "/bin/x");
	// From the kept file, from the core, zeros behind what the core holds.
	ok(cap_core_read(c, core, 0x400008, got, 64));
	fd = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(pread(fd, want, 64, 8), 64);
	close(fd);
	assert_memory_equal(got, want, 64);
	ok(cap_core_read(c, core, 0x500fe0, got, 64));
	read_mem(NULL, 0x500fe0, want, 32);
	memset(want + 32, 0, 32);
	assert_memory_equal(got, want, 64);
	expect(ERR_RANGE, cap_core_read(c, core, 0x401ff0, got, 64));
	cap_core_close(core);
}

static void test_threads_come_back(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct cap_core *core;

	(void)state;
	for (size_t i = 0; i < sizeof(xstates[0]); i++) {
		xstates[0][i] = i;
		xstates[1][i] = i * 3;
	}
	write_bundle_of(1, 2);
	ok(capture_open(path_of(""), &c));
	ok(cap_core_open(c, &core));
	assert_int_equal(core->n_threads, 2);
	assert_int_equal(core->tid, 7);
	for (size_t i = 0; i < 2; i++) {
		const struct cap_thread *want = &two_threads[i], *got = &core->threads[i];

		assert_int_equal(got->tid, want->tid);
		assert_memory_equal(&got->regs, &want->regs, sizeof(want->regs));
		assert_int_equal(got->xstate_bytes, want->xstate_bytes);
		assert_memory_equal(got->xstate, want->xstate, want->xstate_bytes);
		assert_int_equal(got->clear_child_tid, want->clear_child_tid);
		assert_int_equal(got->robust_list, want->robust_list);
	}
	cap_core_close(core);
}

/** What the flight recorder leaves: an end, no start. */
static void write_flight(uint8_t siginfo[128])
{
	static uint64_t auxv[] = { 6, 4096, 0, 0 };
	struct cap_mapping map = { .start = 0x500000,
				   .end = 0x502000,
				   .prot = PROT_READ | PROT_WRITE,
				   .core_bytes = 0x1000,
				   .name = (char *)"[heap]" };
	struct cap_core core = { .threads = two_threads,
				 .n_threads = 2,
				 .mappings = &map,
				 .n_mappings = 1,
				 .auxv = auxv,
				 .n_auxv = 2,
				 .is_end = true,
				 .siginfo = siginfo,
				 .fd = -1 };
	char *argv[] = { (char *)"x", NULL };
	uint64_t offsets[] = { 0, 0x1234, (1ull << 40) + 1 };
	struct cap_breakpoints breakpoints[] = { { 1, offsets, 3 }, { 1, offsets, 0 } };
	struct cap_info info = { .argv = argv,
				 .cwd = (char *)"/",
				 .mode = CAP_MODE_FLIGHT,
				 .end_core = { .reason = CAP_END_CORE_CRASH,
					       .at_ns = 1ull << 60,
					       .tid = 7,
					       .signo = 11,
					       .address = UINT64_MAX,
					       .function = (char *)"f" },
				 .n_overwritten = 1ull << 55,
				 .heap_from_ns = 1ull << 56,
				 .n_stores_overwritten = 1ull << 57,
				 .stores_from_ns = 1ull << 58,
				 .pt = { .is_wanted = true,
					 .why_not = (char *)"a",
					 .bytes = 1ull << 54,
					 .n_gaps = 3,
					 .n_lost = 4,
					 .breakpoints = breakpoints,
					 .n_breakpoints = 2,
					 .probe_page = 0x7fffffffe000,
					 .back = { 0x50, 0, 0xcc },
					 .n_back = 3,
					 .clock = { { 1, 2 }, { 1ull << 63, 4 } } } };
	struct cap_event ev = make_event(10);
	struct cap_writer *w;
	uint64_t bytes;
	uint32_t file;
	int fd = open("/proc/self/exe", O_RDONLY);

	remove_bundle();
	ok(cap_writer_create(path_of(""), &w));
	ok(cap_writer_file(w, fd, "/a", &file));
	close(fd);
	ok(cap_writer_core(w, &core, read_mem, NULL));
	ok(cap_writer_event(w, &ev));
	ok(cap_writer_finish(w, &info, &bytes));
	assert_true(bytes > 0x1000);
	cap_writer_destroy(w);
}

static void test_flight_comes_back(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	uint8_t siginfo[128] = { SIGSEGV }, want[64], got[64];
	const struct cap_info *info;
	struct cap_core *core;

	(void)state;
	siginfo[127] = 9;
	write_flight(siginfo);
	ok(capture_open(path_of(""), &c));
	info = capture_info(c);
	assert_int_equal(info->mode, CAP_MODE_FLIGHT);
	assert_int_equal(info->end_core.reason, CAP_END_CORE_CRASH);
	assert_true(info->end_core.at_ns == 1ull << 60);
	assert_int_equal(info->end_core.tid, 7);
	assert_int_equal(info->end_core.signo, 11);
	assert_true(info->end_core.address == UINT64_MAX);
	assert_string_equal(info->end_core.function, "f");
	assert_true(info->n_overwritten == 1ull << 55);
	assert_true(info->heap_from_ns == 1ull << 56);
	assert_true(info->n_stores_overwritten == 1ull << 57);
	assert_true(info->stores_from_ns == 1ull << 58);
	assert_true(info->pt.is_wanted && !info->pt.is_recorded);
	assert_string_equal(info->pt.why_not, "a");
	assert_true(info->pt.bytes == 1ull << 54);
	assert_int_equal(info->pt.n_gaps, 3);
	assert_int_equal(info->pt.n_lost, 4);
	assert_int_equal(info->pt.n_breakpoints, 2);
	assert_int_equal(info->pt.breakpoints[0].file, 1);
	assert_int_equal(info->pt.breakpoints[0].n, 3);
	assert_true(info->pt.breakpoints[0].offsets[1] == 0x1234);
	assert_true(info->pt.breakpoints[0].offsets[2] == (1ull << 40) + 1);
	assert_int_equal(info->pt.breakpoints[1].n, 0);
	assert_true(info->pt.probe_page == 0x7fffffffe000);
	assert_int_equal(info->pt.n_back, 3);
	assert_memory_equal(info->pt.back, "\x50\0\xcc", 3);
	assert_int_equal(info->pt.clock[0].at_ns, 2);
	assert_true(info->pt.clock[1].tsc == 1ull << 63);
	assert_int_equal(info->pt.clock[1].at_ns, 4);
	expect(ERR_UNSUPPORTED, cap_core_open(c, &core));
	ok(cap_end_core_open(c, &core));
	assert_true(core->is_end);
	assert_int_equal(core->n_threads, 2);
	assert_int_equal(core->threads[1].tid, 9);
	assert_memory_equal(core->siginfo, siginfo, 128);
	ok(cap_core_read(c, core, 0x500100, got, 64));
	read_mem(NULL, 0x500100, want, 64);
	assert_memory_equal(got, want, 64);
	cap_core_close(core);
}

static void test_log_cut_anywhere(void **state)
{
	_cleanup_free_ uint8_t *log = NULL;
	size_t size;

	(void)state;
	write_bundle(7);
	log = load("events.flt", &size);
	for (size_t cut = 0; cut < size; cut++) {
		unsigned n;
		bool same;

		store("events.flt", log, cut);
		expect(ERR_TRUNCATED, read_events(&n, &same));
		assert_true(same);
	}
}

static void test_log_flipped_anywhere(void **state)
{
	_cleanup_free_ uint8_t *log = NULL;
	size_t size;

	(void)state;
	write_bundle(7);
	log = load("events.flt", &size);
	for (size_t at = 0; at < size; at++) {
		struct err *err;
		unsigned n;
		bool same;

		log[at] ^= 1u << at % 8;
		store("events.flt", log, size);
		err = read_events(&n, &same);
		// A bit that zstd ignores may leave all as it was.
		assert_true(same && (err || n == 7));
		err_destroy(err);
		log[at] ^= 1u << at % 8;
	}
}

static void damage_core_anywhere(size_t n_threads)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;

	write_bundle_of(1, n_threads);
	ok(capture_open(path_of(""), &c));
	data = load("start.core", &size);
	for (size_t at = 0; at < size; at += at < 4096 ? 1 : 64) {
		struct cap_core *core;
		struct err *err;
		uint8_t buf[16];

		store("start.core", data, at);
		err = cap_core_open(c, &core);
		assert_non_null(err);
		err_destroy(err);
		data[at] ^= 0x81;
		store("start.core", data, size);
		err = cap_core_open(c, &core);
		if (!err) {
			err = cap_core_read(c, core, 0x500000, buf, 16);
			cap_core_close(core);
		}
		err_destroy(err);
		data[at] ^= 0x81;
	}
}

static void test_core_damaged_anywhere(void **state)
{
	(void)state;
	damage_core_anywhere(0);
	damage_core_anywhere(2);
}

static void test_manifest_damaged(void **state)
{
	_cleanup_free_ uint8_t *text = NULL;
	char *version;
	size_t size;
	struct capture *c;

	(void)state;
	write_bundle(1);
	text = load("manifest.json", &size);
	for (size_t cut = 0; cut < size; cut++) {
		store("manifest.json", text, cut);
		expect(ERR_FORMAT, capture_open(path_of(""), &c));
	}
	version = strstr((char *)text, "\"version\":\t1");
	assert_non_null(version);
	version[strlen("\"version\":\t")] = '9';
	store("manifest.json", text, size);
	expect(ERR_VERSION, capture_open(path_of(""), &c));
	store("manifest.json", "{\"name\": \"a web app\"}", 21);
	expect(ERR_FORMAT, capture_open(path_of(""), &c));
}

static void test_unfinished_and_foreign(void **state)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct capture *none;
	char path[1024];

	(void)state;
	write_bundle(1);
	unlink(path_of("manifest.json"));
	ok(capture_open(path_of(""), &c));
	assert_false(capture_info(c)->is_complete);
	assert_int_equal(capture_info(c)->n_missing, 1);
	assert_int_equal(capture_info(c)->n_files, 1);
	assert_string_equal(capture_info(c)->files[0].path, "/bin/x");
	ok(capture_file_path(c, 1, path, sizeof(path)));
	assert_int_equal(access(path, R_OK), 0);
	unlink(path_of("events.flt"));
	expect(ERR_NOT_FOUND, capture_open(path_of(""), &none));
	expect(ERR_NOT_FOUND, capture_open("/nonexistent/capture", &none));
}

static void test_writer_refuses_what_is_there(void **state)
{
	struct cap_writer *w;

	(void)state;
	write_bundle(1);
	expect(ERR_USAGE, cap_writer_create(path_of(""), &w));
	assert_int_equal(access(path_of("manifest.json"), F_OK), 0);
	assert_int_equal(access(path_of("events.flt"), F_OK), 0);
	assert_int_equal(access(path_of("start.core"), F_OK), 0);
	expect(ERR_NOT_FOUND, cap_writer_create("/nonexistent/dir/c", &w));
	remove_bundle();
	ok(cap_writer_create(path_of(""), &w));
	cap_writer_remove(w);
	assert_int_not_equal(access(path_of(""), F_OK), 0);
}

static int setup(void **state)
{
	big = malloc(BIG_BYTES + 16);
	for (size_t i = 0; big && i < BIG_BYTES + 16; i++)
		big[i] = i * 7 + i / 256;
	return big ? make_scratch(state) : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(big);
	return remove_scratch(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_events_come_back),
		cmocka_unit_test(test_manifest_comes_back),
		cmocka_unit_test(test_core_comes_back),
		cmocka_unit_test(test_threads_come_back),
		cmocka_unit_test(test_flight_comes_back),
		cmocka_unit_test(test_log_cut_anywhere),
		cmocka_unit_test(test_log_flipped_anywhere),
		cmocka_unit_test(test_core_damaged_anywhere),
		cmocka_unit_test(test_manifest_damaged),
		cmocka_unit_test(test_unfinished_and_foreign),
		cmocka_unit_test(test_writer_refuses_what_is_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
