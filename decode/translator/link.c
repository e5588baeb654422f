// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a block leads: straight to the next one, once that is known; and what of that a run before knew.
 */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/translator/engine.h"

#include "decode/translator/emit.h"
#include "decode/translator/guard.h"

// Making a block takes as long as some five hundred passes of a pad (ENGINE_PASSES), that as long as leaving once.
#define ENGINE_PATIENCE 2

static void engine_patch(struct dec_engine *e, uint8_t *at, const uint8_t *to)
{
	int64_t rel = to - (at + 4);

	// Blocks of different arenas may be too far apart: such an exit stays one.
	if (rel != (int32_t)rel)
		return;
	dec_engine_keep(e, at);
	emit_patch_rel(at, to);
}

static void engine_link(struct dec_engine *e, struct engine_exit *x,
			const struct engine_block *from, const struct engine_block *to)
{
	assert(from->is_unguarded == to->is_unguarded &&
	       "the guard begins to rest, and to watch, at stops alone");
	if (!x->patch)
		return;
	if (!x->slow)
		engine_patch(e, x->patch, to->entry);
	else if (to->fast && to->scratch[0] == from->scratch[0] &&
		 (!e->guard || !memcmp(to->scratch, from->scratch, sizeof(to->scratch))))
		engine_patch(e, x->patch, to->fast);
	else
		engine_patch(e, x->slow, to->entry);
}

/* Is @p b entered from C alone? */
static bool engine_is_for_c(const struct engine_block *b)
{
	return (b->is_checked && !b->checks_itself) || b->looks;
}

/* Link those ways out of block @p made, which dec_engine_translate() returned, whose targets are there: each would be
 * left by once, for that. @return it. */
static uint32_t engine_link_made(struct dec_engine *e, uint32_t made)
{
	const struct engine_block *b = made == UINT32_MAX ? NULL : &e->blocks.data[made];

	for (uint32_t i = 0; b && i < b->n_exits; i++) {
		struct engine_exit *x = &e->exits.data[b->first_exit + i];
		struct map *blocks = dec_engine_blocks(e, b->is_unguarded);
		uint64_t *to = x->kind == ENGINE_EXIT_DIRECT && !x->pending ?
				       map_get(blocks, x->rip) :
				       NULL;

		if (to && !engine_is_for_c(&e->blocks.data[*to]))
			engine_link(e, x, b, &e->blocks.data[*to]);
	}
	return made;
}

static uint32_t engine_make(struct dec_engine *e, uint64_t rip, enum engine_way way,
			    int pending)
{
	return engine_link_made(e, dec_engine_translate(e, rip, way, pending));
}

uint32_t dec_engine_block_for(struct dec_engine *e, uint64_t rip, enum engine_way way)
{
	uint64_t *known = map_get(dec_engine_blocks(e, dec_guard_rests(e->guard)), rip);

	if (known && dec_engine_is_current(e, *known))
		return *known;
	if (!e->world.avail(e->world.ctx, rip, PROT_EXEC))
		return ENGINE_NO_CODE;
	return engine_make(e, rip, way, 0);
}

/* What exit @p exit_id is to lead to, where block @p to is: that, or, if something is pending, a
 * block of its own. Most such exits are taken a few times or never: first it is a pad, and only where one is at the end of
 * what all pass it gets a continuation. @return UINT32_MAX: nothing yet. */
static uint32_t engine_continuation(struct dec_engine *e, uint32_t exit_id, uint32_t to)
{
	struct engine_exit *x = &e->exits.data[exit_id];

	if (!x->pending)
		return to;
	if (x->is_linked || ++x->n_taken < ENGINE_PATIENCE)
		return UINT32_MAX;
	if (x->n_taken == ENGINE_PATIENCE) {
		to = engine_link_made(e, dec_engine_make_pad(e, exit_id));
	} else {
		e->ctx->passes = ENGINE_PASSES;
		to = engine_make(e, x->rip, ENGINE_WAY_DIRECT, x->pending);
	}
	return e->is_flushed ? UINT32_MAX : to;
}

