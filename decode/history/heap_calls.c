// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/history/heap_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "decode/history/allocator.h"
#include "decode/history/heap_mute.h"
#include "decode/translator/guard.h"

struct err *dec_heap_calls_init(struct heap_calls *h, const struct capture *c,
				struct dec_symbols *symbols,
				const struct dec_heap_events *ev,
				const struct dec_heap_options *o, struct frames *frames)
{
	*h = (struct heap_calls){
		.capture = c, .symbols = symbols, .ev = ev, .o = o, .frames = frames
	};
	h->site_addr = calloc(capture_info(c)->n_heap_sites + 1, sizeof(*h->site_addr));
	return h->site_addr ? NULL : &err_nomem;
}

void dec_heap_calls_deinit(struct heap_calls *h)
{
	map_deinit(&h->wrappers);
	map_deinit(&h->named);
	map_deinit(&h->watch);
	vec_deinit(&h->next);
	vec_deinit(&h->open_watches);
	vec_deinit(&h->seen);
	vec_deinit(&h->recorded);
	free(h->site_addr);
}

/* ---- what is watched ------------------------------------------------------------------ */

// A map value for a watched address: 1 + index of its first user watch, with an allocator
// function above it.
#define WATCH_FN 0x100000000ull
#define WATCH_USER 0xffffffffull
#define WATCH_FN_SHIFT 40
#define WATCH_TIMES_SHIFT 48 // struct dec_allocator_function.times
#define WATCH_NEW_SHIFT 56   // 1 + index in dec_allocator_operators

static enum cap_heap_fn watched_fn(uint64_t value)
{
	return value >> WATCH_FN_SHIFT & 0xff;
}

#define ENTRIES_MAX 16 // of one name

/* Some address to be watched, and whom to tell. */
struct heap_watching {
	struct heap_calls *h;
	struct err *(*watch)(void *ctx, uint64_t addr);
	void *ctx;
};

/* @ret: the map's value, 0 for an address that was not watched. */
static struct err *heap_calls_watch(const struct heap_watching *w, uint64_t addr,
				    uint64_t **ret)
{
	struct err *err = NULL;

	*ret = map_get(&w->h->watch, addr);
	if (*ret)
		return NULL;
	if (map_put(&w->h->watch, addr, 0))
		return &err_nomem;
	if (w->watch)
		err = w->watch(w->ctx, addr);
	*ret = map_get(&w->h->watch, addr);
	return err;
}

static struct err *heap_calls_watch_entry(const struct heap_watching *w, uint64_t addr,
					  const struct dec_allocator_function *f)
{
	uint64_t *value;
	struct err *err = heap_calls_watch(w, addr, &value);

	if (!err && !(*value & WATCH_FN))
		*value |= WATCH_FN | (uint64_t)f->fn << WATCH_FN_SHIFT |
			  (uint64_t)f->times << WATCH_TIMES_SHIFT;
	w->h->has_allocator = true;
	return err;
}

/* Behind those that watch the same address. */
static struct err *heap_calls_watch_user(const struct heap_watching *w, uint32_t index)
{
	struct heap_calls *h = w->h;
	uint64_t *value;
	struct err *err = heap_calls_watch(w, h->user[index].addr, &value);
	uint32_t last;

	if (err)
		return err;
	if (vec_add(&h->next, 0))
		return &err_nomem;
	last = *value & WATCH_USER;
	while (last && h->next.data[last - 1])
		last = h->next.data[last - 1];
	if (last)
		h->next.data[last - 1] = index + 1;
	else
		*value |= index + 1;
	return NULL;
}

static struct err *heap_calls_watch_fn(const struct heap_watching *w,
				       const struct dec_allocator_function *f)
{
	uint64_t entry[ENTRIES_MAX];
	size_t n = dec_symbols_entries(w->h->symbols, f->name, entry, ENTRIES_MAX);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < n && i < ENTRIES_MAX; i++)
		err = heap_calls_watch_entry(w, entry[i], f);
	return err;
}

static struct err *heap_calls_watch_new(const struct heap_watching *w, size_t index)
{
	uint64_t entry[ENTRIES_MAX], *value;
	size_t n = dec_symbols_entries(w->h->symbols, dec_allocator_operators[index].name,
				       entry, ENTRIES_MAX);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < n && i < ENTRIES_MAX; i++) {
		err = heap_calls_watch(w, entry[i], &value);
		if (!err && !(*value >> WATCH_NEW_SHIFT))
			*value |= (index + 1) << WATCH_NEW_SHIFT;
	}
	return err;
}

