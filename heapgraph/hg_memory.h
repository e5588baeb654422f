// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to heapgraph/: memory by page, while a graph grows. A store asks one page for all
 * that it needs: which live node has the address, the bytes of the image, and what lies
 * outside of nodes. All of it follows from the graph's image and index but for the latter,
 * so it is given back when a graph is complete (hg_graph_trim()).
 *
 * Invariants:
 *  1. A page of the image is known here, too.
 *  2. A byte of a live node has no mark: what memory holds there is in the image. So a node
 *     that ends leaves what it held, and nothing has to be copied.
 *  3. In a page that is IN_PARTS, a granule tells the only live node that reaches into it,
 *     0 for none, or HG_CROWDED: ask the index. Blocks of malloc never share a granule.
 */
#ifndef HEAPGRAPH_HG_MEMORY_H
#define HEAPGRAPH_HG_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "decode/history/heap.h"

#define HG_PAGE_BYTES DEC_HEAP_PLAIN_BYTES
#define HG_GRANULE 16u
#define HG_CROWDED UINT32_MAX
#define HG_PAGES_AT_HAND DEC_HEAP_PLAINS

struct hg_graph;

/** What memory holds outside of nodes: bytes with a mark differ (perhaps) from the image. As
 * long as a page has no image, marks mean nothing: memory holds what is here, which is zeros
 * where nobody stored. */
struct hg_outside {
	uint8_t marks[HG_PAGE_BYTES / 8]; ///< a bit a byte
	uint8_t bytes[HG_PAGE_BYTES];
};

enum hg_owned {
	HG_OWNED_UNKNOWN,  ///< ask the index, and remember
	HG_OWNED_NOT,	   ///< by no live node
	HG_OWNED_WHOLE,	   ///< by one
	HG_OWNED_IN_PARTS, ///< owners are told by granule
};

/** All of a page that a store asks for is in one line of the processor's cache. */
struct hg_page {
	uint64_t number;
	uint8_t *bytes;		    ///< the image's; NULL: zeros that nobody wrote
	struct hg_outside *outside; ///< NULL: there is nothing
	uint32_t *owners;	    ///< HG_PAGE_BYTES / HG_GRANULE; NULL: not made yet
	uint32_t whole;
	enum hg_owned owned;
	bool meets_chunks; ///< perhaps another graph, of chunks, has nodes here (hg_chunks.h)
} __attribute__((aligned(64)));

/** Where a node is: what stores ask of it, apart from the rest so that many are at hand. A bare one
 * has no bytes here, so all of it is outside. */
struct hg_extent {
	uint64_t start, size;
};

/** Copy @p size bytes, mostly 8, 4 or 1. */
static inline void hg_bytes_copy(void *to, const void *from, uint32_t size)
{
	if (size == 8)
		memcpy(to, from, 8);
	else if (size == 4)
		memcpy(to, from, 4);
	else if (size == 1)
		memcpy(to, from, 1);
	else if (size == 16)
		memcpy(to, from, 16);
	else
		memcpy(to, from, size);
}

/** @return whether page @p p tells at once that no live node meets [addr, addr + size): as
 * good as always when that is so. */
static inline bool hg_page_is_free(const struct hg_page *p, uint64_t addr, uint32_t size)
{
	uint32_t at = addr % HG_PAGE_BYTES;

	if (p->owned == HG_OWNED_NOT)
		return at + size <= HG_PAGE_BYTES;
	return p->owned == HG_OWNED_IN_PARTS && at % HG_GRANULE + size <= HG_GRANULE &&
	       !p->owners[at / HG_GRANULE];
}

/** Bytes are stored that page @p p is told to have outside of nodes. @return whether it is
 * done: it is when all are of one word or are two words, as good as always. */
static inline bool hg_page_put_words(struct hg_page *p, uint32_t at, const void *data,
				     uint32_t size)
{
	struct hg_outside *o = p->outside;

	if (!o || !size)
		return false;
	if (!p->bytes) {
		hg_bytes_copy(o->bytes + at, data, size);
		return true;
	}
	if (at % 8 + size <= 8) {
		o->marks[at / 8] |= (0xff >> (8 - size)) << at % 8;
		hg_bytes_copy(o->bytes + at, data, size);
		return true;
	}
	if (at % 8 || size != 16)
		return false;
	memset(o->marks + at / 8, 0xff, 2);
	memcpy(o->bytes + at, data, 16);
	return true;
}

struct hg_memory {
	struct map index; ///< page number -> index into pages
	VEC(struct hg_page *) pages;
	uint64_t lowest, highest;      ///< page numbers
	VEC(struct hg_extent) extents; ///< of each node, id - 1
	struct hg_page *at_hand[HG_PAGES_AT_HAND];
	/** Likewise by number: those in which stores do nothing else than to change outside->bytes,
	 * as no node reaches into them, of no graph, and they have no image. */
	struct dec_heap_plain plain[DEC_HEAP_PLAINS];
};

/** @return the page of @p addr if it is at hand, else NULL. */
static inline struct hg_page *hg_memory_at_hand(const struct hg_memory *m, uint64_t addr)
{
	uint64_t number = addr / HG_PAGE_BYTES;
	struct hg_page *p = m->at_hand[number % HG_PAGES_AT_HAND];

	return p && p->number == number ? p : NULL;
}

/** @return whether page @p p tells that no live node meets [addr, addr + size): also beside a
 * node in a granule. */
