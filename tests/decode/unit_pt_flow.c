// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Sessions over perf.data files that the test writes: two programs' packets as streams of
 * their threads, and interleaved as one processor would have left them, with the records of
 * its switches. Each thread's instructions are those of its own stream.
 */

#include "tests/decode/pt_bytes.h"
#include "tests/unit.h"

#include <intel-pt.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/capture.h"
#include "capture/perf_data.h"
#include "decode/pt/encode.h"
#include "decode/pt/flow.h"
#include "decode/machine/machine.h"
#include "decode/pt/decode.h"

enum { PROGRAMS = 2, CPU = 3, SLICE_NS = 1000000 };

struct program {
	const char *name, *command;
	uint32_t tid;
	struct capture *capture;
	struct dec_pt_image image;
	struct dec_pt_encoder *encoder;
	dec_pt_buffer bytes;
	uint64_t n_insns, hash; ///< of the truth
};

static struct program programs[PROGRAMS] = {
	{ .name = "sort", .command = "sort -r /usr/share/common-licenses/GPL-3" },
	{ .name = "ls", .command = "ls -l /usr/share" },
};

static const char *gone = "/nowhere/libgone.so"; ///< what is told of a missing library

/* ---- the programs' packets ----------------------------------------------------------------- */

static struct err *keep(void *ctx, uint32_t tid, const uint8_t *data, size_t n)
{
	struct program *p = ctx;

	assert_int_equal(tid, p->tid);
	assert_int_equal(vec_reserve(&p->bytes, p->bytes.size + n), 0);
	memcpy(p->bytes.data + p->bytes.size, data, n);
	p->bytes.size += n;
	return NULL;
}

static struct err *map(void *ctx, const struct dec_pt_mapping *m)
{
	struct program *p = ctx;

	return dec_pt_image_map(&p->image, m->file, m->addr, m->size, m->file_offset,
				dec_pt_encoder_stats(p->encoder, m->tid)->bytes);
}

static void encode(struct program *p)
{
	const struct dec_pt_options o = {
		.psb_bytes = 4096, .compresses_returns = true, .has_tsc = true, .map = map
	};
	struct dec_machine *m;
	struct dec_where w;

	ok(dec_pt_image_init(&p->image, p->capture));
	ok(dec_pt_encoder_create(p->capture, &o, keep, p, &p->encoder));
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, dec_pt_encoder_feed, p->encoder));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	ok(dec_pt_encoder_finish(p->encoder, w.rip));
	dec_pt_encoder_destroy(p->encoder);
	dec_machine_destroy(m);
}

/* ---- instructions, however they are cut ------------------------------------------------------ */

struct tally {
	uint64_t n_insns[PROGRAMS], hash[PROGRAMS];
	struct dec_pt_image *image;
	int now;
	uint64_t n_turns, n_gaps, tsc;
};

static struct err *on_run(void *ctx, const struct dec_pt_run *r)
{
	struct tally *t = ctx;
	uint64_t ip = r->ip;

	assert_true(r->tsc >= t->tsc);
	t->tsc = r->tsc;
	for (uint32_t i = 0; i < r->n_insns; i++) {
		t->hash[t->now] = (t->hash[t->now] ^ ip) * 0x9e3779b97f4a7c15ull;
		if (i + 1 < r->n_insns)
			ok(pt_next(t->image, ip, &ip));
	}
	t->n_insns[t->now] += r->n_insns;
	return NULL;
}

static struct err *on_event(void *ctx, const struct dec_pt_event *e)
{
	struct tally *t = ctx;

	if (e->kind != DEC_PT_EV_THREAD)
		return NULL;
	t->image = e->image;
	t->n_turns++;
	t->now = e->value == programs[1].tid;
	assert_int_equal(e->value, programs[t->now].tid);
	return NULL;
}

static struct err *on_gap(void *ctx, const struct dec_pt_gap *g)
{
	struct tally *t = ctx;

	t->n_gaps++;
	(void)g;
	return NULL;
}

