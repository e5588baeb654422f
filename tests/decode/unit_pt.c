// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Software PT over real captures: what decodes from the encoder's packets is, instruction
 * by instruction, what the machine ran, with and without return compression, with few and
 * many PSBs, across overflows; damaged streams end, say so, and are right again from the
 * next PSB on.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "capture/capture.h"
#include "decode/dec_log.h"
#include "decode/dec_pt_decode.h"
#include "decode/dec_pt_encode.h"
#include "decode/decode.h"

#define ok(call)                                                  \
	do {                                                      \
		struct err *err_ = (call);                        \
		if (err_)                                         \
			fail_msg("%s: %s", #call, err_->message); \
	} while (0)

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* ---- the truth --------------------------------------------------------------------------- */

struct truth_run {
	uint32_t at, n; ///< in the pool
};

/* Addresses of all instructions that ran, each block's list kept once. */
struct truth {
	struct log_reader reader;
	VEC(uint64_t) pool;
	VEC(struct truth_run) runs;
	struct map single; ///< address -> its place in the pool
	uint64_t total;
};

static void truth_add(struct truth *t, uint32_t at, uint32_t n)
{
	struct truth_run *r = vec_push(&t->runs);

	assert_non_null(r);
	*r = (struct truth_run){ at, n };
	t->total += n;
}

static uint32_t truth_pool(struct truth *t, uint64_t rip)
{
	uint64_t *p = vec_push(&t->pool);

	assert_non_null(p);
	*p = rip;
	return t->pool.size - 1;
}

static void truth_single(struct truth *t, uint64_t rip)
{
	uint64_t *known = map_get(&t->single, rip);
	uint32_t at = known ? *known : truth_pool(t, rip);

	if (!known)
		assert_int_equal(map_put(&t->single, rip, at), 0);
	truth_add(t, at, 1);
}

static struct err *truth_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				  uint32_t n_ran, uint64_t time)
{
	struct truth *t = ctx;
	uint32_t *at = b->user;

	(void)rec;
	assert_int_equal(time, t->total);
	if (!at) {
		at = b->user = malloc(sizeof(*at));
		assert_non_null(at);
		*at = t->pool.size;
		for (uint32_t i = 0; i < b->n_insns; i++)
			truth_pool(t, b->insn[i].rip);
	}
	truth_add(t, *at, n_ran);
	return NULL;
}

static struct err *truth_on_slow(void *ctx, const struct dec_rec_slow *rec,
				 const struct dec_insn *insn, uint64_t time)
{
	(void)insn;
	(void)time;
	truth_single(ctx, rec->rip);
	return NULL;
}

static struct err *truth_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	(void)time;
	if (rec->id == DEC_REC_SYSCALL)
		truth_single(ctx, rec->value[2]);
	if (rec->id == DEC_REC_STATE && rec->value[18])
		truth_single(ctx, rec->value[16] - rec->value[18]);
	return NULL;
}

/* ---- comparing --------------------------------------------------------------------------- */

/* Walks the truth while a stream is decoded. */
struct judge {
	const struct truth *truth;
	struct dec_pt_image *image;
	size_t run;
	uint32_t in_run;
	uint64_t position, n_insns;
	uint64_t resumed_at; ///< an overflow is over there
	uint64_t overflows;
};

static uint64_t judge_next(struct judge *j)
{
	const struct truth_run *r;

	while (j->run < j->truth->runs.size &&
	       j->in_run == j->truth->runs.data[j->run].n) {
		j->run++;
		j->in_run = 0;
	}
	if (j->run == j->truth->runs.size)
		fail_msg("decoded more than the %lu instructions that ran",
			 j->truth->total);
	r = &j->truth->runs.data[j->run];
	j->position++;
	return j->truth->pool.data[r->at + j->in_run++];
}

static struct err *judge_run(void *ctx, const struct dec_pt_run *run)
{
	struct judge *j = ctx;
	uint64_t ip = run->ip;

	for (uint32_t i = 0;; i++) {
		uint64_t want = judge_next(j);

		if (ip != want)
			fail_msg("instruction %lu is at %#lx, decoded %#lx",
				 j->position - 1, want, ip);
		if (i + 1 == run->n_insns)
			break;
		ok(dec_pt_image_next(j->image, ip, &ip));
	}
	assert_int_equal(ip, run->end_ip);
	j->n_insns += run->n_insns;
	return NULL;
}

