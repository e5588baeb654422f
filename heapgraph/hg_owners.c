// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which live node has this address? Pages tell where anybody stores; where nobody did, or
 * nodes are too small for granules, the index does.
 */
#include <string.h>

#include "heapgraph/hg_int.h"

#define OWNERS (HG_PAGE_BYTES / HG_GRANULE)

static const struct hg_extent *owners_node(const struct hg_graph *g, uint32_t id)
{
	return &g->memory->extents.data[id - 1];
}

static struct hg_live live_node(const struct hg_graph *g, uint32_t id)
{
	const struct hg_extent *n = owners_node(g, id);

	return (struct hg_live){ id, n->start, n->size };
}

// Whether the node has some of [addr, addr + size).
static bool reaches(const struct hg_extent *n, uint64_t addr, uint64_t size)
{
	return n->start <= addr ? addr - n->start < n->size :
				  n->size && n->start - addr < size;
}

static struct hg_live first_by_index(const struct hg_graph *g, uint64_t addr,
				     uint64_t size)
{
	uint32_t id = hg_index_floor(&g->live, addr);

	if (id && reaches(owners_node(g, id), addr, size))
		return live_node(g, id);
	while (size && (id = hg_index_ceil(&g->live, addr))) {
		uint64_t skip = owners_node(g, id)->start - addr;

		if (skip >= size)
			break;
		if (owners_node(g, id)->size)
			return live_node(g, id);
		addr += skip + 1; // a node of no bytes takes no store
		size -= skip + 1;
	}
	return (struct hg_live){};
}

/* ---- what pages tell ------------------------------------------------------------------------ */

// Granules that the node has in the page: from *first to *last.
static void granules(const struct hg_extent *n, const struct hg_page *p, uint32_t *first,
		     uint32_t *last)
{
	uint64_t start = p->number * HG_PAGE_BYTES;
	uint64_t end = n->start + n->size - 1; // its last byte

	*first = n->start > start ? (n->start - start) / HG_GRANULE : 0;
	*last = end - start < HG_PAGE_BYTES ? (end - start) / HG_GRANULE : OWNERS - 1;
}

static void granules_add(const struct hg_graph *g, struct hg_page *p, uint32_t id)
{
	uint32_t first, last;

	granules(owners_node(g, id), p, &first, &last);
	for (uint32_t i = first; i <= last; i++)
		p->owners[i] = p->owners[i] ? HG_CROWDED : id;
}

static bool has_whole_page(const struct hg_extent *n, const struct hg_page *p)
{
	uint64_t start = p->number * HG_PAGE_BYTES;

	return n->start <= start && n->size >= HG_PAGE_BYTES &&
	       start - n->start <= n->size - HG_PAGE_BYTES;
}

// Find out whose the page is. Returns -1 when memory is out.
static int page_learn(const struct hg_graph *g, struct hg_page *p)
{
	uint64_t start = p->number * HG_PAGE_BYTES, at = start;
	struct hg_live n = first_by_index(g, start, HG_PAGE_BYTES);

	p->owned = HG_OWNED_NOT;
	if (!n.id)
		return 0;
	if (has_whole_page(owners_node(g, n.id), p)) {
		p->owned = HG_OWNED_WHOLE;
		p->whole = n.id;
		return 0;
	}
	p->owned = HG_OWNED_UNKNOWN;
	if (!p->owners && !(p->owners = malloc(OWNERS * sizeof(*p->owners))))
		return -1;
	memset(p->owners, 0, OWNERS * sizeof(*p->owners));
	while (n.id) {
		granules_add(g, p, n.id);
		at = n.start + n.size;
		if (at - start >= HG_PAGE_BYTES)
			break;
		n = first_by_index(g, at, HG_PAGE_BYTES - (at - start));
	}
	p->owned = HG_OWNED_IN_PARTS;
	return 0;
}