static void tally_stream(struct tally *t, const struct dec_pt_stream *s)
{
	struct dec_pt_sink sink = {
		.ctx = t, .run = on_run, .gap = on_gap, .event = on_event
	};

	ok(dec_pt_decode(s, NULL, &sink, NULL));
}

static void truth(struct program *p)
{
	struct tally t = { .image = &p->image };
	struct dec_pt_sink sink = { .ctx = &t, .run = on_run, .gap = on_gap };

	ok(pt_decode_bytes(p->bytes.data, p->bytes.size, &p->image, &sink, NULL));
	assert_int_equal(t.n_gaps, 0);
	assert_true(t.n_insns[0] > 100000);
	p->n_insns = t.n_insns[0];
	p->hash = t.hash[0];
}

static int begin(void **state)
{
	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];
		_cleanup_free_ char *dir = NULL;

		assert_true(asprintf(&dir, "%s/%s", unit_env("TMPDIR"), p->name) > 0);
		assert_int_equal(unit_run("%s record -o %s -- %s >/dev/null 2>&1",
					  unit_env("FAULTLINE"), dir, p->command),
				 0);
		ok(capture_open(dir, &p->capture));
		p->tid = capture_info(p->capture)->pid;
		encode(p);
		// From here on other files have the names of those that it has seen.
		assert_int_equal(unit_run("cd %s && mv files kept && mkdir files && "
					  "for f in kept/*; do truncate -s "
					  "$(stat -c %%s $f) files/${f#kept/}; done",
					  dir),
				 0);
		truth(p);
		assert_int_equal(unit_run("cd %s && rm -r files && mv kept files", dir),
				 0);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		dec_pt_image_deinit(&programs[i].image);
		capture_close(programs[i].capture);
		vec_deinit(&programs[i].bytes);
	}
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------ */

static void put(struct perf_writer *w, struct perf_record r)
{
	ok(perf_writer_record(w, &r));
}

/* @p missing: a file that gets another name. */
static void put_program(struct perf_writer *w, const struct program *p,
			const char *missing)
{
	put(w, (struct perf_record){
		       .kind = PERF_COMM,
		       .pid = p->tid,
		       .tid = p->tid,
		       .comm = { .pid = p->tid, .tid = p->tid, .name = p->name } });
	for (size_t i = 0; i < p->image.maps.size; i++) {
		const struct dec_pt_map *m = &p->image.maps.data[i];
		bool is_missing = missing && strstr(m->path, missing);

		if (m->path[0] != '/' || !m->data)
			continue;
		put(w, (struct perf_record){
			       .kind = PERF_MMAP,
			       .pid = p->tid,
			       .tid = p->tid,
			       .mmap = { .pid = p->tid,
					 .tid = p->tid,
					 .addr = m->addr,
					 .bytes = m->size,
					 .file_offset = m->file_offset,
					 .prot = PROT_READ | PROT_EXEC,
					 .flags = MAP_PRIVATE,
					 .path = is_missing ? gone : m->path } });
	}
}

static void put_switch(struct perf_writer *w, uint64_t ns, uint32_t tid, bool is_out)
{
	put(w, (struct perf_record){ .kind = PERF_SWITCH,
				     .time_ns = ns,
				     .pid = tid,
				     .tid = tid,
				     .cpu = CPU,
				     .change = { .is_out = is_out } });
}

static void create(const char *path, bool is_per_cpu, struct perf_writer **w)
{
	struct perf_writer_options o = {
		.pt = { .pmu_type = 8,
			.config = PERF_PT_ENABLE | PERF_PT_TSC | PERF_PT_BRANCH,
			.tsc_bit = PERF_PT_TSC,
			.noretcomp_bit = PERF_PT_NORETCOMP,
			.has_switches = is_per_cpu ? PERF_SWITCHES_THREAD :
						     PERF_SWITCHES_NONE,
			.is_per_cpu = is_per_cpu,
			.is_user_only = true,
			.clock = { .mult = 1, .is_known = true } },
	};

	ok(perf_writer_create(path, &o, w));
}