/* Branch straight to block @p to from now on, at exit @p exit_id. */
static void engine_learn(struct dec_engine *e, uint32_t exit_id, uint32_t to)
{
	const struct engine_block *b = &e->blocks.data[to];
	uint64_t *targets = b->is_unguarded ? e->ctx->unguarded_targets : e->ctx->targets;
	uint64_t *slot = &targets[b->rip & 0xffff];
	struct engine_exit *x;

	if (engine_is_for_c(b))
		return;
	if (exit_id != DEC_EXIT_INDIRECT) {
		to = engine_continuation(e, exit_id, to);
		if (to == UINT32_MAX || engine_is_for_c(&e->blocks.data[to]))
			return;
		x = &e->exits.data[exit_id];
		engine_link(e, x, &e->blocks.data[x->block], &e->blocks.data[to]);
		x->is_linked = !e->blocks.data[to].is_pad;
		return;
	}
	// The first of those with this slot: the others are tried behind it.
	dec_engine_keep(e, b->landing + ENGINE_LANDING_NEXT);
	memcpy(b->landing + ENGINE_LANDING_NEXT, slot, sizeof(*slot));
	*slot = (uint64_t)b->landing;
}

enum dec_verdict dec_engine_go_on(struct dec_engine *e, uint32_t exit_id)
{
	enum engine_way way = exit_id == DEC_EXIT_INDIRECT ? ENGINE_WAY_INDIRECT :
							     ENGINE_WAY_DIRECT;
	uint32_t to = dec_engine_block_for(e, e->ctx->rip, way);

	if (to == UINT32_MAX)
		return DEC_DIVERGED;
	if (!e->is_flushed && to != ENGINE_NO_CODE)
		engine_learn(e, exit_id, to);
	return DEC_GO;
}

/* ---- what a run before knew ------------------------------------------------------------- */

#define KEY_RIP 47 // bits of it

static uint64_t engine_key(uint64_t rip, int8_t pending, bool is_pad)
{
	return (uint64_t)is_pad << 63 | rip << 8 | (uint8_t)pending;
}

uint64_t dec_engine_block_key(const struct engine_block *b)
{
	return engine_key(b->rip, b->pending, b->is_pad);
}

/* The block at @p rip that all enter, ready for indirect branches. */
static void engine_warm_block(struct dec_engine *e, uint64_t rip)
{
	uint32_t b = e->world.avail(e->world.ctx, rip, PROT_EXEC) ?
			     dec_engine_block_for(e, rip, ENGINE_WAY_DIRECT) :
			     ENGINE_NO_CODE;

	// Whether it is behind another one there is not known.
	if (b < ENGINE_NO_CODE && e->ctx->targets[rip & 0xffff] == e->ctx->miss)
		engine_learn(e, DEC_EXIT_INDIRECT, b);
}

/* Is exit @p x to lead to one of the continuations, or pads, that are @p left, by their keys? Then that no longer is. */
static bool engine_warm_take(struct engine_exit *x, struct map *left, bool is_pad)
{
	uint64_t *n = map_get(left, engine_key(x->rip, x->pending, is_pad));

	if (!n || !*n || x->is_linked)
		return false;
	--*n;
	x->n_taken = is_pad ? ENGINE_PATIENCE - 1 : ENGINE_PATIENCE;
	return true;
}

/* Link exit @p x, if what it leads to is there, or is one of those @p left. */
static void engine_warm_exit(struct dec_engine *e, uint32_t x, struct map *left)
{
	struct engine_exit *exit = &e->exits.data[x];
	uint64_t *to;

	if (exit->kind != ENGINE_EXIT_DIRECT || e->blocks.data[exit->block].is_gone)
		return;
	to = map_get(&e->block_of, exit->rip);
	if (to && (!exit->pending || engine_warm_take(exit, left, false) ||
		   engine_warm_take(exit, left, true)))
		engine_learn(e, x, *to);
}

void dec_engine_warm(struct dec_engine *e, const uint64_t *key, size_t n)
{
	struct map left = {};

	for (size_t i = 0; i < n; i++) {
		uint64_t *count = map_get(&left, key[i]);

		engine_warm_block(e, key[i] >> 8 & ((1ul << KEY_RIP) - 1));
		if (count)
			++*count;
		else if (map_put(&left, key[i], 1))
			break; // without memory for it, it stays cold
	}
	// Those of continuations that this makes come at the end.
	for (uint32_t x = 0; x < e->exits.size; x++)
		engine_warm_exit(e, x, &left);
	map_deinit(&left);
}
