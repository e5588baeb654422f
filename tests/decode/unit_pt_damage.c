// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Damaged PT streams: bits flipped, bytes dropped, inserted, cut off. Decoding ends, says
 * so, and is right again from the next PSB on.
 *
 * FAULTLINE_PT_MUTATIONS=10000 makes that many, instead of a few: some minutes, and half an
 * hour with AddressSanitizer.
 * time limit: 3600
 */

#include <intel-pt.h>

#include "tests/decode/pt_bytes.h"
#include "tests/decode/pt_program.h"

enum { FLIP, DROP, INSERT, TRUNCATE, KINDS };
enum { WAYS = 2, FEW = 160, LONGEST = 64, PSB_BYTES = 16, PSB_GROUP = 80, LEADS = 64 };

/* A sound stream, and what comes of it. */
struct victim {
	struct encoding encoding;
	struct stream *stream;
	VEC(uint64_t) ip; ///< all instructions
	struct map tails; ///< PSB's place -> instructions from there on
};

static struct program ls;
static struct victim victims[WAYS];

static const struct dec_pt_options ways[WAYS] = {
	{ .psb_bytes = 1024, .compresses_returns = true },
	{ .psb_bytes = 2048,
	  .has_tsc = true,
	  .has_mtc = true,
	  .mtc_shift = 3,
	  .has_cyc = true,
	  .has_tsx = true,
	  .is_tnt_short = true },
};

/* ---- decoding ------------------------------------------------------------------------------ */

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
		err = i + 1 < run->n_insns ? pt_next(l->image, ip, &ip) : NULL;
		if (err)
			ip = 0;
		err_destroy(err);
	}
	return NULL;
}

static struct err *list_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct listing *l = ctx;

	assert_true(gap->from_byte <= gap->to_byte);
	l->gaps++;
	return NULL;
}

/* What @p n bytes give by @p n_threads. */
static void list(struct listing *l, const struct victim *v, const uint8_t *bytes,
		 size_t n, unsigned int n_threads)
{
	struct dec_pt_sink sink = { .ctx = l, .run = list_run, .gap = list_gap };
	struct dec_pt_decode_options o = { .n_threads = n_threads };
	struct dec_pt_stream s;

	l->ip.size = 0;
	l->gaps = 0;
	l->image = &v->stream->image;
	ok(dec_pt_stream_init(&s, v->stream->tid, &v->stream->image));
	s.clock = (struct dec_pt_clock){ .nominal_ratio = DEC_PT_NOMINAL_RATIO,
					 .tsc_num = DEC_PT_TSC_NUM,
					 .tsc_den = DEC_PT_TSC_DEN,
					 .mtc_shift = v->encoding.options.mtc_shift,
					 .has_ticks = v->encoding.options.has_mtc };
	ok(dec_pt_stream_add(&s, bytes, n, NULL));
	ok(dec_pt_decode(&s, &o, &sink, NULL));
	dec_pt_stream_deinit(&s);
}

/* Its packets, too, come to an end. */
static void walk_packets(const uint8_t *bytes, size_t n)
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	struct pt_packet p;
	int status;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + n;
	d = pt_pkt_alloc_decoder(&config);
	if (!d)
		return; // no bytes
	while ((status = pt_pkt_sync_forward(d)) >= 0)
		while (pt_pkt_next(d, &p, sizeof(p)) > 0)
			;
	assert_int_equal(status, -pte_eos);
	pt_pkt_free_decoder(d);
}

/* @return the first PSB at or behind @p from, or @p n. */
static size_t find_psb(const uint8_t *bytes, size_t n, size_t from)
{
	static const char psb[] = "\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82\2\x82";
	const uint8_t *at = from < n ? memmem(bytes + from, n - from, psb, 16) : NULL;

	return at ? (size_t)(at - bytes) : n;
}

/* @return how many instructions the sound stream holds from the PSB at @p from on: with
 * all before it made PAD packets. */
static size_t tail(struct victim *v, size_t from)
{
	uint64_t *known = map_get(&v->tails, from);
	size_t n = v->stream->bytes.size;
	struct listing l = {};
	uint8_t *copy;

	if (known)
		return *known;
	copy = calloc(1, n + 1);
	assert_non_null(copy);
	memcpy(copy + from, v->stream->bytes.data + from, n - from);
	list(&l, v, copy, n, 1);
	free(copy);
	assert_int_equal(map_put(&v->tails, from, l.ip.size), 0);
	vec_deinit(&l.ip);
	return *map_get(&v->tails, from);
}

/* ---- damage -------------------------------------------------------------------------------- */

struct mutation {
	int kind;
	size_t at;    ///< the first byte that is not as it was
	size_t shift; ///< bytes dropped or inserted there
	uint8_t *bytes;
	size_t n;
};

