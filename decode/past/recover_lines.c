// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Who touched which words: each word lists its accesses, in time's order. Accesses of any
 * number of bytes (rep movs, system calls) are listed by page, where it is large.
 */
#include "decode/past/recover_mem.h"

enum { PAGE = 4096, RANGE_SMALL = 1024 };

/* ---- lines ------------------------------------------------------------------------------------ */

static struct past_page *page_get(struct dec_recover *r, uint64_t addr, uint32_t *ret)
{
	uint64_t *at = map_get(&r->mem.page_at, addr / PAGE);
	struct past_page *p = at ? &r->mem.pages.data[*at] : vec_push(&r->mem.pages);

	if (!p || (!at && map_put(&r->mem.page_at, addr / PAGE, r->mem.pages.size - 1)))
		return NULL;
	*ret = p - r->mem.pages.data;
	return p;
}

static struct past_line *line_add(struct dec_recover *r, uint64_t addr, uint32_t *ret)
{
	struct past_line *l = vec_push(&r->mem.lines);

	if (!l || !page_get(r, addr, &l->page) ||
	    map_put(&r->mem.line_at, addr, r->mem.lines.size - 1))
		return NULL;
	*ret = r->mem.lines.size - 1;
	l->addr = addr;
	l->map = r->mem.end->read(r->mem.end->ctx, addr, l->end, 64);
	return l;
}

struct past_line *dec_recover_line_get(struct dec_recover *r, uint64_t addr,
				       uint32_t *cached)
{
	struct past_line *l = *cached != PAST_NO_NODE ? &r->mem.lines.data[*cached] :
							NULL;
	uint64_t *at;

	addr &= ~63ull;
	if (l && l->addr == addr)
		return l;
	at = map_get(&r->mem.line_at, addr);
	if (at)
		*cached = *at;
	return at ? &r->mem.lines.data[*at] : line_add(r, addr, cached);
}

/* Access @p access touches the words of [addr, addr+n). */
static bool words_list(struct dec_recover *r, uint32_t access, uint64_t addr, uint64_t n,
		       uint32_t *cached)
{
	uint32_t other = PAST_NO_NODE;

	for (uint64_t word = addr & ~7ull; word < addr + n; word += 8) {
		struct past_line *l =
			dec_recover_line_get(r, word, word <= addr ? cached : &other);

		uint8_t m = dec_recover_overlap(word, addr, n);
		int part = !(m & 0xf0) ? 1 : !(m & 0x0f) ? 2 : 0;

		if (!l ||
		    (l->map != DEC_MAP_CONST &&
		     !dec_recover_chain_add(&l->words[word / 8 % 8].parts[part], access)))
			return false;
	}
	return true;
}

bool dec_recover_mem_list(struct dec_recover *r, struct past_access *a)
{
	return words_list(r, a - r->ran.accesses.data, a->addr, a->size, &a->line);
}

bool dec_recover_mem_list_range(struct dec_recover *r, uint32_t access, uint64_t addr,
				uint64_t n)
{
	uint32_t cached = PAST_NO_NODE;

	if (n <= RANGE_SMALL)
		return words_list(r, access, addr, n, &cached);
	for (uint64_t page = addr / PAGE; n && page <= (addr + n - 1) / PAGE; page++) {
		uint32_t at;
		struct past_page *p = page_get(r, page * PAGE, &at);

		if (!p || !dec_recover_chain_add(&p->ranges, access))
			return false;
	}
	return true;
}

/* ---- a word's accesses ------------------------------------------------------------------------ */

/* The bytes of a word that each of its chains is about; all have the page's. */
static const uint8_t part_bytes[PAST_PARTS + 1] = { 0xff, 0x0f, 0xf0, 0xff };

static const struct past_chain *walk_chain(const struct dec_recover *r,
					   const struct past_walk *k, int i)
{
	return i == PAST_PARTS ? &r->mem.pages.data[k->page].ranges :
				 &r->mem.lines.data[k->line].words[k->word].parts[i];
}

