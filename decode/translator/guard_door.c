// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The guard's door: most of its events are calls of malloc() and free(), and of functions that read strings. C sees to
 * these with the guest's vector registers where they are, which to save and load costs more than all else. So this file
 * and those that it calls are compiled to use general registers alone (DOOR in the Makefile); what might call anybody else
 * - the C library, when a table is full - leaves by the wide door, to dec_guard_event().
 */
#include "decode/translator/guard_int.h"

// The guest's code runs in one thread.
static struct dec_engine *engine;

void dec_guard_open_door(struct dec_engine *e)
{
	engine = e;
}

/* May realloc() have moved what it was given? */
static bool may_move(struct dec_guard *g, const struct guard_call *call)
{
	const struct guard_node *n = &g->nodes.data[guard_live_at(g, call->arg[0])];

	return call->hook.which == CAP_HEAP_REALLOC && call->arg[1] &&
	       n->size < GUARD_CLEARED && !dec_guard_has_parts(n->tag);
}

/* .. a node begin at @p addr without memory for that? */
static bool may_be_put(const struct dec_guard *g, uint64_t addr)
{
	const uint32_t *slot = guard_live_slot(g, addr);

	return slot && (!*slot || g->rows[*slot].start == addr);
}

/* May the allocator's call that is under way return? */
static bool may_leave(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	const struct guard_call *call = &g->call;
	uint64_t addr = e->ctx->gpr[CAP_RAX], size = call->arg[0], is_high;

	if (call->hook.kind != DEC_HOOK_ALLOCATOR)
		return false;
	if (call->hook.which == CAP_HEAP_FREE)
		return true;
	if (call->hook.which == CAP_HEAP_CALLOC &&
	    __builtin_mul_overflow(size, call->arg[1], &size))
		return false;
	if (call->hook.which == CAP_HEAP_REALLOC)
		size = call->arg[1];
	if ((call->hook.which != CAP_HEAP_MALLOC && call->hook.which != CAP_HEAP_CALLOC &&
	     !may_move(g, call)) ||
	    !addr ||
	    size > GUARD_CLEARED - 16) // words that it has a part of are cleared, too
		return false;
	is_high = addr >= GUARD_HIGH;
	return (is_high ? g->has_high : g->has_low || addr > UINT32_MAX) &&
	       !guard_is_sweep_due(g) &&
	       (g->free_rows.size || g->nodes.size < g->nodes.capacity) &&
	       may_be_put(g, addr) && !map_get(&g->none, addr) &&
	       (!g->parts.size || dec_guard_parts_may_begin(e, size));
}

/* May node @p number (0: there is none) be released by what the guest stands at? */
static bool may_release(const struct dec_engine *e, uint32_t number)
{
	struct dec_guard *g = e->guard;
	uint32_t tag = e->ctx->tag[CAP_RDI];
	const struct guard_node *n = &g->nodes.data[number];

	return number && (!tag || tag == n->tag) &&
	       n->family == (g->family.family ? dec_guard_family(e) : 0) &&
	       guard_is_told_right(g, n, n->family);
}

/* May function @p h of the allocator's, or one that calls it, begin? */
static bool may_enter(const struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	const uint64_t *gpr = e->ctx->gpr;

	if (guard_is_within(&g->call, gpr[CAP_RSP]))
		return true; // it is the allocator's own, and nothing
	if (g->call.is_open)
		return false;
	if (h->kind == DEC_HOOK_FAMILY && h->is_once) // where it returns to is no stop
		return true;
	if (!guard_is_stop(g, guard_word_at(gpr[CAP_RSP])))
		return false;
	if (h->kind == DEC_HOOK_FAMILY)
		return true;
	if (h->kind != DEC_HOOK_ALLOCATOR || gpr[CAP_RDI] >> 63 ||
	    e->ctx->blank & (1u << CAP_RDI | 1u << CAP_RSI))
		return false;
	switch (h->which) {
	case CAP_HEAP_MALLOC:
		return true;
	case CAP_HEAP_FREE:
		return !gpr[CAP_RDI] || may_release(e, guard_live_at(g, gpr[CAP_RDI]));
	case CAP_HEAP_CALLOC:
		return !(gpr[CAP_RSI] >> 63);
	case CAP_HEAP_REALLOC:
		return !(gpr[CAP_RSI] >> 63) &&
		       (!gpr[CAP_RDI] || may_release(e, guard_live_at(g, gpr[CAP_RDI])));
	default:
		return false;
	}
}

/* Function @p which of the allocator begins, at @p ev. */
static void begin_rest(struct dec_engine *e, const struct guard_event *ev,
		       enum cap_heap_fn which)
{
	struct guard_call *call = &e->guard->call;

