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
#include "decode/pt/user.h"
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

/* What a file of processors is like. */
struct shape {
	bool is_wide; ///< the records of switches are of all threads, the idle task's too
	bool is_early;	 ///< PSB groups name a place before tracing is on (BDM70)
	bool has_kernel; ///< that is traced, too
	bool has_newer;	 ///< there are packets that the library does not know
	int n_cpus;	 ///< 0: one
	uint64_t ahead;	 ///< of the clock is the TSC: time_zero is less than 0
};

static void put_switch(struct perf_writer *w, uint64_t ns, uint32_t cpu, uint32_t tid,
		       bool is_out)
{
	put(w, (struct perf_record){ .kind = PERF_SWITCH,
				     .time_ns = ns,
				     .pid = tid,
				     .tid = tid,
				     .cpu = cpu,
				     .change = { .is_out = is_out } });
}

/* The processor goes from one thread to another, 0: the idle task, as the records of all its
 * switches tell: once each. */
static void put_wide(struct perf_writer *w, uint64_t ns, uint32_t cpu, uint32_t from,
		     uint32_t to)
{
	for (int is_out = 1; is_out >= 0; is_out--) {
		uint32_t tid = is_out ? from : to, other = is_out ? to : from;

		put(w, (struct perf_record){ .kind = PERF_SWITCH,
					     .time_ns = ns + !is_out,
					     .pid = tid,
					     .tid = tid,
					     .cpu = cpu,
					     .change = { .is_out = is_out,
							 .has_other = true,
							 .other_pid = other,
							 .other_tid = other } });
	}
}

/* A slice of thread @p tid, number @p n, from @p from on. The kernel tells of it when the
 * first packets are out already; of the first one it tells when it is over. */
static void put_slice(struct perf_writer *w, uint64_t from, uint32_t cpu, uint32_t tid,
		      uint64_t n, bool is_wide)
{
	uint64_t until = from + SLICE_NS - 9;

	if (!is_wide) {
		put_switch(w, from + 2, cpu, tid, false);
		put_switch(w, until, cpu, tid, true);
		return;
	}
	if (n)
		put_wide(w, from + 2, cpu, 0, tid);
	put_wide(w, until, cpu, tid, 0);
}

static void create(const char *path, bool is_per_cpu, bool has_kernel, uint64_t ahead,
		   struct perf_writer **w)
{
	struct perf_writer_options o = {
		.pt = { .pmu_type = 8,
			.config = PERF_PT_ENABLE | PERF_PT_TSC | PERF_PT_BRANCH,
			.tsc_bit = PERF_PT_TSC,
			.noretcomp_bit = PERF_PT_NORETCOMP,
			.has_switches = is_per_cpu ? PERF_SWITCHES_THREAD :
						     PERF_SWITCHES_NONE,
			.is_per_cpu = is_per_cpu,
			.is_user_only = !has_kernel,
			.clock = { .mult = 1, .zero = -ahead, .is_known = true } },
	};

	ok(perf_writer_create(path, &o, w));
}

/* ---- of threads ------------------------------------------------------------------------------- */

static void write_threads(const char *path, const char *missing)
{
	struct perf_writer *w;

	create(path, false, false, 0, &w);
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
	ok(dec_pt_flow_open(path, NULL, &f));
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
	ok(dec_pt_flow_open(path, NULL, &f));
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
	ok(dec_pt_flow_open(path, NULL, &f));
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
	uint64_t ahead;	   ///< as in struct shape
	uint64_t last_ip;
	bool has_kernel; ///< tracing goes on in the kernel
	bool is_kernel;	 ///< it is there
	bool begins_off; ///< tracing is off when it begins: there, or in a system call
	bool has_newer;	 ///< packets that libipt 2.0 does not know are in between
	bool is_early;	 ///< its PSB group names a place before tracing is on (BDM70)
	bool ends_off;
};