/* ---- of threads ------------------------------------------------------------------------------- */

static void write_threads(const char *path, const char *missing)
{
	struct perf_writer *w;

	create(path, false, &w);
	for (int i = 0; i < PROGRAMS; i++) {
		const struct program *p = &programs[i];
		struct perf_piece piece = {
			.stream = i, .tid = p->tid, .cpu = PERF_NONE, .offset = UINT64_MAX
		};

		put_program(w, p, missing);
		// In pieces that end anywhere, but with whole words: no PAD is in them.
		for (size_t at = 0; at < p->bytes.size; at += 30008) {
			size_t n = p->bytes.size - at;

			ok(perf_writer_stream(w, &piece, p->bytes.data + at,
					      n < 30008 ? n : 30008));
		}
	}
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
}

static void threads_have_streams(void **state)
{
	_cleanup_free_ char *path = NULL;
	const struct dec_pt_source *sources;
	struct dec_pt_flow *f;
	size_t n;

	(void)state;
	assert_true(asprintf(&path, "%s/threads.data", unit_env("TMPDIR")) > 0);
	write_threads(path, NULL);
	ok(dec_pt_flow_open(path, &f));
	sources = dec_pt_flow_sources(f, &n);
	assert_int_equal(n, PROGRAMS);
	for (size_t i = 0; i < n; i++) {
		const struct program *p = &programs[sources[i].tid == programs[1].tid];
		struct tally t = {};

		tally_stream(&t, &sources[i].stream);
		assert_int_equal(t.n_gaps, 0);
		assert_int_equal(t.n_turns, 1);
		assert_int_equal(t.n_insns[p - programs], p->n_insns);
		assert_int_equal(t.hash[p - programs], p->hash);
		assert_string_equal(dec_pt_flow_thread(f, p->tid)->name, p->name);
	}
	dec_pt_flow_missing(f, &n);
	assert_int_equal(n, 0);
	dec_pt_flow_close(f);
}

/* A perf.data may call anything code: a text file's bytes are not shown as instructions. */
static void text_is_no_code(void **state)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	const char *was = gone;
	const struct dec_pt_missing *missing;
	struct dec_pt_flow *f;
	FILE *out;
	size_t n;

	(void)state;
	assert_true(asprintf(&path, "%s/text.data", unit_env("TMPDIR")) > 0);
	assert_true(asprintf(&text, "%s/text", unit_env("TMPDIR")) > 0);
	out = fopen(text, "w");
	for (int i = 0; i < 1000000; i++)
		fputs("secret\n", out);
	fclose(out);
	gone = text;
	write_threads(path, "libc.so");
	gone = was;
	ok(dec_pt_flow_open(path, &f));
	missing = dec_pt_flow_missing(f, &n);
	assert_int_equal(n, 1);
	assert_non_null(strstr(missing->why, "no ELF file"));
	dec_pt_flow_close(f);
}

static struct err *count_code_gaps(void *ctx, const struct dec_pt_gap *g)
{
	assert_int_equal(g->kind, DEC_PT_GAP_CODE);
	assert_string_equal(g->file, gone);
	++*(int *)ctx;
	return NULL;
}

static void missing_code_has_a_name(void **state)
{
	_cleanup_free_ char *path = NULL;
	const struct dec_pt_missing *missing;
	const struct dec_pt_source *sources;
	struct dec_pt_totals t;
	struct dec_pt_flow *f;
	int count = 0;
	struct dec_pt_sink sink = { .ctx = &count, .gap = count_code_gaps };
	size_t n;

	(void)state;
	assert_true(asprintf(&path, "%s/missing.data", unit_env("TMPDIR")) > 0);
	write_threads(path, "libc.so");
	ok(dec_pt_flow_open(path, &f));
	missing = dec_pt_flow_missing(f, &n);
	assert_int_equal(n, 1);
	assert_string_equal(missing->path, gone);
	assert_non_null(strstr(missing->why, "not here"));
	sources = dec_pt_flow_sources(f, &n);
	ok(dec_pt_decode(&sources[0].stream, NULL, &sink, &t));
	assert_true(count > 3);
	assert_int_equal(t.gaps, count);
	assert_true(t.instructions > 10000);
	dec_pt_flow_close(f);
}

