// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_int.h"

#include <string.h>

/* ---- pages -------------------------------------------------------------------------------- */

static void page_destroy(struct hg_page *p)
{
	free(p->outside);
	free(p->owners);
	free(p);
}

void hg_memory_destroy(struct hg_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->pages.size; i++)
		page_destroy(m->pages.data[i]);
	vec_deinit(&m->pages);
	vec_deinit(&m->extents);
	map_deinit(&m->index);
	free(m);
}

static struct hg_page *page_add(struct hg_memory *m, uint64_t number, uint8_t *bytes)
{
	struct hg_page *p = aligned_alloc(_Alignof(struct hg_page), sizeof(*p));

	if (!p || vec_reserve(&m->pages, m->pages.size + 1) ||
	    map_put(&m->index, number, m->pages.size)) {
		free(p);
		return NULL;
	}
	*p = (struct hg_page){ .number = number, .bytes = bytes };
	if (!m->pages.size || number < m->lowest)
		m->lowest = number;
	if (!m->pages.size || number > m->highest)
		m->highest = number;
	m->pages.data[m->pages.size++] = p;
	return p;
}

// The graph was complete, and grows again: its image and its nodes are there.
static int memory_fill(struct hg_memory *m, const struct hg_graph *g)
{
	const struct map *slots = &g->image.slots;

	for (size_t i = 0; i < slots->capacity; i++) {
		const struct map_slot *s = &slots->slots[i];

		if (s->key != MAP_EMPTY_KEY &&
		    !page_add(m, s->key, g->image.pages.data[s->value]))
			return -1;
	}
	if (vec_reserve(&m->extents, g->nodes.size))
		return -1;
	for (size_t i = 0; i < g->nodes.size; i++)
		m->extents.data[m->extents.size++] = (struct hg_extent){
			g->nodes.data[i].start,
			g->nodes.data[i].is_bare ? 0 : g->nodes.data[i].size
		};
	return 0;
}

int hg_memory_make(struct hg_graph *g)
{
	struct hg_memory *m;

	if (g->memory)
		return 0;
	m = calloc(1, sizeof(*m));
	for (size_t i = 0; m && i < HG_PAGES_AT_HAND; i++)
		m->plain[i].number = UINT64_MAX;
	if (!m || memory_fill(m, g)) {
		hg_memory_destroy(m);
		return -1;
	}
	g->memory = m;
	return 0;
}

static struct hg_page *memory_find(struct hg_memory *m, uint64_t number)
{
	struct hg_page **at_hand = &m->at_hand[number % HG_PAGES_AT_HAND];
	const uint64_t *i;

	if (*at_hand && (*at_hand)->number == number)
		return *at_hand;
	i = map_get(&m->index, number);
	return i ? *at_hand = m->pages.data[*i] : NULL;
}

struct hg_page *hg_memory_page_make(struct hg_graph *g, uint64_t number)
{
	struct hg_page *p;

	if (hg_memory_make(g))
		return NULL;
	p = memory_find(g->memory, number);
	return p ? p : page_add(g->memory, number, NULL);
}

// A 1 for each byte that is not 0.
static uint64_t ones(uint64_t x)
{
	return (((x & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | x) >> 7 &
	       0x0101010101010101u;
}

// There is an image from now on: zeros. What differs has marks; bytes of live nodes do not.
static void marks_begin(struct hg_outside *o)
{
	for (uint32_t i = 0; i < HG_PAGE_BYTES / 8; i++) {
		uint64_t word;

		memcpy(&word, o->bytes + 8 * i, 8);
		o->marks[i] = ones(word) * 0x0102040810204080u >> 56;
	}
}

uint8_t *hg_memory_bytes(struct hg_graph *g, struct hg_page *p)
{
	if (p->bytes)
		return p->bytes;
	p->bytes = hg_image_add(&g->image, p->number);
	hg_memory_not_plain(g->memory, p);
	if (p->bytes && p->outside)
		marks_begin(p->outside);
	return p->bytes;
}

// The first page's number from number on; UINT64_MAX: there is none.
static uint64_t pages_from(const struct hg_memory *m, uint64_t number)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < m->pages.size; i++) {
		uint64_t n = m->pages.data[i]->number;

		if (n >= number && n < first)
			first = n;
	}
	return first;
}

bool hg_memory_next(struct hg_graph *g, uint64_t addr, uint64_t end, struct hg_span *s)
{
	struct hg_memory *m = g->memory;
	uint64_t at = s->size ? s->addr + s->size : addr;

	if (!m || !m->pages.size || at >= end)
		return false;
	if (at / HG_PAGE_BYTES < m->lowest)
		at = m->lowest * HG_PAGE_BYTES;
	while (at < end && at / HG_PAGE_BYTES <= m->highest) {
		uint64_t next = (at / HG_PAGE_BYTES + 1) * HG_PAGE_BYTES;

		s->page = memory_find(m, at / HG_PAGE_BYTES);
		s->addr = at;
		s->at = at % HG_PAGE_BYTES;
		s->size = (end < next || !next ? end : next) - at;
		if (s->page)
			return true;
		if (!next)
			break;
		// A stretch with more pages than there are is not asked for each of them.
		if (end > next && (end - next) / HG_PAGE_BYTES > m->pages.size) {
			uint64_t number = pages_from(m, next / HG_PAGE_BYTES);

			if (number == UINT64_MAX)
				break;
			next = number * HG_PAGE_BYTES;
		}
		at = next;
	}
	return false;
}

