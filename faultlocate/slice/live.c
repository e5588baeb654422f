// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/live.h"

#include <stdlib.h>
#include <string.h>

/* ---- registers ---------------------------------------------------------------------------- */

void fl_live_regs_deinit(struct live_regs *r)
{
	for (int i = 0; i < LIVE_REGS; i++)
		free(r->reg[i].each);
	*r = (struct live_regs){};
}

struct err *fl_live_reg_want(struct live_regs *r, bool has_several, int reg,
			     uint64_t bytes, live_who who, uint32_t node)
{
	struct live_reg *l = &r->reg[reg];

	if (!bytes)
		return NULL;
	if (has_several && !l->each) {
		l->each = calloc(64, sizeof(*l->each));
		if (!l->each)
			return &err_nomem;
	}
	r->any |= UINT64_C(1) << reg;
	l->node = l->bytes ? l->node : node;
	l->bytes |= bytes;
	l->who = who;
	for (uint64_t left = has_several ? bytes : 0; left; left &= left - 1)
		l->each[__builtin_ctzll(left)] |= who;
	return NULL;
}

struct live_want fl_live_reg_take(struct live_regs *r, bool has_several, int reg,
				  uint64_t bytes, bool stays)
{
	struct live_reg *l = &r->reg[reg];
	struct live_want w = { .bytes = l->bytes & bytes, .node = l->node };

	if (!w.bytes)
		return w;
	w.who = has_several ? 0 : l->who;
	for (uint64_t left = has_several ? w.bytes : 0; left; left &= left - 1) {
		live_who *each = &l->each[__builtin_ctzll(left)];

		w.who |= *each;
		*each = stays ? *each : 0;
	}
	if (stays)
		return w;
	l->bytes &= ~w.bytes;
	if (!l->bytes)
		r->any &= ~(UINT64_C(1) << reg);
	return w;
}

static inline uint32_t count_bits(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return bits * 0x0101010101010101 >> 56;
}

/* ---- memory --------------------------------------------------------------------------------- */

void fl_live_mem_deinit(struct live_mem *m)
{
	for (size_t i = 0; i < m->page.size; i++) {
		free(m->page.data[i]->each);
		free(m->page.data[i]);
	}
	vec_deinit(&m->page);
	vec_deinit(&m->unused);
	map_deinit(&m->pages);
}

static struct live_page *find_page(struct live_mem *m, uint64_t addr)
{
	struct live_page **last = &m->last[addr / LIVE_PAGE % LIVE_LAST];
	const uint64_t *at;

	if (*last && (*last)->addr == addr)
		return *last;
	if (!m->hint[addr / LIVE_PAGE % LIVE_HINTS])
		return NULL;
	at = map_get(&m->pages, addr / LIVE_PAGE);
	return at ? *last = m->page.data[*at] : NULL;
}

static struct err *new_page(struct live_mem *m, uint32_t *ret)
{
	struct live_page *p;

	if (m->unused.size) {
		*ret = m->unused.data[--m->unused.size];
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p && m->has_several)
		p->each = calloc(LIVE_PAGE, sizeof(*p->each));
	if (!p || (m->has_several && !p->each) || vec_add(&m->page, p)) {
		if (p)
			free(p->each);
		free(p);
		return &err_nomem;
	}
	*ret = m->page.size - 1;
	return NULL;
}

static struct err *make_page(struct live_mem *m, uint64_t addr, struct live_page **ret)
{
	uint8_t *hint = &m->hint[addr / LIVE_PAGE % LIVE_HINTS];
	struct err *err;
	uint32_t i;

	*ret = find_page(m, addr);
	if (*ret)
		return NULL;
	if (m->pages.size >= m->max_pages) {
		m->is_full = true;
		return NULL;
	}
	err = new_page(m, &i);
	if (!err && map_put(&m->pages, addr / LIVE_PAGE, i))
		err = &err_nomem;
	if (err)
		return err;
	m->page.data[i]->addr = addr;
	// Saturated, it stays: then it says less, never something wrong.
	*hint += *hint < UINT8_MAX;
	*ret = m->last[addr / LIVE_PAGE % LIVE_LAST] = m->page.data[i];
	return NULL;
}

static void drop_page(struct live_mem *m, struct live_page *p)
{
	uint8_t *hint = &m->hint[p->addr / LIVE_PAGE % LIVE_HINTS];
	const uint64_t *at = map_get(&m->pages, p->addr / LIVE_PAGE);

	// Without memory for the list, the page is kept, empty.
	if (vec_add(&m->unused, *at))
		return;
	*hint -= *hint < UINT8_MAX;
	map_remove(&m->pages, p->addr / LIVE_PAGE);
	p->addr = UINT64_MAX;
}

/* Bits of word @p word of a page that are in [from, to) of it. */
static uint64_t word_mask(uint32_t word, uint32_t from, uint32_t to)
{
	uint64_t mask = ~UINT64_C(0);

	if (word * 64 < from)
		mask &= ~UINT64_C(0) << (from - word * 64);
	if (to < word * 64 + 64)
		mask &= ~UINT64_C(0) >> (word * 64 + 64 - to);
	return mask;
}