static struct err *judge_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct judge *j = ctx;

	if (gap->kind != DEC_PT_GAP_OVERFLOW)
		fail_msg("a gap at byte %lu, instruction %lu, ip %#lx: %s",
			 gap->from_byte, j->position, gap->ip, gap->why);
	j->overflows++;
	assert_true(j->position < j->resumed_at);
	while (j->position < j->resumed_at)
		judge_next(j);
	return NULL;
}

/* ---- programs ---------------------------------------------------------------------------- */

enum { STREAMS = 4 };

static const struct dec_pt_options shapes[STREAMS] = {
	{ .psb_bytes = 4096, .compresses_returns = true },
	{ .psb_bytes = 4096, .compresses_returns = false, .has_tsc = true },
	{ .psb_bytes = 65536, .compresses_returns = false },
	{ .psb_bytes = 65536, .compresses_returns = true, .has_tsc = true },
};

struct stream {
	VEC(uint8_t) bytes;
	struct dec_pt_image image;
	struct dec_pt_encoder *encoder;
	struct dec_pt_stats stats;
};

struct program {
	const char *name, *command;
	int n_streams;
	struct capture *capture;
	struct truth truth;
	struct stream stream[STREAMS];
};

static struct program programs[] = {
	{ .name = "ls", .command = "/bin/ls /", .n_streams = STREAMS },
	{ .name = "gzip", .command = "gzip -c \"$TMPDIR/plain\"", .n_streams = STREAMS },
	{ .name = "sh",
	  .command = "sh -c 'trap \"n=x\\$n\" USR1; i=0; while [ $i -lt 600 ]; "
		     "do i=$((i + 1)); case $i in *0) kill -USR1 $$;; esac; "
		     "done; echo $n'",
	  .n_streams = STREAMS },
	{ .name = "signals",
	  .command = "\"$BUILD/tests/programs/signals\"",
	  .n_streams = 1 },
};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static struct err *stream_write(void *ctx, const uint8_t *bytes, size_t n)
{
	struct stream *s = ctx;

	if (vec_reserve(&s->bytes, s->bytes.size + n))
		return &err_nomem;
	memcpy(s->bytes.data + s->bytes.size, bytes, n);
	s->bytes.size += n;
	return NULL;
}

static void stream_start(struct stream *s, const struct capture *c,
			 const struct dec_pt_options *shape)
{
	struct dec_pt_options o = *shape;

	ok(dec_pt_image_init(&s->image, c));
	o.image = &s->image;
	ok(dec_pt_encoder_create(c, &o, stream_write, s, &s->encoder));
}

static void stream_end(struct stream *s, uint64_t rip)
{
	ok(dec_pt_encoder_finish(s->encoder, rip, &s->stats));
	dec_pt_encoder_destroy(s->encoder);
	s->encoder = NULL;
	assert_int_equal(s->stats.bytes, s->bytes.size);
}

static void stream_deinit(struct stream *s)
{
	vec_deinit(&s->bytes);
	dec_pt_image_deinit(&s->image);
}

static struct err *feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct program *p = ctx;
	struct log_sink sink = { &p->truth, truth_on_block, truth_on_slow,
				 truth_on_other };
	struct err *err = log_reader_feed(&p->truth.reader, &sink, log, bytes);

	for (int i = 0; !err && i < p->n_streams; i++)
		err = dec_pt_encoder_feed(p->stream[i].encoder, log, bytes);
	return err;
}

static void program_record(struct program *p)
{
	_cleanup_free_ char *command = NULL, *dir = NULL;

	assert_true(asprintf(&dir, "%s/%s", getenv("TMPDIR"), p->name) > 0);
	assert_true(asprintf(&command, "%s record -o %s -- %s >/dev/null",
			     getenv("FAULTLINE"), dir, p->command) > 0);
	assert_int_equal(system(command), 0);
	ok(capture_open(dir, &p->capture));
}

