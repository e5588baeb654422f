// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Sets of accesses for dec_recover, by index, which is time. *Marks* are a set out of all
 * of the window's, a bit for each, and a bit for each 64 of those: next, previous and count are quick
 * however few there are. A *chain* is a sorted list with room at both ends: a sweep, in either direction,
 * adds to it in order, and so for nothing.
 */
#ifndef DECODE_PAST_RECOVER_SET_H
#define DECODE_PAST_RECOVER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAST_NO_ACCESS UINT32_MAX

struct past_marks {
	uint64_t *bits, *groups; ///< one allocation
	uint32_t n;		 ///< indexes are below
};

/** An empty set of up to @p n. @return false: out of memory. */
bool dec_recover_marks_init(struct past_marks *m, uint32_t n);
void dec_recover_marks_deinit(struct past_marks *m);

/** All, or none. */
void dec_recover_marks_fill(struct past_marks *m, bool is_in);

/** Add those of @p other, a set of as many. */
void dec_recover_marks_join(struct past_marks *m, const struct past_marks *other);

static inline void past_marks_add(struct past_marks *m, uint32_t i)
{
	m->bits[i / 64] |= 1ull << i % 64;
	m->groups[i / 4096] |= 1ull << i / 64 % 64;
}

static inline void past_marks_remove(struct past_marks *m, uint32_t i)
{
	m->bits[i / 64] &= ~(1ull << i % 64);
	if (!m->bits[i / 64])
		m->groups[i / 4096] &= ~(1ull << i / 64 % 64);
}

/** @return the first one from @p i on, or the last one before @p i; PAST_NO_ACCESS: none. */
uint32_t dec_recover_marks_from(const struct past_marks *m, uint32_t i);
uint32_t dec_recover_marks_before(const struct past_marks *m, uint32_t i);

struct past_chain {
	uint32_t *at;
	uint32_t begin, size, capacity;
};

/** Add @p i, if it is not there. @return false: out of memory. */
bool dec_recover_chain_add(struct past_chain *c, uint32_t i);

/** @return how many are below @p i. */
uint32_t dec_recover_chain_rank(const struct past_chain *c, uint32_t i);

#endif