/* ---- of a processor ----------------------------------------------------------------------------- */

/* Packets of one slice of a program on their way into the processor's stream. */
struct slice {
	struct pt_encoder *to;
	uint64_t begin_ns; ///< all its times lie there and behind
	uint64_t last_ip;
	bool begins_off; ///< tracing is off when it begins: there, or in a system call
	bool ends_off;
};

static void emit(struct slice *s, struct pt_packet p)
{
	assert_true(pt_enc_next(s->to, &p) > 0);
}

static void emit_tsc(struct slice *s)
{
	struct pt_packet p = { .type = ppt_tsc };

	p.payload.tsc.tsc = s->begin_ns++;
	emit(s, p);
}

static void emit_ip(struct slice *s, enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet p = { .type = type };

	p.payload.ip.ipc = pt_ipc_sext_48;
	p.payload.ip.ip = ip & ((1ull << 48) - 1);
	emit(s, p);
}

/* A PSB group that says that tracing was on becomes one that says that it was off, and the
 * packets of a switch to the thread. */
static void emit_begin(struct slice *s, uint64_t ip)
{
	struct pt_packet mode = { .type = ppt_mode };

	emit(s, (struct pt_packet){ .type = ppt_psb });
	emit_tsc(s);
	emit(s, (struct pt_packet){ .type = ppt_psbend });
	if (s->begins_off)
		return;
	emit_tsc(s);
	mode.payload.mode.leaf = pt_mol_exec;
	mode.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	emit(s, mode);
	emit_ip(s, ppt_tip_pge, ip);
}

/* Copy @p n bytes, from one PSB to another, with new times; then switch away at @p stop. */
static void copy_slice(struct slice *s, const uint8_t *bytes, size_t n, size_t head,
		       uint64_t ip, uint64_t stop)
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	struct pt_packet p;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + n;
	d = pt_pkt_alloc_decoder(&config);
	emit_begin(s, ip);
	assert_true(pt_pkt_sync_set(d, head) >= 0);
	while (pt_pkt_next(d, &p, sizeof(p)) > 0) {
		if (p.type == ppt_tsc)
			emit_tsc(s);
		else
			emit(s, p);
	}
	pt_pkt_free_decoder(d);
	if (s->ends_off)
		return;
	emit_ip(s, ppt_fup, stop);
	emit(s, (struct pt_packet){ .type = ppt_tip_pgd });
}

/* Where a program's stream is cut. */
struct cutter {
	struct dec_pt_stream stream;
	uint64_t at;
	dec_pt_buffer buffer;
};

/* Copy @p p's next slice, of @p n_psb PSBs. @return whether there are more. */
static bool next_slice(const struct program *p, struct cutter *c, struct slice *s,
		       int n_psb)
{
	struct dec_pt_psb from, to = {};
	uint64_t end = c->at;

	while (n_psb-- && end < p->bytes.size)
		end = dec_pt_stream_find_psb(&c->stream, end + DEC_PT_PSB_BYTES);
	ok(dec_pt_stream_psb(&c->stream, c->at, &c->buffer, &from));
	s->begins_off = !from.has_ip;
	if (end < p->bytes.size)
		ok(dec_pt_stream_psb(&c->stream, end, &c->buffer, &to));
	s->ends_off = !to.has_ip;
	copy_slice(s, p->bytes.data + c->at, end - c->at, from.end - c->at, from.ip,
		   to.ip);
	c->at = end;
	return end < p->bytes.size;
}

