// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Damaged PT streams: decoding ends, says so, and is right again from the next PSB on.
 */

#include "tests/decode/pt_program.h"

static struct program ls;

static int record(void **state)
{
	(void)state;
	program_record(&ls, "ls", "/bin/ls /", 1);
	program_encode(&ls);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	program_deinit(&ls);
	return 0;
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
	struct stream *s = ls.encoding[0].streams.data;
	size_t n = s->bytes.size, silent[3] = {}, harmless = 0, late = 0;
	uint8_t *copy = malloc(n);
	struct listing want = {}, got = {};
	struct map memo = {};

	(void)state;
	srand(20);
	assert_non_null(copy);
	list(&want, &s->image, s->bytes.data, n);
	assert_int_equal(want.ip.size, ls.truth.total);
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
	       "drops; wrong beyond the next PSB: %zu\n",
	       MUTATIONS, n, harmless, silent[FLIP], silent[DROP], late);
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
		cmocka_unit_test(damage_ends_at_the_next_psb),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