/* In memory of its own, so that a byte beyond is noticed. */
static void mutate(struct mutation *m, const struct victim *v)
{
	const uint8_t *from = v->stream->bytes.data;
	size_t n = v->stream->bytes.size, left;

	m->at = rand() % n;
	left = n - m->at;
	m->shift = m->kind == DROP || m->kind == INSERT ? 1 + rand() % LONGEST : 0;
	if (m->kind == DROP && m->shift > left)
		m->shift = left;
	m->n = m->kind == TRUNCATE ? m->at :
	       m->kind == DROP	   ? n - m->shift :
				     n + m->shift;
	m->bytes = malloc(m->n + !m->n);
	assert_non_null(m->bytes);
	memcpy(m->bytes, from, m->at);
	if (m->kind == FLIP || m->kind == INSERT)
		memcpy(m->bytes + m->at + m->shift, from + m->at, left);
	if (m->kind == FLIP)
		m->bytes[m->at] ^= 1 << rand() % 8;
	if (m->kind == DROP)
		memcpy(m->bytes + m->at, from + m->at + m->shift, left - m->shift);
	for (size_t i = 0; m->kind == INSERT && i < m->shift; i++)
		m->bytes[m->at + i] = rand();
}

/* All before the PSB group that the damage lies in is right, but for the code that leads
 * there: a group is read as a whole, and ahead. So a damaged group does not count as one to
 * begin at; and behind the last branch before it only its FUP tells how far the code went. */
static void check_before(struct victim *v, const struct mutation *m, size_t n_same)
{
	const uint8_t *bytes = v->stream->bytes.data;
	size_t n = v->stream->bytes.size, psb = 0;

	for (size_t q = 0; q + PSB_GROUP <= m->at; q = find_psb(bytes, n, q + PSB_BYTES))
		psb = q;
	assert_true(n_same + LEADS + tail(v, psb) >= v->ip.size);
}

/* @return whether all from the next PSB behind the damage on is right. */
static bool is_right_behind(struct victim *v, const struct mutation *m,
			    const struct listing *got)
{
	size_t psb = find_psb(m->bytes, m->n, m->at + (m->kind == INSERT ? m->shift : 1));
	size_t in_sound = m->kind == INSERT ? psb - m->shift : psb + m->shift, rest;

	rest = psb < m->n ? tail(v, in_sound) : 0;
	return got->ip.size >= rest &&
	       !memcmp(got->ip.data + got->ip.size - rest, v->ip.data + v->ip.size - rest,
		       rest * sizeof(*v->ip.data));
}

struct tally {
	size_t n, harmless, silent[KINDS], late;
};

static void try_one(struct victim *v, struct mutation *m, struct listing *got,
		    unsigned int n_threads, struct tally *t)
{
	size_t same = 0;

	mutate(m, v);
	walk_packets(m->bytes, m->n);
	list(got, v, m->bytes, m->n, n_threads);
	while (same < got->ip.size && same < v->ip.size &&
	       got->ip.data[same] == v->ip.data[same])
		same++;
	check_before(v, m, same);
	t->n++;
	if (same == v->ip.size && same == got->ip.size)
		t->harmless++;
	else if (!got->gaps)
		t->silent[m->kind]++;
	if (m->kind != TRUNCATE && !is_right_behind(v, m, got)) {
		t->late++;
		printf("late: kind %d at byte %zu, %zu bytes\n", m->kind, m->at,
		       m->shift);
	}
	free(m->bytes);
}

static void damage_ends_at_the_next_psb(void **state)
{
	const char *wish = getenv("FAULTLINE_PT_MUTATIONS");
	size_t n = wish ? strtoul(wish, NULL, 10) : FEW;
	struct listing got = {};
	struct tally t = {};

	(void)state;
	srand(20);
	for (size_t i = 0; i < n; i++) {
		struct mutation m = { .kind = i / WAYS % KINDS };

		try_one(&victims[i % WAYS], &m, &got, 1 + i / (WAYS * KINDS) % 2, &t);
	}
	printf("%zu mutations: %zu harmless; wrong without a gap: %zu flips, %zu drops, "
	       "%zu insertions; wrong beyond the next PSB: %zu\n",
	       t.n, t.harmless, t.silent[FLIP], t.silent[DROP], t.silent[INSERT], t.late);
	assert_int_equal(t.late, 0);
	// A flipped TNT bit can be a way the program might have gone, and that led to the
	// same place: PT has no checksums.
	assert_true(t.silent[FLIP] + t.silent[DROP] + t.silent[INSERT] < t.n / 10);
	vec_deinit(&got.ip);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void victim_init(struct victim *v, const struct dec_pt_options *o)
{
	struct listing l = {};

	encoding_make(&v->encoding, ls.capture, &ls.truth, o);
	v->stream = v->encoding.streams.data;
	list(&l, v, v->stream->bytes.data, v->stream->bytes.size, 1);
	assert_int_equal(l.ip.size, ls.truth.total);
	assert_int_equal(l.gaps, 0);
	v->ip.data = l.ip.data;
	v->ip.size = v->ip.capacity = l.ip.size;
}

static int record(void **state)
{
	(void)state;
	program_record(&ls, "ls", "/bin/ls /", 1);
	program_encode(&ls);
	for (int i = 0; i < WAYS; i++)
		victim_init(&victims[i], &ways[i]);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (int i = 0; i < WAYS; i++) {
		encoding_deinit(&victims[i].encoding);
		vec_deinit(&victims[i].ip);
		map_deinit(&victims[i].tails);
	}
	program_deinit(&ls);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_ends_at_the_next_psb),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
