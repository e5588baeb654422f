// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A PT stream decoded by several threads gives what one thread gives, event by event, and
 * that is what libipt's own loop over the whole stream gives: also when the stream comes in
 * pieces; and, but for libipt, when it is damaged or bytes of it were lost.
 */

#include <intel-pt.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "decode/pt/decode.h"
#include "decode/pt/encode.h"
#include "decode/machine/machine.h"
#include "tests/decode/pt_bytes.h"
#include "tests/unit.h"

static struct capture *capture;
static struct dec_pt_image image, flat; ///< flat: all mappings are there all the time
static dec_pt_buffer bytes;

/* ---- a stream ------------------------------------------------------------------------------ */

static struct dec_pt_encoder *encoder;

static struct err *keep(void *ctx, uint32_t tid, const uint8_t *data, size_t n)
{
	(void)ctx;
	(void)tid;
	assert_int_equal(vec_reserve(&bytes, bytes.size + n), 0);
	memcpy(bytes.data + bytes.size, data, n);
	bytes.size += n;
	return NULL;
}

static struct err *map(void *ctx, const struct dec_pt_mapping *m)
{
	(void)ctx;
	ok(dec_pt_image_map(&flat, m->file, m->addr, m->size, m->file_offset, 0));
	return dec_pt_image_map(&image, m->file, m->addr, m->size, m->file_offset,
				dec_pt_encoder_stats(encoder, m->tid)->bytes);
}

static void encode(void)
{
	const struct dec_pt_options o = {
		.psb_bytes = 2048, .compresses_returns = true, .has_tsc = true, .map = map
	};
	struct dec_machine *m;
	struct dec_where w;

	ok(dec_pt_encoder_create(capture, &o, keep, NULL, &encoder));
	ok(dec_machine_create(capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, dec_pt_encoder_feed, encoder));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	ok(dec_pt_encoder_finish(encoder, w.rip));
	dec_pt_encoder_destroy(encoder);
	dec_machine_destroy(m);
}

static int begin(void **state)
{
	_cleanup_free_ char *command = NULL, *dir = NULL;

	(void)state;
	if (!getenv("FAULTLINE") || !getenv("TMPDIR")) {
		puts("FAULTLINE and TMPDIR are not set: run through tests/run");
		exit(77);
	}
	assert_true(asprintf(&dir, "%s/sort", getenv("TMPDIR")) > 0);
	assert_true(asprintf(&command,
			     "%s record -o %s -- sort -r /usr/share/common-licenses/GPL-3"
			     " >/dev/null",
			     getenv("FAULTLINE"), dir) > 0);
	assert_int_equal(system(command), 0);
	ok(capture_open(dir, &capture));
	ok(dec_pt_image_init(&image, capture));
	ok(dec_pt_image_init(&flat, capture));
	encode();
	return 0;
}

static int end(void **state)
{
	(void)state;
	dec_pt_image_deinit(&image);
	dec_pt_image_deinit(&flat);
	capture_close(capture);
	vec_deinit(&bytes);
	return 0;
}

/* ---- what comes of it ---------------------------------------------------------------------- */

/* One thing that was handed out, whatever it is, and where: behind so many instructions
 * with this hash. Instructions themselves are things now and then only; where libipt cuts
 * them into runs does not matter. */
struct thing {
	uint64_t kind, a, b, c, tsc, position, hash;
};

struct things {
	VEC(struct thing) v;
	uint64_t position, hash;
	bool is_damaged; ///< instructions are counted only
};

enum { EACH = 997, GAP = 100, EVENT = 200 };

static void put(struct things *t, struct thing thing)
{
	struct thing *p = vec_push(&t->v);

	assert_non_null(p);
	*p = thing;
	p->position = t->position;
	p->hash = t->hash;
}

static void put_run(struct things *t, uint64_t ip, uint32_t n, uint64_t tsc)
{
	// Damage leads into the middle of instructions, where two decoders need not agree:
	// what lies in a run then depends on where libipt cuts it.
	if (t->is_damaged) {
		t->position += n;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		t->hash = (t->hash ^ ip) * 0x9e3779b97f4a7c15ull;
		if (++t->position % EACH == 0)
			put(t, (struct thing){ .a = ip, .tsc = tsc });
		if (i + 1 == n)
			break;
		ok(pt_next(&image, ip, &ip));
	}
}

static struct err *on_run(void *ctx, const struct dec_pt_run *r)
{
	put_run(ctx, r->ip, r->n_insns, r->tsc);
	return NULL;
}

