// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The process that runs a guest may answer and log anything: what wire.c lets pass meets all
 * who ask a machine or read its log. The wire is replaced by one whose answers and log are the
 * input; what is in a capture is as recorded. An input is who reads, how many bytes the answers
 * are taken from, these, and the log, of which each run gets a copy of its own. The mutator
 * knows the log's records, and lays out those of blocks as their code says.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "decode/explain/explain.h"
#include "decode/history/heap.h"
#include "decode/machine/log.h"
#include "decode/machine/trace.h"
#include "decode/machine/trap.h"
#include "decode/machine/wire.h"
#include "decode/pt/check.h"
#include "decode/pt/encode.h"

#define BUNDLE "tests/fuzz/bundle/replay"
#define SPEC "tests/fuzz/bundle/list.spec"
#define RUNS_WITH_LOG 4
#define FAR (UINT64_MAX >> 1)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
int cmd_replay(int argc, char **argv);
int cmd_analyze(int argc, char **argv);
int cmd_graph(int argc, char **argv);

char dec_child_name[] = "none";

static struct capture *capture;

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

/* ---- the input ---------------------------------------------------------------------------- */

static struct {
	const uint8_t *answers, *log;
	size_t n_answers, log_bytes, at;
	enum dec_log_mode mode; ///< that the log is of
	unsigned runs;
} in;

/* @return a number below @p n; 0 behind the last answer. */
static uint64_t pick(uint64_t n)
{
	return in.at < in.n_answers ? in.answers[in.at++] % n : 0;
}

/* A number as addresses, sizes and positions are, or not. */
static uint64_t word(void)
{
	static const uint64_t some[] = {
		0,	  1,	    8,		4096,		0x400000,  0x401000,
		0x4010c7, 0x403070, 0x403080,	0x413ff8,	INT64_MAX, UINT64_MAX - 7,
		177,	  1u << 20, UINT32_MAX, 0x7ffd23937000,
	};
	uint64_t kind = pick(24), v = 0;

	if (kind < sizeof(some) / sizeof(*some))
		return some[kind];
	for (uint64_t i = kind - 15; i; i--)
		v = v << 8 | pick(256);
	return v;
}

/* ---- the wire ----------------------------------------------------------------------------- */

struct dec_wire {
	struct dec_answer answer;
	dec_log_fn log_fn;
	void *log_ctx;
	uint32_t mode, active;
	bool is_used[CHILD_SLOTS];
};

struct err *dec_wire_create(const struct capture *c, const struct dec_machine_options *o,
			    struct dec_wire **ret)
{
	(void)c;
	(void)o;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void dec_wire_destroy(struct dec_wire *w)
{
	free(w);
}

void dec_wire_log(struct dec_wire *w, dec_log_fn fn, void *ctx)
{
	w->log_fn = fn;
	w->log_ctx = ctx;
}

static struct err *wire_log(struct dec_wire *w)
{
	struct err *err = NULL;
	uint8_t *copy;

