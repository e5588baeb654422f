// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of the guard (guard.h) share that C does while emitted code waits. Private to them.
 */
#ifndef DECODE_TRANSLATOR_GUARD_INT_H
#define DECODE_TRANSLATOR_GUARD_INT_H

#include "decode/translator/engine.h"
#include "decode/translator/guard.h"

#define GUARD_PAGE 4096ull
// As hg_derive.h: what is farther from its node was not meant to be in it.
#define GUARD_REACH (INT64_C(1) << 20)

// Where programs that can lie anywhere have libraries and large blocks.
#define GUARD_HIGH 0x700000000000ull
// From a region's shadow to its numbers of nodes.
#define GUARD_LIVE_AT (GUARD_REGION + GUARD_PAGE)
// From so much on guard_fill() calls the C library.
#define GUARD_CLEARED GUARD_PAGE

typedef uint64_t guard_any_word __attribute__((aligned(1), may_alias));

/** Set @p n bytes at @p to to @p byte: few (below GUARD_CLEARED) without memset(), which may use vector registers, and which
 * compilers make of loops. */
static inline void guard_fill(void *to, uint8_t byte, uint64_t n)
{
	volatile uint8_t *at = to;

	if (n >= GUARD_CLEARED) {
		memset(to, byte, n);
		return;
	}
	for (; n >= 8; at += 8, n -= 8)
		*(volatile guard_any_word *)at = byte * 0x0101010101010101u;
	while (n)
		at[--n] = byte;
}

static inline uint64_t guard_word_at(uint64_t addr)
{
	uint64_t word;

	memcpy(&word, (const void *)addr, 8);
	return word;
}

static inline struct guard_node *guard_node_of(struct dec_guard *g, uint32_t tag)
{
	return &g->nodes.data[dec_guard_has_parts(tag) ?
				      dec_guard_parts_row(g, tag)->node :
				      tag / sizeof(struct guard_row)];
}

static inline bool guard_is_inside(const struct guard_node *n, uint64_t addr,
				   uint64_t size)
{
	return addr >= n->start && addr <= n->start + n->size &&
	       size <= n->start + n->size - addr;
}

/** Is the call that was entered with @p rsp still under way, and returns to @p to? */
static inline bool guard_is_under_way(const struct dec_engine *e, uint64_t rsp,
				      uint64_t to)
{
	uint64_t returns;

	if (!rsp || e->ctx->gpr[CAP_RSP] > rsp)
		return false;
	memcpy(&returns, (const void *)rsp, 8);
	return returns == to;
}

/** General registers are the guest's while C works: some are borrowed. */
static inline void guard_swap_scratch(struct dec_engine *e, const struct engine_block *b,
				      uint64_t borrowed[3], bool is_guest)
{
	for (int i = 0; i < 3 && b->scratch[i] != DEC_REG_NONE; i++) {
		uint64_t *reg = &e->ctx->gpr[b->scratch[i]];

		if (is_guest) {
			borrowed[i] = *reg;
			*reg = e->ctx->guard_spill[i];
		} else {
			e->ctx->guard_spill[i] = *reg;
			*reg = borrowed[i];
		}
	}
}

/* ---- guard.c ---------------------------------------------------------------------------------- */

/** Blocks that begin at @p rip begin with an event: breakpoints leave several times for one. @return ERR_NOMEM. */
struct err *dec_guard_add_stop(struct dec_engine *e, uint64_t rip);

/** @return whether they do. Of what is asked for often. */
static inline bool guard_is_stop(struct dec_guard *g, uint64_t rip)
{
	uint64_t *known =
		&g->known_stops[rip * 0x9e3779b97f4a7c15u >> (64 - GUARD_STOP_BITS)];

	if (*known != rip && map_get(&g->stops, rip))
		*known = rip;
	return *known == rip;
}

/** .. from now on, if they do not. @return ERR_NOMEM. */
static inline struct err *guard_add_stop(struct dec_engine *e, uint64_t rip)
{
	return guard_is_stop(e->guard, rip) ? NULL : dec_guard_add_stop(e, rip);
}

/* ---- guard_nodes.c ---------------------------------------------------------------------------- */

/** @return the shadow of the word at @p addr; NULL: there is none, nor is it @p is_made. */
uint64_t *dec_guard_shadow(struct dec_guard *g, uint64_t addr, bool is_made);

/** Word @p value at @p addr has @p tag; @return which it has. */
void dec_guard_put_word(struct dec_guard *g, uint64_t addr, uint64_t value, uint32_t tag);
uint32_t dec_guard_word_tag(struct dec_guard *g, uint64_t addr, uint64_t value);

/** Words of @p n bytes at @p from go to @p to, in this order, with their tags. @return false: there is no shadow for one, nor is
 * it @p is_made. */
bool dec_guard_copy_words(struct dec_guard *g, uint64_t to, uint64_t from, uint64_t n,
			  bool is_made);