/* ---- what it holds -------------------------------------------------------------------------- */

// The marks of n bytes from at: whole bytes of marks, but for the first and the last.
static void marks_change(uint8_t *marks, uint32_t at, uint32_t n, bool is_set)
{
	while (n) {
		uint32_t first = at % 8, bits = n < 8 - first ? n : 8 - first;
		uint8_t mask = ((1u << bits) - 1) << first;

		if (bits == 8 && n >= 64) { // many
			bits = n & ~7u;
			memset(marks + at / 8, is_set ? 0xff : 0, bits / 8);
		} else {
			marks[at / 8] = is_set ? marks[at / 8] | mask :
						 marks[at / 8] & ~mask;
		}
		at += bits;
		n -= bits;
	}
}

void hg_memory_unmark(const struct hg_span *s)
{
	struct hg_outside *o = s->page->outside;

	if (o && s->page->bytes)
		marks_change(o->marks, s->at, s->size, false);
	else if (o)
		memset(o->bytes + s->at, 0, s->size);
}

int hg_page_put(struct hg_page *p, uint32_t at, const void *data, uint32_t size)
{
	if (!p->outside && !(p->outside = calloc(1, sizeof(*p->outside))))
		return -1;
	if (!p->bytes)
		;				  // no marks yet
	else if (size <= 8 && at % 8 + size <= 8) // as good as always
		p->outside->marks[at / 8] |= (0xff >> (8 - size)) << at % 8;
	else
		marks_change(p->outside->marks, at, size, true);
	if (!data)
		memset(p->outside->bytes + at, 0, size);
	else
		hg_bytes_copy(p->outside->bytes + at, data, size);
	return 0;
}

int hg_memory_put(struct hg_graph *g, uint64_t addr, const void *data, uint64_t size)
{
	const uint8_t *from = data;

	while (size) {
		uint64_t at = addr % HG_PAGE_BYTES;
		uint64_t n = size < HG_PAGE_BYTES - at ? size : HG_PAGE_BYTES - at;
		struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);

		if (!p || hg_page_put(p, at, from, n))
			return -1;
		addr += n;
		from += n;
		size -= n;
	}
	return 0;
}

// Of a page, what is not live nodes' becomes zeros.
static int span_zero(struct hg_graph *g, const struct hg_span *s)
{
	uint64_t addr = s->addr, end = s->addr + s->size;

	while (addr < end) {
		struct hg_live n = hg_owners_first(g, addr, end - addr);
		uint64_t stop = n.id ? n.start : end;

		if (stop > addr &&
		    hg_page_put(s->page, addr % HG_PAGE_BYTES, NULL, stop - addr))
			return -1;
		if (!n.id || n.size >= end - n.start)
			break;
		addr = n.start + n.size;
	}
	return 0;
}

int hg_memory_zero(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	struct hg_span s = {};

	while (hg_memory_next(g, addr, addr + size, &s))
		if ((s.page->bytes || s.page->outside) && span_zero(g, &s))
			return -1;
	return 0;
}

// A byte of ones for each bit.
static uint64_t spread(uint8_t bits)
{
	uint64_t x = bits * 0x0101010101010101u & 0x8040201008040201u;

	return ones(x) * 0xff;
}

uint64_t hg_memory_mixed(const struct hg_page *p, uint32_t word)
{
	uint64_t in = 0, out, mask = spread(p->outside->marks[word]);

	if (p->bytes)
		memcpy(&in, p->bytes + 8 * word, 8);
	memcpy(&out, p->outside->bytes + 8 * word, 8);
	return (in & ~mask) | (out & mask);
}

void hg_memory_get(struct hg_graph *g, uint64_t addr, void *buf, uint64_t size)
{
	uint8_t *out = buf;

	while (size) {
		uint64_t off = addr % 8, n = size < 8 - off ? size : 8 - off, word = 0;
		struct hg_page *p =
			g->memory ? memory_find(g->memory, addr / HG_PAGE_BYTES) : NULL;

		if (p)
			word = hg_memory_word(p, addr % HG_PAGE_BYTES / 8);
		word >>= 8 * off;
		memcpy(out, &word, n);
		addr += n;
		out += n;
		size -= n;
	}
}

int hg_memory_meet_chunks(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	uint64_t last = (addr + size - 1) / HG_PAGE_BYTES;

	for (uint64_t i = addr / HG_PAGE_BYTES; i <= last; i++) {
		struct hg_page *p = hg_memory_page(g, i);

		if (!p)
			return -1;
		p->meets_chunks = true;
		hg_memory_not_plain(g->memory, p);
	}
	return 0;
}

bool hg_memory_is_written(struct hg_graph *g, uint64_t addr)
{
	const struct hg_page *p =
		g->memory ? memory_find(g->memory, addr / HG_PAGE_BYTES) : NULL;

	return p && (p->bytes || p->outside);
}