	if (w->mode != in.mode || !w->log_fn || in.runs++ >= RUNS_WITH_LOG)
		return NULL;
	copy = malloc(in.log_bytes ?: 1);
	expect(copy);
	memcpy(copy, in.log, in.log_bytes);
	if (in.log_bytes)
		err = w->log_fn(w->log_ctx, copy, in.log_bytes);
	free(copy);
	return err;
}

static void wire_where(struct dec_where *at, uint64_t position)
{
	static const enum dec_at ats[] = { DEC_AT_END, DEC_AT_POSITION, DEC_AT_DIVERGENCE,
					   DEC_AT_BREAK, DEC_AT_MAP };

	at->at = ats[pick(5)];
	at->position = pick(2) || position > FAR ? word() & INT64_MAX : position;
	at->instructions = at->position;
	at->syscalls = pick(8);
	at->tid = pick(4);
	at->rip = word();
	at->seq = pick(16);
	at->end = pick(CAP_END_DETACHED + 1);
	at->end_value = pick(2) ? (int)word() : 11;
	at->fault_addr = word();
	at->is_cut = pick(2);
	at->map.file = 1 + pick(capture_info(capture)->n_files);
	if (at->at != DEC_AT_MAP)
		return;
	at->map.addr = word();
	at->map.size = word();
	at->map.file_offset = word();
}

static void wire_parting(struct dec_divergence *d)
{
	d->parting = pick(DEC_PARTED_MACHINE + 1);
	d->tid = pick(4);
	d->position = word();
	d->rip = word();
	d->seq = pick(16);
	d->event = pick(CAP_EV_KINDS);
	d->event_rip = word();
	d->reg = pick(CAP_GPRS);
	d->recorded = word();
	d->replayed = word();
	d->signo = (int)word();
	d->fault_addr = word();
	d->has_agreed = pick(2);
	d->agreed_position = word();
	d->agreed_seq = pick(16);
}

struct err *dec_wire_ask(struct dec_wire *w, uint32_t command, uint64_t a, uint64_t b,
			 const struct dec_answer **ret)
{
	struct dec_answer *answer = &w->answer;
	struct err *err = NULL;

	(void)b;
	*ret = answer;
	if (command == CHILD_MODE)
		w->mode = a;
	answer->result = CHILD_OK;
	if (command == CHILD_RUN) {
		err = wire_log(w);
		answer->result = CHILD_STOPPED;
		wire_where(&answer->where, a);
		if (answer->where.at == DEC_AT_DIVERGENCE)
			wire_parting(&answer->parted);
		snprintf(answer->text, sizeof(answer->text), "%.*s", (int)pick(9),
			 "%s%n text");
	} else if (in.at < in.n_answers) {
		answer->result = pick(8) == 7 ? CHILD_NOT_THERE : CHILD_OK;
	}
	if (command == CHILD_REGS)
		for (int i = 0; i < CAP_GPRS; i++)
			answer->regs.gpr[i] = word();
	answer->reg_bytes = pick(CHILD_REG_BYTES + 1);
	// Nobody may count on there being an end; and code that is all zeros is long.
	if ((command == CHILD_RANGE || command == CHILD_THREAD ||
	     command == CHILD_READ) &&
	    in.at >= in.n_answers)
		answer->result = CHILD_NOT_THERE;
	return err;
}

struct err *dec_wire_mode(struct dec_wire *w, enum dec_log_mode mode)
{
	const struct dec_answer *answer;

	return dec_wire_ask(w, CHILD_MODE, mode, 0, &answer);
}

void dec_wire_data(const struct dec_wire *w, void *buf, size_t size)
{
	(void)w;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buf)[i] = pick(256);
}

struct err *dec_wire_range(const struct dec_wire *w, struct dec_range *ret)
{
	(void)w;
	*ret = (struct dec_range){ .start = word() / 2, .end = UINT64_MAX };
	return NULL;
}

void dec_wire_thread(const struct dec_wire *w, struct dec_thread *ret)
{
	(void)w;
	*ret = (struct dec_thread){ .tid = pick(4) };
}

struct err *dec_wire_start(struct dec_wire *w, const struct dec_answer **ret)
{
	memset(w->is_used, 0, sizeof(w->is_used));
	w->active = 0;
	w->is_used[0] = true;
	w->mode = 0;
	w->answer.where = (struct dec_where){};
	return dec_wire_ask(w, CHILD_NONE, 0, 0, ret);
}

struct err *dec_wire_failure(const struct dec_answer *answer)
{
	(void)answer;
	return err_new(ERR_OS, "it failed");
}

const struct dec_answer *dec_wire_answer(const struct dec_wire *w)
{
	return &w->answer;
}

uint32_t dec_wire_active(const struct dec_wire *w)
{
	return w->active;
}

struct err *dec_wire_keep(struct dec_wire *w, uint32_t *ret)
{
	*ret = 0;
	while (*ret < CHILD_SLOTS && w->is_used[*ret])
		++*ret;
	expect(*ret < CHILD_SLOTS);
	if (pick(16) == 15)
		return err_new(ERR_OS, "no fork");
	w->is_used[*ret] = true;
	return NULL;
}

struct err *dec_wire_fork(struct dec_wire *w, uint32_t from)
{
	uint32_t to;
	struct err *err = dec_wire_keep(w, &to);

	(void)from;
	if (!err)
		w->active = to;
	return err;
}