/** Of nothing in [start, end) anything is known. */
void dec_guard_forget_words(struct dec_guard *g, uint64_t start, uint64_t end);

/** @return the number of the node that begins at @p start, and lives, if another begins in the same 16 bytes; 0: none. */
uint32_t dec_guard_find_close(const struct dec_guard *g, uint64_t start);

/** @return where the number is of the node that begins at @p start, if that lives and no other begins in the same 16 bytes;
 * NULL: none ever began near it. */
static inline uint32_t *guard_live_slot(const struct dec_guard *g, uint64_t start)
{
	uint64_t number = start / GUARD_REGION;
	uint64_t region = number < GUARD_REGIONS ? g->regions[number] : 0;

	return region ? (uint32_t *)(region + GUARD_LIVE_AT) + start % GUARD_REGION / 16 :
			NULL;
}

/** @return the number of the node that begins at @p start, and lives; 0: none. */
static inline uint32_t guard_live_at(const struct dec_guard *g, uint64_t start)
{
	const uint32_t *slot = guard_live_slot(g, start);
	uint32_t n = slot ? *slot : 0;

	if (n && g->rows[n].start == start)
		return n;
	return g->close.size ? dec_guard_find_close(g, start) : 0;
}

/** @return the tag of the word @p value that was read at @p addr: as hg_derive_recall(). */
uint32_t dec_guard_recall(struct dec_guard *g, uint64_t addr, uint64_t value);

/** Say where emitted code looks for pointers: nowhere while the allocator is at work. */
void dec_guard_show_spans(struct dec_engine *e);

/** .. if it @p is_told something else, or there is more. */
static inline void guard_show_new_spans(struct dec_engine *e, bool is_told)
{
	if (is_told || e->ctx->low_span != e->guard->span ||
	    e->ctx->high_span != e->guard->high_span)
		dec_guard_show_spans(e);
}

/** .. is it as to rows of parts: guard_is_sweep_due()? */
static inline bool guard_is_parts_sweep_due(const struct dec_guard *g)
{
	return !g->free_parts.size && g->n_parts_rows >= g->sweep_parts_at;
}

/** A program may allocate for ever: rows of nodes that are gone, and that no pointer is to any more, are used again. Is it time to
 * look for them? */
static inline bool guard_is_sweep_due(const struct dec_guard *g)
{
	return (!g->free_rows.size && g->nodes.size >= g->sweep_at) ||
	       guard_is_parts_sweep_due(g);
}

void dec_guard_sweep(struct dec_engine *e);

/** A node of @p size bytes begins at @p start, got by the call that returns to @p site. @return its number; 0: in doubt. */
uint32_t dec_guard_node_born(struct dec_engine *e, uint64_t start, uint64_t size,
			     uint64_t site);
void dec_guard_node_died(struct dec_guard *g, uint32_t number);

/** .. got by the call under way, of few bytes: where that takes no memory, and emitted code need not be told of anything. Of what
 * is in it nothing is known any more. @return its tag; 0: not so, and nothing was done. */
uint32_t dec_guard_node_quick(struct dec_engine *e, uint64_t start, uint64_t size);

/** Did realloc leave @p old in its place, and what it made of it, too? */
bool dec_guard_has_stayed(struct dec_guard *g, struct guard_node *old);

/** Is an access of @p size bytes right, by a pointer of @p tag? See hg_astray_check(). */
bool dec_guard_is_right(struct dec_guard *g, uint32_t tag, uint64_t addr, uint64_t size);

/* ---- guard_calls.c ----------------------------------------------------------------------------- */

/** A function begins that reads as @p h says. */
void dec_guard_enter_function(struct dec_engine *e, const struct dec_hook *h);

/** Function @p h of the allocator's begins (within its own nothing happens), or the one under way has returned. */
void dec_guard_enter_call(struct dec_engine *e, const struct dec_hook *h);
void dec_guard_leave_call(struct dec_engine *e);

/** Function @p h, that calls the allocator for a family, begins; the one under way has returned, if it is that one. */
void dec_guard_enter_family(struct dec_engine *e, const struct dec_hook *h);
void dec_guard_leave_family(struct dec_engine *e);

/** Is a function that begins with @p rsp the allocator's own, for @p call? One that allocates knows what of itself, though it
 * goes on as another: realloc(NULL) does as malloc(). */
static inline bool guard_is_within(const struct guard_call *call, uint64_t rsp)
{
	bool knows = call->hook.kind == DEC_HOOK_ALLOCATOR &&
		     call->hook.which < CAP_HEAP_FNS;

	return call->is_open && (rsp < call->rsp || (rsp == call->rsp && knows));
}

/** Has the call that is under way returned to where the guest is? */
static inline bool guard_is_back(const struct dec_engine *e)
{
	const struct guard_call *call = &e->guard->call;

	return call->is_open && e->ctx->rip == call->returns &&
	       e->ctx->gpr[CAP_RSP] > call->rsp;
}