static void want_in(struct live_mem *m, struct live_page *p, uint32_t from, uint32_t to,
		    live_who who, uint32_t node)
{
	for (uint32_t i = from / 8; i * 8 < to; i++)
		if (!(p->bits[i / 8] >> i % 8 * 8 & 0xff))
			p->node[i] = node;
	for (uint32_t word = from / 64; word * 64 < to; word++) {
		uint64_t mask = word_mask(word, from, to);
		uint32_t n = count_bits(mask & ~p->bits[word]);

		p->bits[word] |= mask;
		p->n += n;
		m->n_bytes += n;
	}
	for (uint32_t i = from; p->each && i < to; i++)
		p->each[i] |= who;
}

struct err *fl_live_mem_want(struct live_mem *m, uint64_t addr, uint64_t size,
			     live_who who, uint32_t node)
{
	while (size) {
		uint32_t from = addr % LIVE_PAGE;
		uint64_t n = LIVE_PAGE - from < size ? LIVE_PAGE - from : size;
		struct live_page *p;
		struct err *err = make_page(m, addr - from, &p);

		if (err)
			return err;
		if (p)
			want_in(m, p, from, from + n, who, node);
		addr += n;
		size -= n;
	}
	return NULL;
}

/* Add to @p w that the bytes @p mask of word @p word of @p p are wanted. @p base: where the range
 * begins that is taken. */
static void note_taken(struct live_want *w, const struct live_page *p, uint32_t word,
		       uint64_t mask, uint64_t base)
{
	uint64_t at = p->addr + word * 64;
	uint64_t first = at + __builtin_ctzll(mask);
	uint64_t end = at + 64 - __builtin_clzll(mask);

	if (!w->size)
		w->first = first;
	w->size = end - w->first;
	w->node = p->node[(first - p->addr) / 8];
	// As bits from the range's beginning, as far as there are some.
	if (at >= base && at - base < 64)
		w->bytes |= mask << (at - base);
	else if (at < base && base - at < 64)
		w->bytes |= mask >> (base - at);
}

static void take_in(struct live_mem *m, struct live_page *p, uint32_t from, uint32_t to,
		    bool stays, uint64_t base, struct live_want *w)
{
	for (uint32_t word = from / 64; word * 64 < to; word++) {
		uint64_t mask = word_mask(word, from, to) & p->bits[word];
		uint32_t n;

		if (!mask)
			continue;
		note_taken(w, p, word, mask, base);
		for (uint64_t left = p->each ? mask : 0; left; left &= left - 1) {
			live_who *each = &p->each[word * 64 + __builtin_ctzll(left)];

			w->who |= *each;
			*each = stays ? *each : 0;
		}
		w->who |= p->each ? 0 : 1;
		if (stays)
			continue;
		p->bits[word] &= ~mask;
		n = count_bits(mask);
		p->n -= n;
		m->n_bytes -= n;
	}
	if (!p->n)
		drop_page(m, p);
}

struct live_want fl_live_mem_take(struct live_mem *m, uint64_t addr, uint64_t size,
				  bool stays)
{
	struct live_want w = {};
	uint64_t base = addr;

	// Large ranges (a file that is mapped) have more pages than are wanted.
	for (size_t i = 0; size / LIVE_PAGE > m->page.size && i < m->page.size; i++) {
		struct live_page *p = m->page.data[i];
		uint64_t from = p->addr > addr ? p->addr : addr;
		uint64_t to = p->addr + LIVE_PAGE < addr + size ? p->addr + LIVE_PAGE :
								  addr + size;

		if (p->addr != UINT64_MAX && from < to)
			take_in(m, p, from - p->addr, to - p->addr, stays, base, &w);
	}
	if (size / LIVE_PAGE > m->page.size)
		return w;
	while (size) {
		uint32_t from = addr % LIVE_PAGE;
		uint64_t n = LIVE_PAGE - from < size ? LIVE_PAGE - from : size;
		struct live_page *p = find_page(m, addr - from);

		if (p)
			take_in(m, p, from, from + n, stays, base, &w);
		addr += n;
		size -= n;
	}
	return w;
}

uint32_t fl_live_mem_node(const struct live_mem *m, uint64_t addr)
{
	struct live_page *p =
		find_page((struct live_mem *)m, addr & ~(uint64_t)(LIVE_PAGE - 1));
	uint32_t at = addr % LIVE_PAGE;

	return p && (p->bits[at / 64] >> (at % 64 & 56) & 0xff) ? p->node[at / 8] :
								  UINT32_MAX;
}

static struct err *each_in(const struct live_page *p, live_range_fn fn, void *ctx)
{
	struct err *err = NULL;

	for (uint32_t at = 0, end; at < LIVE_PAGE && !err; at = end) {
		live_who who = p->each ? p->each[at] : 1;

		end = at + 1;
		if (!(p->bits[at / 64] >> at % 64 & 1))
			continue;
		while (end < LIVE_PAGE && (p->bits[end / 64] >> end % 64 & 1) &&
		       p->node[end / 8] == p->node[at / 8] &&
		       (!p->each || p->each[end] == who))
			end++;
		err = fn(ctx, p->addr + at, end - at, who, p->node[at / 8]);
	}
	return err;
}

struct err *fl_live_mem_each(const struct live_mem *m, live_range_fn fn, void *ctx)
{
	struct err *err = NULL;

	for (size_t i = 0; i < m->page.size && !err; i++)
		if (m->page.data[i]->addr != UINT64_MAX)
			err = each_in(m->page.data[i], fn, ctx);
	return err;
}