static struct err *on_gap(void *ctx, const struct dec_pt_gap *g)
{
	put(ctx, (struct thing){ .kind = GAP + g->kind,
				 .a = g->from_byte,
				 .b = g->to_byte,
				 .c = g->ip,
				 .tsc = g->tsc });
	return NULL;
}

static struct err *on_event(void *ctx, const struct dec_pt_event *e)
{
	put(ctx,
	    (struct thing){
		    .kind = EVENT + e->kind, .a = e->ip, .b = e->value, .tsc = e->tsc });
	return NULL;
}

static void decode(const struct dec_pt_stream *s, unsigned int n_threads,
		   struct things *ret, struct dec_pt_totals *t)
{
	struct dec_pt_sink sink = {
		.ctx = ret, .run = on_run, .gap = on_gap, .event = on_event
	};
	struct dec_pt_decode_options o = { .n_threads = n_threads };

	ret->v.size = 0;
	ret->position = ret->hash = 0;
	ok(dec_pt_decode(s, &o, &sink, t));
	put(ret, (struct thing){ .kind = GAP - 1 });
	assert_int_equal(ret->position, t->instructions);
	t->runs = 0;
}

static void things_deinit(struct things *t)
{
	vec_deinit(&t->v);
}

static void assert_same(const struct things *a, const struct things *b)
{
	for (size_t i = 0; i < a->v.size && i < b->v.size; i++) {
		const struct thing *p = &a->v.data[i], *q = &b->v.data[i];

		if (memcmp(p, q, sizeof(*p)))
			fail_msg("thing %zu at %lu differs: %lu %#lx %#lx %#lx at %lu "
				 "and %lu %#lx %#lx %#lx at %lu",
				 i, p->position, p->kind, p->a, p->b, p->c, p->tsc,
				 q->kind, q->a, q->b, q->c, q->tsc);
	}
	assert_int_equal(a->v.size, b->v.size);
}

/* Decode with one thread and with more. @return what one gives. */
static void compare(const struct dec_pt_stream *s, struct things *one,
		    struct dec_pt_totals *t)
{
	static struct things more;
	struct dec_pt_totals u;

	more.is_damaged = one->is_damaged;
	decode(s, 1, one, t);
	for (unsigned int n = 2; n <= 4; n += 2) {
		decode(s, n, &more, &u);
		assert_same(one, &more);
		assert_memory_equal(t, &u, sizeof(u));
	}
}

/* The same bytes as pieces of up to @p most bytes; before each n-th, something was lost. */
static void cut(struct dec_pt_stream *s, const uint8_t *data, size_t n, size_t most,
		int each)
{
	size_t at = 0;

	ok(dec_pt_stream_init(s, 1, &image));
	for (int i = 1; at < n; i++) {
		size_t some = 1 + rand() % most;

		some = some < n - at ? some : n - at;
		ok(dec_pt_stream_add(s, data + at, some,
				     each && i % each == 0 ? "the test lost it" : NULL));
		at += some;
	}
}

/* ---- libipt's own loop ---------------------------------------------------------------------- */

/* @return instructions. */
static uint64_t plain_loop(struct things *ret)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);
	struct pt_block_decoder *d;
	struct pt_config config;
	struct pt_event ev;
	uint64_t total = 0;
	int status;

	pt_config_init(&config);
	config.begin = bytes.data;
	config.end = bytes.data + bytes.size;
	d = pt_blk_alloc_decoder(&config);
	for (size_t i = 0; i < image.maps.size; i++) {
		const struct dec_pt_map *m = &image.maps.data[i];
		char path[32];
		int isid;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", m->fd);
		isid = m->data ? pt_iscache_add_file(cache, path, m->file_offset,
						     m->data_bytes, m->addr) :
				 0;
		if (isid)
			pt_image_add_cached(pt_blk_get_image(d), cache, isid, NULL);
	}
	for (status = pt_blk_sync_forward(d); status >= 0;) {
		struct pt_block b = {};

		if (status & pts_event_pending) {
			status = pt_blk_event(d, &ev, sizeof(ev));
			continue;
		}
		if (status & pts_eos)
			break;
		status = pt_blk_next(d, &b, sizeof(b));
		total += b.ninsn;
		put_run(ret, b.ip, b.ninsn, 0);
	}
	assert_true(status == -pte_eos || status & pts_eos);
	pt_blk_free_decoder(d);
	pt_iscache_free(cache);
	return total;
}

