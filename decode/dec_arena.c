// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The arenas: where emitted code lies. A rip-relative operand of the guest keeps its
 * 32-bit displacement, so each arena lies within reach of the code it holds and of the
 * data that this refers to.
 */

#define LOG_ROOM "decode"

#include <assert.h>
#include <sys/mman.h>

#include "decode/dec_engine.h"

#define ARENA_BYTES (64ull << 20)
#define ARENA_REACH (1ull << 30) // leaves 1 GiB of the 2 GiB reach for the data

static bool arena_is_near(const struct engine_arena *a, uint64_t rip)
{
	uint64_t at = (uint64_t)a->start;
	uint64_t far = at > rip ? at - rip : rip - at;

	return far < ARENA_REACH;
}

struct engine_arena *engine_arena_for(struct dec_engine *e, uint64_t rip, size_t room)
{
	struct engine_arena *a;

	for (size_t i = 0; i < e->arenas.size; i++) {
		a = &e->arenas.data[i];
		if (arena_is_near(a, rip) && (size_t)(a->end - a->cursor) >= room)
			return a;
	}
	// Libraries lie at the top of the mmap area: room is above. Programs lie at the
	// bottom of theirs, with the heap above: room is below. Try both, near first.
	for (uint64_t far = ARENA_BYTES; far < ARENA_REACH - ARENA_BYTES;
	     far += 32 << 20) {
		for (int side = 0; side < 2; side++) {
			bool is_above = (rip >> 44 == 7) == (side == 0);
			uint64_t at = (is_above ? rip + far : rip - far) & ~0xfffffull;
			void *p;

			if (!is_above && rip < far + 0x10000)
				continue;
			p = mmap((void *)at, ARENA_BYTES,
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 MAP_FIXED_NOREPLACE,
				 -1, 0);
			if (p == MAP_FAILED)
				continue;
			a = vec_push(&e->arenas);
			assert(a);
			*a = (struct engine_arena){ p, p, (uint8_t *)p + ARENA_BYTES, {} };
			log_debug("code arena at %p for %#lx", p, rip);
			return a;
		}
	}
	return NULL;
}

void engine_make_room(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < e->arenas.size; i++) {
		struct engine_arena *a = &e->arenas.data[i];

		if ((uint64_t)a->start >= addr + size || (uint64_t)a->end <= addr)
			continue;
		engine_flush(e);
		munmap(a->start, a->end - a->start);
		vec_deinit(&a->blocks);
		*a = e->arenas.data[--e->arenas.size];
		i--;
	}
}
