// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Calls that the guard follows: of functions that read what their arguments say, of the allocator.
 */

#include <string.h>
#include <sys/mman.h>

#include "decode/translator/guard_int.h"

/* ---- functions that read ------------------------------------------------------------------------- */

uint64_t dec_guard_fold(uint64_t v)
{
	return v >= 'A' && v <= 'Z' ? v + 'a' - 'A' : v;
}

/* Does reading from argument @p i end within its first @p room bytes? */
static bool ends_within(const struct dec_engine *e, const struct dec_hook *h, int i,
			uint64_t room)
{
	const uint64_t *gpr = e->ctx->gpr;
	uint64_t at[2] = { gpr[CAP_RDI], gpr[CAP_RSI] };
	uint64_t limit = h->limit ? gpr[h->limit] : UINT64_MAX;
	uint64_t can = e->world.avail(e->world.ctx, at[!i], PROT_READ);

	if (limit <= room / h->width)
		return true;
	for (uint64_t k = 0; k < room / h->width; k++) {
		uint64_t v = dec_guard_element(at[i] + k * h->width, h->width), other;

		if (h->extent[i] == DEC_EXTENT_VALUE && v == (uint8_t)gpr[CAP_RSI])
			return true;
		if (!v &&
		    (h->extent[i] == DEC_EXTENT_TEXT || h->extent[i] == DEC_EXTENT_ORDER))
			return true;
		if (h->extent[i] < DEC_EXTENT_ORDER)
			continue;
		if ((k + 1) * h->width > can)
			return false;
		other = dec_guard_element(at[!i] + k * h->width, h->width);
		if (h->which ? dec_guard_fold(v) != dec_guard_fold(other) : v != other)
			return h->extent[i] != DEC_EXTENT_UNKNOWN;
	}
	return false;
}

/* @return how many characters are before the terminator of the text at @p at, up to @p most. */
static uint64_t length_of(const struct dec_engine *e, uint64_t at, uint32_t width,
			  uint64_t most)
{
	uint64_t can = e->world.avail(e->world.ctx, at, PROT_READ) / width, n = 0;

	while (n < most && n < can && dec_guard_element(at + n * width, width))
		n++;
	return n;
}

/* Does function @p h copy text to memory that it reads it from? */
static bool copies_over_itself(const struct dec_engine *e, const struct dec_hook *h)
{
	uint64_t to = e->ctx->gpr[CAP_RDI], from = e->ctx->gpr[CAP_RSI];
	uint64_t limit = h->limit ? e->ctx->gpr[h->limit] : UINT64_MAX;
	uint64_t apart = (to > from ? to - from : from - to) / h->width, n, before = 0;

	if (!h->copies || !limit)
		return false;
	if (h->copies == DEC_COPIES_ALL)
		return apart && apart < limit;
	// Nobody need know more than whether it is longer than that.
	n = length_of(e, from, h->width, apart < limit ? apart : limit);
	if (h->copies == DEC_COPIES_BEHIND)
		before = length_of(e, to, h->width, apart);
	else if (h->limit && to < from)
		n = limit - 1;
	return to > from ? n >= apart && limit > apart : before + n >= apart;
}

/* How much from @p addr on is of what a pointer of @p tag is to, for the call that is under way? */
static uint64_t room_at(struct dec_guard *g, uint32_t tag, uint64_t addr)
{
	const struct guard_node *n = guard_node_of(g, tag);

	if (!n->is_live || addr - n->start >= n->size)
		return 0;
	return dec_guard_has_parts(tag) ? dec_guard_parts_room(g, tag, addr) :
					  n->start + n->size - addr;
}

/* A function that was asked for @p bytes (0: not known) begins; what fills memory may call others for that. */
static void enter_fill(struct dec_engine *e, uint64_t bytes, bool is_filler)
{
	struct dec_guard *g = e->guard;

	if (g->fill.is_filler && guard_is_under_way(e, g->fill.rsp, g->fill.returns))
		return;
	g->fill.is_filler = is_filler;
	g->fill.bytes = bytes;
	g->fill.rsp = e->ctx->gpr[CAP_RSP];
	memcpy(&g->fill.returns, (const void *)g->fill.rsp, 8);
}

