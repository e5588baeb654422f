// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A sweep goes through the accesses, in time's direction or against it, and lets each learn
 * from memory. Only those are looked at that may find something new: of whose step, or of
 * whose neighbour at the same word, more is known since (*dirty*), and those that stores
 * stand before of which nobody knows where they went (*stuck*).
 */
#include "decode/past/recover_guess.h"

/* Backward sweeps in a row, and how little makes another not worth it. */
enum { RECOVER_BACKWARD = 8, RECOVER_FEW = 64 };

enum { RECOVER_NEAR = 16 }; ///< accesses

struct err *dec_recover_sweep_create(struct dec_recover *r)
{
	uint32_t n = r->ran.accesses.size;

	if (!dec_recover_marks_init(&r->mem.lost, n))
		return &err_nomem;
	for (int i = 0; i < 2; i++) {
		if (!dec_recover_marks_init(&r->mem.dirty[i], n) ||
		    !dec_recover_marks_init(&r->mem.stuck[i], n))
			return &err_nomem;
	}
	for (size_t i = 0; i < n; i++) {
		struct past_access *a = &r->ran.accesses.data[i];

		if (a->mem == PAST_TOLD && !dec_recover_mem_list(r, a))
			return &err_nomem;
	}
	dec_recover_sweep_restart(r);
	return NULL;
}

void dec_recover_sweep_destroy(struct dec_recover *r)
{
	dec_recover_marks_deinit(&r->mem.lost);
	for (int i = 0; i < 2; i++) {
		dec_recover_marks_deinit(&r->mem.dirty[i]);
		dec_recover_marks_deinit(&r->mem.stuck[i]);
	}
	for (size_t i = 0; i < r->mem.lines.size; i++) {
		for (int w = 0; w < 8 * PAST_PARTS; w++)
			free(r->mem.lines.data[i]
				     .words[w / PAST_PARTS]
				     .parts[w % PAST_PARTS]
				     .at);
	}
	for (size_t i = 0; i < r->mem.pages.size; i++)
		free(r->mem.pages.data[i].ranges.at);
	vec_deinit(&r->mem.lines);
	map_deinit(&r->mem.line_at);
	vec_deinit(&r->mem.pages);
	map_deinit(&r->mem.page_at);
}

void dec_recover_sweep_restart(struct dec_recover *r)
{
	struct past_range range;

	dec_recover_marks_fill(&r->mem.lost, false);
	for (int i = 0; i < 2; i++) {
		dec_recover_marks_fill(&r->mem.dirty[i], true);
		dec_recover_marks_fill(&r->mem.stuck[i], false);
	}
	for (size_t i = 0; i < r->ran.accesses.size; i++) {
		struct past_access *a = &r->ran.accesses.data[i];

		a->n_known = 0;
		if (a->is_range ?
			    dec_recover_range_find(r, a, &range) == PAST_RANGE_UNKNOWN :
			    a->is_write && a->placed < PAST_HINTED)
			past_marks_add(&r->mem.lost, i);
	}
}

void dec_recover_sweep_stir(struct dec_recover *r, uint32_t step, uint32_t node)
{
	for (size_t i = r->ran.steps.data[step].access;
	     i < r->ran.accesses.size && r->ran.accesses.data[i].step == step; i++) {
		struct past_access *a = &r->ran.accesses.data[i];

		if (a->placed < PAST_INFERRED && !a->is_range)
			dec_recover_access_place(r, a);
		else if (a->node != node && !a->is_range && !a->is_masked)
			continue;
		past_marks_add(&r->mem.dirty[0], i);
		past_marks_add(&r->mem.dirty[1], i);
	}
}

/* How much is known of an access: bits, of a vector bytes. */
static unsigned n_known(const struct dec_recover *r, const struct past_access *a)
{
	if (a->placed < PAST_INFERRED || a->is_range)
		return 0;
	if (a->node & PAST_VEC)
		return __builtin_popcountll(r->bytes.data[a->node & ~PAST_VEC].m &
					    past_ones(a->size));
	return __builtin_popcountll(r->bits.data[a->node].m & past_ones(8 * a->size));
}

