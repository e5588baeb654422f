// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What memory held at a moment of the window: what the next access of the word behind that
 * moment found, or the last one before it left, unless stores between that went nobody knows
 * where may have hit it.
 */
#include "decode/past/recover_guess.h"

#include <string.h>

enum { COPIES = 4 }; ///< that a value is followed through

/* @return whether nothing known passes through it, for others write there, too. */
static bool line_is_common(const struct dec_recover *r, const struct past_line *l)
{
	return !r->guess.is_guessing && (l->map == DEC_MAP_SHARED || r->ran.has_company);
}

/* ---- looking ------------------------------------------------------------------------------------ */

/** What is found of 8 bytes. */
struct look {
	uint64_t v, m;	   ///< bits, and those that are known
	uint8_t want;	   ///< bytes that are still looked for
	bool is_fact;	   ///< as they were seen, whatever may have hit them since
	bool is_later;	   ///< they are looked for behind the moment, not before it
	uint8_t n_copies;  ///< that they went through on the way
	uint32_t moment;   ///< an access
	uint32_t farthest; ///< that was looked at; the number of accesses: the end
};

static bool look_bytes(struct dec_recover *r, struct look *k, uint64_t addr,
		       uint32_t *cached);

/* Bits @p m of @p v are found at access @p from. @return false: they may have been hit by
 * too many stores that went nobody knows where. */
static bool look_take(struct dec_recover *r, struct look *k, uint64_t word, uint32_t from,
		      uint64_t v, uint64_t m)
{
	struct past_bits now = {};

	m &= past_bit_mask(k->want);
	if (!m)
		return true;
	v &= m;
	if (k->is_later)
		now = (struct past_bits){ k->v | v, k->m | m };
	if (!k->is_fact && dec_recover_mem_lost(r, k->moment, from, word, now,
						r->guess.reach) > r->guess.reach) {
		r->mem.is_blocked = true;
		return false;
	}
	k->v |= v;
	k->m |= m;
	k->want &= ~past_byte_mask(m);
	k->farthest = from;
	return true;
}

/* What node @p node, of bytes at @p addr, tells of the word. @return which bits. */
static uint64_t node_part(const struct dec_recover *r, uint32_t node, uint64_t addr,
			  uint64_t word, uint64_t *v)
{
	const struct past_bytes *b;
	int64_t off = word - addr;
	uint64_t m;

	*v = 0;
	if (node == PAST_NO_NODE)
		return 0;
	if (node & PAST_VEC) {
		b = &r->bytes.data[node & ~PAST_VEC];
		if (off < 0)
			memcpy((uint8_t *)v - off, b->v, 8 + off);
		else
			memcpy(v, b->v + off, 64 - off < 8 ? 64 - off : 8);
		return past_bit_mask(off < 0 ? b->m << -off : b->m >> off);
	}
	m = r->bits.data[node].m;
	*v = r->bits.data[node].v;
	*v = off < 0 ? *v << -8 * off : *v >> 8 * off;
	return off < 0 ? m << -8 * off : m >> 8 * off;
}

/* The word is part of what access @p at wrote, or copied. @return as look_take(). */
static bool look_range(struct dec_recover *r, struct look *k, uint64_t word, uint32_t at)
{
	struct look other = { .is_fact = k->is_fact,
			      .is_later = k->is_later,
			      .n_copies = k->n_copies + 1,
			      .moment = at };
	struct past_range range;
	uint32_t cached = PAST_NO_NODE;
	uint8_t to, from;
	uint64_t v = 0;

	if (dec_recover_range_find(r, &r->ran.accesses.data[at], &range) !=
	    PAST_RANGE_SOME)
		return true;
	to = dec_recover_overlap(word, range.to, range.n);
	from = range.is_copy ? dec_recover_overlap(word, range.from, range.n) : 0;
	for (int i = 0; i < 8 && to && range.is_fill; i++)
		v |= (range.value >> 8 * ((word + i - range.to) % range.unit) & 0xff)
		     << 8 * i;
	if (!k->is_later && range.is_fill &&
	    !look_take(r, k, word, at, v, past_bit_mask(to)))
		return false;
	other.want = (k->is_later ? from : range.is_copy ? to : 0) & k->want;
	if (other.want && k->n_copies < COPIES) {
		uint64_t by = range.to - range.from;

		if (!look_bytes(r, &other, k->is_later ? word + by : word - by,
				&cached) ||
		    !look_take(r, k, word, at, other.v, other.m))
			return false;
	}
	k->want &= ~to;
	return true;
}

