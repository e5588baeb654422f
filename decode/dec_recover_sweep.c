// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A sweep goes through all accesses, a stretch at a time. Where one operation of a list has
 * to be undone before the one ahead of it, what a sweep finds tells addresses of accesses
 * that it has just passed. So it goes back to them as soon as a stretch is done; what each
 * stretch changed in the picture of memory was kept, so that it is again as it was there.
 * After stretch n it may go back twice as far as the power of 2 that divides n: often a
 * little, seldom a long way.
 */
#include "decode/dec_recover_guess.h"

#include <stdlib.h>
#include <string.h>

enum { SWEEP_STRETCH = 256 };

/** A line before a stretch changed it. */
struct rec_undo {
	uint32_t line;
	struct rec_line before;
};

/** The sweep where a stretch begins. */
struct rec_mark {
	size_t n_undo;
	uint64_t lost_found;
	uint32_t n_lost;
	uint32_t lost[REC_LOST];
};

struct rec_sweep {
	VEC(struct rec_undo) undo;
	VEC(struct rec_mark) marks; ///< by stretch, as the sweep comes to them
	uint64_t number;	    ///< of stretches gone through, ever
	uint8_t *is_new;	    ///< by stretch: an address was found there
	bool keeps;		    ///< lines before they are changed
};

struct err *rec_sweep_create(struct dec_recover *r)
{
	struct rec_sweep *s = calloc(1, sizeof(*s));

	r->sweep = s;
	if (!s)
		return &err_nomem;
	s->is_new = calloc(r->accesses.size / SWEEP_STRETCH + 1, 1);
	return s->is_new ? NULL : &err_nomem;
}

void rec_sweep_destroy(struct rec_sweep *s)
{
	if (!s)
		return;
	vec_deinit(&s->undo);
	vec_deinit(&s->marks);
	free(s->is_new);
	free(s);
}

bool rec_sweep_keep(struct dec_recover *r, struct rec_line *l)
{
	struct rec_sweep *s = r->sweep;
	struct rec_undo *u;

	if (!s->keeps || l->kept == s->number)
		return true;
	l->kept = s->number;
	u = vec_push(&s->undo);
	if (!u)
		return false;
	u->line = l - r->lines.data;
	u->before = *l;
	return true;
}

void rec_sweep_look(struct dec_recover *r, uint32_t step)
{
	for (size_t i = r->steps.data[step].access;
	     i < r->accesses.size && r->accesses.data[i].step == step; i++) {
		struct rec_access *a = &r->accesses.data[i];

		if (a->placed >= REC_INFERRED)
			continue;
		rec_access_place(r, a);
		if (a->placed >= REC_INFERRED)
			r->sweep->is_new[i / SWEEP_STRETCH] = 1;
	}
}

static bool mark_set(struct dec_recover *r, size_t n)
{
	struct rec_sweep *s = r->sweep;
	struct rec_mark *m;

	s->marks.size = n;
	m = vec_push(&s->marks);
	if (!m)
		return false;
	m->n_undo = s->undo.size;
	m->n_lost = r->n_lost;
	m->lost_found = r->lost_found;
	memcpy(m->lost, r->lost, sizeof(m->lost));
	s->number++;
	return true;
}

static void mark_return(struct dec_recover *r, size_t n)
{
	struct rec_sweep *s = r->sweep;
	const struct rec_mark *m = &s->marks.data[n];

	while (s->undo.size > m->n_undo) {
		const struct rec_undo *u = &s->undo.data[--s->undo.size];

		r->lines.data[u->line] = u->before;
	}
	r->n_lost = m->n_lost;
	r->lost_found = m->lost_found;
	memcpy(r->lost, m->lost, sizeof(m->lost));
}

/* Stretch @p n of @p count of the sweep is done. @return the next one. */
static size_t stretch_next(struct dec_recover *r, size_t n, size_t count)
{
	struct rec_sweep *s = r->sweep;
	size_t done = n + 1, far = done == count ? count : 2 * (done & -done);

	if (!s->keeps)
		return done;
	for (size_t k = done > far ? done - far : 0; k < done; k++) {
		if (s->is_new[r->is_backward ? count - 1 - k : k]) {
			mark_return(r, k);
			return k;
		}
	}
	return done;
}

static bool stretch_apply(struct dec_recover *r, size_t stretch)
{
	size_t from = stretch * SWEEP_STRETCH, n = r->accesses.size - from;

	if (n > SWEEP_STRETCH)
		n = SWEEP_STRETCH;
	r->sweep->is_new[stretch] = 0;
	for (size_t i = 0; i < n; i++) {
		struct rec_access *a =
			&r->accesses.data[r->is_backward ? from + n - 1 - i : from + i];

		r->sweep_at = a->step;
		if (!rec_access_apply(r, a))
			return false;
	}
	return true;
}

struct err *rec_sweep(struct dec_recover *r, bool is_backward)
{
	size_t count = (r->accesses.size + SWEEP_STRETCH - 1) / SWEEP_STRETCH;

	r->is_backward = is_backward;
	r->sweep_stamp = ++r->stamp;
	r->kill_stamp = 0;
	r->n_lost = 0;
	r->lost_found = 0;
	// Bolder guesses are not followed up at once: what they miss would be believed.
	r->sweep->keeps = r->is_guessing && !r->is_mining &&
			  r->least_may == REC_MAY_PERHAPS;
	r->sweep->undo.size = 0;
	if (r->is_guessing && !rec_homes_begin(r))
		return &err_nomem;
	r->stats.sweeps++;
	rec_calls_look(r);
	for (size_t n = 0; n < count; n = stretch_next(r, n, count)) {
		if (!mark_set(r, n) || !stretch_apply(r, is_backward ? count - 1 - n : n))
			return &err_nomem;
	}
	return NULL;
}