/* If more is known of access @p i, those who learn from it are told. */
static bool access_tell(struct dec_recover *r, uint32_t i)
{
	struct past_access *a = &r->ran.accesses.data[i];
	unsigned known = n_known(r, a);

	if (known <= a->n_known)
		return !r->is_out;
	a->n_known = known;
	dec_recover_mem_spread(r, i, a->addr, a->size, true);
	if (!a->is_write)
		dec_recover_mem_spread(r, i, a->addr, a->size, false);
	return !r->is_out && (!r->guess.is_guessing || dec_recover_homes_note(r, i));
}

static bool access_visit(struct dec_recover *r, uint32_t i)
{
	struct past_access *a = &r->ran.accesses.data[i];
	unsigned known;

	r->mem.moment = i;
	r->mem.sweep_at = a->step;
	r->mem.is_blocked = r->mem.is_open = false;
	if (!dec_recover_access_apply(r, a))
		return false;
	known = n_known(r, a);
	if (r->mem.is_open ||
	    (r->mem.is_blocked && known < (a->node & PAST_VEC ? a->size : 8u * a->size)))
		past_marks_add(&r->mem.stuck[r->mem.is_backward], i);
	else
		past_marks_remove(&r->mem.stuck[r->mem.is_backward], i);
	// What passes by it depends on its mask.
	if (a->is_masked && a->placed >= PAST_INFERRED)
		dec_recover_mem_spread(r, i, a->addr, a->size, !r->mem.is_backward);
	return access_tell(r, i);
}

/* What access @p i told may tell more of those that a backward sweep has just come past, and
 * that more of this one: two loads of a word whose values are mixed (x ^ x << 5) find it bit
 * by bit from each other. */
static bool tell_back(struct dec_recover *r, uint32_t i)
{
	const struct past_marks *dirty = &r->mem.dirty[true];
	bool is = true;

	for (uint32_t near = dec_recover_marks_from(dirty, i + 1);
	     near != PAST_NO_ACCESS && near - i <= RECOVER_NEAR && is;
	     near = dec_recover_marks_from(dirty, near + 1))
		is = r->ran.accesses.data[near].is_write || access_tell(r, near);
	return is;
}

static struct err *sweep(struct dec_recover *r, bool is_backward)
{
	struct past_marks *dirty = &r->mem.dirty[is_backward];
	uint32_t i = is_backward ? r->ran.accesses.size : 0;

	r->mem.is_backward = is_backward;
	r->stats.sweeps++;
	dec_recover_calls_look(r);
	dec_recover_marks_join(dirty, &r->mem.stuck[is_backward]);
	if (r->mem.is_plain)
		dec_recover_marks_fill(dirty, true);
	for (;;) {
		// Once more the same one, if there is more now to learn.
		i = is_backward ?
			    dec_recover_marks_before(dirty,
						     i + (i < r->ran.accesses.size)) :
			    dec_recover_marks_from(dirty, i);
		if (i == PAST_NO_ACCESS)
			return NULL;
		past_marks_remove(dirty, i);
		if (!access_visit(r, i) || (is_backward && !tell_back(r, i)))
			return &err_nomem;
	}
}

struct err *dec_recover_settle_memory(struct dec_recover *r)
{
	struct err *err = NULL;
	uint64_t before, found;

	dec_recover_settle(r);
	do {
		before = r->n_changes;
		// Where one thing leads to another backward, the other way need not be gone
		// each time.
		for (int n = 0; n < RECOVER_BACKWARD && !err; n++) {
			found = r->n_changes;
			err = sweep(r, true);
			dec_recover_settle(r);
			if (!r->guess.is_guessing || r->n_changes - found <= RECOVER_FEW)
				break;
		}
		if (!err)
			err = sweep(r, false);
		dec_recover_settle(r);
	} while (!err && (r->n_changes != before ||
			  dec_recover_marks_from(&r->mem.dirty[0], 0) != PAST_NO_ACCESS ||
			  dec_recover_marks_from(&r->mem.dirty[1], 0) != PAST_NO_ACCESS));
	return err;
}

struct err *dec_recover_sweep_mine(struct dec_recover *r)
{
	dec_recover_mirrors_begin(r);
	r->mem.is_backward = true;
	for (size_t i = r->ran.accesses.size; i-- > 0;) {
		const struct past_access *a = &r->ran.accesses.data[i];

		r->mem.moment = i;
		r->mem.sweep_at = a->step;
		if (a->placed >= PAST_INFERRED && !a->is_write && !a->is_range &&
		    a->mem != PAST_TOLD)
			dec_recover_mirror_apply(r, a);
	}
	dec_recover_mirrors_end(r);
	return NULL;
}
