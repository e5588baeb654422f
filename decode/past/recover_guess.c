// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Guesses, in rounds. In a round, the safest come first: in stage 0 nothing is read but what no store
 * can have hit, and no place is guessed. Then that no store went where nothing
 * goes otherwise, then that it went to few of the words where it may have gone, then to none. Each address that
 * is found that way makes the next guess safer. Then all is forgotten but where that led,
 * and done again, until a round ends as the one before.
 */
#include "decode/past/recover_guess.h"

#include <stdlib.h>
#include <string.h>

enum { RECOVER_ROUNDS = 8 };

void dec_recover_refute(struct dec_recover *r, uint32_t node)
{
	uint32_t i = node & PAST_VEC ? r->bits.size + (node & ~PAST_VEC) : node;

	r->is_doubtful[i] = 1;
	dec_recover_assumed_conflict(r, node);
}

static struct err *remember_known(struct dec_recover *r)
{
	r->known_bits = malloc((r->bits.size + 1) * sizeof(uint64_t));
	r->known_bytes = malloc((r->bytes.size + 1) * sizeof(uint64_t));
	r->is_doubtful = calloc(r->bits.size + r->bytes.size + 1, 1);
	if (!r->known_bits || !r->known_bytes || !r->is_doubtful)
		return &err_nomem;
	for (size_t i = 0; i < r->bits.size; i++)
		r->known_bits[i] = r->bits.data[i].m;
	for (size_t i = 0; i < r->bytes.size; i++)
		r->known_bytes[i] = r->bytes.data[i].m;
	return NULL;
}

/* Forget all guesses but where they led. */
static void forget_guesses(struct dec_recover *r)
{
	for (size_t i = 0; i < r->bits.size; i++) {
		r->bits.data[i].m = r->known_bits[i];
		r->bits.data[i].v &= r->known_bits[i];
	}
	for (size_t i = 0; i < r->bytes.size; i++)
		r->bytes.data[i].m = r->known_bytes[i];
	for (size_t i = 0; i < r->ran.accesses.size; i++) {
		if (r->ran.accesses.data[i].placed == PAST_INFERRED)
			r->ran.accesses.data[i].placed = PAST_HINTED;
	}
}

/* @return the number of accesses that have a place, and drop hints that led nowhere. */
static uint64_t count_placed(struct dec_recover *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->ran.accesses.size; i++) {
		struct past_access *a = &r->ran.accesses.data[i];

		if (a->placed == PAST_HINTED)
			a->placed = PAST_UNPLACED;
		n += a->placed >= PAST_INFERRED;
	}
	return n;
}

/* @return whether nothing is left to guess about. */
static bool is_complete(const struct dec_recover *r)
{
	return dec_recover_marks_from(&r->mem.lost, 0) == PAST_NO_ACCESS &&
	       !vec_find(&r->ran.accesses, a, a->placed == PAST_HINTED);
}

/* Find out which loads have mirrors, and what follows. */
static struct err *recover_mirrors(struct dec_recover *r)
{
	struct err *err = dec_recover_sweep_mine(r);

	return err ?: dec_recover_settle_memory(r);
}

/* Guess, until a round finds nothing that the one before it did not expect. */
static struct err *guess_rounds(struct dec_recover *r)
{
	static const uint32_t reach[] = { 0, 0, 0, 0, 0, 1, 4, 16, UINT32_MAX };
	struct err *err = NULL;
	uint64_t placed = 0, before;

	r->guess.is_guessing = true;
	for (int round = 0; round < RECOVER_ROUNDS && !err; round++) {
		if (round)
			forget_guesses(r);
		dec_recover_sweep_restart(r);
		if (!dec_recover_bases_begin(r) || !dec_recover_homes_begin(r))
			return &err_nomem;
		memset(r->is_doubtful, 0, r->bits.size + r->bytes.size);
		for (size_t i = 0; i < r->ran.ties.size; i++)
			dec_recover_wake(r, r->ran.ties.data[i].step);
		r->n_conflicts = 0;
		for (size_t i = 0; i < sizeof(reach) / sizeof(*reach) && !err; i++) {
			r->guess.reach = reach[i];
			r->guess.stage = i;
			dec_recover_assume_again(r);
			r->guess.is_bold = i >= 4;
			r->guess.least_may_element = i >= 3 ? PAST_MAY_YES :
							      PAST_MAY_PERHAPS;
			r->guess.least_may = i >= 2 ? PAST_MAY_YES : PAST_MAY_PERHAPS;
			err = dec_recover_settle_memory(r)	  ?:
				      dec_recover_frames_apply(r) ?:
				      dec_recover_bounds_apply(r) ?:
								    recover_mirrors(r);
			if (is_complete(r))
				break;
		}
		before = placed;
		placed = count_placed(r);
		r->stats.rounds++;
		r->stats.conflicts = r->n_conflicts;
		// What a few accesses more would tell is not worth a round.
		if (round && (placed > before ? placed - before : before - placed) <=
				     r->ran.accesses.size / 2000)
			break;
	}
	r->stats.accesses_placed = placed;
	return err;
}

struct err *dec_recover_guess(struct dec_recover *r)
{
	struct err *err = remember_known(r);

	if (!err)
		err = dec_recover_heap_build(r);
	return err ?: guess_rounds(r);
}