/* Of a library's own it is known what they ask the allocator for. */
static struct err *heap_calls_watch_news(const struct heap_watching *w)
{
	struct heap_calls *h = w->h;
	struct err *err = NULL;

	h->has_librarys_new = dec_allocator_has_librarys_new(h->symbols, h->frames->exe);
	for (size_t i = 0; !err && h->has_librarys_new && i < dec_allocator_n_operators;
	     i++)
		if (!dec_allocator_operators[i].is_delete)
			err = heap_calls_watch_new(w, i);
	return err;
}

struct err *dec_heap_calls_mapped(struct heap_calls *h,
				  struct err *(*watch)(void *ctx, uint64_t addr),
				  void *ctx)
{
	const struct heap_watching w = { h, watch, ctx };
	const struct cap_info *info = capture_info(h->capture);
	struct err *err = NULL;

	dec_frames_refresh(h->frames);
	for (size_t i = 0; i < info->n_heap_sites; i++) {
		const struct cap_heap_site *s = &info->heap_sites[i];

		h->site_addr[i] =
			dec_symbols_address(h->symbols, s->file, s->entry_offset);
	}
	for (const struct dec_allocator_function *f = dec_allocator; !err && f->name; f++)
		if (f->fn != DEC_ALLOCATOR_OTHER)
			err = heap_calls_watch_fn(&w, f);
	if (!err)
		err = heap_calls_watch_news(&w);
	if (!err && h->o->resolve)
		err = h->o->resolve(h->o->resolve_ctx, h->symbols, &h->user, &h->n_user);
	for (size_t i = h->next.size; !err && i < h->n_user; i++)
		err = heap_calls_watch_user(&w, i);
	return err;
}

size_t dec_heap_calls_releases(const struct heap_calls *h, uint64_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < h->watch.capacity; i++) {
		const struct map_slot *s = &h->watch.slots[i];
		enum cap_heap_fn fn = watched_fn(s->value);

		if (s->key == MAP_EMPTY_KEY || !(s->value & WATCH_FN) ||
		    (fn != CAP_HEAP_FREE && fn != CAP_HEAP_REALLOC &&
		     fn != CAP_HEAP_POSIX_MEMALIGN))
			continue;
		if (n < max)
			ret[n] = s->key;
		n++;
	}
	return n;
}

bool dec_heap_calls_lie_in(const struct heap_calls *h, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < h->watch.capacity; i++) {
		const struct map_slot *s = &h->watch.slots[i];

		if (s->key != MAP_EMPTY_KEY && (s->value & WATCH_FN) && s->key >= start &&
		    s->key < end)
			return true;
	}
	return false;
}

/* ---- entries ------------------------------------------------------------------------- */

#define WRAPPERS_MAX 8 // of an allocator, one in the other

static bool heap_calls_is_named(struct heap_calls *h, uint64_t rip)
{
	uint64_t *known = map_get(&h->named, rip);
	bool is_named = known ? *known : h->o->is_site(h->o->is_site_ctx, rip);

	// What cannot be kept is asked again.
	if (!known)
		map_put(&h->named, rip, is_named);
	return is_named;
}

/* The innermost call under way that the user named as one that allocates, or 0. @p own: 1 +
 * index of the innermost frame of the user's. */
static uint64_t heap_calls_named(struct heap_calls *h, uint32_t own)
{
	for (int depth = 0; h->o->is_site && own && depth < WRAPPERS_MAX; depth++) {
		uint64_t rip = h->frames->stack.data[own - 1].return_rip - 1;

		if (heap_calls_is_named(h, rip))
			return rip;
		own = own > 1 ? h->frames->stack.data[own - 2].own : 0;
	}
	return 0;
}

/* The call to name for an allocation: one that the user named, else the innermost frame of the user's whose DWARF says
 * what the memory holds, so that a wrapper (xmalloc) is looked through; where no frame
 * says, the innermost. */