/** The call of function @p h begins, with registers @p c. */
static inline void guard_open_call(struct guard_call *call, const struct dec_ctx *c,
				   struct guard_called h)
{
	call->is_open = true;
	call->has_class = false;
	call->class = 0;
	call->hook = h;
	call->rsp = c->gpr[CAP_RSP];
	call->returns = guard_word_at(call->rsp);
	call->arg[0] = c->gpr[CAP_RDI];
	call->arg[1] = c->gpr[CAP_RSI];
	call->arg[2] = c->gpr[CAP_RDX];
}

static inline uint64_t guard_two_tags(const struct dec_ctx *c, int r)
{
	return guard_word_at((uint64_t)&c->tag[r]);
}

/** Keep the registers that have tags, as most have none, while the allocator is at work. */
static inline void guard_keep_tagged(struct guard_call *call, const struct dec_ctx *c)
{
	uint32_t tagged = 0;

#pragma GCC unroll 8
	for (int r = 0; r < DEC_GPRS; r += 2)
		if (guard_two_tags(c, r)) {
			tagged |= 1u << r;
			call->gpr[r] = c->gpr[r];
			call->gpr[r + 1] = c->gpr[r + 1];
		}
	call->tagged = tagged;
}

/** .. and has returned: what is as it was is what it was. */
static inline void guard_bring_tagged(const struct guard_call *call, struct dec_ctx *c)
{
	for (uint32_t t = call->tagged; t; t &= t - 1) {
		int r = __builtin_ctz(t);

		if (c->gpr[r] != call->gpr[r])
			c->tag[r] = 0;
		if (c->gpr[r + 1] != call->gpr[r + 1])
			c->tag[r + 1] = 0;
	}
}

static inline void guard_close_call(struct dec_engine *e)
{
	struct guard_call *call = &e->guard->call;

	call->is_open = call->is_unguarded = false;
	guard_bring_tagged(call, e->ctx);
}

/** The guest stands at a stop, where hook @p h is (NULL: none). @p is_back: as guard_is_back(). @return whether all is right. */
static inline bool guard_at(struct dec_engine *e, const struct dec_hook *h, bool is_back)
{
	struct dec_guard *g = e->guard;

	if (is_back)
		dec_guard_leave_call(e);
	if (g->family.family && e->ctx->rip == g->family.returns)
		dec_guard_leave_family(e);
	if (h && (h->kind == DEC_HOOK_ALLOCATOR || h->is_resolver))
		dec_guard_enter_call(e, h);
	if (h && h->kind == DEC_HOOK_FAMILY && !g->call.is_open)
		dec_guard_enter_family(e, h);
	return !g->doubt;
}

/** @return for which family the allocator is called now; 0: for itself. .. which it then has been. */
uint8_t dec_guard_family(const struct dec_engine *e);
uint8_t dec_guard_take_family(struct dec_engine *e);

/** The call under way begins: is it of the allocator, and for which family? */
static inline void guard_take_family(struct dec_engine *e)
{
	struct guard_call *call = &e->guard->call;
	const struct guard_family *f = &e->guard->family;

	call->family = 0;
	if (f->family && call->hook.kind == DEC_HOOK_ALLOCATOR)
		call->family = dec_guard_take_family(e);
	if (call->family && f->is_told)
		dec_guard_new_asks(call->hook.which, call->arg, f->told, f->align);
}

/** .. or was when the allocator was called: may it release @p n, by the size that it was told? */
static inline bool guard_is_told_right(const struct dec_guard *g,
				       const struct guard_node *n, uint8_t family)
{
	const struct guard_family *f = &g->family;

	return !family || !f->is_told ||
	       dec_guard_new_size(n->size, f->align) ==
		       dec_guard_new_size(f->told, f->align);
}

/** Know the event of the other kind of block that begins where @p ev is, if it can be entered behind that. */
void dec_guard_find_other(struct dec_engine *e, struct guard_event *ev);

/** Event @p ev, of a block's beginning, was seen to, with all of the guest's registers in the context. @return where it goes on;
 * NULL: from the address, with g->passed set, as the guard began to rest, or rests no more, and there is no such block. */
static inline uint8_t *guard_go_on(struct dec_engine *e, struct guard_event *ev)
{
	struct dec_guard *g = e->guard;

	if (dec_guard_rests(g) == ev->is_unguarded)
		return ev->resume;
	if (!ev->passed)
		dec_guard_find_other(e, ev);
	if (!ev->passed) {
		g->passed = ev->rip;
		return NULL;
	}
	e->ctx->budget[0] -= ev->pending; // the other has none
	return ev->passed;
}

/* ---- guard_door.c ------------------------------------------------------------------------------ */

/** Events may come to the door from now on. */
void dec_guard_open_door(struct dec_engine *e);

/** Emitted code is there with an event, called by dec_door alone. @return where it goes on: behind the event, or out. */
uint8_t *dec_guard_door(void);

#endif
