// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is known of memory in a nullifying run: a corrupt bit a byte, and an origin for four,
 * page by page of those that were met.
 */
#include <string.h>

#include "decode/machine/nullify_int.h"

#define PAGE 4096u
#define CELL 4u

struct page {
	uint32_t n_corrupt;
	uint8_t corrupt[PAGE / 8];
	struct nul_leaf cell[PAGE / CELL];
};

static struct page *page_of(const struct nul_run *n, uint64_t addr)
{
	uint64_t *p = map_get(&n->pages, addr / PAGE);

	return p ? (struct page *)*p : NULL;
}

static struct page *page_make(struct nul_run *n, uint64_t addr)
{
	struct page *p = page_of(n, addr);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p && !map_put(&n->pages, addr / PAGE, (uint64_t)p))
		return p;
	free(p);
	n->has_no_memory = true;
	return NULL;
}

static bool bit(const struct page *p, uint64_t addr)
{
	return p->corrupt[addr % PAGE / 8] >> (addr % 8) & 1;
}

/* The end of the page of @p addr, or @p end, which is before: behind the last page there is none. */
static uint64_t piece_end(uint64_t addr, uint64_t end)
{
	return (end - 1) / PAGE > addr / PAGE ? (addr / PAGE + 1) * PAGE : end;
}

bool dec_nullify_is_corrupt(const struct nul_run *n, uint64_t addr, uint64_t size)
{
	// How much a call is to write is what an altered register says: the kernel writes no more at once.
	uint64_t end = addr + (size < INT32_MAX ? size : INT32_MAX);

	while (addr < end && n->n_corrupt) {
		uint64_t upto = piece_end(addr, end);
		const struct page *p = page_of(n, addr);

		for (; p && p->n_corrupt && addr < upto; addr++)
			if (bit(p, addr))
				return true;
		addr = upto;
	}
	return false;
}

/* Whole words are corrupt, and clean once all of one is. */
static void round_to_words(const struct nul_run *n, uint64_t *addr, uint64_t *end,
			   bool is_corrupt)
{
	uint64_t up = n->ask->granule == 4 || n->ask->granule == 8 ? n->ask->granule - 1 :
								     0;

	*addr = (*addr + (is_corrupt ? 0 : up)) & ~up;
	*end = (*end + (is_corrupt ? up : 0)) & ~up;
}

void dec_nullify_mark(struct nul_run *n, uint64_t addr, uint64_t size, bool is_corrupt)
{
	uint64_t end = addr + size;

	for (round_to_words(n, &addr, &end, is_corrupt); addr < end;) {
		uint64_t upto = piece_end(addr, end);
		struct page *p = is_corrupt ? page_make(n, addr) : page_of(n, addr);

		for (; p && (is_corrupt || p->n_corrupt) && addr < upto; addr++) {
			if (bit(p, addr) == is_corrupt)
				continue;
			p->corrupt[addr % PAGE / 8] ^= 1u << (addr % 8);
			p->n_corrupt += is_corrupt ? 1 : -1;
			n->n_corrupt += is_corrupt ? 1 : -1;
			if (n->quick)
				dec_nullify_quick_mark(n, addr, is_corrupt);
		}
		addr = upto;
	}
}

/* How many cells [addr, addr+size) has a part of; an address that is about to fault may be the last there
 * is, behind which none begins. */
static uint64_t cells_of(uint64_t addr, uint64_t size)
{
	return (addr % CELL + size + CELL - 1) / CELL;
}

void dec_nullify_put(struct nul_run *n, uint64_t addr, uint64_t size,
		     const struct nul_leaf *leaf)
{
	struct page *p = NULL;

	for (uint64_t k = 0; k < cells_of(addr, size); k++) {
		uint64_t at = (addr & ~(uint64_t)(CELL - 1)) + k * CELL;

		if (!p || at % PAGE == 0)
			p = page_make(n, at);
		if (!p)
			return;
		p->cell[at % PAGE / CELL] = *leaf;
	}
}

/* ---- sources in a word --------------------------------------------------------------------- */

// kind: 2 bits; MADE: right, arrival, 20 bits of its number, 40 of steps since the
// beginning; BEFORE: 6 bits of size, 48 of address; REG: its number.
#define KIND(s) ((s) >> 62)
#define MADE_MAX BIT(20)

nul_source dec_nullify_made(const struct nul_run *n, uint32_t insn, bool is_arrival)
{
	return (uint64_t)DEC_ORIGIN_MADE << 62 | (n->t->n_allocators ? NUL_RIGHT : 0) |
	       (uint64_t)is_arrival << 60 | (insn % MADE_MAX) << 40 |
	       ((n->now - n->begin) & (BIT(40) - 1));
}

nul_source dec_nullify_of_reg(unsigned reg)
{
	return (uint64_t)DEC_ORIGIN_REG << 62 | reg;
}

static nul_source before(uint64_t addr, uint64_t size)
{
	return (uint64_t)DEC_ORIGIN_BEFORE << 62 | (size < 63 ? size : 63) << 48 |
	       (addr & (BIT(48) - 1));
}

