// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The picture of memory that a sweep carries along: lines of 64 bytes, what is known of each
 * at this moment, and how far it can be relied on behind stores that went nobody knows where.
 */
#include "decode/dec_recover_guess.h"

#include <string.h>

/* ---- lines ------------------------------------------------------------------------------------ */

static struct rec_line *line_add(struct dec_recover *r, uint64_t addr, uint32_t *ret)
{
	struct rec_line *l = vec_push(&r->lines);

	if (!l || map_put(&r->line_at, addr, r->lines.size - 1))
		return NULL;
	*ret = r->lines.size - 1;
	l->addr = addr;
	l->map = r->end->read(r->end->ctx, addr, l->end.v, 64);
	l->end.m = l->map == DEC_MAP_NONE ? 0 : UINT64_MAX;
	return l;
}

/* @return whether only this thread writes there. */
static bool line_is_own(const struct dec_recover *r, const struct rec_line *l)
{
	return l->map != DEC_MAP_SHARED && !r->has_company;
}

/* The line of @p addr, brought up to this moment of the sweep. NULL: out of memory. */
static struct rec_line *line_get(struct dec_recover *r, uint64_t addr, uint32_t *cached)
{
	struct rec_line *l = *cached != REC_NO_NODE ? &r->lines.data[*cached] : NULL;
	uint64_t *at;

	addr &= ~63ull;
	if (!l || l->addr != addr) {
		at = map_get(&r->line_at, addr);
		if (at)
			*cached = *at;
		l = at ? &r->lines.data[*at] : line_add(r, addr, cached);
	}
	if (!l)
		return NULL;
	if (l->map == DEC_MAP_CONST && l->stamp < r->sweep_stamp) {
		l->now = l->end;
		l->stamp = r->stamp;
	}
	if (l->stamp < r->sweep_stamp) {
		l->now.m = 0;
		memset(l->seen, 0, sizeof(l->seen));
		memset(l->clear, 0, sizeof(l->clear));
		if (r->is_backward && l->map != DEC_MAP_NONE &&
		    (r->is_guessing || line_is_own(r, l)))
			l->now = l->end;
		l->stamp = r->sweep_stamp;
	}
	if (l->stamp < r->kill_stamp && l->map != DEC_MAP_CONST) {
		l->now.m = 0;
		l->stamp = r->kill_stamp;
	}
	return l;
}

/* @return how many stores went nobody knows where, and perhaps here, since word @p w of
 * @p l was last right, and before the one of number @p until; no more than interesting. */
static uint32_t word_lost(struct dec_recover *r, struct rec_line *l, unsigned w,
			  uint32_t until)
{
	uint32_t n = 0, at = l->clear[w] > l->seen[w] ? l->clear[w] : l->seen[w];
	struct rec_bits now = {};

	if (at < until && r->n_lost - at > REC_LOST)
		return r->n_lost - at;
	if (r->is_backward) {
		memcpy(&now.v, l->now.v + 8 * w, 8);
		now.m = rec_bit_mask(l->now.m >> 8 * w & 0xff);
		now.v &= now.m;
	}
	for (; at < until && n <= r->reach + 1; at++) {
		if (rec_alias_may_hit(r, at, l->addr + 8 * w, now))
			n++;
		else if (!n)
			l->clear[w] = at + 1;
	}
	return n;
}

/* @return the bytes among the @p n at @p at that few enough stores may have changed. */
static uint64_t line_reach(struct dec_recover *r, struct rec_line *l, unsigned at,
			   unsigned n)
{
	uint64_t m = 0;

	if (!r->is_guessing || l->map == DEC_MAP_CONST)
		return UINT64_MAX;
	for (unsigned w = at / 8; w <= (at + n - 1) / 8; w++)
		m |= word_lost(r, l, w, r->n_lost) <= r->reach ? 0xffull << 8 * w : 0;
	return m;
}

bool rec_mem_read(struct dec_recover *r, uint64_t addr, unsigned n, uint32_t *cached,
		  struct rec_bytes *ret)
{
	ret->m = 0;
	for (unsigned i = 0; i < n;) {
		unsigned at = (addr + i) & 63, part = 64 - at < n - i ? 64 - at : n - i;
		uint32_t other = REC_NO_NODE;
		struct rec_line *l = line_get(r, addr + i, i ? &other : cached);

		if (!l)
			return false;
		if (l->map == DEC_MAP_CONST && r->sweep_at < r->const_from &&
		    !r->is_guessing) {
			i += part;
			continue;
		}
		memcpy(ret->v + i, l->now.v + at, part);
		ret->m |= ((l->now.m & line_reach(r, l, at, part)) >> at & rec_ones(part))
			  << i;
		i += part;
	}
	return true;
}

