// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Software PT over real captures: what decodes from the encoder's packets is, thread by
 * thread and instruction by instruction, what the machine ran, with and without return
 * compression, with few and many PSBs, across overflows.
 *
 * `unit_pt_round CAPTURE...` compares those captures instead, and prints their totals.
 */

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
	ok(dec_pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink, &totals));
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
	struct err *err = log_reader_feed(&l->reader, &sink, log, bytes);

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

	log_reader_init(&l->reader, DEC_LOG_FLOW, 0);
	encoding_start(&l->encoding, p->capture, &p->truth, &shapes[0]);
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, lose_feed, l));
	ok(dec_machine_run(m, p->truth.total / 3, &w));
	ok(dec_machine_run(m, p->truth.total / 2 + 100, &w));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	encoding_end(&l->encoding, w.rip);
	dec_machine_destroy(m);
	log_reader_deinit(&l->reader);
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
		ok(dec_pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink,
				       NULL));
		assert_int_equal(j.overflows, 1);
		assert_int_equal(j.position, p->truth.total);
		assert_true(p->truth.total - j.n_insns >= n);
		encoding_deinit(&l.encoding);
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
	};
	const struct CMUnitTest given[] = { cmocka_unit_test(captures_round_trip) };

	n_captures = argc - 1;
	captures = argv + 1;
	if (n_captures)
		return cmocka_run_group_tests(given, NULL, NULL);
	return cmocka_run_group_tests(tests, record, forget);
}