static void decodes_what_libipt_does(void **state)
{
	struct things want = {}, got = {};
	struct dec_pt_totals t;
	struct dec_pt_stream s;
	uint64_t total;

	(void)state;
	cut(&s, bytes.data, bytes.size, bytes.size, 0);
	compare(&s, &got, &t);
	total = plain_loop(&want);
	assert_true(total > 1000000);
	assert_int_equal(t.instructions, total);
	assert_int_equal(t.gaps, 0);
	assert_int_equal(got.position, want.position);
	assert_int_equal(got.hash, want.hash);
	dec_pt_stream_deinit(&s);
	things_deinit(&want);
	things_deinit(&got);
}

static void time_does_not_go_back(void **state)
{
	uint64_t last = 0, first = 0, changes = 0;
	struct dec_pt_totals t;
	struct dec_pt_stream s;
	struct things got = {};

	(void)state;
	cut(&s, bytes.data, bytes.size, bytes.size, 0);
	decode(&s, 2, &got, &t);
	for (size_t i = 0; i + 1 < got.v.size; i++) {
		assert_true(got.v.data[i].tsc >= last);
		changes += got.v.data[i].tsc != last;
		last = got.v.data[i].tsc;
		first = first ? first : last;
	}
	assert_true(changes > 10);
	assert_int_equal(t.last_tsc, last);
	assert_int_equal(t.first_tsc, first);
	things_deinit(&got);
	dec_pt_stream_deinit(&s);
}

static void only_the_wanted_time_is_decoded(void **state)
{
	struct dec_pt_decode_options o = { .n_threads = 2 };
	struct dec_pt_totals all, some;
	struct dec_pt_sink sink = {};
	struct dec_pt_stream s;

	(void)state;
	cut(&s, bytes.data, bytes.size, bytes.size, 0);
	ok(dec_pt_decode(&s, &o, &sink, &all));
	o.from_tsc = all.first_tsc + (all.last_tsc - all.first_tsc) / 2;
	o.to_tsc = o.from_tsc + 1;
	ok(dec_pt_decode(&s, &o, &sink, &some));
	assert_true(some.instructions > 0);
	assert_true(some.instructions < all.instructions / 2);
	assert_true(some.first_tsc <= o.from_tsc && some.last_tsc >= o.from_tsc);
	assert_true(some.skipped_bytes > s.size / 2 && some.skipped_bytes < s.size);
	dec_pt_stream_deinit(&s);
}

static void pieces_make_no_difference(void **state)
{
	struct things want = {}, got = {};
	struct dec_pt_totals t, u;
	struct dec_pt_stream s;

	(void)state;
	srand(4);
	cut(&s, bytes.data, bytes.size, bytes.size, 0);
	decode(&s, 1, &want, &t);
	dec_pt_stream_deinit(&s);
	for (size_t most = 7; most < 20000; most *= 13) {
		cut(&s, bytes.data, bytes.size, most, 0);
		compare(&s, &got, &u);
		assert_same(&want, &got);
		dec_pt_stream_deinit(&s);
	}
	things_deinit(&want);
	things_deinit(&got);
}

/* Where bytes are lost there is a gap, and nothing is decoded across it. */
static void losses_are_gaps(void **state)
{
	struct dec_pt_totals t;
	struct dec_pt_stream s;
	struct things got = {};
	size_t lost = 0, seen = 0;

	(void)state;
	srand(5);
	cut(&s, bytes.data, bytes.size, bytes.size / 15, 3);
	compare(&s, &got, &t);
	for (size_t i = 0; i < s.pieces.size; i++)
		lost += s.pieces.data[i].lost != NULL;
	for (size_t i = 0; i < got.v.size; i++)
		seen += got.v.data[i].kind == GAP + DEC_PT_GAP_LOST;
	assert_true(lost > 5);
	assert_int_equal(t.gaps_of[DEC_PT_GAP_LOST], seen);
	// Two losses without a PSB between them are one gap.
	assert_true(seen <= lost && seen > lost / 2);
	assert_int_equal(t.gaps_of[DEC_PT_GAP_ERROR] + t.gaps_of[DEC_PT_GAP_PLACE], 0);
	dec_pt_stream_deinit(&s);
	things_deinit(&got);
}

