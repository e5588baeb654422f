// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The hash of a signature (struct cap_signature), of memory that is looked at in each pass of a loop. Private to
 * machine/. General registers alone are used: emitted code may ask while the others are the guest's.
 */
#ifndef DECODE_MACHINE_PASSES_H
#define DECODE_MACHINE_PASSES_H

#include <string.h>

#include "capture/capture.h"

/** @return the hash @p h, gone on over @p bytes bytes at @p from, a multiple of 8. */
static inline uint64_t dec_words_hash(uint64_t h, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)from + i, 8);
		h = (h ^ word) * CAP_SIGNATURE_PRIME;
	}
	return h;
}

/** Of words that are looked at again and again, and of which the same few change: what is known of them. */
struct dec_passes {
	bool is_on; ///< they were looked at
	uint32_t first,
		end; ///< those that changed lie there; none did where both are the same
	uint64_t before,
		behind; ///< the hash of those before; what it must be before those behind
	uint64_t word[CAP_SIGNATURE_STACK / 8];
};

/** @return whether the signature of @p n words at @p word is @p hash. @p p: all zeros for other words, or another hash. */
bool dec_passes_match(struct dec_passes *p, const uint64_t *word, size_t n,
		      uint64_t hash);

#endif