void dec_guard_enter_function(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	uint64_t rip = e->ctx->rip;
	const uint64_t at[2] = { e->ctx->gpr[CAP_RDI], e->ctx->gpr[CAP_RSI] };
	const uint32_t tag[2] = { e->ctx->tag[CAP_RDI], e->ctx->tag[CAP_RSI] };
	bool is_text = h->extent[1] == DEC_EXTENT_TEXT;
	bool is_filler = !h->extent[0] && !h->extent[1];
	uint64_t limit = h->limit && !is_text ? e->ctx->gpr[h->limit] : 0;

	if (g->call.is_open)
		return;
	if (h->times && __builtin_mul_overflow(limit, e->ctx->gpr[h->times], &limit))
		limit = UINT64_MAX;
	enter_fill(e, limit, is_filler);
	if (is_filler)
		return;
	if (copies_over_itself(e, h))
		dec_guard_doubt(e, DEC_DOUBT_CALL, rip);
	if (!h->extent[0] &&
	    dec_guard_parts_spill(g, tag[0], at[0], limit, tag[1], at[1]))
		dec_guard_doubt(e, DEC_DOUBT_ACCESS, rip);
	e->ctx->string_call[0] = e->ctx->gpr[CAP_RSP];
	memcpy(&e->ctx->string_call[1], (const void *)e->ctx->gpr[CAP_RSP], 8);
	for (int i = 0; i < 2; i++) {
		const struct guard_node *n = guard_node_of(g, tag[i]);
		uint64_t room = room_at(g, tag[i], at[i]);

		if (tag[i] && h->extent[i] &&
		    (n->is_live || !dec_guard_is_right(g, tag[i], at[i], 1)) &&
		    !ends_within(e, h, i, room))
			dec_guard_doubt(e, DEC_DOUBT_ACCESS, rip);
	}
}

/* ---- calls of the allocator --------------------------------------------------------------------- */

/* Is function @p h called by its own module? */
static bool is_for_itself(const struct dec_engine *e, const struct dec_hook *h)
{
	const struct dec_hook *own = dec_guard_foreign(e->guard, h->rip);

	return own &&
	       dec_guard_foreign(e->guard, guard_word_at(e->ctx->gpr[CAP_RSP])) == own;
}

/* So much of a thread's stack is looked through from where it begins. */
#define BEGINNING (16u << 10)

/* Does the allocator call function @p h of its own, in a thread that nobody else's code is under way in any more? At
 * its end glibc releases what its cache has, which the program did already; nobody is told of that. */
static bool is_at_end_of_thread(struct dec_engine *e, const struct dec_hook *h)
{
	uint64_t rsp = e->ctx->gpr[CAP_RSP], start = e->ctx->fs_base;

	if (!is_for_itself(e, h) || start - rsp > BEGINNING || rsp % 8 ||
	    e->world.avail(e->world.ctx, rsp, PROT_READ) < start - rsp)
		return false;
	for (uint64_t at = rsp; at + 8 <= start; at += 8)
		if (e->world.avail(e->world.ctx, guard_word_at(at), PROT_EXEC) &&
		    !dec_guard_foreign(e->guard, guard_word_at(at)))
			return false;
	return true;
}

/* Is a pointer of @p tag to @p n, or to what realloc made that of, in its place? */
static bool is_to(struct dec_guard *g, uint32_t tag, const struct guard_node *n)
{
	struct guard_node *old = guard_node_of(g, tag);

	return old == n || (!old->is_live && dec_guard_has_stayed(g, old) &&
			    &g->nodes.data[old->next] == n);
}

static void check_release(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	uint64_t addr = e->ctx->gpr[CAP_RDI];
	uint32_t number = guard_live_at(g, addr), tag = e->ctx->tag[CAP_RDI];
	const struct guard_node *n = &g->nodes.data[number];

	if (addr &&
	    (!number || (tag && !is_to(g, tag, n)) || n->family != g->call.family ||
	     !guard_is_told_right(g, n, g->call.family)) &&
	    !is_at_end_of_thread(e, h))
		dec_guard_doubt(e, DEC_DOUBT_RELEASE, e->ctx->rip);
}