void dec_wire_end(struct dec_wire *w, uint32_t slot)
{
	w->is_used[slot] = false;
}

void dec_wire_give(struct dec_wire *w, const void *buf, size_t size)
{
	(void)w;
	(void)buf;
	(void)size;
}

struct err *dec_wire_outcome(const struct dec_wire *w, struct dec_outcome *ret)
{
	(void)w;
	*ret = (struct dec_outcome){};
	return NULL;
}

struct err *dec_wire_branches(struct dec_wire *w, struct dec_branch *branches, size_t n,
			      unsigned at_once, size_t *ret_n)
{
	(void)w;
	(void)branches;
	(void)at_once;
	*ret_n = n;
	return NULL;
}

/* ---- who reads ---------------------------------------------------------------------------- */

static volatile uint8_t sink;

static void touch(const void *data, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		sink ^= ((const uint8_t *)data)[i];
}

static struct err *on_step(void *ctx, const struct dec_step *s)
{
	(void)ctx;
	if (s->insn)
		touch(s->insn, sizeof(*s->insn));
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].has_value)
			touch(s->refs[i].value, s->refs[i].size);
	return NULL;
}

static void read_trace(struct dec_machine *m)
{
	struct dec_where w;

	err_destroy(dec_machine_trace(m, FAR, on_step, NULL, &w));
}

static bool holds(void *ctx, struct dec_machine *m)
{
	struct cap_regs regs;

	(void)ctx;
	err_destroy(dec_machine_regs(m, &regs));
	return pick(2);
}

static void stop(struct dec_machine *m, uint64_t until)
{
	struct dec_trap traps[4] = {};
	struct dec_trapped met;
	size_t n = 1 + pick(4);

	for (size_t i = 0; i < n; i++) {
		traps[i].on = pick(128);
		traps[i].addr = word();
		traps[i].size = pick(2) ? word() : 64;
		traps[i].number = pick(4) ? -1 : (int64_t)pick(64);
		traps[i].tid = pick(3);
		traps[i].holds = pick(2) ? holds : NULL;
	}
	err_destroy(until ? dec_machine_forward(m, traps, n, until, &met) :
			    dec_machine_back(m, traps, n, 0, &met));
}

static void read_stops(struct dec_machine *m)
{
	struct dec_where w;

	stop(m, 100000);
	err_destroy(dec_machine_run(m, 1000000, &w));
	stop(m, 0);
}

static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	sink ^= time + addr + size + is_zeroed + rip + pc;
	(void)ctx;
	return NULL;
}

static struct err *on_stores(void *ctx, const struct dec_heap_store *stores, size_t n)
{
	(void)ctx;
	for (size_t i = 0; i < n; i++)
		touch(stores[i].data, stores[i].size);
	return NULL;
}

static struct err *on_watch(void *ctx, uint64_t time, size_t index, bool is_return)
{
	(void)ctx;
	(void)time;
	(void)is_return;
	expect(index < 2);
	return NULL;
}

static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	(void)ctx;
	(void)time;
	touch(calls, n * sizeof(*calls));
	return NULL;
}

static struct err *on_step_in(void *ctx, struct frames *frames, const struct dec_step *s)
{
	touch(&frames->tid, sizeof(frames->tid));
	if (s->gpr_before)
		touch(s->gpr_before, 16 * sizeof(*s->gpr_before));
	touch(s->gpr, 16 * sizeof(*s->gpr));
	return on_step(ctx, s);
}

static bool is_site(void *ctx, uint64_t rip)
{
	(void)ctx;
	return rip & 1;
}

static struct err *resolve(void *ctx, struct dec_symbols *symbols,
			   const struct dec_watch **watch, size_t *n_watch)
{
	static const struct dec_watch all[2] = { { 0x401000, true },
						 { 0x4010c7, false } };

	(void)ctx;
	(void)symbols;
	*watch = all;
	*n_watch = 2;
	return NULL;
}