/* @return how many of @p n bytes are left. */
static size_t damage(uint8_t *data, size_t n)
{
	for (int k = 0; k < 40; k++) {
		size_t at = rand() % n, some = 1 + rand() % 50;

		some = some < n - at ? some : n - at;
		if (k % 4 == 0) {
			memmove(data + at, data + at + some, n - at - some);
			n -= some;
		} else if (k % 4 == 1) {
			memset(data + at, rand(), some);
		} else {
			data[at] ^= 1 << rand() % 8;
		}
	}
	return n;
}

static void damage_makes_no_difference(void **state)
{
	_cleanup_free_ uint8_t *copy = malloc(bytes.size);
	struct dec_pt_totals t;
	struct dec_pt_stream s;
	struct things got = { .is_damaged = true };
	uint64_t gaps = 0;

	(void)state;
	srand(6);
	assert_non_null(copy);
	for (int i = 0; i < 12; i++) {
		memcpy(copy, bytes.data, bytes.size);
		cut(&s, copy, damage(copy, bytes.size), 100000, i % 2 ? 4 : 0);
		compare(&s, &got, &t);
		gaps += t.gaps;
		dec_pt_stream_deinit(&s);
	}
	assert_true(gaps > 12 * 10);
	things_deinit(&got);
}

/* @p n bytes, lost ones, and the same bytes again, by one thread: what it has decoded before
 * it decodes in no other way. @return the gaps in the bytes. */
static uint64_t assert_same_again(const uint8_t *data, size_t n)
{
	struct things got = { .is_damaged = true };
	struct dec_pt_totals t;
	struct dec_pt_stream s;
	uint64_t insns;
	size_t half, at;

	ok(dec_pt_stream_init(&s, 1, &flat));
	ok(dec_pt_stream_add(&s, data, n, "the test lost it"));
	ok(dec_pt_stream_add(&s, data, n, "the test lost it"));
	decode(&s, 1, &got, &t);
	for (at = 0; got.v.data[at].kind != EVENT + DEC_PT_EV_THREAD;)
		at++;
	memmove(&got.v.data[at], &got.v.data[at + 1],
		(--got.v.size - at) * sizeof(*got.v.data)); // said once
	for (half = 1;
	     got.v.data[half].kind != GAP + DEC_PT_GAP_LOST || got.v.data[half].b < n;)
		half++;
	assert_int_equal(got.v.size, 2 * half + 1);
	insns = got.v.data[half].position;
	for (size_t i = 0; i < half; i++) {
		const struct thing *p = &got.v.data[i];
		struct thing *q = &got.v.data[half + i];
		bool is_gap = p->kind >= GAP && p->kind < EVENT;

		q->a -= is_gap ? n : 0;
		q->b -= is_gap ? n : 0;
		q->tsc = p->tsc; // which goes on
		q->position -= insns;
		if (memcmp(p, q, sizeof(*p)))
			fail_msg("thing %zu at %lu: %lu %#lx %#lx %#lx, and again at %lu "
				 "%lu %#lx %#lx %#lx",
				 i, p->position, p->kind, p->a, p->b, p->c, q->position,
				 q->kind, q->a, q->b, q->c);
	}
	dec_pt_stream_deinit(&s);
	things_deinit(&got);
	return t.gaps / 2;
}

static void what_was_decoded_before_makes_no_difference(void **state)
{
	_cleanup_free_ uint8_t *copy = malloc(bytes.size);

	(void)state;
	srand(6);
	assert_non_null(copy);
	assert_int_equal(assert_same_again(bytes.data, bytes.size), 1);
	for (int i = 0; i < 12; i++) {
		memcpy(copy, bytes.data, bytes.size);
		assert_true(assert_same_again(copy, damage(copy, bytes.size)) > 10);
	}
}

/* @return where the next packet of @p type is in @p n bytes from @p from on, @p p; n: none is. */
static size_t next_packet(const uint8_t *data, size_t n, size_t from,
			  enum pt_packet_type type, struct pt_packet *p)
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	uint64_t at = n;

	pt_config_init(&config);
	config.begin = (uint8_t *)data;
	config.end = (uint8_t *)data + n;
	d = pt_pkt_alloc_decoder(&config);
	assert_true(pt_pkt_sync_set(d, from) >= 0);
	do
		pt_pkt_get_offset(d, &at);
	while (pt_pkt_next(d, p, sizeof(*p)) >= 0 && p->type != type);
	pt_pkt_free_decoder(d);
	return p->type == type ? at : n;
}