/* A function of family @p h begins, if none is under way that has called it. */
void dec_guard_enter_family(struct dec_engine *e, const struct dec_hook *h)
{
	struct guard_family *f = &e->guard->family;

	if (f->family && guard_is_under_way(e, f->rsp, f->returns))
		return;
	f->family = h->which;
	f->is_once = h->is_once;
	f->is_told = h->is_once && h->limit;
	f->told = e->ctx->gpr[h->limit];
	f->align = h->times ? e->ctx->gpr[h->times] : 0;
	f->rsp = e->ctx->gpr[CAP_RSP];
	f->returns = guard_word_at(f->rsp);
	if (!f->is_once && guard_add_stop(e, f->returns))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
}

void dec_guard_leave_family(struct dec_engine *e)
{
	struct guard_family *f = &e->guard->family;

	if (e->ctx->gpr[CAP_RSP] > f->rsp)
		f->family = 0;
}

uint8_t dec_guard_family(const struct dec_engine *e)
{
	const struct guard_family *f = &e->guard->family;

	return f->family && guard_is_under_way(e, f->rsp, f->returns) ? f->family : 0;
}

uint8_t dec_guard_take_family(struct dec_engine *e)
{
	uint8_t ret = dec_guard_family(e);

	if (!ret || e->guard->family.is_once)
		e->guard->family.family = 0;
	return ret;
}

/* Is it asked for a negative number of bytes? */
static bool asks_for_negative(const struct guard_call *c)
{
	static const uint8_t sizes[CAP_HEAP_FNS] = {
		[CAP_HEAP_MALLOC] = 1,
		[CAP_HEAP_CALLOC] = 1 | 2,
		[CAP_HEAP_REALLOC] = 2,
		[CAP_HEAP_ALIGNED_ALLOC] = 2,
	};
	bool is_negative = false;

	for (int i = 0; i < 2 && c->hook.which < CAP_HEAP_FNS && !c->hook.times; i++)
		is_negative |= sizes[c->hook.which] >> i & c->arg[i] >> 63;
	return is_negative;
}

/* @return how many bytes the block had; 0: there is none. */
static uint64_t release(struct dec_guard *g, uint64_t addr)
{
	uint32_t n = guard_live_at(g, addr);
	uint64_t size = g->nodes.data[n].size;

	if (n)
		dec_guard_node_died(g, n);
	return size;
}

/* The allocator is at work now. */
static void keep_regs(struct dec_engine *e)
{
	struct guard_call *call = &e->guard->call;
	const struct dec_ctx *c = e->ctx;

	guard_keep_tagged(call, c);
	if (dec_guard_rests(e->guard))
		return;
	memcpy(call->tag, c->tag, sizeof(call->tag));
	call->vec_tags = c->vec_tags;
}

/* .. and has returned. */
static void bring_regs(struct dec_engine *e, bool was_at_rest)
{
	const struct guard_call *call = &e->guard->call;
	struct dec_ctx *c = e->ctx;

	if (!was_at_rest) {
		memcpy(c->tag, call->tag, sizeof(call->tag));
		c->vec_tags = call->vec_tags; // as the log has it, whatever they hold
	}
	guard_bring_tagged(call, c);
}

