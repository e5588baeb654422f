// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* The hash of memory that changes a little from pass to pass, judged by the plain one. */

#include <stdlib.h>

#include "decode/machine/passes.h"
#include "tests/unit.h"

enum { WORDS = CAP_SIGNATURE_STACK / 8, ROUNDS = 400, PASSES = 60 };

static uint64_t plain(const uint64_t *word, size_t n)
{
	return dec_words_hash(CAP_SIGNATURE_SEED, word, 8 * n);
}

/* Change up to three words of @p word, most often the same: as a loop does. */
static void pass(uint64_t *word, size_t n, const size_t own[3], unsigned *random)
{
	for (int i = rand_r(random) % 4; i > 0; i--) {
		size_t at = (size_t)rand_r(random) % 8 ? own[i - 1] :
							 (size_t)rand_r(random) % n;

		word[at] += (size_t)rand_r(random) % 3;
	}
}

static void as_the_plain_one(void **state)
{
	unsigned random = unit_seed();
	uint64_t word[WORDS], wanted[WORDS];
	size_t n_found = 0, n_not = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = (size_t)rand_r(&random) % WORDS + 1, own[3];
		size_t at = (size_t)rand_r(&random) % PASSES;
		struct dec_passes p = {};
		unsigned from = random;
		uint64_t hash;

		for (size_t i = 0; i < n; i++)
			word[i] = wanted[i] = i * 0x9e3779b97f4a7c15;
		for (int i = 0; i < 3; i++)
			own[i] = (size_t)rand_r(&from) % n;
		random = from;
		for (size_t i = 0; i < at; i++)
			pass(wanted, n, own, &from);
		hash = plain(wanted, n);
		for (int i = 0; i < PASSES; i++) {
			bool is_it = plain(word, n) == hash;

			assert_int_equal(dec_passes_match(&p, word, n, hash), is_it);
			n_found += is_it;
			n_not += !is_it;
			pass(word, n, own, &random);
		}
	}
	assert_true(n_found >= ROUNDS && n_not >= ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_plain_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