struct past_walk dec_recover_walk_from(const struct dec_recover *r, uint32_t line,
				       uint64_t word, uint32_t moment, bool is_later)
{
	struct past_walk k = { .line = line,
			       .page = r->mem.lines.data[line].page,
			       .word = word / 8 % 8,
			       .is_later = is_later };

	for (int i = 0; i <= PAST_PARTS; i++) {
		const struct past_chain *c = walk_chain(r, &k, i);

		k.left[i] = dec_recover_chain_rank(c, moment + is_later);
		if (is_later)
			k.left[i] = c->size - k.left[i];
	}
	return k;
}

uint32_t dec_recover_walk_next(const struct dec_recover *r, struct past_walk *k,
			       uint8_t want)
{
	uint32_t best = PAST_NO_ACCESS;
	int from = 0;

	for (int i = 0; i <= PAST_PARTS; i++) {
		const struct past_chain *c;
		uint32_t at;

		if (!k->left[i] || !(part_bytes[i] & want))
			continue;
		c = walk_chain(r, k, i);
		at = c->at[c->begin +
			   (k->is_later ? c->size - k->left[i] : k->left[i] - 1)];
		if (best != PAST_NO_ACCESS && (at < best) != k->is_later)
			continue;
		best = at;
		from = i;
	}
	k->left[from] -= best != PAST_NO_ACCESS;
	return best;
}

uint8_t dec_recover_overlap(uint64_t word, uint64_t addr, uint64_t n)
{
	uint64_t skip = addr > word ? addr - word : 0;
	uint64_t end = addr + n > word ? addr + n - word : 0;

	if (skip >= 8 || !end || addr + n <= word)
		return 0;
	return (0xff << skip) & (end >= 8 ? 0xff : (1 << end) - 1);
}

/* ---- who learns from whom ----------------------------------------------------------------------- */

/* The same of access @p at, a range. @return the bytes that are known beyond it, too. */
static uint8_t spread_range(struct dec_recover *r, uint32_t at, uint64_t word,
			    uint8_t left, bool is_later)
{
	struct past_range range;
	uint8_t to, from;

	if (dec_recover_range_find(r, &r->ran.accesses.data[at], &range) !=
	    PAST_RANGE_SOME)
		return left;
	to = dec_recover_overlap(word, range.to, range.n) & left;
	from = range.is_copy ? dec_recover_overlap(word, range.from, range.n) & left : 0;
	if (to || from)
		past_marks_add(&r->mem.dirty[!is_later], at);
	return left & ~to;
}

/* Bytes @p left of a word are known of access @p from: who looks for them, in one direction,
 * is to look again. */
static void spread_word(struct dec_recover *r, uint32_t from, uint32_t line,
			uint64_t word, uint8_t left, bool is_later)
{
	struct past_walk walk = dec_recover_walk_from(r, line, word, from, is_later);

	for (int i = 0; i < PAST_AROUND && left; i++) {
		uint32_t at = dec_recover_walk_next(r, &walk, left);
		const struct past_access *a;
		uint8_t m;

		if (at == PAST_NO_ACCESS)
			return;
		a = &r->ran.accesses.data[at];
		if (a->is_range) {
			left = spread_range(r, at, word, left, is_later);
			continue;
		}
		m = dec_recover_overlap(word, a->addr, a->size) & left;
		if (!m || (a->placed < PAST_INFERRED && !a->is_write) || !a->placed)
			continue;
		if (!a->is_write || !is_later)
			past_marks_add(&r->mem.dirty[!is_later], at);
		if (!a->is_write || !a->is_masked)
			left &= ~m;
	}
}

void dec_recover_mem_spread(struct dec_recover *r, uint32_t from, uint64_t addr,
			    uint64_t n, bool is_later)
{
	uint64_t word = addr & ~7ull;

	while (word < addr + n) {
		uint64_t *at = map_get(&r->mem.line_at, word & ~63ull);

		if (!at) {
			word = (word & ~63ull) + 64;
			continue;
		}
		spread_word(r, from, *at, word, dec_recover_overlap(word, addr, n),
			    is_later);
		word += 8;
	}
}