void dec_guard_enter_call(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	struct dec_ctx *c = e->ctx;
	struct guard_call *call = &g->call;
	uint64_t size = 0;
	// realloc(NULL) goes on as malloc(): who called knows of one.
	bool is_handed = call->is_open && c->gpr[CAP_RSP] == call->rsp &&
			 call->hook.kind == DEC_HOOK_ALLOCATOR;

	if (guard_is_within(call, c->gpr[CAP_RSP]))
		return;
	if (h->kind == DEC_HOOK_ALLOCATOR && h->which == DEC_HOOK_STRANGER) {
		if (!is_for_itself(e, h) && (guard_live_at(g, c->gpr[CAP_RDI]) ||
					     guard_live_at(g, c->gpr[CAP_RSI])))
			dec_guard_doubt(e, DEC_DOUBT_BEYOND, c->rip);
		return;
	}
	guard_open_call(call, c,
			(struct guard_called){ .number = h - g->hook.data,
					       .kind = h->kind,
					       .which = h->which,
					       .times = h->times });
	if (h->kind == DEC_HOOK_ALLOCATOR && h->times &&
	    __builtin_mul_overflow(call->arg[1], c->gpr[h->times], &call->arg[1]))
		call->arg[1] = UINT64_MAX;
	if (!is_handed)
		guard_take_family(e);
	call->is_unguarded = h->kind == DEC_HOOK_ALLOCATOR && !g->blank;
	if (h->kind == DEC_HOOK_ALLOCATOR) {
		if (h->which == CAP_HEAP_FREE || h->which == CAP_HEAP_REALLOC)
			check_release(e, h);
		if (asks_for_negative(call))
			dec_guard_doubt(e, DEC_DOUBT_CALL, c->rip);
		if (h->which == CAP_HEAP_FREE)
			size = release(g, call->arg[0]);
		if (g->blank && !is_handed)
			dec_blank_enter(e, h->which);
		if (g->blank)
			dec_blank_died(g->blank, call->arg[0], size);
		if (!is_handed)
			keep_regs(e);
		if (!dec_guard_rests(g)) {
			guard_fill(c->tag, 0, sizeof(c->tag));
			c->vec_tags = 0;
			dec_guard_show_spans(e);
		}
	}
	if (h->kind != DEC_HOOK_ALLOCATOR)
		dec_engine_set_break(e, call->returns, true);
	else if (guard_add_stop(e, call->returns))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, c->rip);
}

/* Is nothing known of the next GUARD_PAGE of @p size bytes at @p addr? */
static bool is_bare(struct dec_guard *g, uint64_t addr, uint64_t size)
{
	const uint64_t *words = dec_guard_shadow(g, addr, false);
	uint64_t any = 0;

	if (size < GUARD_PAGE || addr % GUARD_REGION > GUARD_REGION - GUARD_PAGE)
		return false;
	for (size_t k = 0; words && k < GUARD_PAGE / 8; k++)
		any |= words[k];
	return !any;
}

/* What realloc moved is in the new block, and nothing else is. */
static void take_over(struct dec_guard *g, uint64_t start, uint64_t size, uint64_t old,
		      uint64_t old_size)
{
	uint64_t kept = (old_size < size ? old_size : size) & ~7ull;

	for (uint64_t i = 0; i < kept && old != start; i += 8) {
		const uint64_t *known = dec_guard_shadow(g, old + i, false);
		uint64_t word = known ? *known : 0;

		if (i % GUARD_PAGE == 0 && is_bare(g, old + i, kept - i) &&
		    is_bare(g, start + i, kept - i)) {
			i += GUARD_PAGE - 8;
			continue;
		}
		if (word || dec_guard_word_tag(g, start + i, guard_word_at(start + i)))
			dec_guard_put_word(g, start + i, word, word >> 32);
	}
	dec_guard_forget_words(g, start + kept, start + size);
}

static void born(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	struct dec_guard *g = e->guard;
	const struct guard_call *call = &g->call;
	uint32_t old = call->hook.which == CAP_HEAP_REALLOC ?
			       guard_live_at(g, call->arg[0]) :
			       0,
		 now;
	uint64_t old_size = g->nodes.data[old].size;

	if (guard_is_sweep_due(g))
		dec_guard_sweep(e);
	if (call->hook.which == CAP_HEAP_REALLOC)
		release(g, call->arg[0]);
	if (g->blank && addr)
		dec_blank_born(e, addr, size, old_size,
			       call->hook.which == CAP_HEAP_CALLOC);
	if (!addr)
		return;
	now = dec_guard_node_born(e, addr, size, call->returns);
	if (!now)
		return;
	if (old && addr == call->arg[0])
		g->nodes.data[old].next = now;
	take_over(g, addr, size, call->arg[0], old_size);
}

