// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a class (recover_affine.h) points to, by what lies there. The position of an
 * interpreter is in no register at the end, but which operations it came to is told by the
 * jumps, and only one place of its code has them in that order; its stack lies where what was
 * pushed last is found. So: of the accesses through a class whose values are there, each word's last
 * is compared with what memory held then, for each root that may be; one must be left.
 */
#include "decode/past/recover_affine.h"

#include <stdlib.h>

#include "decode/past/recover_rules.h"

enum {
	CONTENT_ROOTS = 1024, ///< of a class without bounds: from 0 on
	CONTENT_NEAR = 16,
	CONTENT_BOUNDED = 4096, ///< more roots than that are not tried
	CONTENT_LEAST = 3,	///< words that must agree, but of what nobody writes
	CONTENT_WORDS = 64,	///< of a class that are compared
	CONTENT_LOOKS = 300000
};

/** An access through a class: at mul * root + off. */
struct content {
	uint32_t root, access;
	uint64_t mul, off;
};

struct contents {
	VEC(struct content) all;
	struct past_affine *x;
	uint64_t n_looks;
	bool is_out;
};

/* ---- accesses ----------------------------------------------------------------------------------- */

static bool contents_collect(struct contents *c)
{
	struct dec_recover *r = c->x->r;

	for (size_t i = 0; i < r->ran.accesses.size; i++) {
		const struct past_access *a = &r->ran.accesses.data[i];
		struct content *to;
		struct past_term t;

		if (a->is_range || a->mem >= PAST_BELOW || a->placed >= PAST_INFERRED ||
		    (a->node & PAST_VEC))
			continue;
		t = dec_recover_affine_address(c->x, a);
		if (!t.is_there || t.root == PAST_NO_NODE)
			continue;
		to = vec_push(&c->all);
		if (!to)
			return false;
		*to = (struct content){ t.root, i, t.mul, t.off };
	}
	return true;
}

static int content_compare(const void *a, const void *b)
{
	const struct content *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if (x->mul != y->mul)
		return x->mul < y->mul ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return (x->access > y->access) - (x->access < y->access);
}

/* ---- roots ---------------------------------------------------------------------------------------- */

/* Of the @p n accesses of a class, in order: of each word the last one whose value is there, unless a
 * store of something unknown came behind it. @return how many are left, in front. */
static size_t words_choose(const struct contents *c, struct content *at, size_t n)
{
	const struct dec_recover *r = c->x->r;
	bool is_open = true;
	size_t left = 0;

	for (size_t i = n; i-- > 0;) {
		const struct past_access *a = &r->ran.accesses.data[at[i].access];

		if (i + 1 == n || at[i].off != at[i + 1].off ||
		    at[i].mul != at[i + 1].mul)
			is_open = true;
		if (!is_open)
			continue;
		is_open = !a->is_write && r->bits.data[a->node].m != UINT64_MAX;
		if (r->bits.data[a->node].m == UINT64_MAX) {
			struct content keep = at[i];

			// From the end on, where what is passed was looked at.
			at[n - ++left] = keep;
		}
	}
	for (size_t i = 0; i < left; i++)
		at[i] = at[n - left + i];
	return left < CONTENT_WORDS ? left : CONTENT_WORDS;
}

/* How many words, but zeros, agree when the root is @p v; -1: one does not. In a table that nobody
 * writes one is worth @p of_table. */
static int words_agree(struct contents *c, const struct content *at, size_t n, uint64_t v,
		       int of_table)
{
	struct dec_recover *r = c->x->r;
	int agree = 0;

	for (size_t i = 0; i < n; i++) {
		const struct past_access *a = &r->ran.accesses.data[at[i].access];
		uint64_t addr = at[i].mul * v + at[i].off;
		struct past_bits now = r->bits.data[a->node], seen;
		bool is_const;

		r->mem.moment = at[i].access;
		r->mem.sweep_at = a->step;
		c->n_looks++;
		if (addr >= PAST_TOP - 64)
			return -1;
		if (!dec_recover_mem_seen(r, addr, a->size, &seen, &is_const)) {
			c->is_out = true;
			return -1;
		}
		if ((now.v ^ seen.v) & seen.m)
			return -1;
		if (is_all(seen, 8 * a->size) && seen.v)
			agree += is_const ? of_table : 1;
	}
	return agree;
}

/* Try the roots that a class may have. */
static void class_find(struct contents *c, const struct content *at, size_t n)
{
	uint64_t *bound = map_get(&c->x->bounds, at->root);
	const struct past_interval *in = bound ? &c->x->intervals.data[*bound] : NULL;
	bool is_bounded = in && !in->is_empty && in->n <= CONTENT_BOUNDED;
	uint64_t from = is_bounded ? in->low : 0, found = 0;
	uint64_t most = is_bounded ? in->n + 1 : CONTENT_ROOTS;
	int best = -1, next = -1;

	if ((in && !in->n) || (!is_bounded && n < CONTENT_LEAST))
		return;
	for (uint64_t i = 0; i < most && c->n_looks < CONTENT_LOOKS; i++) {
		int agree =
			words_agree(c, at, n, from + i, is_bounded ? CONTENT_LEAST : 1);

		if (agree > best) {
			next = best;
			best = agree;
			found = from + i;
		} else if (agree > next &&
			   (is_bounded || i <= 2 * found + CONTENT_NEAR)) {
			// Much farther away it is a copy of the same.
			next = agree;
		}
	}
	if (best < CONTENT_LEAST || (is_bounded ? next >= 0 : 2 * next >= best))
		return;
	dec_recover_affine_bound(c->x, at->root, found, 0);
}

bool dec_recover_affine_contents(struct past_affine *x)
{
	struct contents c = { .x = x };
	bool is = contents_collect(&c);
	size_t from = 0;

	if (is && c.all.size)
		vec_sort(&c.all, content_compare);
	x->r->mem.is_backward = true;
	for (size_t i = 0; i < c.all.size && is; i++) {
		size_t n;

		if (i + 1 < c.all.size && c.all.data[i + 1].root == c.all.data[from].root)
			continue;
		n = words_choose(&c, &c.all.data[from], i + 1 - from);
		if (n && c.n_looks < CONTENT_LOOKS)
			class_find(&c, &c.all.data[from], n);
		from = i + 1;
		is = !c.is_out;
	}
	vec_deinit(&c.all);
	return is;
}