static void read_heap(struct dec_machine *m)
{
	static const uint64_t at[] = { 0, 5, 5, 60, 1000 };
	const struct dec_heap_events events = { .alloc = on_alloc,
						.stores = on_stores,
						.watch = on_watch };
	struct dec_heap_options o = { .resolve = resolve, .is_site = is_site };
	struct dec_symbols *symbols = NULL;
	struct dec_run run = {};

	(void)m;
	if (pick(2)) {
		o.calls_at = at;
		o.n_calls_at = sizeof(at) / sizeof(*at);
		o.calls = on_calls;
	}
	if (pick(2))
		o.step = on_step_in;
	o.skips_inert = o.step && pick(2);
	err_destroy(dec_symbols_create(capture, &symbols));
	err_destroy(dec_heap_trace(capture, symbols, &o, &events, &run));
	dec_run_deinit(&run);
	dec_symbols_destroy(symbols);
}

typedef VEC(uint8_t) bytes;

static struct err *on_packets(void *ctx, uint32_t tid, const uint8_t *packets, size_t n)
{
	bytes *to = ctx;

	(void)tid;
	for (size_t i = 0; i < n; i++)
		expect(!vec_add(to, packets[i]));
	return NULL;
}

static bool on_ptwrite(void *ctx, uint32_t tid, uint64_t position, uint64_t rip,
		       uint64_t *ret)
{
	(void)ctx;
	*ret = tid + position;
	return rip & 1;
}

static struct err *on_map(void *ctx, const struct dec_pt_mapping *map)
{
	(void)ctx;
	touch(map, sizeof(*map));
	return NULL;
}

static void encode(bytes *ret)
{
	struct dec_pt_options o = { .psb_bytes = 64 << pick(8),
				    .compresses_returns = pick(2),
				    .has_tsc = true,
				    .has_mtc = pick(2),
				    .mtc_shift = 3,
				    .has_cyc = pick(2),
				    .ptwrite = pick(2) ? on_ptwrite : NULL,
				    .probe_page = 0x7fffffffe000,
				    .map = on_map };
	struct dec_pt_encoder *e = NULL;
	struct map probes = {};

	expect(!map_put(&probes, 0x4010c7, pick(8)));
	o.probes = pick(2) ? &probes : NULL;
	expect(!dec_pt_encoder_create(capture, &o, on_packets, ret, &e));
	err_destroy(dec_pt_encoder_feed(e, in.log, in.log_bytes));
	err_destroy(pick(2) ? dec_pt_encoder_lose(e, pick(64)) : NULL);
	err_destroy(dec_pt_encoder_feed(e, in.log, in.log_bytes));
	err_destroy(dec_pt_encoder_finish(e, word()));
	dec_pt_encoder_destroy(e);
	map_deinit(&probes);
}

/* What the log says in packets, against the log with some of it changed. */
static void read_pt(struct dec_machine *m)
{
	uint8_t *log = malloc(in.log_bytes ?: 1);
	struct dec_pt_stream stream = {};
	struct dec_pt_image image = {};
	struct dec_pt_check_totals totals;
	struct dec_pt_check *c = NULL;
	bytes packets = {};

	(void)m;
	encode(&packets);
	expect(log && !dec_pt_stream_init(&stream, 1, &image));
	if (packets.size)
		expect(!dec_pt_stream_add(&stream, packets.data, packets.size, NULL));
	memcpy(log, in.log, in.log_bytes);
	for (uint64_t n = in.log_bytes ? pick(4) : 0; n; n--)
		log[word() % in.log_bytes] = pick(256);
	expect(!dec_pt_check_create(&c) && !dec_pt_check_add(c, 1, &stream));
	err_destroy(dec_pt_check_feed(c, log, in.log_bytes));
	dec_pt_check_totals(c, &totals);
	dec_pt_check_destroy(c);
	dec_pt_stream_deinit(&stream);
	vec_deinit(&packets);
	free(log);
}

static void read_explain(struct dec_machine *m)
{
	struct dec_explanation *x = NULL;
	struct dec_symbols *symbols = NULL;
	cJSON *o = cJSON_CreateObject();
	struct dec_where w;

	err_destroy(dec_machine_run(m, FAR, &w));
	err_destroy(dec_symbols_create(capture, &symbols));
	err_destroy(dec_explain(capture, m, symbols, &x));
	if (x) {
		dec_explanation_print(x, stdout);
		dec_explanation_json(x, o);
	}
	dec_explanation_destroy(x);
	dec_symbols_destroy(symbols);
	cJSON_Delete(o);
}