static uint64_t write_cpu(const char *path)
{
	const struct perf_piece piece = {
		.stream = 0, .tid = PERF_NONE, .cpu = CPU, .offset = UINT64_MAX
	};
	size_t size = (programs[0].bytes.size + programs[1].bytes.size) * 2, n_slices = 0;
	_cleanup_free_ uint8_t *out = malloc(size);
	struct cutter cutters[PROGRAMS] = {};
	bool goes_on[PROGRAMS] = { true, true };
	struct pt_config config;
	struct perf_writer *w;
	struct slice s = {};
	uint64_t bytes = 0;

	assert_non_null(out);
	pt_config_init(&config);
	config.begin = out;
	config.end = out + size;
	s.to = pt_alloc_encoder(&config);
	create(path, true, &w);
	for (int i = 0; i < PROGRAMS; i++) {
		put_program(w, &programs[i], NULL);
		ok(dec_pt_stream_init(&cutters[i].stream, 0, &programs[i].image));
		ok(dec_pt_stream_add(&cutters[i].stream, programs[i].bytes.data,
				     programs[i].bytes.size, NULL));
	}
	for (int i = 0; goes_on[0] || goes_on[1]; i ^= 1) {
		uint64_t from = 1000000000 + n_slices * SLICE_NS;

		if (!goes_on[i])
			continue;
		s.begin_ns = from;
		goes_on[i] = next_slice(&programs[i], &cutters[i], &s, 1 + n_slices % 5);
		// The kernel tells of it when the first packets are out already.
		put_switch(w, from + 2, programs[i].tid, false);
		put_switch(w, from + SLICE_NS - 9, programs[i].tid, true);
		n_slices++;
	}
	pt_enc_get_offset(s.to, &bytes);
	ok(perf_writer_stream(w, &piece, out, bytes));
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	pt_free_encoder(s.to);
	for (int i = 0; i < PROGRAMS; i++) {
		dec_pt_stream_deinit(&cutters[i].stream);
		vec_deinit(&cutters[i].buffer);
	}
	return n_slices;
}

static void a_processors_stream_is_split(void **state)
{
	_cleanup_free_ char *path = NULL;
	const struct dec_pt_source *sources;
	struct dec_pt_flow *f;
	struct tally t = {};
	uint64_t n_slices;
	size_t n;

	(void)state;
	assert_true(asprintf(&path, "%s/cpu.data", unit_env("TMPDIR")) > 0);
	n_slices = write_cpu(path);
	assert_true(n_slices > 10);
	ok(dec_pt_flow_open(path, &f));
	sources = dec_pt_flow_sources(f, &n);
	assert_int_equal(n, 1);
	assert_int_equal(sources->cpu, CPU);
	tally_stream(&t, &sources->stream);
	for (int i = 0; i < PROGRAMS; i++) {
		assert_int_equal(t.n_insns[i], programs[i].n_insns);
		assert_int_equal(t.hash[i], programs[i].hash);
	}
	assert_int_equal(t.n_gaps, 0);
	assert_true(t.n_turns > 10);
	dec_pt_flow_close(f);
}

/* ---- what cannot be opened ------------------------------------------------------------------------ */

static void what_has_no_pt_is_refused(void **state)
{
	_cleanup_free_ char *dir = NULL;
	struct dec_pt_flow *f;
	struct err *err;

	(void)state;
	assert_true(asprintf(&dir, "%s/%s", unit_env("TMPDIR"), programs[0].name) > 0);
	err = dec_pt_flow_open(dir, &f);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_NOT_FOUND);
	assert_non_null(strstr(err->message, "faultline encode"));
	err_destroy(err);
	expect(ERR_NOT_FOUND, dec_pt_flow_open("/nowhere", &f));
	expect(ERR_FORMAT, dec_pt_flow_open("/etc/passwd", &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_streams),
		cmocka_unit_test(missing_code_has_a_name),
		cmocka_unit_test(text_is_no_code),
		cmocka_unit_test(a_processors_stream_is_split),
		cmocka_unit_test(what_has_no_pt_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