static void program_encode(struct program *p)
{
	struct dec_machine *m;
	struct dec_where w;

	log_reader_init(&p->truth.reader, DEC_LOG_FLOW, 0);
	for (int i = 0; i < p->n_streams; i++)
		stream_start(&p->stream[i], p->capture, &shapes[i]);
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, feed, p));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	// Stopping the log brings its last piece.
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	assert_int_equal(w.at, DEC_AT_END);
	assert_int_equal(w.end, CAP_END_EXIT);
	// The exiting system call leaves no record.
	assert_int_equal(p->truth.total + 1, w.position);
	for (int i = 0; i < p->n_streams; i++) {
		stream_end(&p->stream[i], w.rip);
		assert_int_equal(p->stream[i].stats.instructions, p->truth.total);
	}
	dec_machine_destroy(m);
}

static int record(void **state)
{
	_cleanup_free_ char *path = NULL;
	uint32_t x = 1;
	FILE *f;

	(void)state;
	if (!getenv("FAULTLINE") || !getenv("TMPDIR")) {
		puts("FAULTLINE and TMPDIR are not set: run through tests/run");
		exit(77);
	}
	// Text that compresses, but not too well.
	if (asprintf(&path, "%s/plain", getenv("TMPDIR")) < 0 || !(f = fopen(path, "w")))
		return -1;
	for (int i = 0; i < 4000; i++) {
		x = x * 1103515245 + 12345;
		fprintf(f, "%x %s\n", x >> 20, (x >> 18) & 1 ? "quick" : "brown");
	}
	fclose(f);
	for (size_t i = 0; i < PROGRAMS; i++) {
		program_record(&programs[i]);
		program_encode(&programs[i]);
	}
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct program *p = &programs[i];

		for (int s = 0; s < p->n_streams; s++)
			stream_deinit(&p->stream[s]);
		log_reader_deinit(&p->truth.reader);
		vec_deinit(&p->truth.pool);
		vec_deinit(&p->truth.runs);
		map_deinit(&p->truth.single);
		capture_close(p->capture);
	}
	return 0;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void round_trip(void **state)
{
	uint64_t compared = 0;

	(void)state;
	for (size_t i = 0; i < PROGRAMS * STREAMS; i++) {
		struct program *p = &programs[i / STREAMS];
		struct stream *s = &p->stream[i % STREAMS];
		struct judge j = { .truth = &p->truth, .image = &s->image };
		struct dec_pt_sink sink = { .ctx = &j,
					    .run = judge_run,
					    .gap = judge_gap };
		struct dec_pt_sink blind = {};
		struct dec_pt_totals t;
		double start = now_s(), fast;

		if ((int)(i % STREAMS) >= p->n_streams)
			continue;
		ok(dec_pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &blind,
				       &t));
		fast = now_s() - start;
		assert_int_equal(t.instructions, p->truth.total);
		ok(dec_pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink,
				       &t));
		assert_int_equal(t.gaps, 0);
		assert_int_equal(j.n_insns, p->truth.total);
		compared += j.n_insns;
		printf("%-4s psb %lu K, %s returns: %lu instructions, %lu bytes (%.4f an "
		       "instruction), psb %lu tnt %lu+%lu tip %lu fup %lu pge %lu pgd %lu; "
		       "decoded at %.0f million/s\n",
		       p->name, shapes[i % STREAMS].psb_bytes >> 10,
		       shapes[i % STREAMS].compresses_returns ? "short" : "plain",
		       t.instructions, s->bytes.size,
		       (double)s->bytes.size / t.instructions, s->stats.psb,
		       s->stats.tnt_short, s->stats.tnt_long, s->stats.tip, s->stats.fup,
		       s->stats.pge, s->stats.pgd, t.instructions / fast / 1e6);
	}
	printf("%lu instructions compared\n", compared);
	assert_true(compared > 10000000);
}

static void shapes_differ(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROGRAMS; i++) {
		const struct stream *s = programs[i].stream;

		assert_true(s[0].stats.returns_compressed > 0);
		assert_true(s[0].stats.psb >= s[0].bytes.size / 4700);
		assert_true(s[0].stats.fup >= s[0].stats.psb);
		if (programs[i].n_streams == 1)
			continue;
		assert_int_equal(s[1].stats.returns_compressed, 0);
		assert_int_equal(s[1].stats.tip,
				 s[0].stats.tip + s[0].stats.returns_compressed);
		assert_true(s[2].stats.psb <= s[2].bytes.size / 65536 + 1);
		assert_true(s[0].stats.tnt_short > 0 && s[0].stats.tnt_long > 0);
	}
}

