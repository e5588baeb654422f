// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Software PT over real captures: what decodes from the encoder's packets is, thread by
 * thread and instruction by instruction, what the machine ran, with and without return
 * compression, with few and many PSBs, across overflows.
 *
 * `unit_pt_round CAPTURE...` compares those captures instead, and prints their totals.
 * time limit: 300
 */

#include <Zydis/Zydis.h>

#include "tests/decode/pt_bytes.h"
#include "tests/decode/pt_program.h"

/* ---- comparing ------------------------------------------------------------------------- */

static uint64_t compare_stream(const struct program *p, struct stream *s)
{
	const struct truth *t = &p->truth;
	struct judge j = { .truth = t, .image = &s->image };
	struct dec_pt_sink sink = { .ctx = &j, .run = judge_run, .gap = judge_gap };
	struct dec_pt_totals totals;

	for (size_t i = 0; i < t->threads.size; i++) {
		if (t->threads.data[i].tid == s->tid)
			j.thread = &t->threads.data[i];
	}
	assert_non_null(j.thread);
	assert_int_equal(s->stats.instructions, j.thread->total);
	ok(pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink, &totals));
	assert_int_equal(totals.gaps, 0);
	assert_int_equal(j.n_insns, j.thread->total);
	return j.n_insns;
}

/* @return instructions compared: all of the program's, in one shape. */
static uint64_t compare_encoding(struct program *p, struct encoding *e)
{
	struct dec_pt_stats sum = {};
	double start = clock_now_s();
	uint64_t n = 0;

	for (size_t i = 0; i < e->streams.size; i++) {
		struct stream *s = &e->streams.data[i];

		n += compare_stream(p, s);
		sum.bytes += s->stats.bytes;
		sum.psb += s->stats.psb;
		sum.tip += s->stats.tip;
		sum.tnt_bits += s->stats.tnt_bits;
	}
	assert_int_equal(n, p->truth.total);
	printf("%s: psb %lu K, %s returns: %zu threads, %lu instructions, %lu bytes, "
	       "psb %lu, tip %lu, tnt bits %lu; %.1f s\n",
	       p->name, e->options.psb_bytes >> 10,
	       e->options.compresses_returns ? "short" : "plain", e->streams.size, n,
	       sum.bytes, sum.psb, sum.tip, sum.tnt_bits, clock_now_s() - start);
	return n;
}

static uint64_t compare_program(struct program *p)
{
	uint64_t n = 0;

	for (int i = 0; i < p->n_shapes; i++)
		n += compare_encoding(p, &p->encoding[i]);
	return n;
}

/* ---- programs ---------------------------------------------------------------------------- */

static const struct {
	const char *name, *command;
	int n_shapes;
} commands[] = {
	{ "ls", "/bin/ls /", SHAPES },
	{ "sh",
	  "sh -c 'trap \"n=x\\$n\" USR1; i=0; while [ $i -lt 600 ]; do i=$((i + 1)); "
	  "case $i in *0) kill -USR1 $$;; esac; done; echo $n'",
	  SHAPES },
	{ "signals", "\"$BUILD/tests/programs/signals\"", 1 },
	{ "ping", "\"$BUILD/tests/programs/crowd\" ping", SHAPES },
	{ "fill", "\"$BUILD/tests/programs/crowd\" fill", SHAPES },
};
#define PROGRAMS (sizeof(commands) / sizeof(commands[0]))

static struct program programs[PROGRAMS];

static int record(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		program_record(&programs[i], commands[i].name, commands[i].command,
			       commands[i].n_shapes);
		program_encode(&programs[i]);
	}
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++)
		program_deinit(&programs[i]);
	return 0;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void round_trip(void **state)
{
	uint64_t compared = 0;

	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++)
		compared += compare_program(&programs[i]);
	printf("%lu instructions compared\n", compared);
}

static void threads_have_streams(void **state)
{
	const struct program *p = &programs[3];

	(void)state;
	for (int i = 0; i < SHAPES; i++) {
		assert_true(p->truth.threads.size > 1);
		assert_int_equal(p->encoding[i].streams.size, p->truth.threads.size);
	}
}

