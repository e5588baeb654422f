// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What allocator calls tell of stores: the allocator does not write in blocks that the
 * program has, and the program does not write in those that it has not. Both may be untrue in
 * a program that crashes for that; so it is for guesses only.
 */
#include "decode/past/recover_guess.h"

enum {
	HEAP_GRAIN = 16,
	HEAP_COVERED = 4096,
	HEAP_LEAST = 24,
	HEAP_WALK = 100000,
	HEAP_PAGES = 4096,  ///< to the heap's begin, at most
	HEAP_CACHE = 0x291, ///< header of what glibc puts there: its cache of free blocks
};

/** A block, from one step to another. */
struct past_block {
	uint64_t addr, end;
	uint32_t from, to;
};

/** The blocks that a grain of memory was part of, in time's order. */
struct past_grain {
	VEC(uint32_t) blocks;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct past_grain *grain_at(struct dec_recover *r, uint64_t addr, bool may_make)
{
	uint64_t key = addr / HEAP_GRAIN, *at = map_get(&r->guess.grain_at, key);
	struct past_grain *g;

	if (at || !may_make)
		return at ? &r->guess.grains.data[*at] : NULL;
	g = vec_push(&r->guess.grains);
	return g && !map_put(&r->guess.grain_at, key, r->guess.grains.size - 1) ? g :
										  NULL;
}

static struct err *block_add(struct dec_recover *r, uint64_t addr, uint64_t size,
			     uint32_t from)
{
	struct past_block *b = vec_push(&r->guess.blocks);
	uint64_t covered = size < HEAP_COVERED ? size : HEAP_COVERED;

	if (!b)
		return &err_nomem;
	*b = (struct past_block){ addr, addr + size, from, UINT32_MAX };
	for (uint64_t at = addr; at < addr + covered; at += HEAP_GRAIN) {
		struct past_grain *g = grain_at(r, at, true);
		uint32_t *to = g ? vec_push(&g->blocks) : NULL;

		if (!to)
			return &err_nomem;
		*to = r->guess.blocks.size - 1;
	}
	return NULL;
}

/* What the end says of the size of the block at @p addr, if one is there: glibc's header. */
static uint64_t end_size(const struct dec_recover *r, uint64_t addr)
{
	uint64_t line[8], size;

	if (addr & 15 || r->mem.end->read(r->mem.end->ctx, (addr - 8) & ~63ull, line,
					  64) != DEC_MAP_PRIVATE)
		return 0;
	size = line[((addr - 8) & 63) / 8] & ~7ull;
	return size >= 32 && size <= 1 << 26 && !(size & 15) ? size : 0;
}

/* The block at @p addr is given back at step @p at; one that is not known of was there from
 * the beginning, as large as its header tells in the end. */
static struct err *block_end(struct dec_recover *r, uint64_t addr, uint32_t at)
{
	struct past_grain *g = grain_at(r, addr, false);
	struct past_block *b = NULL;
	struct err *err;
	uint64_t size;

	if (g && g->blocks.size)
		b = &r->guess.blocks.data[g->blocks.data[g->blocks.size - 1]];
	if (b && b->addr == addr && b->to == UINT32_MAX) {
		b->to = at;
		return NULL;
	}
	if (b)
		return NULL; // a pointer into something else, or one that is free already
	size = end_size(r, addr);
	err = block_add(r, addr, size ? size - 8 : HEAP_LEAST, 0);
	if (!err)
		r->guess.blocks.data[r->guess.blocks.size - 1].to = at;
	return err;
}

static struct err *call_apply(struct dec_recover *r,
			      const struct dec_recover_heap_call *call)
{
	struct err *err = NULL;

	if (call->taken)
		err = block_end(r, call->taken, call->entry);
	if (!err && call->given && call->given_size && call->exit)
		err = block_add(r, call->given, call->given_size, call->exit);
	return err;
}

static bool is_known(struct dec_recover *r, uint64_t addr, uint64_t size)
{
	for (uint64_t at = addr; at < addr + size; at += HEAP_GRAIN) {
		if (grain_at(r, at, false))
			return true;
	}
	return false;
}

/* Blocks behind the one at @p addr that no call of the window was about: they were there all
 * the time. Up to one that was looked at before. */
static struct err *blocks_walk(struct dec_recover *r, uint64_t addr)
{
	struct err *err = NULL;