	guard_open_call(call, e->ctx,
			(struct guard_called){ .number = ev->hook - 1,
					       .kind = DEC_HOOK_ALLOCATOR,
					       .which = which });
	guard_take_family(e);
	call->is_unguarded = true;
	guard_keep_tagged(call, e->ctx);
}

static bool malloc_begins(struct dec_engine *e, const struct guard_event *ev)
{
	if (e->ctx->gpr[CAP_RDI] >> 63)
		return false;
	begin_rest(e, ev, CAP_HEAP_MALLOC);
	return true;
}

static bool malloc_returns(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	uint64_t addr = e->ctx->gpr[CAP_RAX], size = g->call.arg[0];
	uint32_t tag;

	// Words that it has a part of are cleared, too.
	if (!addr || size > GUARD_CLEARED - 16 ||
	    (g->parts.size && !dec_guard_parts_may_begin(e, size)))
		return false;
	tag = dec_guard_node_quick(e, addr, size);
	if (!tag)
		return false;
	guard_close_call(e);
	e->ctx->tag[CAP_RAX] = tag;
	return true;
}

/* guard_live_at() of the first argument: its tag tells of which node to have the record while that is looked up. */
static uint32_t node_at_first(const struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	uint64_t addr = e->ctx->gpr[CAP_RDI];
	const struct guard_node *n = guard_node_of(g, e->ctx->tag[CAP_RDI]);
	const uint32_t *slot = guard_live_slot(g, addr);
	uint32_t number = n - g->nodes.data;

	return slot && *slot == number && n->start == addr ? number :
							     guard_live_at(g, addr);
}

static bool free_begins(struct dec_engine *e, const struct guard_event *ev)
{
	struct dec_guard *g = e->guard;
	uint64_t addr = e->ctx->gpr[CAP_RDI];
	uint32_t n = node_at_first(e);

	if (addr && !may_release(e, n))
		return false;
	begin_rest(e, ev, CAP_HEAP_FREE);
	if (n)
		dec_guard_node_died(g, n);
	return true;
}

static bool free_returns(struct dec_engine *e)
{
	guard_close_call(e);
	return true;
}

static bool family_begins(struct dec_engine *e, const struct guard_event *ev)
{
	const struct dec_guard *g = e->guard;
	const struct dec_hook *h = &g->hook.data[ev->hook - 1];

	if (!h->is_once || (g->family.family && ev->rip == g->family.returns))
		return false;
	dec_guard_enter_family(e, h);
	return true;
}

/* The call under way has returned, if one is, and to there. */
static bool returns(struct dec_engine *e)
{
	const struct dec_guard *g = e->guard;

	if (!g->call.is_open && !g->family.family)
		return true; // it came there otherwise
	if (!g->call.is_unguarded || !guard_is_back(e) ||
	    (g->family.family && e->ctx->rip == g->family.returns))
		return false;
	return g->call.hook.which == CAP_HEAP_MALLOC ? malloc_returns(e) :
	       g->call.hook.which == CAP_HEAP_FREE   ? free_returns(e) :
						       false;
}

/* .. by who is told of when it returns, and none is under way? */
static bool may_be_called(const struct dec_engine *e)
{
	return !e->guard->call.is_open &&
	       guard_is_stop(e->guard, guard_word_at(e->ctx->gpr[CAP_RSP]));
}

/* Most calls by far are of malloc() and free(), by the user or for operators new and delete. @return whether @p ev is of one, and
 * is seen to. */
static bool at_common_call(struct dec_engine *e, const struct guard_event *ev)
{
	switch (ev->way) {
	case GUARD_STOP_BACK:
		return returns(e);
	case GUARD_STOP_MALLOC:
		return may_be_called(e) && malloc_begins(e, ev);
	case GUARD_STOP_FREE:
		return may_be_called(e) && free_begins(e, ev);
	case GUARD_STOP_FAMILY:
		return !e->guard->call.is_open && family_begins(e, ev);
	default:
		return false;
	}
}

static bool at_call(struct dec_engine *e, const struct dec_hook *h)
{
	bool is_back = guard_is_back(e);

	if ((is_back && !may_leave(e)) || (h && (is_back || !may_enter(e, h))))
		return false;
	return guard_at(e, h, is_back);
}

/* By the wide door. */
static uint8_t *out(const struct dec_engine *e)
{
	return (uint8_t *)(e->ctx->exit_id == DEC_EXIT_GUARD_QUICK ? e->ctx->quick :
								     e->ctx->common);
}