static uint64_t heap_calls_caller(struct heap_calls *h, enum cap_heap_fn fn,
				  const uint64_t *arg, uint64_t rip)
{
	uint64_t size = fn == CAP_HEAP_REALLOC || fn == CAP_HEAP_ALIGNED_ALLOC ? arg[1] :
			fn == CAP_HEAP_CALLOC	      ? arg[0] * arg[1] :
			fn == CAP_HEAP_POSIX_MEMALIGN ? arg[2] :
							arg[0];
	size_t n = h->frames->stack.size;
	uint64_t first, *known, found = 0;
	uint32_t own;

	if (!n)
		return rip;
	own = h->frames->stack.data[n - 1].own;
	if (!own)
		return h->frames->stack.data[n - 1].return_rip - 1;
	first = h->frames->stack.data[own - 1].return_rip;
	found = fn == CAP_HEAP_FREE ? 0 : heap_calls_named(h, own);
	if (found)
		return found;
	known = fn == CAP_HEAP_FREE ? NULL : map_get(&h->wrappers, first);
	if (fn == CAP_HEAP_FREE || (known && !*known))
		return first - 1;
	for (int depth = 0; own && depth < WRAPPERS_MAX; depth++) {
		const struct frame *f = &h->frames->stack.data[own - 1];
		bool is_sure = false;

		if (dec_symbols_alloc_type(h->symbols, f->return_rip, size, &is_sure) ||
		    is_sure) {
			found = f->return_rip;
			break;
		}
		own = own > 1 ? h->frames->stack.data[own - 2].own : 0;
	}
	// Most sites know their type at once: do not ask again.
	if (!known)
		map_put(&h->wrappers, first, found != 0 && found != first);
	return (found ? found : first) - 1;
}

/* The block that @p c names is the allocator's from @p time on. */
static struct err *heap_calls_release(struct heap_calls *h, const struct heap_call *c,
				      uint64_t time)
{
	if (h->mute)
		dec_heap_mute_release(h->mute, c->arg[0]);
	return DEC_HEAP_TELL(h->ev, release, time, c->arg[0], c->rip, c->rip);
}

static void heap_calls_enter_new(struct heap_calls *h,
				 const struct dec_allocator_operator *o,
				 const uint64_t *gpr)
{
	if (h->has_librarys_new)
		h->new = (struct heap_new){ gpr[CAP_RSP], gpr[o->size],
					    o->align ? gpr[o->align] : 0 };
}

// Operator new calls the allocator out of no more than this.
#define NEW_FRAME_BYTES 1024

/* Call @p c is operator new's, if that is under way. */
static void heap_calls_take_new(struct heap_calls *h, struct heap_call *c)
{
	const struct heap_new *n = &h->new;

	if (n->rsp && c->rsp <= n->rsp && n->rsp - c->rsp <= NEW_FRAME_BYTES)
		dec_guard_new_asks(c->fn, c->arg, n->size, n->align);
	h->new.rsp = 0;
}

static struct err *heap_calls_enter(struct heap_calls *h, uint64_t watched, uint64_t rip,
				    const uint64_t *gpr, uint64_t time)
{
	enum cap_heap_fn fn = watched_fn(watched);
	int times = watched >> WATCH_TIMES_SHIFT;
	struct heap_call c = {
		fn,   { gpr[CAP_RDI], gpr[CAP_RSI], gpr[CAP_RDX] }, gpr[CAP_RSP],
		time, dec_frames_statement(h->frames, rip),	    0,
		true
	};
	const struct cap_info *info = capture_info(h->capture);

	if (times && __builtin_mul_overflow(c.arg[1], gpr[times], &c.arg[1]))
		c.arg[1] = UINT64_MAX;
	for (size_t i = 0; i < info->n_heap_sites; i++) {
		if (h->site_addr[i] != rip)
			continue;
		if (vec_add(&h->seen, c))
			return &err_nomem;
	}
	heap_calls_take_new(h, &c);
	c.rip = heap_calls_caller(h, fn, c.arg, c.rip);
	if (h->call.is_open && c.rsp < h->call.rsp)
		return NULL;
	h->call = c;
	if (fn == CAP_HEAP_FREE && c.arg[0])
		return heap_calls_release(h, &c, time);
	return NULL;
}

static struct err *heap_calls_tell(struct heap_calls *h, uint64_t time, size_t index,
				   bool is_return)
{
	struct err *err = h->roots ? dec_heap_roots_settle(h->roots, time) : NULL;

	return err ? err : DEC_HEAP_TELL(h->ev, watch, time, index, is_return);
}