	for (int n = 0; n < HEAP_WALK && !err; n++) {
		uint64_t size = end_size(r, addr);

		if (!size || map_get(&r->guess.walked, addr))
			break;
		if (map_put(&r->guess.walked, addr, 1))
			return &err_nomem;
		if (size <= HEAP_COVERED && !is_known(r, addr, size - 8))
			err = block_add(r, addr, size - 8, 0);
		addr += size;
	}
	return err;
}

/* glibc's heap begins with a block that is its own: as one that was free all the time. What
 * lies between that and the blocks of the calls is found from there. */
static struct err *begin_find(struct dec_recover *r, uint64_t lowest)
{
	uint64_t page = lowest & ~4095ull, line[8];
	struct err *err;

	for (int n = 0; n < HEAP_PAGES; n++, page -= 4096) {
		if (r->mem.end->read(r->mem.end->ctx, page, line, 64) != DEC_MAP_PRIVATE)
			return NULL;
		if (line[1] != HEAP_CACHE || is_known(r, page + 16, HEAP_GRAIN))
			continue;
		err = block_add(r, page + 16, HEAP_CACHE & ~7, 0);
		if (!err)
			r->guess.blocks.data[r->guess.blocks.size - 1].to = 0;
		return err ?: blocks_walk(r, page + 16);
	}
	return NULL;
}

struct err *dec_recover_heap_build(struct dec_recover *r)
{
	struct err *err = NULL;
	uint64_t lowest = UINT64_MAX;
	size_t n;

	for (size_t i = 0; i < r->guess.heap_calls.size && !err; i++)
		err = call_apply(r, &r->guess.heap_calls.data[i]);
	n = r->guess.blocks.size;
	for (size_t i = 0; i < n && !err; i++) {
		if (r->guess.blocks.data[i].addr < lowest)
			lowest = r->guess.blocks.data[i].addr;
		err = blocks_walk(r, r->guess.blocks.data[i].addr);
	}
	return err ?: n ? begin_find(r, lowest) : NULL;
}

struct err *dec_recover_heap_call(struct dec_recover *r,
				  const struct dec_recover_heap_call *call)
{
	return vec_add(&r->guess.heap_calls, *call);
}

/* ---- stores ----------------------------------------------------------------------------------- */

/* @return whether @p step is part of an allocator call. */
static bool is_allocating(const struct dec_recover *r, uint32_t step)
{
	size_t i = vec_rank(r->guess.heap_calls.size, k,
			    r->guess.heap_calls.data[k].entry <= step);
	const struct dec_recover_heap_call *c = i ? &r->guess.heap_calls.data[i - 1] :
						    NULL;

	return c && (!c->exit || step < c->exit);
}

/* @return the last block that @p word was part of when step @p step came; NULL: none. */
static const struct past_block *block_of(struct dec_recover *r, uint32_t step,
					 uint64_t word)
{
	const struct past_grain *g = grain_at(r, word, false);
	const struct past_block *b;
	size_t i;

	if (!g)
		return NULL;
	i = vec_rank(g->blocks.size, k,
		     r->guess.blocks.data[g->blocks.data[k]].from <= step);
	if (!i)
		return NULL;
	b = &r->guess.blocks.data[g->blocks.data[i - 1]];
	return word < b->addr || word >= b->end ? NULL : b;
}

/* @return whether glibc's header of a block lies at @p word: its size. */
static bool is_header(struct dec_recover *r, uint64_t word)
{
	const struct past_grain *g = (word & 15) == 8 ? grain_at(r, word + 8, false) :
							NULL;

	for (size_t i = g ? g->blocks.size : 0; i-- > 0;) {
		if (r->guess.blocks.data[g->blocks.data[i]].addr == word + 8)
			return true;
	}
	return false;
}

bool dec_recover_heap_excludes(struct dec_recover *r, uint32_t step, uint64_t word)
{
	const struct past_block *b = block_of(r, step, word);

	if (b)
		return step < b->to ? is_allocating(r, step) : !is_allocating(r, step);
	return is_header(r, word) && !is_allocating(r, step);
}

void dec_recover_heap_deinit(struct dec_recover *r)
{
	for (size_t i = 0; i < r->guess.grains.size; i++)
		vec_deinit(&r->guess.grains.data[i].blocks);
	vec_deinit(&r->guess.grains);
	map_deinit(&r->guess.grain_at);
	map_deinit(&r->guess.walked);
	vec_deinit(&r->guess.blocks);
	vec_deinit(&r->guess.heap_calls);
}