/* Lose some, in the middle of a run of its own. */
struct loser {
	struct stream stream;
	uint64_t at, n_insns, fed;
	struct log_reader reader;
};

static struct err *lose_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				 uint32_t n_ran, uint64_t time)
{
	(void)b, (void)rec, (void)n_ran;
	*(uint64_t *)ctx = time;
	return NULL;
}

static struct err *feed_and_lose(void *ctx, const uint8_t *log, size_t bytes)
{
	struct loser *l = ctx;
	uint64_t time = 0;
	struct log_sink sink = { &time, lose_on_block, NULL, NULL };
	struct err *err = log_reader_feed(&l->reader, &sink, log, bytes);

	if (!err && l->at && time >= l->at) {
		l->at = 0;
		err = dec_pt_encoder_lose(l->stream.encoder, l->n_insns);
	}
	return err ? err : dec_pt_encoder_feed(l->stream.encoder, log, bytes);
}

static void overflow_is_a_gap(void **state)
{
	struct program *p = &programs[0];

	(void)state;
	for (uint64_t n = 1; n < p->truth.total / 3; n = n * 17 + 3) {
		struct loser l = { .at = p->truth.total / 2, .n_insns = n };
		struct judge j = { .truth = &p->truth, .image = &l.stream.image };
		struct dec_pt_sink sink = { .ctx = &j,
					    .run = judge_run,
					    .gap = judge_gap };
		struct dec_machine *m;
		struct dec_where w;

		log_reader_init(&l.reader, DEC_LOG_FLOW, 0);
		stream_start(&l.stream, p->capture, &shapes[0]);
		ok(dec_machine_create(p->capture, NULL, &m));
		ok(dec_machine_log(m, DEC_LOG_FLOW, feed_and_lose, &l));
		ok(dec_machine_run(m, p->truth.total / 3, &w));
		ok(dec_machine_run(m, p->truth.total / 2 + 100, &w));
		ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
		ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
		stream_end(&l.stream, w.rip);
		dec_machine_destroy(m);
		assert_int_equal(l.stream.stats.ovf, 1);
		j.resumed_at = l.stream.stats.resumed_at;
		ok(dec_pt_decode_bytes(l.stream.bytes.data, l.stream.bytes.size,
				       &l.stream.image, &sink, NULL));
		assert_int_equal(j.overflows, 1);
		assert_int_equal(j.position, p->truth.total);
		assert_true(p->truth.total - j.n_insns >= n);
		log_reader_deinit(&l.reader);
		stream_deinit(&l.stream);
	}
}

/* ---- damage -------------------------------------------------------------------------------- */

struct listing {
	VEC(uint64_t) ip;
	struct dec_pt_image *image;
	uint64_t gaps;
};

static struct err *list_run(void *ctx, const struct dec_pt_run *run)
{
	struct listing *l = ctx;
	uint64_t ip = run->ip;
	struct err *err;

	for (uint32_t i = 0; i < run->n_insns; i++) {
		uint64_t *p = vec_push(&l->ip);

		assert_non_null(p);
		*p = ip;
		// Damage leads into the middle of instructions, where two decoders need not
		// agree. Nothing of the truth is at address 0.
		err = i + 1 < run->n_insns ? dec_pt_image_next(l->image, ip, &ip) : NULL;
		if (err)
			ip = 0;
		err_destroy(err);
	}
	return NULL;
}

static struct err *list_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct listing *l = ctx;

	assert_true(gap->from_byte <= gap->to_byte || gap->kind != DEC_PT_GAP_OVERFLOW);
	l->gaps++;
	return NULL;
}

static void list(struct listing *l, struct dec_pt_image *image, const uint8_t *bytes,
		 size_t n)
{
	struct dec_pt_sink sink = { .ctx = l, .run = list_run, .gap = list_gap };

	l->ip.size = 0;
	l->gaps = 0;
	l->image = image;
	ok(dec_pt_decode_bytes(bytes, n, image, &sink, NULL));
}