static void read_state(struct dec_machine *m)
{
	struct dec_thread thread;
	struct dec_range range;
	struct cap_regs regs;
	uint8_t buf[200];
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		err_destroy(dec_machine_range(m, i, &range));
		err_destroy(dec_machine_thread(m, i, &thread));
	}
	err_destroy(dec_machine_regs(m, &regs));
	err_destroy(dec_machine_reg(m, DEC_REG_X87, buf, &n));
	expect(n <= 160);
	err_destroy(dec_machine_read(m, 0x1000, buf, sizeof(buf)));
	for (unsigned i = 0; dec_machine_isa(m, i); i++)
		n++;
}

static void command(int (*run)(int argc, char **argv), const char *const *args)
{
	char *argv[8] = {};
	int argc = 0, status;

	for (; args[argc]; argc++)
		argv[argc] = (char *)args[argc];
	status = run(argc, argv);
	expect(status >= 0 && status <= 2);
}

static void run_replay(struct dec_machine *m)
{
	static const char *const args[] = { "replay", "--explain", BUNDLE, NULL };
	static const char *const json[] = { "replay", "--explain", "--json", BUNDLE,
					    NULL };

	(void)m;
	command(cmd_replay, pick(2) ? json : args);
}

static void run_analyze(struct dec_machine *m)
{
	static const char *const args[] = { "analyze", "--spec", SPEC, BUNDLE, NULL };
	static const char *const json[] = { "analyze",	  "--json", "--spec", SPEC,
					    "--accesses", BUNDLE,   NULL };

	(void)m;
	command(cmd_analyze, pick(2) ? json : args);
}

static void run_graph(struct dec_machine *m)
{
	static const char *const args[] = { "graph", BUNDLE, NULL };
	static const char *const dot[] = { "graph", "--dot", "--allocator", BUNDLE,
					   NULL };

	(void)m;
	command(cmd_graph, pick(2) ? dot : args);
}

static const struct {
	enum dec_log_mode mode;
	void (*read)(struct dec_machine *m);
} readers[] = {
	{ DEC_LOG_VALUES, read_trace }, { DEC_LOG_ADDRESSES, read_stops },
	{ DEC_LOG_STORES, read_heap },	{ DEC_LOG_FLOW, read_pt },
	{ DEC_LOG_FLOW, read_explain }, { DEC_LOG_NONE, read_state },
	{ DEC_LOG_FLOW, run_replay },	{ DEC_LOG_STORES, run_analyze },
	{ DEC_LOG_STORES, run_graph },	{ DEC_LOG_VALUES, read_explain },
	{ DEC_LOG_FLOW, read_stops },
};

#define READERS (sizeof(readers) / sizeof(*readers))

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	err_destroy(capture_open(BUNDLE, &capture));
	expect(capture);
	// The fuzzer itself has fd 2 from before.
	stdout = fopen("/dev/null", "w");
	stderr = stdout;
	expect(stdout);
	return 0;
}

/* Split an input. @return who reads it; NULL: it is too short. */
static bool split(const uint8_t *data, size_t size, size_t *ret_reader, size_t *ret_log)
{
	if (size < 2 || size - 2 < data[1])
		return false;
	*ret_reader = data[0] % READERS;
	*ret_log = 2 + data[1];
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dec_machine *m = NULL;
	uint8_t *copy;
	size_t reader, log;

	if (!split(data, size, &reader, &log))
		return 0;
	copy = malloc(size - log ?: 1); // aligned, and its end is known
	expect(copy);
	memcpy(copy, data + log, size - log);
	in = (typeof(in)){
		data + 2, copy, data[1], size - log, 0, readers[reader].mode, 0
	};
	err_destroy(dec_machine_create(capture, NULL, &m));
	if (m)
		readers[reader].read(m);
	dec_machine_destroy(m);
	free(copy);
	return 0;
}

/* ---- the mutator -------------------------------------------------------------------------- */

#define CODES_MAX 6
#define RECORDS_MAX 512