static void emit(struct slice *s, struct pt_packet p)
{
	assert_true(pt_enc_next(s->to, &p) > 0);
}

static void emit_tsc(struct slice *s)
{
	struct pt_packet p = { .type = ppt_tsc };

	p.payload.tsc.tsc = s->begin_ns++ + s->ahead;
	emit(s, p);
}

static void emit_ip(struct slice *s, enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet p = { .type = type };

	p.payload.ip.ipc = pt_ipc_sext_48;
	p.payload.ip.ip = ip & ((1ull << 48) - 1);
	emit(s, p);
}

/* A packet as the manual has it: CFE of a system call, EVD with cr2, TRIG with and without a
 * count, a block of two items, and of one of four bytes. */
static void emit_newer(struct slice *s)
{
	static const uint8_t packets[][32] = {
		{ 4, 0x02, 0x13, 0x08, 0 },
		{ 11, 0x02, 0x53, 0, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2 },
		{ 3, 0xd9, 0x0, 0x1 },
		{ 5, 0xd9, 0x40, 0x1, 0xff, 0xff },
		{ 23, 0x02, 0x63, 0x04, 0x04, 1, 2, 3, 4, 5, 6,	   7,
		  8,  0xfc, 1,	  2,	3,    4, 5, 6, 7, 8, 0x02, 0x33 },
		{ 10, 0x02, 0x63, 0x81, 0x0c, 1, 2, 3, 4, 0x02, 0x33 },
	};
	static unsigned int n;
	const uint8_t *p = packets[n++ % 6];
	const struct pt_config *config = pt_enc_get_config(s->to);
	uint64_t at;

	if (!s->has_newer)
		return;
	pt_enc_get_offset(s->to, &at);
	memcpy(config->begin + at, p + 1, p[0]);
	assert_int_equal(pt_enc_sync_set(s->to, at + p[0]), 0);
}

enum { KERNEL = 0x1000 }; ///< behind the beginning of its half

static void emit_mode(struct slice *s)
{
	struct pt_packet mode = { .type = ppt_mode };

	mode.payload.mode.leaf = pt_mol_exec;
	mode.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	emit(s, mode);
}

/* The kernel is entered, and what it does has packets of all kinds. */
static void emit_kernel(struct slice *s)
{
	static const uint64_t kernel = 0xffffffff80000000 + KERNEL;
	struct pt_packet tnt = { .type = ppt_tnt_8 }, pip = { .type = ppt_pip };

	s->is_kernel = true;
	tnt.payload.tnt.bit_size = 3;
	tnt.payload.tnt.payload = 5;
	pip.payload.pip.cr3 = 0x1000;
	emit_ip(s, ppt_tip, kernel);
	emit(s, tnt);
	emit(s, pip);
	emit_ip(s, ppt_tip, kernel + 64);
	emit_ip(s, ppt_fup, kernel + 80);
	emit_ip(s, ppt_tip, kernel + 4096);
	emit(s, tnt);
}

/* A PSB group that says that tracing was on becomes one that says that it was off, or in the
 * kernel, and the packets of a switch to the thread. */
static void emit_begin(struct slice *s, uint64_t ip)
{
	bool is_early = s->is_early && !s->begins_off;

	emit(s, (struct pt_packet){ .type = ppt_psb });
	emit_newer(s);
	emit_tsc(s);
	if (is_early || s->has_kernel)
		emit_mode(s);
	if (is_early)
		emit_ip(s, ppt_fup, ip);
	if (s->has_kernel)
		emit_ip(s, ppt_fup, UINT64_MAX - KERNEL);
	s->is_kernel = s->has_kernel;
	emit(s, (struct pt_packet){ .type = ppt_psbend });
	if (s->begins_off)
		return;
	emit_tsc(s);
	emit_mode(s);
	emit_ip(s, s->has_kernel ? ppt_tip : ppt_tip_pge, ip);
	s->is_kernel = false;
}

