// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Giving up single blocks of the code cache. Nothing keeps a list of who jumps to a block,
 * and nothing needs to: its two entries are overwritten by jumps to stubs, whose exits are
 * linked to the block's successor once there is one, like every other exit.
 */

#include <assert.h>
#include <string.h>

#include "decode/translator/emit.h"
#include "decode/translator/emulate.h"
#include "decode/translator/guard.h"

/* Two stubs and their alignment. */
#define FORGET_ROOM 256

/* So many dropped blocks are some 50 MB. */
#define GONE_MAX 200000

/* The bytes at @p entry become a jump to @p to. @return whether it reaches. */
static bool forget_redirect(struct dec_engine *e, uint8_t *entry, const uint8_t *to)
{
	struct dec_emit at = { .p = entry };
	int64_t rel = to - (entry + 5);

	if (rel != (int32_t)rel)
		return false;
	dec_engine_keep(e, entry);
	emit_patch_rel(emit_jmp_rel(&at), to);
	return true;
}

/* An exit of block @p b to its own address, patched in by engine_link(). */
static uint32_t forget_exit(struct dec_engine *e, uint32_t b, uint8_t *patch)
{
	struct engine_exit *x = vec_push(&e->exits);

	assert(x && "out of memory for exits");
	*x = (struct engine_exit){ .rip = e->blocks.data[b].rip,
				   .patch = patch,
				   .block = b,
				   .pending = e->blocks.data[b].pending,
				   .kind = ENGINE_EXIT_DIRECT };
	return x - e->exits.data;
}

/* At @p out: leave the guest for the address of block @p b. @return the exit. */
static uint32_t forget_stub(struct dec_engine *e, uint32_t b, struct dec_emit *out)
{
	uint8_t *patch = emit_jmp_rel(out);
	uint32_t x = forget_exit(e, b, patch);

	emit_patch_rel(patch, out->p);
	emit_ctx_store_imm32(out, CTX_EXIT_ID, x);
	emit_ctx_jmp(out, CTX_COMMON);
	return x;
}

/* What block @p b leaves. @return false: no room. */
static bool forget_stubs(struct dec_engine *e, uint32_t b, struct engine_gone *g)
{
	struct engine_block *block = &e->blocks.data[b];
	struct engine_arena *arena = dec_engine_arena_for(e, block->rip, FORGET_ROOM);
	struct dec_emit out;

	if (!arena)
		return false;
	out = emit_start(arena->cold, e->ctx);
	*g = (struct engine_gone){ .block = b, .to = out.p };
	if (block->is_carried)
		emit_ctx_give_back(&out);
	g->exit = forget_stub(e, b, &out);
	if (block->fast) {
		// Who comes here holds the log pointer in the block's register, or has lent it three.
		g->fast_to = out.p;
		if (e->guard) {
			dec_guard_give_back(block->scratch, &out);
		} else {
			emit_ctx_store(&out, CTX_LOG, block->scratch[0]);
			emit_ctx_load(&out, block->scratch[0], CTX_SPILL);
		}
		g->fast_exit = forget_stub(e, b, &out);
	}
	arena->cold = (uint8_t *)(((uintptr_t)out.p + 15) & ~15ull);
	return true;
}

/* Exit @p x is no longer linked. */
static void forget_link(struct dec_engine *e, uint32_t x)
{
	uint8_t *patch = e->exits.data[x].patch;

	dec_engine_keep(e, patch);
	emit_patch_rel(patch, patch + 4);
	e->exits.data[x].n_taken = 0;
	e->exits.data[x].is_linked = false;
}

/* What a block as @p block, that was at the same place, has left: so that who led to any of them goes on behind one jump,
 * not behind one for each. NULL: nothing. */
static struct engine_gone *forget_find(struct dec_engine *e,
				       const struct engine_block *block)
{
	uint64_t *at = map_get(&e->gone_of, block->rip);

	for (uint32_t i = at ? *at : 0; i; i = e->gone.data[i - 1].next) {
		struct engine_gone *g = &e->gone.data[i - 1];
		const struct engine_block *was = &e->blocks.data[g->block];

		if (was->is_carried == block->is_carried &&
		    was->is_unguarded == block->is_unguarded &&
		    was->pending == block->pending && !was->fast == !block->fast &&
		    !memcmp(was->scratch, block->scratch, sizeof(was->scratch)))
			return g;
	}
	return NULL;
}

/* @return false: out of memory. */
static bool forget_note(struct dec_engine *e, struct engine_gone g)
{
	uint64_t rip = e->blocks.data[g.block].rip, *at = map_get(&e->gone_of, rip);

	g.next = at ? *at : 0;
	return !vec_add(&e->gone, g) && !map_put(&e->gone_of, rip, e->gone.size);
}

/* @return false: too far. */
static bool forget_lead(struct dec_engine *e, const struct engine_block *block,
			const struct engine_gone *g)
{
	return forget_redirect(e, block->host, g->to) &&
	       (!block->fast || forget_redirect(e, block->fast, g->fast_to));
}