/* At the beginning of a block, where a function of the allocator begins or returns to. */
static uint8_t *at_stop(struct dec_engine *e, struct guard_event *ev)
{
	struct dec_guard *g = e->guard;
	bool is_done = !g->passed &&
		       at_call(e, ev->hook ? &g->hook.data[ev->hook - 1] : NULL);

	return (is_done ? guard_go_on(e, ev) : NULL) ?: out(e);
}

/* Whose pointer is it, if it is any? */
static bool at_word(struct dec_engine *e, const struct guard_event *ev, uint64_t addr)
{
	uint64_t value = e->ctx->gpr[ev->reg];

	if (!dec_guard_word_tag(e->guard, addr, value) && !guard_live_at(e->guard, value))
		return false;
	e->ctx->tag[ev->reg] = dec_guard_recall(e->guard, addr, value);
	return true;
}

// Of more there is the less to be won.
enum { MOVS_MOST = 4096 };

/* What is accessed is right; then words have their tags, and the guest moves them. */
static bool at_movs(struct dec_engine *e, const struct guard_event *ev)
{
	const struct dec_ctx *c = e->ctx;
	uint64_t n = c->gpr[CAP_RCX] << ev->reg;
	uint32_t tag[2] = { c->tag[CAP_RDI], c->tag[CAP_RSI] };

	return c->gpr[CAP_RCX] <= MOVS_MOST && !c->tag[CAP_RCX] && !(c->rflags & 0x400) &&
	       !dec_guard_has_parts(tag[0]) && !dec_guard_has_parts(tag[1]) &&
	       dec_guard_is_right(e->guard, tag[0], c->gpr[CAP_RDI], n) &&
	       dec_guard_is_right(e->guard, tag[1], c->gpr[CAP_RSI], n) &&
	       dec_guard_copy_words(e->guard, c->gpr[CAP_RDI], c->gpr[CAP_RSI], n, false);
}

static bool at_move(struct dec_engine *e, const struct guard_event *ev,
		    uint64_t scratch[3])
{
	uint32_t to = dec_guard_parts_begin(e, scratch[0], ev->rip, ev->reg, scratch[1]);

	if (!to || e->guard->doubt)
		return false;
	scratch[0] = to;
	return true;
}

static bool see_to(struct dec_engine *e, const struct guard_event *ev, uint64_t addr)
{
	switch (ev->kind) {
	case GUARD_EVENT_STRING:
		dec_guard_enter_function(e, &e->guard->hook.data[ev->hook - 1]);
		return !e->guard->doubt;
	case GUARD_EVENT_WORD:
		return at_word(e, ev, addr);
	case GUARD_EVENT_MOVS:
		return at_movs(e, ev);
	default:
		return false;
	}
}

/* Any event. @return where it goes on. */
static __attribute__((noinline)) uint8_t *at_event(struct dec_engine *e,
						   struct guard_event *ev)
{
	struct dec_guard *g = e->guard;
	const struct engine_block *b;
	uint64_t borrowed[3];
	bool is_done, is_listed;

	// A doubt is listed then.
	is_listed = g->is_patient &&
		    (ev->kind == GUARD_EVENT_STRING || ev->kind == GUARD_EVENT_BLANK);
	if (g->doubt || is_listed)
		return out(e);
	if (ev->kind == GUARD_EVENT_BLANK)
		return dec_blank_may_pass(e, ev->rip) ? ev->passed : out(e);
	e->ctx->rip = ev->rip;
	if (ev->kind == GUARD_EVENT_CALL)
		return at_stop(e, ev);
	b = &e->blocks.data[ev->block];
	if (b->far_reg != DEC_REG_NONE && ev->kind == GUARD_EVENT_WORD)
		return out(e);
	guard_swap_scratch(e, b, borrowed, true);
	if (ev->kind == GUARD_EVENT_MOVE)
		is_done = at_move(e, ev, borrowed);
	else
		is_done = see_to(e, ev, borrowed[0]);
	guard_swap_scratch(e, b, borrowed, false);
	if (!is_done)
		return out(e);
	return ev->passed ?: ev->resume;
}

/* One of those that come most. */
static __attribute__((noinline)) uint8_t *at_common_stop(struct dec_engine *e,
							 struct guard_event *ev)
{
	const struct dec_guard *g = e->guard;
	uint8_t *to;

	e->ctx->rip = ev->rip;
	if (g->doubt || g->passed || !at_common_call(e, ev))
		return at_event(e, ev);
	to = guard_go_on(e, ev);
	return to ?: out(e);
}

uint8_t *dec_guard_door(void)
{
	struct dec_engine *e = engine;
	struct guard_event *ev = &e->guard->events.data[e->ctx->guard_event];

	// Each saves the registers that it needs.
	return ev->way ? at_common_stop(e, ev) : at_event(e, ev);
}