/* The later one of two, as far as that is known. */
static bool is_later(nul_source a, nul_source b)
{
	if (KIND(a) != DEC_ORIGIN_MADE || KIND(b) != DEC_ORIGIN_MADE)
		return KIND(a) == DEC_ORIGIN_MADE;
	return (a & (BIT(40) - 1)) > (b & (BIT(40) - 1));
}

struct nul_leaf dec_nullify_get(const struct nul_run *n, uint64_t addr, uint64_t size)
{
	struct nul_leaf ret = {};

	for (uint64_t k = 0; size <= 8 && k < cells_of(addr, size); k++) {
		uint64_t at = (addr & ~(uint64_t)(CELL - 1)) + k * CELL;
		const struct page *p = page_of(n, at);
		const struct nul_leaf *l = p ? &p->cell[at % PAGE / CELL] : NULL;

		if (l && l->made && (!ret.made || is_later(l->assigned, ret.assigned)))
			ret = *l;
	}
	if (ret.made)
		return ret;
	ret.made = ret.assigned = ret.since = before(addr, size);
	ret.at = addr;
	return ret;
}

uint64_t dec_nullify_position(nul_source s)
{
	return KIND(s) == DEC_ORIGIN_MADE ? s & (BIT(40) - 1) : 0;
}

static void tell_source(const struct nul_run *n, nul_source s, struct dec_source *ret)
{
	*ret = (struct dec_source){ .kind = KIND(s) };
	switch (ret->kind) {
	case DEC_ORIGIN_MADE:
		ret->is_right = s & NUL_RIGHT;
		ret->is_arrival = s >> 60 & 1;
		ret->rip = n->insns.data[s >> 40 & (MADE_MAX - 1)].insn.rip;
		ret->position = n->begin + (s & (BIT(40) - 1));
		break;
	case DEC_ORIGIN_BEFORE:
		ret->size = s >> 48 & 63;
		ret->addr = s & (BIT(48) - 1);
		break;
	case DEC_ORIGIN_REG:
		ret->reg = s & 63;
		break;
	}
}

void dec_nullify_tell(const struct nul_run *n, const struct nul_leaf *leaf,
		      struct dec_origin *ret)
{
	tell_source(n, leaf->made, &ret->made);
	tell_source(n, leaf->assigned, &ret->assigned);
	tell_source(n, leaf->via, &ret->address);
	tell_source(n, leaf->beyond, &ret->beyond);
	tell_source(n, dec_nullify_block_of(n, leaf), &ret->block);
	ret->at = leaf->at;
	ret->value = leaf->value;
	ret->bytes = leaf->bytes;
}

void dec_nullify_add(struct nul_value *to, const struct nul_leaf *leaf)
{
	for (int i = 0; i < to->n; i++)
		if (to->leaf[i].made == leaf->made)
			return;
	if (leaf->made && to->n < DEC_ORIGINS_MAX)
		to->leaf[to->n++] = *leaf;
}

void dec_nullify_merge(struct nul_value *to, const struct nul_value *from)
{
	for (int i = 0; i < from->n; i++)
		dec_nullify_add(to, &from->leaf[i]);
}

size_t dec_nullify_pages(const struct nul_run *n, uint64_t *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < n->pages.capacity && n->n_corrupt; i++) {
		const struct map_slot *s = &n->pages.slots[i];

		if (s->key == MAP_EMPTY_KEY ||
		    !((const struct page *)s->value)->n_corrupt)
			continue;
		if (count < max)
			ret[count] = s->key * PAGE;
		count++;
	}
	return count;
}

uint64_t dec_nullify_count_in(const struct nul_run *n, uint64_t start, uint64_t end)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n->pages.capacity && n->n_corrupt; i++) {
		const struct map_slot *s = &n->pages.slots[i];

		if (s->key != MAP_EMPTY_KEY && s->key * PAGE >= start &&
		    s->key * PAGE < end)
			count += ((const struct page *)s->value)->n_corrupt;
	}
	return count;
}

/* ---- all of it ---------------------------------------------------------------------------- */

void dec_nullify_forget(struct nul_run *n)
{
	for (size_t i = 0; i < n->pages.capacity; i++)
		if (n->pages.slots[i].key != MAP_EMPTY_KEY)
			free((void *)n->pages.slots[i].value);
	map_deinit(&n->pages);
	for (size_t i = 0; i < n->threads.size; i++) {
		vec_deinit(&n->threads.data[i]->frames);
		free(n->threads.data[i]);
	}
	vec_deinit(&n->threads);
	vec_deinit(&n->insns);
	vec_deinit(&n->overruns);
	vec_deinit(&n->blocks);
	map_deinit(&n->block_of);
	vec_deinit(&n->joins);
	map_deinit(&n->insn_of);
	if (n->quick) {
		map_deinit(&n->quick->nat.counted);
		vec_deinit(&n->quick->closed);
		vec_deinit(&n->quick->stacks);
		free(n->quick);
	}
}
