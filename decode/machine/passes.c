// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/passes.h"

/* What dec_words_hash() had before it went over @p word, @p n of them, if it made @p h of that: the prime is odd. */
static uint64_t unhash_words(uint64_t h, const uint64_t *word, size_t n)
{
	uint64_t inverse = CAP_SIGNATURE_PRIME;

	for (int bits = 3; bits < 64;
	     bits *= 2) // Newton's way; it begins with so many that are right
		inverse *= 2 - CAP_SIGNATURE_PRIME * inverse;
	while (n)
		h = (h * inverse) ^ word[--n];
	return h;
}

static bool is_same(const uint64_t *a, const uint64_t *b, size_t n)
{
	uint64_t odd = n % 2 ? a[n - 1] ^ b[n - 1] : 0,
		 even = 0; // neither waits for the other

#pragma GCC unroll 8
	for (size_t i = 1; i < n; i += 2) {
		even |= a[i - 1] ^ b[i - 1];
		odd |= a[i] ^ b[i];
	}
	return !(odd | even);
}

bool dec_passes_match(struct dec_passes *p, const uint64_t *word, size_t n, uint64_t hash)
{
	bool is_new = !p->is_on;

	if (is_new) {
		for (size_t i = 0; i < n; i++)
			p->word[i] = word[i];
		p->first = p->end = 0;
		p->is_on = true;
	}
	if (is_new || !is_same(word, p->word, p->first) ||
	    !is_same(word + p->end, p->word + p->end, n - p->end)) {
		for (size_t i = 0; i < n; i++) {
			if (word[i] == p->word[i])
				continue;
			if (p->first == p->end || i < p->first)
				p->first = i;
			if (p->end <= i)
				p->end = i + 1;
		}
		p->before = dec_words_hash(CAP_SIGNATURE_SEED, p->word, 8 * p->first);
		p->behind = unhash_words(hash, p->word + p->end, n - p->end);
	}
	return dec_words_hash(p->before, word + p->first, 8 * (p->end - p->first)) ==
	       p->behind;
}