/* The word is part of access @p at. @return as look_take(). */
static bool look_access(struct dec_recover *r, struct look *k, uint64_t word, uint32_t at)
{
	const struct past_access *a = &r->ran.accesses.data[at];
	uint8_t m = dec_recover_overlap(word, a->addr, a->size) & k->want, left = 0;
	uint64_t v, written, known;

	if (!m)
		return true;
	// Where it went in the last round: nothing of it is used, but for what it spoils.
	if (a->placed == PAST_HINTED && a->is_write)
		k->want &= ~m;
	if (a->placed < PAST_INFERRED)
		return true;
	known = node_part(r, a->node, a->addr, word, &v) & past_bit_mask(m);
	if ((!a->is_write || !k->is_later) && !look_take(r, k, word, at, v, known))
		return false;
	if (a->is_write && a->is_masked) {
		struct past_at step = past_at(r, a->step);
		int64_t off = word - a->addr;
		uint64_t kept = dec_recover_masked(&step, &written);

		left = off < 0 ? kept << -off : kept >> off;
	}
	// A load that learned nothing of it does not learn more from what lies behind; but what
	// was seen was seen.
	if (a->is_write || !k->is_fact)
		k->want &= ~m | left;
	return true;
}

/* What the bytes wanted of a word in line @p line were. */
static void look_word(struct dec_recover *r, struct look *k, uint64_t word, uint32_t line)
{
	const struct past_line *l = &r->mem.lines.data[line];
	enum dec_recover_map map = l->map;
	struct past_walk walk;
	uint64_t end;

	memcpy(&end, l->end + (word & 63), 8);
	if (map == DEC_MAP_CONST && r->mem.sweep_at < r->ran.const_from &&
	    !r->guess.is_guessing) {
		r->mem.is_blocked = true;
		return;
	}
	if (map == DEC_MAP_CONST) {
		k->m = past_bit_mask(k->want);
		k->v = end & k->m;
		return;
	}
	if (line_is_common(r, l))
		return;
	walk = dec_recover_walk_from(r, line, word, k->moment, k->is_later);
	for (int i = 0; i < PAST_AROUND && k->want; i++) {
		uint32_t at = dec_recover_walk_next(r, &walk, k->want);

		if (at == PAST_NO_ACCESS) {
			if (k->is_later && map != DEC_MAP_NONE)
				look_take(r, k, word, r->ran.accesses.size, end,
					  UINT64_MAX);
			return;
		}
		if (!(r->ran.accesses.data[at].is_range ? look_range :
							  look_access)(r, k, word, at))
			return;
	}
}

/* The same of 8 bytes that may lie in two words. @return false: out of memory. */
static bool look_bytes(struct dec_recover *r, struct look *k, uint64_t addr,
		       uint32_t *cached)
{
	unsigned skip = addr & 7;

	for (int i = 0; i < 1 + !!skip; i++) {
		struct look part = *k;
		uint32_t other = PAST_NO_NODE;
		uint64_t word = (addr & ~7ull) + 8 * i;
		uint32_t *line = i ? &other : cached;

		part.want = i ? k->want >> (8 - skip) : k->want << skip;
		if (!part.want)
			continue;
		part.v = part.m = 0;
		if (!dec_recover_line_get(r, word, line))
			return false;
		look_word(r, &part, word, *line);
		k->v |= !i ? part.v >> 8 * skip : part.v << 8 * (8 - skip);
		k->m |= !i ? part.m >> 8 * skip : part.m << 8 * (8 - skip);
		k->farthest = part.farthest;
	}
	return true;
}