struct err *dec_heap_calls_reach(struct heap_calls *h, uint64_t rip, const uint64_t *gpr,
				 uint64_t time)
{
	const uint64_t *w = map_get(&h->watch, rip);
	struct err *err = NULL;

	if (!w)
		return NULL;
	if (*w >> WATCH_NEW_SHIFT)
		heap_calls_enter_new(
			h, &dec_allocator_operators[(*w >> WATCH_NEW_SHIFT) - 1], gpr);
	if (*w & WATCH_FN)
		err = heap_calls_enter(h, *w, rip, gpr, time);
	for (uint32_t i = *w & WATCH_USER; !err && i; i = h->next.data[i - 1]) {
		if (h->user[i - 1].is_function &&
		    vec_add(&h->open_watches,
			    (struct heap_open_watch){ gpr[CAP_RSP], i - 1 }))
			return &err_nomem;
		err = heap_calls_tell(h, time, i - 1, false);
	}
	return err;
}

/* ---- returns ------------------------------------------------------------------------- */

/* The call is over: say what it did. */
static struct err *heap_calls_report(struct heap_calls *h, uint64_t rax, uint64_t time)
{
	const struct heap_call *c = &h->call;
	uint64_t addr = rax, size = c->arg[0];
	struct err *err = NULL;

	switch (c->fn) {
	case CAP_HEAP_FREE:
		return c->arg[0] ? DEC_HEAP_TELL(h->ev, released, time, c->arg[0]) : NULL;
	case CAP_HEAP_CALLOC:
		size = c->arg[0] * c->arg[1];
		break;
	case CAP_HEAP_REALLOC:
		size = c->arg[1];
		// A failed realloc leaves the old block alone.
		if (c->arg[0] && (rax || !size))
			err = heap_calls_release(h, c, c->entry_time);
		if (!err && c->arg[0] && (rax || !size))
			err = DEC_HEAP_TELL(h->ev, released, time, c->arg[0]);
		break;
	case CAP_HEAP_ALIGNED_ALLOC:
		size = c->arg[1];
		break;
	case CAP_HEAP_POSIX_MEMALIGN:
		size = c->arg[2];
		if ((uint32_t)rax)
			return NULL;
		addr = c->result;
		h->has_unseen |= !addr;
		break;
	default:
		break;
	}
	if (!err && addr && h->mute)
		err = dec_heap_mute_alloc(h->mute, addr, size);
	if (err || !addr)
		return err;
	return DEC_HEAP_TELL(h->ev, alloc, time, addr, size, c->fn == CAP_HEAP_CALLOC,
			     c->rip, c->rip);
}

struct err *dec_heap_calls_return(struct heap_calls *h, uint64_t rsp, uint64_t rax,
				  uint64_t time)
{
	struct err *err = NULL;

	if (h->call.is_open && rsp >= h->call.rsp) {
		h->call.is_open = false;
		if (rsp == h->call.rsp)
			err = heap_calls_report(h, rax, time);
	}
	while (!err && h->open_watches.size &&
	       h->open_watches.data[h->open_watches.size - 1].rsp <= rsp) {
		struct heap_open_watch w = h->open_watches.data[--h->open_watches.size];

		if (w.rsp == rsp)
			err = heap_calls_tell(h, time, w.index, true);
	}
	return err;
}

/* ---- what the recorder saw ----------------------------------------------------------- */

struct err *dec_heap_calls_record(struct heap_calls *h, enum cap_heap_fn fn,
				  const uint64_t args[3])
{
	struct heap_call *c = vec_push(&h->recorded);

	if (!c)
		return &err_nomem;
	c->fn = fn;
	memcpy(c->arg, args, sizeof(c->arg));
	return NULL;
}

char *dec_heap_calls_verify(const struct heap_calls *h)
{
	const struct cap_info *info = capture_info(h->capture);
	size_t n = h->seen.size < h->recorded.size ? h->seen.size : h->recorded.size;
	// How many integer arguments each function has.
	static const int n_args[CAP_HEAP_FNS] = { 1, 2, 2, 1, 3, 2 };
	char *text = NULL;

	if (!info->has_heap)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const struct heap_call *a = &h->recorded.data[i], *b = &h->seen.data[i];

		if (a->fn == b->fn &&
		    !memcmp(a->arg, b->arg, n_args[a->fn] * sizeof(a->arg[0])))
			continue;
		if (asprintf(&text,
			     "allocator call %zu differs: recorded %s(%#lx), replayed "
			     "%s(%#lx)",
			     i, dec_allocator[a->fn].name, a->arg[0],
			     dec_allocator[b->fn].name, b->arg[0]) < 0)
			return NULL;
		return text;
	}
	if (h->seen.size == h->recorded.size)
		log_info("all %zu recorded allocator calls equal the replayed ones", n);
	else if (asprintf(&text, "%zu allocator calls were recorded, %zu replayed",
			  h->recorded.size, h->seen.size) < 0)
		return NULL;
	return text;
}