static void shapes_differ(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct stream *s[SHAPES];

		for (int k = 0; k < SHAPES; k++)
			s[k] = &programs[i].encoding[k].streams.data[0];
		assert_true(s[0]->stats.returns_compressed > 0);
		assert_true(s[0]->stats.psb >= s[0]->bytes.size / 4700);
		assert_true(s[0]->stats.fup >= s[0]->stats.psb - 1);
		assert_int_equal(s[1]->stats.returns_compressed, 0);
		assert_int_equal(s[1]->stats.tip,
				 s[0]->stats.tip + s[0]->stats.returns_compressed);
		assert_true(s[2]->stats.psb <= s[2]->bytes.size / 65536 + 1);
		assert_true(s[0]->stats.tnt_short > 0 && s[0]->stats.tnt_long > 0);
	}
}

/* ---- overflow ------------------------------------------------------------------------------ */

/* Lose some, in the middle of a run of its own. */
struct loser {
	struct encoding encoding;
	uint64_t at, n_insns;
	struct log_reader reader;
};

static struct err *lose_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				 uint32_t n_ran, uint64_t time)
{
	(void)b, (void)rec, (void)n_ran;
	*(uint64_t *)ctx = time;
	return NULL;
}

static struct err *lose_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct loser *l = ctx;
	uint64_t time = 0;
	struct log_sink sink = { &time, lose_on_block, NULL, NULL };
	struct err *err = dec_log_reader_feed(&l->reader, &sink, log, bytes);

	if (!err && l->at && time >= l->at) {
		l->at = 0;
		err = dec_pt_encoder_lose(l->encoding.encoder, l->n_insns);
	}
	return err ? err : dec_pt_encoder_feed(l->encoding.encoder, log, bytes);
}

/* The whole run again, with a loss in its middle. */
static void lose_run(struct loser *l, const struct program *p)
{
	struct dec_machine *m;
	struct dec_where w;

	dec_log_reader_init(&l->reader, DEC_LOG_FLOW, 0);
	encoding_start(&l->encoding, p->capture, &p->truth, &shapes[0]);
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, lose_feed, l));
	ok(dec_machine_run(m, p->truth.total / 3, &w));
	ok(dec_machine_run(m, p->truth.total / 2 + 100, &w));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	encoding_end(&l->encoding, w.rip);
	dec_machine_destroy(m);
	dec_log_reader_deinit(&l->reader);
}

static void overflow_is_a_gap(void **state)
{
	const struct program *p = &programs[0];

	(void)state;
	for (uint64_t n = 1; n < p->truth.total / 3; n = n * 17 + 3) {
		struct loser l = { .at = p->truth.total / 2, .n_insns = n };
		struct judge j = { .truth = &p->truth, .thread = p->truth.threads.data };
		struct dec_pt_sink sink = { .ctx = &j,
					    .run = judge_run,
					    .gap = judge_gap };
		struct stream *s;

		lose_run(&l, p);
		s = l.encoding.streams.data;
		assert_int_equal(s->stats.ovf, 1);
		j.image = &s->image;
		j.resumed_at = s->stats.resumed_at;
		ok(pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink, NULL));
		assert_int_equal(j.overflows, 1);
		assert_int_equal(j.position, p->truth.total);
		assert_true(p->truth.total - j.n_insns >= n);
		encoding_deinit(&l.encoding);
	}
}

/* ---- probes ---------------------------------------------------------------------------------- */

enum { PAGE = 0x7fffffffe000 };

/* What the kernel has at the beginning of its page. */
static const uint8_t back[] = { 0x50, 0x51, 0x41, 0x53, 0x48, 0xc7, 0xc0, 0x4f, 0x01,
				0,    0,    0x0f, 0x05, 0x41, 0x5b, 0x59, 0xc3 };