/* Packets that say that the code is not 64-bit are damage, of their segments only. */
static void a_mode_is_of_its_segment(void **state)
{
	_cleanup_free_ uint8_t *copy = malloc(bytes.size);
	struct things want = {}, got = {};
	struct dec_pt_totals t, u;
	struct dec_pt_stream s;
	struct pt_packet p;
	size_t n = bytes.size;

	(void)state;
	assert_non_null(copy);
	memcpy(copy, bytes.data, n);
	for (size_t at = 0; (at = next_packet(copy, n, at, ppt_mode, &p)) < n; at += 2)
		if (p.payload.mode.leaf == pt_mol_exec)
			copy[at + 1] ^= 3; // CS.L, CS.D
	cut(&s, bytes.data, n, n, 0);
	decode(&s, 1, &want, &t);
	dec_pt_stream_deinit(&s);
	ok(dec_pt_stream_init(&s, 1, &flat));
	ok(dec_pt_stream_add(&s, copy, n, NULL));
	ok(dec_pt_stream_add(&s, bytes.data, n, "the test lost it"));
	decode(&s, 1, &got, &u);
	assert_true(u.gaps_of[DEC_PT_GAP_ERROR] > 10);
	assert_int_equal(u.gaps_of[DEC_PT_GAP_ERROR] + 1, u.gaps);
	assert_int_equal(got.position, want.position);
	assert_int_equal(got.hash, want.hash);
	dec_pt_stream_deinit(&s);
	things_deinit(&want);
	things_deinit(&got);
}

/* A TIP packet loses its address, one after the other. */
static void a_place_not_named_makes_no_difference(void **state)
{
	_cleanup_free_ uint8_t *copy = malloc(bytes.size);
	size_t at = 0, n = bytes.size / 8;
	struct pt_packet p;

	(void)state;
	assert_non_null(copy);
	for (int i = 0; i < 60; i++) {
		at = next_packet(bytes.data, n, at, ppt_tip, &p);
		assert_true(at < n);
		memcpy(copy, bytes.data, n);
		memset(copy + at, 0, p.size);
		copy[at] = 0x0d;
		assert_true(assert_same_again(copy, n) > 0);
		at += p.size;
	}
}

/* Who takes what is decoded may stop it, in the middle of many segments. */
static struct err *refuse(void *ctx, const struct dec_pt_run *run)
{
	(void)run;
	return ++*(int *)ctx == 5000 ? err_new(ERR_RANGE, "enough") : NULL;
}

static void the_sink_may_stop_it(void **state)
{
	(void)state;
	for (unsigned int n = 1; n <= 3; n++) {
		struct dec_pt_decode_options o = { .n_threads = n };
		int count = 0;
		struct dec_pt_sink sink = { .ctx = &count, .run = refuse };
		struct dec_pt_stream s;
		struct err *err;

		cut(&s, bytes.data, bytes.size, bytes.size, 0);
		err = dec_pt_decode(&s, &o, &sink, NULL);
		assert_non_null(err);
		assert_int_equal(err->code, ERR_RANGE);
		err_destroy(err);
		assert_int_equal(count, 5000);
		dec_pt_stream_deinit(&s);
	}
}

static void nothing_is_nothing(void **state)
{
	struct dec_pt_decode_options o = { .n_threads = 2 };
	struct dec_pt_sink sink = {};
	struct dec_pt_totals t;
	struct dec_pt_stream s;

	(void)state;
	cut(&s, bytes.data, 0, 1, 0);
	ok(dec_pt_decode(&s, &o, &sink, &t));
	assert_int_equal(t.instructions + t.gaps, 0);
	dec_pt_stream_deinit(&s);
	// No PSB at all: one gap, to the end.
	cut(&s, bytes.data + 20, 1000, 100, 0);
	ok(dec_pt_decode(&s, &o, &sink, &t));
	assert_int_equal(t.instructions, 0);
	assert_int_equal(t.gaps_of[DEC_PT_GAP_START], 1);
	assert_int_equal(t.gaps, 1);
	dec_pt_stream_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_what_libipt_does),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(only_the_wanted_time_is_decoded),
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(losses_are_gaps),
		cmocka_unit_test(damage_makes_no_difference),
		cmocka_unit_test(what_was_decoded_before_makes_no_difference),
		cmocka_unit_test(a_mode_is_of_its_segment),
		cmocka_unit_test(a_place_not_named_makes_no_difference),
		cmocka_unit_test(the_sink_may_stop_it),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