/* The kernel is left or entered, not tracing. */
static void copy_kernel(struct slice *s, struct pt_packet *p)
{
	switch (p->type) {
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_fup:
		assert_true(dec_pt_user_ip(&p->payload.ip, &s->last_ip));
		emit_ip(s, p->type == ppt_fup ? ppt_fup : ppt_tip, s->last_ip);
		s->is_kernel = false;
		return;
	case ppt_tip_pgd:
		emit_kernel(s);
		return;
	case ppt_psbend:
		if (s->is_kernel) {
			emit_mode(s);
			emit_ip(s, ppt_fup, UINT64_MAX - KERNEL);
		}
		break;
	default:
		break;
	}
	emit(s, *p);
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
	s->last_ip = ip;
	assert_true(pt_pkt_sync_set(d, head) >= 0);
	while (pt_pkt_next(d, &p, sizeof(p)) > 0) {
		if (p.type == ppt_psb)
			s->last_ip = 0;
		if (p.type == ppt_tsc)
			emit_tsc(s);
		else if (s->has_kernel)
			copy_kernel(s, &p);
		else
			emit(s, p);
		if (p.type == ppt_tip || p.type == ppt_tip_pgd)
			emit_newer(s);
	}
	pt_pkt_free_decoder(d);
	if (s->ends_off)
		return;
	emit_ip(s, ppt_fup, stop);
	if (s->has_kernel)
		emit_kernel(s);
	else
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

/* A processor's packets. */
struct cpu {
	struct pt_encoder *to;
	uint8_t *out;
};

static void cpu_open(struct cpu *c)
{
	size_t size = (programs[0].bytes.size + programs[1].bytes.size) * 8;
	struct pt_config config;

	c->out = malloc(size);
	assert_non_null(c->out);
	pt_config_init(&config);
	config.begin = c->out;
	config.end = c->out + size;
	c->to = pt_alloc_encoder(&config);
	assert_non_null(c->to);
}

static void cpu_close(struct cpu *c, struct perf_writer *w, int number)
{
	const struct perf_piece piece = { .stream = number,
					  .tid = PERF_NONE,
					  .cpu = CPU + number,
					  .offset = UINT64_MAX };
	uint64_t bytes = 0;

	pt_enc_get_offset(c->to, &bytes);
	ok(perf_writer_stream(w, &piece, c->out, bytes));
	pt_free_encoder(c->to);
	free(c->out);
}

static uint64_t write_cpu(const char *path, const struct shape *shape)
{
	int n_cpus = shape->n_cpus ?: 1;
	struct slice s = { .is_early = shape->is_early,
			   .has_newer = shape->has_newer,
			   .has_kernel = shape->has_kernel,
			   .ahead = shape->ahead };
	struct cutter cutters[PROGRAMS] = {};
	bool goes_on[PROGRAMS] = { true, true };
	struct cpu cpus[4];
	struct perf_writer *w;
	size_t n_slices = 0;

	create(path, true, shape->has_kernel, shape->ahead, &w);
	for (int i = 0; i < n_cpus; i++)
		cpu_open(&cpus[i]);
	for (int i = 0; i < PROGRAMS; i++) {
		put_program(w, &programs[i], NULL);
		ok(dec_pt_stream_init(&cutters[i].stream, 0, &programs[i].image));
		ok(dec_pt_stream_add(&cutters[i].stream, programs[i].bytes.data,
				     programs[i].bytes.size, NULL));
	}
	for (int i = 0; goes_on[0] || goes_on[1]; i ^= 1) {
		uint64_t from = 1000000000 + n_slices * SLICE_NS;
		int cpu = n_slices / 3 % n_cpus;

		if (!goes_on[i])
			continue;
		s.begin_ns = from;
		s.to = cpus[cpu].to;
		goes_on[i] = next_slice(&programs[i], &cutters[i], &s, 1 + n_slices % 5);
		put_slice(w, from, CPU + cpu, programs[i].tid, n_slices, shape->is_wide);
		n_slices++;
	}
	for (int i = 0; i < n_cpus; i++)
		cpu_close(&cpus[i], w, i);
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	for (int i = 0; i < PROGRAMS; i++) {
		dec_pt_stream_deinit(&cutters[i].stream);
		vec_deinit(&cutters[i].buffer);
	}
	return n_slices;
}

static void split(const char *name, struct shape shape)
{
	_cleanup_free_ char *path = NULL;
	const struct dec_pt_source *sources;
	struct dec_pt_flow *f;
	struct tally t = {};
	uint64_t n_slices;
	size_t n;

	assert_true(asprintf(&path, "%s/%s", unit_env("TMPDIR"), name) > 0);
	n_slices = write_cpu(path, &shape);
	assert_true(n_slices > 10);
	ok(dec_pt_flow_open(path, NULL, &f));
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

static void a_processors_stream_is_split(void **state)
{
	(void)state;
	split("cpu.data", (struct shape){});
}

/* The idle task is somebody, too, and not the end of what is known. */
static void the_idle_task_is_nobodys_turn(void **state)
{
	(void)state;
	split("wide.data", (struct shape){ .is_wide = true });
}

/* A machine that has slept: its TSC ran before the clock did. */
static void the_clock_may_begin_late(void **state)
{
	(void)state;
	split("late.data", (struct shape){ .is_wide = true, .ahead = 1ull << 42 });
}

/* Erratum BDM70 and its like: no place that the flow must have come to. */
static void a_place_before_tracing_is_none(void **state)
{
	(void)state;
	split("early.data", (struct shape){ .is_early = true });
}

/* What a thread did in user code is told as if the kernel had not been traced. */
static void the_kernel_is_left_out(void **state)
{
	(void)state;
	split("kernel.data", (struct shape){ .has_kernel = true, .is_wide = true });
}

static void newer_packets_are_skipped(void **state)
{
	(void)state;
	split("newer.data", (struct shape){ .has_newer = true });
}

/* What `decode` prints of threads that go to and fro between processors is each thread's
 * instructions in its order, and the whole in the order of time. */
static void a_thread_that_moves_stays_in_order(void **state)
{
	_cleanup_free_ char *path = NULL, *command = NULL;
	const struct shape shape = { .n_cpus = 3 };
	struct tally t = {};
	double last = 0;
	char line[512];
	FILE *f;

	(void)state;
	assert_true(asprintf(&path, "%s/cpus.data", unit_env("TMPDIR")) > 0);
	assert_true(asprintf(&command, "%s decode --instructions %s 2>/dev/null",
			     unit_env("FAULTLINE"), path) > 0);
	assert_true(write_cpu(path, &shape) > 10);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned int tid;
		uint64_t ip;
		double time;

		assert_int_equal(sscanf(line, "%u %lf %lx", &tid, &time, &ip), 3);
		assert_true(time >= last);
		last = time;
		t.now = tid == programs[1].tid;
		t.n_insns[t.now]++;
		t.hash[t.now] = (t.hash[t.now] ^ ip) * 0x9e3779b97f4a7c15ull;
	}
	assert_int_equal(pclose(f), 0);
	for (int i = 0; i < PROGRAMS; i++) {
		assert_int_equal(t.n_insns[i], programs[i].n_insns);
		assert_int_equal(t.hash[i], programs[i].hash);
	}
}

static int decodes(const char *options, const char *path)
{
	return unit_run("%s decode --json %s %s >%s/out 2>&1", unit_env("FAULTLINE"),
			options, path, unit_env("TMPDIR"));
}

/* @return what the last summary says of @p key. */
static uint64_t said(const char *key)
{
	_cleanup_free_ char *path = NULL;
	char text[4096] = "";
	const char *at;
	FILE *f;

	assert_true(asprintf(&path, "%s/out", unit_env("TMPDIR")) > 0);
	f = fopen(path, "r");
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	at = strstr(text, key);
	if (!at)
		fail_msg("no %s in: %s", key, text);
	return strtoull(at + strlen(key) + 1, NULL, 10);
}

/* Who and where may be asked for: what is left out of one is what the other has. */
static void threads_and_processors_are_picked(void **state)
{
	uint64_t all = programs[0].n_insns + programs[1].n_insns;
	_cleanup_free_ char *path = NULL;

	(void)state;
	assert_true(asprintf(&path, "%s/cpus.data", unit_env("TMPDIR")) > 0);
	for (int k = 0; k < 3; k++) {
		uint64_t sum = 0;

		for (int i = 0; i < 2; i++) {
			char options[64];

			if (k == 0)
				sprintf(options, "--pid %u", programs[i].tid);
			else if (k == 1)
				sprintf(options, "--comm %s", programs[i].name);
			else
				sprintf(options, "-C %s", i ? "4-5" : "3");
			assert_int_equal(decodes(options, path), 0);
			sum += said("\"instructions\"");
			if (k < 2)
				assert_int_equal(sum, i ? all : programs[0].n_insns);
		}
		assert_int_equal(sum, all);
	}
	assert_int_equal(decodes("--pid 1", path), 2);
	assert_int_equal(decodes("--comm nobody", path), 2);
	assert_int_equal(decodes("-C 7", path), 2);
}

/* ---- packets alone --------------------------------------------------------------------------- */

/* `--image` for each file of @p p: whole ELF files and parts in turn. */
static char *image_options(const struct program *p)
{
	char *options = NULL;
	size_t n_bytes;
	FILE *f = open_memstream(&options, &n_bytes);

	for (size_t i = 0; i < p->image.maps.size; i++) {
		const struct dec_pt_map *m = &p->image.maps.data[i];

		if (m->path[0] != '/' || !m->data || m->is_core)
			continue;
		if (i % 2)
			fprintf(f, "--image %s@%#lx ", m->path, m->addr - m->file_offset);
		else
			fprintf(f, "--image %s:%#lx-%lu@%#lx ", m->path, m->file_offset,
				m->file_offset + m->size, m->addr);
	}
	fclose(f);
	return options;
}

static void packets_alone_are_decoded(void **state)
{
	const struct program *p = &programs[1];
	_cleanup_free_ char *path = NULL, *options = image_options(p);
	FILE *f;

	(void)state;
	assert_true(asprintf(&path, "--raw %s/alone.pt", unit_env("TMPDIR")) > 0);
	f = fopen(path + 6, "w");
	assert_int_equal(fwrite(p->bytes.data, 1, p->bytes.size, f), p->bytes.size);
	fclose(f);
	assert_int_equal(decodes(options, path), 0);
	assert_int_equal(said("\"instructions\""), p->n_insns);
	assert_int_equal(said("\"gaps\""), 0);
	assert_int_equal(decodes("", path), 1); // no code
	assert_int_equal(decodes("--image /nowhere@0", path), 2);
	assert_int_equal(decodes("--image /bin/ls@x", path), 2);
	assert_int_equal(decodes("--image /bin/ls", path), 2);
	assert_int_equal(decodes("--image /bin/ls@0", "--raw /bin/ls"), 2);
}

static void copy_below(const struct program *p)
{
	for (size_t i = 0; i < p->image.maps.size; i++) {
		const struct dec_pt_map *m = &p->image.maps.data[i];

		if (m->path[0] == '/' && m->data && !strstr(m->path, "libc.so"))
			assert_int_equal(unit_run("cd %s/root && cp --parents %s .",
						  unit_env("TMPDIR"), m->path),
					 0);
	}
}

/* Files may lie below another root. */
static void code_is_found_below_a_root(void **state)
{
	const char *tmp = unit_env("TMPDIR"), *was = gone;
	_cleanup_free_ char *path = NULL, *root = NULL;

	(void)state;
	assert_true(asprintf(&path, "%s/root.data", tmp) > 0);
	assert_true(asprintf(&root, "--symfs %s/root", tmp) > 0);
	assert_int_equal(unit_run("mkdir -p %s/root/nowhere && "
				  "cp $(ldd /bin/ls | awk '/libc.so/ { print $3 }') "
				  "%s/root/nowhere/libgone.so",
				  tmp, tmp),
			 0);
	gone = "/nowhere/libgone.so";
	write_threads(path, "libc.so");
	gone = was;
	assert_int_equal(decodes("", path), 0);
	assert_true(said("\"gaps\"") > 3);
	for (int i = 0; i < PROGRAMS; i++)
		copy_below(&programs[i]);
	assert_int_equal(decodes(root, path), 0);
	assert_int_equal(said("\"gaps\""), 0);
	assert_int_equal(said("\"instructions\""),
			 programs[0].n_insns + programs[1].n_insns);
}

/* ---- damage that has a sound form --------------------------------------------------------- */

/* A thread comes back from the kernel to address 0, where nothing is. */
static void tracing_may_resume_at_0(void **state)
{
	_cleanup_free_ char *path = NULL;
	struct program *p = &programs[0];
	size_t size = p->bytes.size;
	uint8_t more[64];
	struct pt_config config;
	struct slice s = {};
	uint64_t n = 0;

	(void)state;
	pt_config_init(&config);
	config.begin = more;
	config.end = more + sizeof(more);
	s.to = pt_alloc_encoder(&config);
	emit_mode(&s);
	emit_ip(&s, ppt_tip_pge, 0);
	pt_enc_get_offset(s.to, &n);
	pt_free_encoder(s.to);
	ok(keep(p, p->tid, more, n));
	assert_true(asprintf(&path, "%s/zero.data", unit_env("TMPDIR")) > 0);
	write_threads(path, NULL);
	p->bytes.size = size;
	for (int i = 0; i < 3; i++) {
		static const char *const forms[] = { "--calls", "--branches",
						     "--calls --json" };

		assert_int_equal(unit_run("%s decode %s %s >%s/out 2>&1",
					  unit_env("FAULTLINE"), forms[i], path,
					  unit_env("TMPDIR")),
				 0);
	}
}

/* ---- what cannot be opened ------------------------------------------------------------------------ */

static void what_has_no_pt_is_refused(void **state)
{
	_cleanup_free_ char *dir = NULL;
	struct dec_pt_flow *f;
	struct err *err;

	(void)state;
	assert_true(asprintf(&dir, "%s/%s", unit_env("TMPDIR"), programs[0].name) > 0);
	err = dec_pt_flow_open(dir, NULL, &f);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_NOT_FOUND);
	assert_non_null(strstr(err->message, "faultline encode"));
	err_destroy(err);
	expect(ERR_NOT_FOUND, dec_pt_flow_open("/nowhere", NULL, &f));
	expect(ERR_FORMAT, dec_pt_flow_open("/etc/passwd", NULL, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_streams),
		cmocka_unit_test(missing_code_has_a_name),
		cmocka_unit_test(text_is_no_code),
		cmocka_unit_test(a_processors_stream_is_split),
		cmocka_unit_test(the_idle_task_is_nobodys_turn),
		cmocka_unit_test(the_clock_may_begin_late),
		cmocka_unit_test(a_place_before_tracing_is_none),
		cmocka_unit_test(the_kernel_is_left_out),
		cmocka_unit_test(newer_packets_are_skipped),
		cmocka_unit_test(a_thread_that_moves_stays_in_order),
		cmocka_unit_test(threads_and_processors_are_picked),
		cmocka_unit_test(packets_alone_are_decoded),
		cmocka_unit_test(code_is_found_below_a_root),
		cmocka_unit_test(tracing_may_resume_at_0),
		cmocka_unit_test(what_has_no_pt_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