/* Which probe, if any, is to be at @p insn. */
static uint64_t probe_at(const struct dec_insn *insn, const struct map *called)
{
	uint64_t hash = insn->rip * 0x9e3779b97f4a7c15 >> 40;
	bool is_called = map_get(called, insn->rip) && hash % 2;
	uint64_t kind = DEC_PT_PROBE_STEPPED;

	if (insn->is_rep || (hash % 9 && !is_called))
		return 0;
	switch (insn->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JMP:
	case DEC_FLOW_CALL:
		kind = DEC_PT_PROBE_EMULATED;
		break;
	case DEC_FLOW_NEXT:
		if (insn->mnemonic == ZYDIS_MNEMONIC_PUSH ||
		    insn->mnemonic == ZYDIS_MNEMONIC_NOP)
			kind = DEC_PT_PROBE_EMULATED;
		break;
	case DEC_FLOW_RET:
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_CALL_IND:
		break;
	default:
		return 0;
	}
	return is_called ? kind | DEC_PT_PROBE_RETURN : kind;
}

/* Choose among all that ran. @p image has all of it. */
static void probes_choose(const struct program *p, const struct dec_pt_image *image,
			  struct map *probes)
{
	struct map called = {};

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->truth.pool.size; i++) {
			struct dec_insn insn;
			uint64_t kind;
			struct err *err = dec_pt_image_insn(image, image->maps.size,
							    p->truth.pool.data[i], &insn);

			if (!err && !pass && insn.flow == DEC_FLOW_CALL)
				map_put(&called, insn.target, 1);
			kind = err || !pass ? 0 : probe_at(&insn, &called);
			if (kind)
				map_put(probes, insn.rip, kind);
			err_destroy(err);
		}
	map_deinit(&called);
}

/* As the recorder would tell of them. */
static void probes_tell(struct dec_pt_image *image, const struct map *probes)
{
	for (size_t i = 0; i < probes->capacity; i++)
		if (probes->slots[i].key != MAP_EMPTY_KEY)
			ok(dec_pt_image_break(image, NULL, probes->slots[i].key));
	image->page.addr = PAGE;
	memcpy(image->page.back, back, sizeof(back));
	image->page.n_back = sizeof(back);
}

/* With probes in its code a program's trace tells the same. FAULTLINE_PROBES=full: of the
 * larger programs, too. */
static void probes_are_not_seen(void **state)
{
	const char *form = getenv("FAULTLINE_PROBES");
	bool is_full = form && !strcmp(form, "full");

	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];
		struct dec_pt_options o = shapes[i % SHAPES];
		uint64_t hits = 0, returns = 0;
		struct encoding e;
		struct map probes = {};

		// Each hit takes microseconds.
		if (p->truth.total > (is_full ? 1 << 24 : 1 << 22))
			continue;
		probes_choose(p, &p->encoding[0].streams.data[0].image, &probes);
		o.probes = &probes;
		o.probe_page = PAGE;
		encoding_make(&e, p->capture, &p->truth, &o);
		for (size_t k = 0; k < e.streams.size; k++) {
			probes_tell(&e.streams.data[k].image, &probes);
			hits += e.streams.data[k].stats.probe_hits;
			returns += e.streams.data[k].stats.probe_returns;
		}
		printf("%zu probes, %lu hits, %lu returns: ", probes.size, hits, returns);
		assert_int_equal(compare_encoding(p, &e), p->truth.total);
		assert_true(hits > 1000 && returns > 100);
		encoding_deinit(&e);
		map_deinit(&probes);
	}
}

/* ---- captures of others -------------------------------------------------------------------- */

static int n_captures;
static char **captures;

static void captures_round_trip(void **state)
{
	uint64_t total = 0, compared = 0, threads = 0;

	(void)state;
	for (int i = 0; i < n_captures; i++) {
		struct program p = { .name = captures[i], .n_shapes = SHAPES };

		ok(capture_open(captures[i], &p.capture));
		program_encode(&p);
		compared += compare_program(&p);
		total += p.truth.total;
		threads += p.truth.threads.size;
		program_deinit(&p);
	}
	printf("result: %lu instructions of %lu threads, %lu compared\n", total, threads,
	       compared);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(threads_have_streams),
		cmocka_unit_test(shapes_differ),
		cmocka_unit_test(overflow_is_a_gap),
		cmocka_unit_test(probes_are_not_seen),
	};
	const struct CMUnitTest given[] = { cmocka_unit_test(captures_round_trip) };

	n_captures = argc - 1;
	captures = argv + 1;
	if (n_captures)
		return cmocka_run_group_tests(given, NULL, NULL);
	return cmocka_run_group_tests(tests, record, forget);
}