/* Instructions of each kind that is logged in its own way. */
static const char *const codes[] = {
	"\x50",
	"\x5b",
	"\x48\x8b\x03",
	"\x48\x89\x43\x08",
	"\x64\x48\x8b\x04\x25\x10\x00\x00\x00",
	"\xf3\xa4",
	"\xc3",
	"\xe8\x10\x00\x00\x00",
	"\xff\xd0",
	"\xff\x23",
	"\x74\x05",
	"\xeb\xfe",
	"\xc2\x10\x00",
	"\x0f\xae\x00",			// fxsave
	"\x0f\xc7\x20",			// xsavec
	"\xc4\xe2\xfd\x91\x04\x0b",	// vpgatherqq
	"\xc4\xe2\xf5\x8e\x03",		// vpmaskmovq
	"\x62\xf1\xfe\x49\x6f\x03",	// vmovdqu64 zmm0{k1}, [rbx]
	"\x62\xf2\xfd\x49\xa0\x04\x03", // vpscatterdq
	"\xc5\xfe\x7f\x03",
	"\x0f\x28\x03",
	"\xc5\xf8\x93\xc1",
	"\xf3\x48\x0f\xae\xd3", // wrfsbase
	"\x0f\x31",
	"\x0f\xa2",
	"\x0f\x05",
	"\xcc",
	"\x8f\x04\x24",
	"\xc8\x10\x00\x01", // enter
	"\xf0\x48\x0f\xb1\x0b",
	"\x48\x0f\xc7\x0b",
	"\xd9\x30", // fnstenv
	"\xdd\x03",
	"\x90",
};

static unsigned random_below(unsigned *seed, unsigned n)
{
	return rand_r(seed) % n;
}

static uint64_t random_word(unsigned *seed)
{
	static const uint64_t some[] = { 0,	     1,	       2,	  3,
					 7,	     8,	       0x400000,  0x401000,
					 0x4010c7,   0x403070, 0x403080,  0x413ff8,
					 UINT64_MAX, 255,      INT64_MAX, 9,
					 231,	     4096,     -4096ull,  60 };

	return random_below(seed, 4) ? some[random_below(seed, sizeof(some) / 8)] :
				       (uint64_t)rand_r(seed) << 33 ^ rand_r(seed);
}

static size_t code_length(const char *code)
{
	struct dec_insn insn;

	return dec_insn_decode((const uint8_t *)code, 15, 0x401000, &insn) ? insn.len : 1;
}

static const char *code_any(unsigned *seed, size_t *length)
{
	// Some have a zero in them: their length is what they decode to.
	static char padded[sizeof(codes) / sizeof(*codes)][16];
	unsigned i = random_below(seed, sizeof(codes) / sizeof(*codes));

	memcpy(padded[i], codes[i], strnlen(codes[i], 15));
	*length = code_length(padded[i]);
	return padded[i];
}

static size_t make_block(uint8_t *to, unsigned *seed)
{
	struct dec_rec_block *b = (struct dec_rec_block *)to;

	*b = (struct dec_rec_block){ .id = DEC_REC_BLOCK,
				     .block = random_below(seed, 8),
				     .rip = random_word(seed),
				     .is_watched = !random_below(seed, 4) };
	for (unsigned n = 1 + random_below(seed, CODES_MAX); n; n--) {
		size_t length;
		const char *code = code_any(seed, &length);

		memcpy(b->bytes + b->n_bytes, code, length);
		b->n_bytes += length;
		b->n_insns++;
	}
	b->size = (sizeof(*b) + b->n_bytes + 7) & ~7u;
	return b->size;
}