// Of a page's granules from `from` to `to`, both with them.
static uint32_t granules_find(const struct hg_graph *g, const struct hg_page *p,
			      uint64_t addr, uint64_t size)
{
	uint32_t to = (addr + size - 1) % HG_PAGE_BYTES / HG_GRANULE;

	for (uint32_t i = addr % HG_PAGE_BYTES / HG_GRANULE; i <= to; i++) {
		uint32_t id = p->owners[i];

		if (id && (id == HG_CROWDED || reaches(owners_node(g, id), addr, size)))
			return id;
	}
	return 0;
}

struct hg_live hg_owners_first(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	while (size && !hg_memory_make(g)) {
		uint64_t at = addr % HG_PAGE_BYTES;
		uint64_t n = size < HG_PAGE_BYTES - at ? size : HG_PAGE_BYTES - at;
		struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);
		uint32_t id = 0;

		if (!p || (p->owned == HG_OWNED_UNKNOWN && page_learn(g, p)))
			return first_by_index(g, addr, size);
		if (p->owned == HG_OWNED_WHOLE)
			id = p->whole;
		else if (p->owned == HG_OWNED_IN_PARTS)
			id = granules_find(g, p, addr, n);
		if (id)
			return id == HG_CROWDED ? first_by_index(g, addr, size) :
						  live_node(g, id);
		addr += n;
		size -= n;
	}
	return (struct hg_live){};
}

bool hg_owners_none(struct hg_graph *g, uint64_t addr, uint64_t size)
{
	const struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);
	uint32_t at = addr % HG_PAGE_BYTES;
	uint32_t any = 0;

	if (!p || !size || size > HG_PAGE_BYTES - at || p->owned == HG_OWNED_UNKNOWN)
		return false;
	if (p->owned == HG_OWNED_IN_PARTS)
		for (uint32_t i = at / HG_GRANULE; i <= (at + size - 1) / HG_GRANULE; i++)
			any |= p->owners[i];
	return p->owned != HG_OWNED_WHOLE && !any;
}

uint32_t hg_owners_at(struct hg_graph *g, uint64_t addr)
{
	const struct hg_page *p = hg_memory_page(g, addr / HG_PAGE_BYTES);
	uint32_t id = 0;

	if (p && p->owned == HG_OWNED_WHOLE)
		id = p->whole;
	else if (p && p->owned == HG_OWNED_IN_PARTS)
		id = p->owners[addr % HG_PAGE_BYTES / HG_GRANULE];
	return id && id != HG_CROWDED && owners_node(g, id)->start == addr ? id : 0;
}

/* ---- births and ends --------------------------------------------------------------------------- */

void hg_owners_add(struct hg_graph *g, uint32_t id)
{
	const struct hg_extent *n = owners_node(g, id);
	struct hg_span s = {};

	while (hg_memory_next(g, n->start, n->start + n->size, &s)) {
		hg_memory_not_plain(g->memory, s.page);
		if (s.size == HG_PAGE_BYTES) {
			s.page->owned = HG_OWNED_WHOLE;
			s.page->whole = id;
		} else if (s.page->owned == HG_OWNED_IN_PARTS) {
			granules_add(g, s.page, id);
		} else {
			s.page->owned = HG_OWNED_UNKNOWN;
		}
	}
}

void hg_owners_remove(struct hg_graph *g, uint32_t id)
{
	const struct hg_extent *n = owners_node(g, id);
	uint32_t first, last;
	struct hg_span s = {};

	while (hg_memory_next(g, n->start, n->start + n->size, &s)) {
		if (s.page->owned == HG_OWNED_WHOLE)
			s.page->owned = HG_OWNED_NOT;
		if (s.page->owned != HG_OWNED_IN_PARTS)
			continue;
		granules(n, s.page, &first, &last);
		for (uint32_t i = first; i <= last; i++)
			if (s.page->owners[i] == id)
				s.page->owners[i] = 0;
	}
}
