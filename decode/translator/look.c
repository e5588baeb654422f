// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/look.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE 64

void dec_look_set(struct dec_engine *e, uint64_t rip, uint8_t stops)
{
	const uint64_t *known = map_get(&e->looks, rip);

	if (known && *known == stops)
		return;
	if (map_put(&e->looks, rip, stops))
		assert(!"out of memory for places");
	dec_engine_set_watch(e, rip, true);
	dec_engine_invalidate(e, rip, 1); // it may have been watched before
}

static int lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Is there nothing in @p n bytes of both to stop at? */
static bool is_passed(uint8_t stops, const uint8_t *a, const uint8_t *b, int byte,
		      uint64_t n)
{
	return !memcmp(a, b, n) && !(stops & DEC_LOOK_NUL && memchr(a, 0, n)) &&
	       !(stops & DEC_LOOK_FOUND && memchr(a, byte, n));
}

/* How far does a function with @p stops go that is about to begin? *@p ret_equal: its texts are equal up to there. */
static uint64_t look(struct dec_engine *e, uint8_t stops, bool *ret_equal)
{
	const struct dec_world *w = &e->world;
	const uint64_t *gpr = e->ctx->gpr;
	uint64_t first = gpr[CAP_RDI],
		 second = stops & DEC_LOOK_DIFFERENT ? gpr[CAP_RSI] : first;
	const uint8_t *a = (const uint8_t *)first, *b = (const uint8_t *)second;
	uint64_t n = 0, most = w->avail(w->ctx, first, PROT_READ),
		 can = w->avail(w->ctx, second, PROT_READ),
		 count = stops & DEC_LOOK_COUNT	 ? gpr[CAP_RDX] :
			 stops & DEC_LOOK_SECOND ? gpr[CAP_RSI] :
						   DEC_LOOK_MAX;
	bool is_any = stops & DEC_LOOK_ANY_CASE, differs = false, is_over = false;
	uint8_t byte = gpr[CAP_RSI];

	most = most < can ? most : can;
	most = most < count ? most : count;
	most = most < DEC_LOOK_MAX ? most : DEC_LOOK_MAX;
	while (most - n >= PIECE && is_passed(stops, a + n, b + n, byte, PIECE))
		n += PIECE;
	for (; n < most && !is_over; n++) {
		differs = is_any ? lower(a[n]) != lower(b[n]) : a[n] != b[n];
		is_over = differs || (stops & DEC_LOOK_NUL && !a[n]) ||
			  (stops & DEC_LOOK_FOUND && a[n] == byte);
	}
	*ret_equal = stops & DEC_LOOK_DIFFERENT && !differs && !is_any;
	return n;
}

void dec_look_log(struct dec_engine *e)
{
	const uint64_t *stops = e->mode == DEC_LOG_NONE || !e->looks.size ?
					NULL :
					map_get(&e->looks, e->ctx->rip);
	struct dec_rec *r;
	bool is_equal;

	if (!stops)
		return;
	r = dec_engine_log(e, DEC_REC_LOOK, sizeof(*r) + 16);
	r->value[0] = look(e, *stops, &is_equal);
	r->value[1] = is_equal;
}