/* Words that have been written, or read, as a whole. */
static bool note_homes(struct dec_recover *r, const struct rec_line *l, unsigned at,
		       unsigned n)
{
	for (unsigned w = (at + 7) / 8; 8 * w + 8 <= at + n; w++) {
		uint64_t v;

		memcpy(&v, l->now.v + 8 * w, 8);
		if ((l->now.m >> 8 * w & 0xff) == 0xff &&
		    !rec_home_note(r, l->addr + 8 * w, v))
			return false;
	}
	return true;
}

bool rec_mem_write(struct dec_recover *r, uint64_t addr, unsigned n, uint32_t *cached,
		   const struct rec_bytes *b, bool is_more)
{
	for (unsigned i = 0; i < n;) {
		unsigned at = (addr + i) & 63, part = 64 - at < n - i ? 64 - at : n - i;
		uint32_t other = REC_NO_NODE;
		struct rec_line *l = line_get(r, addr + i, i ? &other : cached);
		uint64_t m = b->m >> i & rec_ones(part);

		if (!l)
			return false;
		if (!r->is_guessing && !line_is_own(r, l))
			m = 0;
		if (l->map != DEC_MAP_CONST) {
			if (!is_more)
				l->now.m &= ~(rec_ones(part) << at);
			for (uint64_t left = m; left; left &= left - 1) {
				unsigned k = __builtin_ctzll(left);

				l->now.v[at + k] = b->v[i + k];
			}
			l->now.m |= m << at;
			for (unsigned w = at / 8; m && w <= (at + part - 1) / 8; w++)
				l->seen[w] = r->n_lost;
			if (r->is_guessing && !note_homes(r, l, at, part))
				return false;
		}
		i += part;
	}
	return true;
}

bool rec_mem_forget(struct dec_recover *r, uint64_t addr, uint64_t n)
{
	static const struct rec_bytes nothing;

	for (uint64_t i = 0; i < n;) {
		uint64_t part = 64 - ((addr + i) & 63);
		uint32_t cached = REC_NO_NODE;

		if (part > n - i)
			part = n - i;
		if (!rec_mem_write(r, addr + i, part, &cached, &nothing, false))
			return false;
		i += part;
	}
	return true;
}

/* A store may have gone anywhere. */
void rec_mem_kill(struct dec_recover *r, uint32_t access)
{
	r->lost[r->n_lost++ % REC_LOST] = access;
	r->lost_found <<= 1;
	if (!r->is_guessing)
		r->kill_stamp = ++r->stamp;
}

bool rec_mem_fact(struct dec_recover *r, uint64_t word, uint64_t *value, uint32_t *seen,
		  bool *is_clear)
{
	uint32_t cached = REC_NO_NODE;
	struct rec_line *l = line_get(r, word, &cached);
	unsigned at = word & 63;

	if (!l || (at & 7) || l->map == DEC_MAP_CONST || (l->now.m >> at & 0xff) != 0xff)
		return false;
	memcpy(value, l->now.v + at, 8);
	*seen = l->seen[at / 8];
	*is_clear = word_lost(r, l, at / 8, r->n_lost) <= r->is_bold;
	return true;
}

bool rec_store_late(struct dec_recover *r, struct rec_access *a, uint32_t number)
{
	struct rec_at at = rec_at(r, a->step);
	unsigned n = at.form->insn.mem[a->mem].size;
	struct rec_bytes b;

	rec_access_place(r, a);
	if (a->placed < REC_INFERRED || at.form->is_bulk ||
	    at.form->kind == REC_MASKED_STORE)
		return false;
	rec_read_bytes(r, at.ref[a->slot], &b);
	for (unsigned i = 0; i < n; i++) {
		uint32_t cached = REC_NO_NODE;
		struct rec_line *l = line_get(r, a->addr + i, &cached);
		unsigned k = (a->addr + i) & 63;

		// What was seen behind it in this sweep has nothing to do with it.
		if (!l || l->map == DEC_MAP_CONST || l->seen[k / 8] > number)
			continue;
		if (r->is_backward && l->now.m >> k & 1 &&
		    word_lost(r, l, k / 8, number) <= r->reach) {
			b.v[i] = l->now.v[k];
			b.m |= 1ull << i;
		}
		l->now.m &= ~(1ull << k);
		if (!r->is_backward && b.m >> i & 1) {
			l->now.v[k] = b.v[i];
			l->now.m |= 1ull << k;
		}
	}
	if (r->is_backward)
		rec_learn_bytes(r, at.ref[a->slot], &b);
	return true;
}
