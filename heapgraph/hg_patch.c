// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a node holds at birth, as the words in which that differs from what the image has
 * there. Pages that hold nothing else than the image are not looked through.
 */
#include <string.h>

#include "heapgraph/hg_int.h"

#define WORDS_AT_ONCE 8

/** A birth. */
struct patch {
	struct hg_graph *g;
	uint64_t start, size;
	enum hg_contents how;
	const uint8_t *contents; ///< HG_AS_GIVEN: NULL for zeros
};

// The word at `at` becomes `word`, of which the node has n bytes.
static int patch_word(const struct patch *x, struct hg_page *p, uint64_t at,
		      uint64_t word, uint64_t n)
{
	uint64_t addr = x->start + at, bits = word;
	uint32_t in_page = addr % HG_PAGE_BYTES;
	struct hg_patch_word *w;
	uint8_t *bytes;

	if (p->bytes) {
		memcpy(&bits, p->bytes + in_page, 8);
		bits ^= word;
	}
	if (n < 8)
		bits &= ((uint64_t)1 << 8 * n) - 1;
	if (!bits)
		return 0;
	w = vec_push(&x->g->patch);
	bytes = hg_memory_bytes(x->g, p);
	if (!w || !bytes)
		return -1;
	*w = (struct hg_patch_word){ at, bits };
	memcpy(&word, bytes + in_page, 8);
	word ^= bits;
	memcpy(bytes + in_page, &word, 8);
	return 0;
}

// Whether some words of a page, WORDS_AT_ONCE from word number `word`, are as in the image.
static bool are_as_before(const struct patch *x, const struct hg_page *p, uint32_t word)
{
	const uint8_t *bytes = p->bytes;
	uint64_t all = 0, w;

	if (x->how == HG_AS_FOUND && bytes) {
		memcpy(&all, p->outside->marks + word, WORDS_AT_ONCE);
		return !all;
	}
	if (x->how == HG_AS_FOUND)
		bytes = p->outside->bytes;
	else if (x->contents)
		return false;
	for (int i = 0; i < WORDS_AT_ONCE; i++) {
		memcpy(&w, bytes + 8 * (word + i), 8);
		all |= w;
	}
	return !all;
}

// Part of a page. The node begins at a word of memory.
static int patch_span(const struct patch *x, const struct hg_span *s)
{
	uint64_t from = s->addr - x->start;
	struct hg_page *p = s->page;

	if (x->how == HG_AS_FOUND ? !p->outside : !x->contents && !p->bytes)
		return 0;
	for (uint32_t i = 0; i < s->size; i += 8) {
		uint64_t left = s->size - i, n = left < 8 ? left : 8, word = 0;
		uint32_t number = (s->at + i) / 8;

		if (left >= 8 * WORDS_AT_ONCE && are_as_before(x, p, number)) {
			i += 8 * (WORDS_AT_ONCE - 1);
			continue;
		}
		if (x->how == HG_AS_FOUND)
			word = hg_memory_word(p, number);
		else if (x->contents)
			memcpy(&word, x->contents + from + i, n);
		if (patch_word(x, p, from + i, word, n))
			return -1;
	}
	return 0;
}

static int patch_spans(const struct patch *x)
{
	struct hg_span s = {};

	while (hg_memory_next(x->g, x->start, x->start + x->size, &s))
		if (patch_span(x, &s))
			return -1;
	return 0;
}

// A node that begins anywhere: its words are not those of pages.
static int patch_bytes(const struct patch *x)
{
	for (uint64_t at = 0, n; at < x->size; at += n) {
		uint64_t old = 0, new = 0, addr = x->start + at;

		n = x->size - at < 8 ? x->size - at : 8;
		hg_image_read(&x->g->image.slots, x->g->image.pages.data, addr, &old, n);
		if (x->how == HG_AS_FOUND)
			hg_memory_get(x->g, addr, &new, n);
		else if (x->contents)
			memcpy(&new, x->contents + at, n);
		if (old == new)
			continue;
		if (vec_add(&x->g->patch, (struct hg_patch_word){ at, old ^ new }))
			return -1;
		for (uint64_t i = 0; i < n; i++) { // may be in two pages
			uint64_t byte = addr + i;
			struct hg_page *p = hg_memory_page(x->g, byte / HG_PAGE_BYTES);
			uint8_t *bytes = p ? hg_memory_bytes(x->g, p) : NULL;

			if (!bytes)
				return -1;
			bytes[byte % HG_PAGE_BYTES] = new >> 8 * i;
		}
	}
	return 0;
}

// Contents need pages.
static int pages_make(const struct patch *x)
{
	uint64_t last = (x->start + x->size - 1) / HG_PAGE_BYTES;

	for (uint64_t page = x->start / HG_PAGE_BYTES; x->size && page <= last; page++)
		if (!hg_memory_page(x->g, page))
			return -1;
	return 0;
}

static struct err *patch_log(struct hg_graph *g, uint64_t time)
{
	uint64_t expected = 0;

	if (hg_log_alloc(&g->log, time, g->nodes.size, g->patch.size))
		return &err_nomem;
	for (size_t i = 0; i < g->patch.size; i++) {
		const struct hg_patch_word *w = &g->patch.data[i];

		if (hg_log_patch(&g->log, (w->at - expected) / 8, w->bits))
			return &err_nomem;
		expected = w->at + 8;
	}
	return NULL;
}

struct err *hg_patch_add(struct hg_graph *g, uint64_t time, enum hg_contents how,
			 const uint8_t *contents)
{
	const struct hg_node *n = &g->nodes.data[g->nodes.size - 1];
	const struct patch x = { g, n->start, n->size, how, contents };
	struct hg_span s = {};
	int r = 0;

	g->patch.size = 0;
	if (how == HG_BARE)
		return patch_log(g, time);
	if (how == HG_AS_GIVEN && contents)
		r = pages_make(&x);
	if (!r && how != HG_AS_KEPT)
		r = x.start % 8 ? patch_bytes(&x) : patch_spans(&x);
	if (r)
		return &err_nomem;
	while (hg_memory_next(g, x.start, x.start + x.size, &s))
		hg_memory_unmark(&s);
	return patch_log(g, time);
}
