// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Random numbers of which a seed makes all: Sebastiano Vigna's splitmix64.
 */
#ifndef PT_COLLECT_INPUTS_RANDOM_H
#define PT_COLLECT_INPUTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct ptc_random {
	uint64_t state; ///< at first the seed
};

static inline uint64_t ptc_random_draw(struct ptc_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t ptc_random_below(struct ptc_random *r, uint64_t n)
{
	return ptc_random_draw(r) % n;
}

static inline bool ptc_random_one_in(struct ptc_random *r, uint64_t n)
{
	return ptc_random_below(r, n) == 0;
}

/** From @p min to @p min * 2^bits, each power of two as likely as the next. */
static inline uint64_t ptc_random_scale(struct ptc_random *r, uint64_t min, unsigned bits)
{
	uint64_t base = min << ptc_random_below(r, bits);

	return base + ptc_random_below(r, base);
}

#endif
