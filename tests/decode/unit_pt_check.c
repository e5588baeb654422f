// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A replay checked by PT: its own packets agree with it to the last branch, also those of
 * several threads; a forged branch is found where it is; behind what is lost it agrees
 * again.
 */

#include <intel-pt.h>

#include "decode/pt/check.h"
#include "tests/decode/pt_bytes.h"
#include "tests/decode/pt_program.h"

enum { PROGRAMS = 3, FORGED = 40 };

static struct program programs[PROGRAMS];

static int record(void **state)
{
	static const char *const commands[PROGRAMS][2] = {
		{ "sort", "sort -r /usr/share/common-licenses/GPL-3" },
		{ "signals", "sh -c 'trap \"n=x\\$n\" USR1; i=0; while [ $i -lt 60 ]; do "
			     "i=$((i + 1)); kill -USR1 $$; done; echo $n'" },
		{ "calls", "\"$BUILD/tests/programs/crowd\" calls" },
	};

	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		program_record(&programs[i], commands[i][0], commands[i][1], 1);
		program_encode(&programs[i]);
	}
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (int i = 0; i < PROGRAMS; i++)
		program_deinit(&programs[i]);
	return 0;
}

/* The first thread's packets: @p bytes but for @p lost ones in the middle, which the recorder
 * says it lost. */
static void first_thread(struct dec_pt_stream *s, const uint8_t *bytes, size_t n,
			 size_t lost)
{
	size_t half = lost ? n / 2 : n;

	ok(dec_pt_stream_add(s, bytes, half, NULL));
	if (lost)
		ok(dec_pt_stream_add(s, bytes + half + lost, n - half - lost,
				     "the test lost it"));
}

/* Replay @p p beside these and the other threads' own packets. */
static struct err *check(const struct program *p, const uint8_t *bytes, size_t n,
			 size_t lost, struct dec_pt_check_totals *totals,
			 struct dec_pt_difference *difference)
{
	const struct encoding *e = &p->encoding[0];
	struct dec_pt_stream *streams = calloc(e->streams.size, sizeof(*streams));
	struct dec_pt_check *c;
	struct dec_machine *m;
	struct dec_where w;
	struct err *err;

	assert_non_null(streams);
	ok(dec_pt_check_create(&c));
	for (size_t i = 0; i < e->streams.size; i++) {
		struct stream *s = &e->streams.data[i];

		ok(dec_pt_stream_init(&streams[i], s->tid, &s->image));
		if (i)
			ok(dec_pt_stream_add(&streams[i], s->bytes.data, s->bytes.size,
					     NULL));
		else
			first_thread(&streams[i], bytes, n, lost);
		ok(dec_pt_check_add(c, s->tid, &streams[i]));
	}
	ok(dec_machine_create(p->capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, dec_pt_check_feed, c));
	err = dec_machine_run(m, UINT64_MAX >> 1, &w);
	if (!err)
		err = dec_machine_log(m, DEC_LOG_NONE, NULL, NULL);
	dec_machine_destroy(m);
	dec_pt_check_totals(c, totals);
	*difference = (struct dec_pt_difference){};
	if (dec_pt_check_difference(c))
		*difference = *dec_pt_check_difference(c);
	dec_pt_check_destroy(c);
	for (size_t i = 0; i < e->streams.size; i++)
		dec_pt_stream_deinit(&streams[i]);
	free(streams);
	return err;
}

static void agrees_with_itself(void **state)
{
	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		const struct program *p = &programs[i];
		const struct stream *s = p->encoding[0].streams.data;
		struct dec_pt_check_totals t;
		struct dec_pt_difference d;

		ok(check(p, s->bytes.data, s->bytes.size, 0, &t, &d));
		assert_int_equal(t.instructions, p->truth.total);
		assert_int_equal(t.threads, p->truth.threads.size);
		assert_int_equal(t.skipped, 0);
		assert_int_equal(t.gaps, 0);
		assert_true(t.branches > t.instructions / 100);
		printf("%s: %lu instructions, %lu branches of %lu threads agree\n",
		       p->name, t.instructions, t.branches, t.threads);
	}
}

/* ---- forged -------------------------------------------------------------------------------- */

/* Where the flow that @p bytes tell leaves the one that was. */
struct follower {
	const struct program *program;
	struct judge judge;
	uint64_t parted_at; ///< instructions that are as they were
	bool has_parted, has_gap;
};

static struct err *follow_run(void *ctx, const struct dec_pt_run *run)
{
	struct follower *f = ctx;
	uint64_t ip = run->ip;

	for (uint32_t i = 0; !f->has_parted && !f->has_gap && i < run->n_insns; i++) {
		struct err *err = NULL;

		f->has_parted = f->judge.position == f->judge.thread->total ||
				judge_next(&f->judge) != ip;
		f->parted_at += !f->has_parted;
		if (i + 1 < run->n_insns)
			err = pt_next(f->judge.image, ip, &ip);
		f->has_parted |= err != NULL;
		err_destroy(err);
	}
	return NULL;
}

