// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The arenas: where emitted code lies. A rip-relative operand of the guest keeps its
 * 32-bit displacement, so each arena lies within reach of the code it holds and of the
 * data that this refers to, if there is room (if not: far.c). Where exactly is chance, and
 * there is memory only where there is code: pointers of the guest's that have gone wild are to
 * fault there, as they did without us.
 */

#define LOG_ROOM "decode"

#include <assert.h>
#include <sys/mman.h>

#include "decode/translator/engine.h"

#define ARENA_BYTES (64ull << 20)
#define ARENA_HOT (44ull << 20)	 // a block's cold part is about half as long
#define ARENA_REACH (1ull << 30) // leaves 1 GiB of the 2 GiB reach for the data
#define ARENAS_MOST 32
#define ARENA_CHANCE (256ull << 20)
#define ARENA_PIECE (1ull << 20) // there is memory by so much
// .. and pages by so much: a fault for each takes five times as long.
#define ARENA_AHEAD (64ull << 10)

/* Have memory for @p room bytes at @p at, in [*@p open, @p end), where there is none yet. */
static void arena_open(uint8_t **open, const uint8_t *at, size_t room, const uint8_t *end)
{
	size_t bytes = 0, most = end - *open;

	while (*open + bytes < at + room && bytes < most)
		bytes += ARENA_PIECE;
	if (bytes && mmap(*open, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			  0) == MAP_FAILED)
		assert(!"out of memory for code");
	*open += bytes;
}

/* Have pages for the next block, at @p at, before *@p open; *@p touched is where there are none yet. */
static void arena_touch(uint8_t **touched, const uint8_t *at, const uint8_t *open)
{
	size_t most = open - *touched;

	if (at + ARENA_AHEAD / 8 < *touched)
		return;
	// A kernel before 5.14 gives the pages one by one.
	madvise(*touched, most < ARENA_AHEAD ? most : ARENA_AHEAD, MADV_POPULATE_WRITE);
	*touched += most < ARENA_AHEAD ? most : ARENA_AHEAD;
}

/* An arena with room that is less than @p reach from @p rip. */
static struct engine_arena *arena_find(struct dec_engine *e, uint64_t rip, uint64_t reach,
				       size_t room)
{
	for (size_t i = 0; i < e->arenas.size; i++) {
		struct engine_arena *a = &e->arenas.data[i];
		uint64_t at = (uint64_t)a->start;
		uint64_t far = at > rip ? at - rip : rip - at;

		if (far < reach && (size_t)(a->hot_end - a->cursor) >= room &&
		    (size_t)(a->end - a->cold) >= room)
			return a;
	}
	return NULL;
}

void dec_engine_arena_empty(struct engine_arena *a)
{
	a->cursor = a->start;
	a->cold = a->hot_end;
	a->blocks.size = 0;
}

static struct engine_arena *arena_add(struct dec_engine *e, uint64_t at, int flags)
{
	struct engine_arena *a;
	void *p = mmap((void *)at, ARENA_BYTES, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	a = vec_push(&e->arenas);
	assert(a);
	*a = (struct engine_arena){ .start = p,
				    .end = (uint8_t *)p + ARENA_BYTES,
				    .hot_end = (uint8_t *)p + ARENA_HOT,
				    .open = p,
				    .open_cold = (uint8_t *)p + ARENA_HOT,
				    .touched = p,
				    .touched_cold = (uint8_t *)p + ARENA_HOT };
	dec_engine_arena_empty(a);
	log_debug("code arena at %p", p);
	return a;
}

/* Libraries lie at the top of the mmap area: room is above. Programs lie at the bottom of
 * theirs, with the heap above: room is below. Try both, near first. */
static struct engine_arena *arena_add_near(struct dec_engine *e, uint64_t rip)
{
	uint64_t chance = dec_engine_random() % ARENA_CHANCE;

	for (uint64_t far = ARENA_BYTES + chance; far < ARENA_REACH - ARENA_BYTES;
	     far += 32 << 20) {
		for (int side = 0; side < 2; side++) {
			bool is_above = (rip >> 44 == 7) == (side == 0);
			uint64_t at = (is_above ? rip + far : rip - far) & ~0xfffull;
			struct engine_arena *a;

			if (!is_above && rip < far + 0x10000)
				continue;
			a = arena_add(e, at, MAP_FIXED_NOREPLACE);
			if (a)
				return a;
		}
	}
	return NULL;
}

/* Part of the address space in which what lies is within reach of mostly the same. */
static uint64_t neighbourhood(uint64_t rip)
{
	return rip / ARENA_BYTES;
}

/* Looking for room costs a system call a place: what had none near it is not asked about for each
 * block. That there may be some since only makes code a little slower. */
static bool is_crowded(const struct dec_engine *e, uint64_t rip)
{
	return vec_find(&e->crowded, c, *c == neighbourhood(rip)) != NULL;
}

static void note_crowded(struct dec_engine *e, uint64_t rip)
{
	(void)vec_add(&e->crowded, neighbourhood(rip)); // else it is looked for again
	log_debug("no room for an arena around %#llx", neighbourhood(rip) * ARENA_BYTES);
}

/* The program has filled all within reach of some of its code, as a non-PIE one does
 * whose heap grows beyond 2 GiB. Any place will do then (far.c). */
static struct engine_arena *arena_add_far(struct dec_engine *e)
{
	return e->arenas.size < ARENAS_MOST ? arena_add(e, 0, 0) : NULL;
}

struct engine_arena *dec_engine_arena_for(struct dec_engine *e, uint64_t rip, size_t room)
{
	struct engine_arena *a = arena_find(e, rip, ARENA_REACH, room);

	if (!a && !is_crowded(e, rip)) {
		a = arena_add_near(e, rip);
		if (!a)
			note_crowded(e, rip);
	}
	if (!a)
		a = arena_find(e, rip, UINT64_MAX, room);
	if (!a)
		a = arena_add_far(e);
	if (a) {
		arena_open(&a->open, a->cursor, room, a->hot_end);
		arena_open(&a->open_cold, a->cold, room, a->end);
		arena_touch(&a->touched, a->cursor, a->open);
		arena_touch(&a->touched_cold, a->cold, a->open_cold);
	}
	return a;
}

void dec_engine_make_room(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < e->arenas.size; i++) {
		struct engine_arena *a = &e->arenas.data[i];

		if ((uint64_t)a->start >= addr + size || (uint64_t)a->end <= addr)
			continue;
		dec_engine_flush(e);
		munmap(a->start, a->end - a->start);
		vec_deinit(&a->blocks);
		*a = e->arenas.data[--e->arenas.size];
		i--;
	}
}