/* What did the call under way allocate? As heap_calls_report() of history/heap_calls.c. @return false: nothing. */
static bool find_made(const struct dec_engine *e, uint64_t *addr, uint64_t *size)
{
	const struct guard_call *call = &e->guard->call;
	const uint64_t *arg = call->arg;

	*addr = e->ctx->gpr[CAP_RAX];
	switch (call->hook.which) {
	case CAP_HEAP_MALLOC:
		*size = arg[0];
		return true;
	case CAP_HEAP_CALLOC:
		*size = arg[0] * arg[1];
		return true;
	case CAP_HEAP_REALLOC:
		*size = arg[1];
		return *addr || (arg[0] && !arg[1]);
	case CAP_HEAP_ALIGNED_ALLOC:
		*size = arg[1];
		return true;
	case CAP_HEAP_POSIX_MEMALIGN:
		*size = arg[2];
		if ((uint32_t)*addr)
			return false;
		*addr = guard_word_at(arg[0]);
		return true;
	default:
		return false;
	}
}

/* malloc_usable_size() said that the block at @p addr has @p size bytes, which the program may use. */
static void widen_node(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	struct dec_guard *g = e->guard;
	uint32_t number = guard_live_at(g, addr);
	struct guard_node *n = &g->nodes.data[number];

	if (!addr || (number && size <= n->size))
		return;
	if (!number || dec_guard_has_parts(n->tag)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	n->size = g->rows[number].size = size;
	n->is_wide = true;
}

static void leave_allocator(struct dec_engine *e, bool was_at_rest)
{
	const struct guard_call *call = &e->guard->call;
	uint64_t rax = e->ctx->gpr[CAP_RAX], addr, size;
	struct dec_guard *g = e->guard;
	// A pointer to another may have been there, with the same value.
	uint64_t at = call->hook.which == CAP_HEAP_POSIX_MEMALIGN ? call->arg[0] : 0;

	if (g->blank)
		dec_blank_leave(e, at);
	bring_regs(e, was_at_rest);
	if (call->hook.which == CAP_HEAP_FREE)
		return;
	if (find_made(e, &addr, &size)) {
		born(e, addr, size);
		if (at)
			dec_guard_put_word(g, at, addr,
					   g->nodes.data[guard_live_at(g, addr)].tag);
	}
	if (call->hook.which == DEC_HOOK_USABLE)
		widen_node(e, call->arg[0], rax);
	e->ctx->tag[CAP_RAX] = g->nodes.data[guard_live_at(g, rax)].tag;
}

void dec_guard_leave_call(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	bool is_allocator = g->call.hook.kind == DEC_HOOK_ALLOCATOR, was_at_rest;
	uint64_t addr, size;
	struct dec_hook h;

	if (g->parts.size && is_allocator && find_made(e, &addr, &size) && addr &&
	    !dec_guard_parts_known(e, size))
		return;
	was_at_rest = dec_guard_rests(g);
	g->call.is_open = g->call.is_unguarded = false;
	if (is_allocator) {
		leave_allocator(e, was_at_rest);
		guard_show_new_spans(e, !was_at_rest);
		return;
	}
	h = g->hook.data[g->call.hook.number];
	h.rip = e->ctx->gpr[CAP_RAX];
	h.is_resolver = false;
	if (dec_guard_hook(e, &h))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
}

/* Know the event of the other block that begins where @p ev is, if it can be entered behind that. */
void dec_guard_find_other(struct dec_engine *e, struct guard_event *ev)
{
	uint64_t *known = map_get(dec_engine_blocks(e, !ev->is_unguarded), ev->rip);
	const struct engine_block *b = known ? &e->blocks.data[*known] : NULL;
	struct guard_event *other;

	if (!b || b->is_checked || !b->stop_event || b->async_over)
		return;
	ev->other = b->stop_event;
	other = &e->guard->events.data[ev->other - 1];
	ev->passed = other->resume;
	other->other = ev - e->guard->events.data + 1;
	other->passed = ev->resume;
}

void dec_guard_forget_stop(struct dec_guard *g, uint32_t event)
{
	uint32_t other = g->events.data[event].other;

	if (!other)
		return;
	g->events.data[other - 1].other = 0;
	g->events.data[other - 1].passed = NULL;
}

bool dec_guard_at_stop(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	uint64_t *h = map_get(&g->hooks, e->ctx->rip);

	return !g->doubt &&
	       guard_at(e, h ? &g->hook.data[*h - 1] : NULL, guard_is_back(e));
}