bool dec_recover_mem_read(struct dec_recover *r, uint64_t addr, unsigned n,
			  uint32_t *cached, struct past_bytes *ret)
{
	ret->m = 0;
	for (unsigned i = 0; i < n; i += 8) {
		struct look k = { .want = past_ones(n - i < 8 ? n - i : 8),
				  .is_later = r->mem.is_backward,
				  .moment = r->mem.moment };
		uint32_t other = PAST_NO_NODE;

		if (!look_bytes(r, &k, addr + i, i ? &other : cached))
			return false;
		memcpy(ret->v + i, &k.v, 8);
		ret->m |= (uint64_t)past_byte_mask(k.m) << i;
	}
	return true;
}

bool dec_recover_mem_read_bits(struct dec_recover *r, uint64_t addr, unsigned n,
			       uint32_t *cached, struct past_bits *ret)
{
	struct look k = { .want = past_ones(n),
			  .is_later = r->mem.is_backward,
			  .moment = r->mem.moment };
	bool is = look_bytes(r, &k, addr, cached);

	*ret = (struct past_bits){ k.v, k.m };
	return is;
}

bool dec_recover_mem_fact(struct dec_recover *r, uint64_t word, uint64_t *value,
			  uint32_t *seen, bool *is_clear)
{
	struct look k = { .want = 0xff,
			  .is_fact = true,
			  .is_later = r->mem.is_backward,
			  .moment = r->mem.moment };
	uint32_t cached = PAST_NO_NODE;

	if ((word & 7) || !look_bytes(r, &k, word, &cached) || k.m != UINT64_MAX ||
	    r->mem.lines.data[cached].map == DEC_MAP_CONST)
		return false;
	*value = k.v;
	*seen = k.farthest;
	*is_clear = dec_recover_mem_lost(r, k.moment, k.farthest, word,
					 r->mem.is_backward ? past_const(k.v) :
							      (struct past_bits){},
					 r->guess.is_bold) <= r->guess.is_bold;
	return true;
}

bool dec_recover_mem_seen(struct dec_recover *r, uint64_t addr, unsigned n,
			  struct past_bits *ret, bool *is_const)
{
	struct look k = { .want = past_ones(n),
			  .is_fact = true,
			  .is_later = true,
			  .moment = r->mem.moment };
	uint32_t cached = PAST_NO_NODE;

	if (!look_bytes(r, &k, addr, &cached))
		return false;
	*ret = (struct past_bits){ k.v, k.m };
	*is_const = cached != PAST_NO_NODE &&
		    r->mem.lines.data[cached].map == DEC_MAP_CONST;
	return true;
}

bool dec_recover_access_word(const struct dec_recover *r, const struct past_access *a,
			     uint64_t word, uint64_t *v)
{
	return word - a->addr + 8 <= a->size &&
	       node_part(r, a->node, a->addr, word, v) == UINT64_MAX;
}

/* ---- stores that went nobody knows where ------------------------------------------------------- */

uint32_t dec_recover_lost_between(const struct dec_recover *r, uint32_t a, uint32_t b,
				  uint32_t i)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	i = dec_recover_marks_from(&r->mem.lost, (i == PAST_NO_ACCESS ? low : i) + 1);
	return i < high ? i : PAST_NO_ACCESS;
}

uint32_t dec_recover_mem_lost(struct dec_recover *r, uint32_t a, uint32_t b,
			      uint64_t word, struct past_bits now, uint32_t most)
{
	uint32_t first = dec_recover_lost_between(r, a, b, PAST_NO_ACCESS), n = 0,
		 n_hit = 0;

	if (first == PAST_NO_ACCESS || most == UINT32_MAX)
		return 0;
	if (!r->guess.is_guessing)
		return UINT32_MAX;
	for (uint32_t i = first; i != PAST_NO_ACCESS;
	     i = dec_recover_lost_between(r, a, b, i)) {
		if (++n > PAST_LOST)
			return n;
	}
	for (uint32_t i = first; i != PAST_NO_ACCESS && n_hit <= most;
	     i = dec_recover_lost_between(r, a, b, i))
		n_hit += dec_recover_alias_may_hit(r, i, word, now);
	return n_hit;
}