static size_t make_slow(uint8_t *to, unsigned *seed)
{
	struct dec_rec_slow *s = (struct dec_rec_slow *)to;
	uint8_t *at = to + sizeof(*s);
	size_t length;
	const char *code = code_any(seed, &length);

	*s = (struct dec_rec_slow){ .id = DEC_REC_SLOW,
				    .rip = random_word(seed),
				    .len = length,
				    .n_refs = random_below(seed, 4),
				    .is_watched = random_below(seed, 2) };
	memcpy(s->bytes, code, length);
	for (int i = 0; i < 16; i++)
		s->gpr[i] = random_word(seed);
	for (int i = 0; i < s->n_refs; i++) {
		struct dec_rec_ref *r = (struct dec_rec_ref *)at;

		*r = (struct dec_rec_ref){ .is_def = random_below(seed, 2),
					   .is_mem = random_below(seed, 2),
					   .reg = random_below(seed, 60),
					   .addr = random_word(seed) };
		r->is_far = r->is_mem && !random_below(seed, 4);
		r->bytes = r->is_mem		? random_below(seed, 200) :
			   r->reg < DEC_REG_VEC ? 8 :
			   r->reg < DEC_REG_K	? 64 :
						  8;
		at += sizeof(*r) + (r->is_far ? 0 : (r->bytes + 7) & ~7u);
	}
	return s->size = at - to;
}

static size_t make_write(uint8_t *to, unsigned *seed)
{
	struct dec_rec_write *w = (struct dec_rec_write *)to;

	*w = (struct dec_rec_write){ .id = DEC_REC_WRITE,
				     .addr = random_word(seed),
				     .n_bytes = random_below(seed, 300),
				     .by_insn = random_below(seed, 2) };
	return w->size = (sizeof(*w) + w->n_bytes + 7) & ~7u;
}

/* A run of block @p b. */
static size_t make_run(uint8_t *to, unsigned *seed, uint32_t number,
		       const struct log_block *b)
{
	uint64_t *at = (uint64_t *)to;

	for (uint32_t i = 1; i < b->bytes / 8; i++)
		at[i] = random_word(seed);
	at[0] = number;
	if (random_below(seed, 4))
		return b->bytes;
	at[b->bytes / 8] = DEC_REC_PARTIAL | 16ull << 32;
	at[b->bytes / 8 + 1] = random_below(seed, b->n_insns + 2);
	return b->bytes + 16;
}

static size_t make_words(uint8_t *to, unsigned *seed)
{
	static const struct {
		uint32_t id, words;
	} kinds[] = {
		{ DEC_REC_STATE, 23 },	 { DEC_REC_SYSCALL, 15 }, { DEC_REC_HEAP, 4 },
		{ DEC_REC_THREAD, 268 }, { DEC_REC_STATE, 23 },	  { DEC_REC_SYSCALL, 15 },
		{ DEC_REC_ACCESS, 8 },	 { DEC_REC_LOOK, 2 },
	};
	unsigned kind = random_below(seed, sizeof(kinds) / sizeof(*kinds));
	struct dec_rec *r = (struct dec_rec *)to;

	r->id = kinds[kind].id;
	r->size = 8 + 8 * kinds[kind].words;
	for (uint32_t i = 0; i < kinds[kind].words; i++)
		r->value[i] = random_word(seed);
	if (r->id == DEC_REC_HEAP || r->id == DEC_REC_THREAD || r->id == DEC_REC_LOOK)
		r->value[0] = random_below(seed, 4);
	if (r->id == DEC_REC_ACCESS && random_below(seed, 8))
		for (uint32_t i = 0; i < 2; i++) {
			struct dec_access *a = &((struct dec_rec_access *)r)->access[i];

			a->size = 1 + random_below(seed, 300);
			a->reg = random_below(seed, 2) ? DEC_ACCESS_WORD :
							 random_below(seed, DEC_GPRS);
			a->is_write = random_below(seed, 2);
			a->is_bounds = random_below(seed, 2);
			a->is_value = random_below(seed, 2);
		}
	if (r->id != DEC_REC_STATE)
		return r->size;
	r->value[18] = random_below(seed, 2) ? 0 : 2;
	r->value[19] = random_below(seed, 2) ? 0x310f : 0xa20f;
	r->value[20] = random_below(seed, 6);
	r->value[22] = random_below(seed, 16);
	return r->size;
}

static size_t make_record(uint8_t *to, unsigned *seed, const struct log_reader *r)
{
	uint32_t n = r->blocks.size, number;

	memset(to, 0, 4096);
	switch (random_below(seed, 8)) {
	case 0:
		return make_block(to, seed);
	case 1:
		return make_slow(to, seed);
	case 2:
		return make_write(to, seed);
	case 3:
		return make_words(to, seed);
	default:
		number = n ? random_below(seed, n) : 0;
		return n && r->blocks.data[number] && r->blocks.data[number]->n_insns &&
				       r->blocks.data[number]->bytes < 4000 ?
			       make_run(to, seed, number, r->blocks.data[number]) :
			       make_block(to, seed);
	}
}