static inline bool hg_page_misses(const struct hg_memory *m, const struct hg_page *p,
				  uint64_t addr, uint32_t size)
{
	uint32_t at = addr % HG_PAGE_BYTES, id;
	const struct hg_extent *n;

	if (hg_page_is_free(p, addr, size))
		return true;
	if (p->owned != HG_OWNED_IN_PARTS || at % HG_GRANULE + size > HG_GRANULE)
		return false;
	id = p->owners[at / HG_GRANULE];
	if (id == HG_CROWDED)
		return false;
	n = &m->extents.data[id - 1];
	return addr >= n->start ? addr - n->start >= n->size : n->start - addr >= size;
}

/** A live node, all that a store needs to know of it. */
struct hg_live {
	uint32_t id; ///< 0: none
	uint64_t start, size;
};

/** Part of a page. */
struct hg_span {
	struct hg_page *page;
	uint64_t addr;
	uint32_t at, size; ///< of its bytes within the page
};

/** Make the graph's memory, unless it is there. @return 0, or -1 when memory is out. */
int hg_memory_make(struct hg_graph *g);
void hg_memory_destroy(struct hg_memory *m);

/** @return the page, known from now on; NULL when memory is out. */
struct hg_page *hg_memory_page_make(struct hg_graph *g, uint64_t number);

/** Page @p p is no longer plain. */
static inline void hg_memory_not_plain(struct hg_memory *m, const struct hg_page *p)
{
	struct dec_heap_plain *e = &m->plain[p->number % HG_PAGES_AT_HAND];

	if (e->number == p->number)
		e->number = UINT64_MAX;
}

/** A store met page @p p, of which hg_page_is_free() holds: if it is plain, remember that. */
static inline void hg_memory_plain(struct hg_memory *m, const struct hg_page *p)
{
	if (p->owned == HG_OWNED_NOT && p->outside && !p->bytes && !p->meets_chunks)
		m->plain[p->number % HG_PAGES_AT_HAND] =
			(struct dec_heap_plain){ p->number, p->outside->bytes };
}

/** Another graph, of chunks, has a node at [addr, addr + size). @return 0, or -1 when memory is
 * out. */
int hg_memory_meet_chunks(struct hg_graph *g, uint64_t addr, uint64_t size);

/** @return the page's bytes in the image, made now if need be; NULL when memory is out. */
uint8_t *hg_memory_bytes(struct hg_graph *g, struct hg_page *p);

/** Step through the pages of [addr, end) that are known: @p s->addr + @p s->size is where to
 * go on; both 0 before the first step. @return false at the end. */
bool hg_memory_next(struct hg_graph *g, uint64_t addr, uint64_t end, struct hg_span *s);

/** What memory outside of nodes holds changes in a page: NULL for zeros. @return 0, or -1
 * when memory is out. */
int hg_page_put(struct hg_page *p, uint32_t at, const void *data, uint32_t size);

/** The same, across pages. */
int hg_memory_put(struct hg_graph *g, uint64_t addr, const void *data, uint64_t size);

/** All of it that is outside of nodes becomes zeros. @return 0 or -1. */
int hg_memory_zero(struct hg_graph *g, uint64_t addr, uint64_t size);

/** Copy out what memory holds, in and out of nodes. */
void hg_memory_get(struct hg_graph *g, uint64_t addr, void *buf, uint64_t size);

/** @return whether anything was ever stored in the page of @p addr. */
bool hg_memory_is_written(struct hg_graph *g, uint64_t addr);

/** Part of a page is part of a live node now, and memory holds what the image does. */
void hg_memory_unmark(const struct hg_span *s);

/** @return word number @p word of @p p, of which some bytes have marks. */
uint64_t hg_memory_mixed(const struct hg_page *p, uint32_t word);

/** @return word number @p word of what memory holds in @p p. */
static inline uint64_t hg_memory_word(const struct hg_page *p, uint32_t word)
{
	const uint8_t *from = p->bytes;
	uint64_t value = 0;

	if (p->outside) {
		uint8_t marks = from ? p->outside->marks[word] : 0xff;

		if (marks && marks != 0xff)
			return hg_memory_mixed(p, word);
		from = marks ? p->outside->bytes : from;
	}
	if (from)
		memcpy(&value, from + 8 * word, 8);
	return value;
}

/* ---- which live node? (hg_owners.c) ----------------------------------------------------- */

/** @return the live node with the lowest address that reaches into [addr, addr + size). */
struct hg_live hg_owners_first(struct hg_graph *g, uint64_t addr, uint64_t size);

/** @return whether the page tells at once that no live node meets [addr, addr + size), but for
 * nodes of no bytes. */
bool hg_owners_none(struct hg_graph *g, uint64_t addr, uint64_t size);

/** @return the live node that starts at @p addr, 0: none that the page tells at once. */
uint32_t hg_owners_at(struct hg_graph *g, uint64_t addr);

/** Node @p id was born, and is in the index. */
void hg_owners_add(struct hg_graph *g, uint32_t id);

/** Node @p id ends. */
void hg_owners_remove(struct hg_graph *g, uint32_t id);

/* ---- contents at birth (hg_patch.c) ------------------------------------------------------ */

enum hg_contents {
	HG_AS_GIVEN, ///< NULL: zeros
	HG_AS_FOUND, ///< what memory holds
	HG_AS_KEPT,  ///< what the image holds
	HG_BARE,     ///< nobody asks
};

/** A word in which a node's contents at birth differ from the image. */
struct hg_patch_word {
	uint64_t at, bits; ///< bytes from the node's start, exclusive or
};

/** Append the birth of the youngest node to the log, and bring the image up to its contents.
 * @return NULL or ERR_NOMEM. */
struct err *hg_patch_add(struct hg_graph *g, uint64_t time, enum hg_contents how,
			 const uint8_t *contents);

#endif