static struct err *follow_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct follower *f = ctx;

	(void)gap;
	f->has_gap |= !f->has_parted;
	return NULL;
}

/* Make the branch of a short TNT packet another one. @return whether there was one. */
static bool forge(const struct stream *s, uint8_t *bytes)
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	size_t from = rand() % s->bytes.size;
	bool is_done = false;
	struct pt_packet p;
	uint64_t at;

	memcpy(bytes, s->bytes.data, s->bytes.size);
	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + s->bytes.size;
	d = pt_pkt_alloc_decoder(&config);
	assert_non_null(d);
	assert_int_equal(pt_pkt_sync_set(d, 0), 0);
	while (!is_done && !pt_pkt_get_offset(d, &at) &&
	       pt_pkt_next(d, &p, sizeof(p)) > 0) {
		is_done = at >= from && p.type == ppt_tnt_8;
		if (is_done)
			bytes[at] ^= 2 << rand() % p.payload.tnt.bit_size;
	}
	pt_pkt_free_decoder(d);
	return is_done;
}

static void a_forged_branch_is_found(void **state)
{
	const struct program *p = &programs[0];
	struct stream *s = &p->encoding[0].streams.data[0];
	uint8_t *bytes = malloc(s->bytes.size);
	int found = 0;

	(void)state;
	srand(4);
	assert_non_null(bytes);
	for (int i = 0; i < FORGED; i++) {
		struct follower f = { .judge = { .truth = &p->truth,
						 .thread = p->truth.threads.data,
						 .image = &s->image } };
		struct dec_pt_sink sink = { .ctx = &f,
					    .run = follow_run,
					    .gap = follow_gap };
		struct dec_pt_check_totals t;
		struct dec_pt_difference d;
		struct err *err;

		if (!forge(s, bytes))
			continue;
		ok(pt_decode_bytes(bytes, s->bytes.size, &s->image, &sink, NULL));
		err = check(p, bytes, s->bytes.size, 0, &t, &d);
		// Where the forged way leads to no packet that fits, it is damage.
		assert_true(f.has_parted || f.has_gap);
		assert_int_equal(f.has_parted, err != NULL);
		if (err) {
			found++;
			assert_int_equal(err->code, ERR_DIVERGED);
			assert_int_equal(d.position, f.parted_at);
			assert_true(d.replayed != d.traced);
		} else {
			assert_true(t.gaps > 0);
		}
		err_destroy(err);
	}
	printf("%d of %d forged branches are differences, the others are damage\n", found,
	       FORGED);
	assert_true(found > FORGED / 2);
	free(bytes);
}

/* ---- lost ---------------------------------------------------------------------------------- */

static void what_is_lost_is_skipped(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct program *p = &programs[i];
		const struct stream *s = &p->encoding[0].streams.data[0];
		struct dec_pt_check_totals t;
		struct dec_pt_difference d;

		ok(check(p, s->bytes.data, s->bytes.size, 3000, &t, &d));
		printf("%s: %lu gaps, %lu of %lu instructions skipped, lost again %lu "
		       "times\n",
		       p->name, t.gaps, t.skipped, p->truth.total, t.lost);
		assert_true(t.gaps > 0);
		assert_true(t.skipped > 0);
		assert_int_equal(t.skipped + t.instructions, p->truth.total);
		assert_true(t.skipped < p->truth.total / 2);
	}
}

/* ---- made up ------------------------------------------------------------------------------- */

/* A thread that has PT, of which nothing was compared, repeats an instruction. */
static void a_log_that_repeats_nothing_is_damaged(void **state)
{
	struct {
		uint32_t id, size;
		uint64_t value[23];
	} log[2] = {
		{ DEC_REC_THREAD, sizeof(log[0]), { 1 } },
		{ DEC_REC_STATE, sizeof(log[0]), { [20] = DEC_STATE_REP } },
	};
	struct dec_pt_stream s;
	struct dec_pt_image image = {};
	struct dec_pt_check *c;

	(void)state;
	ok(dec_pt_stream_init(&s, 1, &image));
	ok(dec_pt_check_create(&c));
	ok(dec_pt_check_add(c, 1, &s));
	expect(ERR_FORMAT, dec_pt_check_feed(c, (const uint8_t *)log, sizeof(log)));
	dec_pt_check_destroy(c);
	dec_pt_stream_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_itself),
		cmocka_unit_test(a_forged_branch_is_found),
		cmocka_unit_test(what_is_lost_is_skipped),
		cmocka_unit_test(a_log_that_repeats_nothing_is_damaged),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