/* Where each record begins, and the end; as far as they can be told. @return how many. */
static size_t find_records(struct log_reader *r, const uint8_t *log, size_t size,
			   size_t at[RECORDS_MAX + 1])
{
	static const struct log_sink nobody;
	size_t n = 0;

	for (at[0] = 0; n < RECORDS_MAX && size - at[n] >= 8; n++) {
		struct dec_rec rec;
		size_t left = size - at[n], bytes = 8;
		bool is_control;

		memcpy(&rec, log + at[n], sizeof(rec));
		is_control = rec.id >= DEC_REC_BLOCK;
		if (is_control)
			bytes = rec.size;
		else if (rec.id < r->blocks.size && r->blocks.data[rec.id])
			bytes = r->blocks.data[rec.id]->bytes;
		bytes = bytes < 8 ? 8 : bytes > left ? left : bytes & ~7ul;
		// One that would make a table of millions is for the raw mutations.
		if (is_control && (rec.id != DEC_REC_BLOCK || log[at[n] + 9] == 0))
			err_destroy(dec_log_reader_feed(r, &nobody, log + at[n], bytes));
		at[n + 1] = at[n] + bytes;
	}
	return n;
}

/* Change a log of whole records; it is aligned. @return its new size. */
static size_t mutate_log(uint8_t *log, size_t size, size_t max, enum dec_log_mode mode,
			 unsigned *seed)
{
	static _Alignas(8) uint8_t made[16384];
	size_t at[RECORDS_MAX + 1], n, one, from, bytes;
	struct log_reader r;

	dec_log_reader_init(&r, mode, 0);
	n = find_records(&r, log, size, at);
	one = n ? random_below(seed, n) : 0;
	from = at[n ? one : 0];
	bytes = n ? at[one + 1] - from : 0;
	switch (random_below(seed, 8)) {
	case 0: // out
		memmove(log + from, log + from + bytes, size - from - bytes);
		size -= bytes;
		break;
	case 1: // one word of it
		if (bytes >= 16)
			((uint64_t *)(log +
				      from))[1 + random_below(seed, bytes / 8 - 1)] =
				random_word(seed);
		break;
	case 2:
		if (bytes)
			LLVMFuzzerMutate(log + from, bytes, bytes);
		break;
	case 3: // the same once more, elsewhere
		if (n && bytes <= sizeof(made) && size + bytes <= max) {
			size_t to = at[random_below(seed, n)];

			memcpy(made, log + from, bytes);
			memmove(log + to + bytes, log + to, size - to);
			memcpy(log + to, made, bytes);
			size += bytes;
		}
		break;
	default:
		bytes = make_record(made, seed, &r);
		from = n && random_below(seed, 2) ? from : at[n];
		if (size + bytes > max)
			break;
		memmove(log + from + bytes, log + from, size - from);
		memcpy(log + from, made, bytes);
		size += bytes;
	}
	dec_log_reader_deinit(&r);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	size_t reader, at, most = 1 + seed % 8;
	uint8_t *log;

	if (max_size < 300)
		return LLVMFuzzerMutate(data, size, max_size);
	if (!split(data, size, &reader, &at)) {
		memset(data, 0, 40);
		data[0] = seed;
		data[1] = 38;
		size = at = 40;
		reader = data[0] % READERS;
	}
	if (random_below(&seed, 8) == 0)
		data[0] = seed;
	if (data[1] && random_below(&seed, 3) == 0) {
		LLVMFuzzerMutate(data + 2, data[1], data[1]);
		return size;
	}
	if (random_below(&seed, 16) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	log = malloc(max_size);
	expect(log);
	size -= at;
	memcpy(log, data + at, size);
	for (size_t i = 0; i < most; i++)
		size = mutate_log(log, size, max_size - at, readers[reader].mode, &seed);
	memcpy(data + at, log, size);
	free(log);
	return at + size;
}