/* @return the first PSB at or behind @p from, or @p n. */
static size_t find_psb(const uint8_t *bytes, size_t n, size_t from)
{
	static const char psb[] = "\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82";
	const uint8_t *at = from < n ? memmem(bytes + from, n - from, psb, 16) : NULL;

	return at ? (size_t)(at - bytes) : n;
}

/* @return how many instructions @p s holds from the PSB at @p from on: with all before
 * it made PAD packets. */
static size_t tail(struct stream *s, struct map *memo, size_t from)
{
	uint64_t *known = map_get(memo, from);
	struct dec_pt_sink blind = {};
	struct dec_pt_totals t = {};
	uint8_t *copy;

	if (known)
		return *known;
	copy = calloc(1, s->bytes.size + 1);
	assert_non_null(copy);
	memcpy(copy + from, s->bytes.data + from, s->bytes.size - from);
	ok(dec_pt_decode_bytes(copy, s->bytes.size, &s->image, &blind, &t));
	free(copy);
	assert_int_equal(map_put(memo, from, t.instructions), 0);
	return t.instructions;
}

static void damage_ends_at_the_next_psb(void **state)
{
	enum { MUTATIONS = 210, FLIP = 0, DROP, TRUNCATE, PSB_GROUP = 40 };
	struct program *p = &programs[0];
	struct stream *s = &p->stream[0];
	size_t n = s->bytes.size, silent[3] = {}, harmless = 0, late = 0;
	uint8_t *copy = malloc(n);
	struct listing want = {}, got = {};
	struct map memo = {};
	double start = now_s();

	(void)state;
	srand(20);
	assert_non_null(copy);
	list(&want, &s->image, s->bytes.data, n);
	assert_int_equal(want.ip.size, p->truth.total);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t at = rand() % n, lost = 0, size = n, same = 0, psb, rest;
		int kind = i % 3;

		memcpy(copy, s->bytes.data, n);
		if (kind == FLIP) {
			copy[at] ^= 1 << rand() % 8;
		} else if (kind == DROP) {
			lost = 1 + rand() % 64;
			lost = lost < n - at ? lost : n - at;
			memmove(copy + at, copy + at + lost, n - at - lost);
			size = n - lost;
		} else {
			size = at;
		}
		list(&got, &s->image, copy, size);
		while (same < got.ip.size && same < want.ip.size &&
		       got.ip.data[same] == want.ip.data[same])
			same++;
		// All before the PSB group that the damage lies in is right, but for the
		// code that leads there: libipt reads a group as a whole, and ahead.
		// So a damaged group does not count as one to begin at.
		psb = 0;
		for (size_t q = 0; q + PSB_GROUP <= at;
		     q = find_psb(s->bytes.data, n, q + 16))
			psb = q;
		assert_true(same + tail(s, &memo, psb) >= want.ip.size);
		if (kind == TRUNCATE)
			continue;
		// All from the next one on is, too.
		psb = find_psb(copy, size, at + 1);
		rest = psb < size ? tail(s, &memo, psb + lost) : 0;
		if (got.ip.size < rest ||
		    memcmp(got.ip.data + got.ip.size - rest,
			   want.ip.data + want.ip.size - rest, rest * 8))
			late++;
		if (same == want.ip.size && same == got.ip.size)
			harmless++;
		else if (!got.gaps)
			silent[kind]++;
	}
	printf("%d mutations of %zu bytes: %zu harmless; wrong without a gap: %zu flips, %zu "
	       "drops; wrong beyond the next PSB: %zu; %.1f s\n",
	       MUTATIONS, n, harmless, silent[FLIP], silent[DROP], late, now_s() - start);
	// libipt does not compare where it is with where a PSB group says it is: a wrong way
	// that meets no contradiction goes on behind it.
	assert_int_equal(late, 0);
	// A flipped TNT bit can be a way the program might have gone: PT has no checksums.
	assert_true(silent[FLIP] + silent[DROP] < MUTATIONS * 2 / 3 / 4);
	free(copy);
	vec_deinit(&want.ip);
	vec_deinit(&got.ip);
	map_deinit(&memo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(shapes_differ),
		cmocka_unit_test(overflow_is_a_gap),
		cmocka_unit_test(damage_ends_at_the_next_psb),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
