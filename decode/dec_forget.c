// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Giving up single blocks of the code cache. Nothing keeps a list of who jumps to a block,
 * and nothing needs to: its two entries are overwritten by jumps to stubs, whose exits are
 * linked to the block's successor once there is one, like every other exit.
 */

#include <assert.h>

#include "decode/dec_emit.h"
#include "decode/dec_engine.h"

/* Two stubs and their alignment. */
#define FORGET_ROOM 256

/* The bytes at @p entry become a jump to @p to. @return whether it reaches. */
static bool forget_redirect(uint8_t *entry, const uint8_t *to)
{
	struct dec_emit at = { entry };
	int64_t rel = to - (entry + 5);

	if (rel != (int32_t)rel)
		return false;
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
				   .kind = ENGINE_EXIT_DIRECT };
	return x - e->exits.data;
}

/* At @p out: leave the guest for the address of block @p b. */
static void forget_stub(struct dec_engine *e, uint32_t b, struct dec_emit *out)
{
	uint8_t *patch = emit_jmp_rel(out);
	uint32_t x = forget_exit(e, b, patch);

	emit_patch_rel(patch, out->p);
	emit_gs_store_imm32(out, CTX_EXIT_ID, x);
	emit_gs_jmp(out, CTX_COMMON);
}

/* @return false: no room, or too far. */
static bool forget_block(struct dec_engine *e, uint32_t b)
{
	struct engine_block *block = &e->blocks.data[b];
	struct engine_arena *arena = engine_arena_for(e, block->rip, FORGET_ROOM);
	struct dec_emit out;

	if (!arena)
		return false;
	out.p = arena->cursor;
	if (!forget_redirect(block->host, out.p))
		return false;
	forget_stub(e, b, &out);
	if (block->fast) {
		// Who comes here holds the log pointer in the block's register.
		if (!forget_redirect(block->fast, out.p))
			return false;
		emit_gs_store(&out, CTX_LOG, block->scratch[0]);
		emit_gs_load(&out, block->scratch[0], CTX_SPILL);
		forget_stub(e, b, &out);
	}
	arena->cursor = (uint8_t *)(((uintptr_t)out.p + 15) & ~15ull);
	block->guest_bytes = 0;
	block->is_gone = true;
	return true;
}

/* @return whether map @p m led to block @p b, and no longer does. */
static void forget_name(struct map *m, uint64_t rip, uint32_t b)
{
	uint64_t *known = map_get(m, rip);

	if (known && *known == b)
		map_remove(m, rip);
}

void engine_forget(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	for (uint32_t b = 0; b < e->blocks.size; b++) {
		const struct engine_block *block = &e->blocks.data[b];

		// A block without instructions of its own still looked at one.
		if (block->is_gone || block->rip >= addr + size ||
		    block->rip + block->guest_bytes <= addr)
			continue;
		forget_name(&e->block_of, block->rip, b);
		forget_name(&e->single_of, block->rip, b);
		if (!forget_block(e, b)) {
			engine_flush(e);
			return;
		}
	}
}