/* @return false: no room, or too far. */
static bool forget_block(struct dec_engine *e, uint32_t b)
{
	struct engine_block *block = &e->blocks.data[b];
	struct engine_gone *known = forget_find(e, block), made;

	if (known && forget_lead(e, block, known)) {
		forget_link(e, known->exit);
		if (known->fast_to)
			forget_link(e, known->fast_exit);
	} else {
		if (!forget_stubs(e, b, &made) || !forget_lead(e, block, &made) ||
		    !forget_note(e, made))
			return false;
	}
	if (block->stop_event)
		dec_guard_forget_stop(e->guard, block->stop_event - 1);
	block->is_gone = true;
	e->n_gone++;
	return true;
}

/* @return whether map @p m led to block @p b, and no longer does. */
static void forget_name(struct map *m, uint64_t rip, uint32_t b)
{
	uint64_t *known = map_get(m, rip);

	if (known && *known == b)
		map_remove(m, rip);
}

/* ---- which blocks ------------------------------------------------------------------- */

static uint64_t block_last_page(const struct engine_block *b)
{
	return (b->rip + b->guest_bytes - 1) >> 12;
}

void dec_engine_remember(struct dec_engine *e, struct engine_arena *a, uint32_t b)
{
	struct engine_block *block = &e->blocks.data[b];
	uint64_t page = block->rip >> 12;
	uint32_t *slot = vec_push(&a->blocks);

	assert(slot && "out of memory for blocks");
	*slot = b;
	for (int i = 0; i < 2 && page + i <= block_last_page(block); i++) {
		uint64_t *head = map_get(&e->code_pages, page + i);

		assert(head && "code_seen() was told");
		block->next_on_page[i] = *head;
		*head = b + 1;
	}
}

static void forget_names(struct dec_engine *e, uint32_t b)
{
	forget_name(&e->block_of, e->blocks.data[b].rip, b);
	forget_name(&e->unguarded_of, e->blocks.data[b].rip, b);
	forget_name(&e->single_of, e->blocks.data[b].rip, b);
}

/* Drop the blocks on @p page that hold code of [addr, end). @return false: there was no
 * room, all are dropped. */
static bool forget_on_page(struct dec_engine *e, uint64_t page, uint64_t addr,
			   uint64_t end)
{
	uint64_t *head = map_get(&e->code_pages, page);
	uint32_t *link, at = head ? *head : 0, kept = 0;

	while (at) {
		uint32_t b = at - 1;
		struct engine_block *block = &e->blocks.data[b];

		link = &block->next_on_page[block->rip >> 12 != page];
		at = *link;
		if (!block->is_gone && block->rip < end &&
		    block->rip + block->guest_bytes > addr) {
			forget_names(e, b);
			if (!forget_block(e, b)) {
				dec_engine_flush(e);
				return false;
			}
		}
		// Those that stay are listed anew, the other way round.
		if (!block->is_gone) {
			*link = kept;
			kept = b + 1;
		}
	}
	if (head)
		*head = kept;
	return true;
}

/* What is dropped leaves a stub and its place in the arena, until all is dropped. */
static void forget_end(struct dec_engine *e)
{
	if (e->n_gone > GONE_MAX)
		dec_engine_flush(e);
}

void dec_engine_forget(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	for (uint64_t p = addr >> 12; p <= (addr + size - 1) >> 12; p++)
		if (!forget_on_page(e, p, addr, addr + size))
			return;
	forget_end(e);
}

/* @return as forget_on_page(). */
static bool forget_page(struct dec_engine *e, uint64_t page)
{
	if (!map_get(&e->code_pages, page))
		return true;
	if (!forget_on_page(e, page, page << 12, (page + 1) << 12))
		return false;
	map_remove(&e->code_pages, page);
	map_remove(&e->checked_pages, page);
	return true;
}

// Looking costs a tenth of a microsecond, a fault of a store some ten.
#define CHECKED_MAX 20000

bool dec_engine_is_current(struct dec_engine *e, uint32_t b)
{
	const struct engine_block *block = &e->blocks.data[b];
	uint64_t rip = block->rip;

	if (!block->is_checked)
		return true;
	if (++e->n_checked >= CHECKED_MAX) {
		e->n_checked = 0;
		dec_engine_invalidate(e, rip, 1);
		return false;
	}
	if (!memcmp((const void *)rip, &e->checked.data[block->checked_at],
		    block->checked_bytes))
		return true;
	dec_engine_forget(e, rip, 1);
	return false;
}

void dec_engine_invalidate(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	uint64_t first = addr >> 12, last = (addr + size - 1) >> 12;

	if (!size || !e->code_pages.size)
		return;
	dec_engine_settle_x87(e); // while what its address was made of still stands there
	// Either walk the range's pages or the code's, whichever are fewer.
	if (last - first <= e->code_pages.capacity) {
		for (uint64_t p = first; p <= last; p++)
			if (!forget_page(e, p))
				return;
	} else {
		for (size_t i = 0; i < e->code_pages.capacity;) {
			uint64_t p = e->code_pages.slots[i].key;

			if (p == MAP_EMPTY_KEY || p < first || p > last)
				i++; // else its slot is another's, or empty, afterwards
			else if (!forget_page(e, p))
				return;
		}
	}
	forget_end(e);
}
