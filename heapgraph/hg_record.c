// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_record.h"

#include <string.h>

#include "heapgraph/hg_chunks.h"
#include "heapgraph/hg_follow.h"

#define STORES_AWAITED 16

struct held_store {
	uint64_t time, addr, rip;
	size_t at; ///< of its bytes in held_bytes
	uint32_t size;
};

struct hg_recorder {
	struct hg_graph *app; ///< knows all memory that the program wrote
	bool with_chunks;
	struct hg_chunks chunks;
	uint64_t time; ///< of the last event; never goes back
	/** Stores of the allocator into nodes that live. They are held back until its call
	 * is over: a realloc reports only then that it released its argument, and what it
	 * wrote there no longer is the program's. Anything left is a corrupted heap. */
	VEC(struct held_store) held;
	VEC(uint8_t) held_bytes;
	hg_roots roots;
	hg_root_gaps root_gaps;
	struct hg_follower *follower; ///< of a plan; NULL: allocator calls make the nodes
	uint64_t due; ///< when the follower has something to do; without one: never
	bool (*is_asked)(void *ctx, uint64_t rip, uint64_t size);
	void *is_asked_ctx;
	hg_watch_fn watch;
	void *watch_ctx;
	struct err *(*allocated)(void *ctx, struct hg_node_id id);
	void *allocated_ctx;
};

struct err *hg_recorder_create(bool with_chunks, struct hg_recorder **ret)
{
	_cleanup_(hg_recorder_destroyp) struct hg_recorder *r = calloc(1, sizeof(*r));
	struct err *err;

	if (!r)
		return &err_nomem;
	r->with_chunks = with_chunks;
	r->due = UINT64_MAX;
	err = hg_graph_create(&r->app);
	if (!err && with_chunks)
		err = hg_graph_create(&r->chunks.g);
	if (err)
		return err;
	hg_graph_keep_outside(r->app);
	r->chunks.memory = r->app;
	*ret = take_ptr(&r);
	return NULL;
}

void hg_recorder_destroy(struct hg_recorder *r)
{
	if (!r)
		return;
	hg_graph_destroy(r->app);
	hg_follower_destroy(r->follower);
	hg_chunks_deinit(&r->chunks);
	vec_deinit(&r->roots);
	vec_deinit(&r->root_gaps);
	vec_deinit(&r->held);
	vec_deinit(&r->held_bytes);
	free(r);
}

void hg_recorder_destroyp(struct hg_recorder **r)
{
	hg_recorder_destroy(*r);
}

struct err *hg_recorder_follow(struct hg_recorder *r, const hg_plan *plan)
{
	r->due = 0;
	return hg_follower_create(plan, r->app, &r->follower);
}

void hg_recorder_with_internals(struct hg_recorder *r)
{
	r->chunks.with_internals = true;
}

void hg_recorder_internals(struct hg_recorder *r, hg_internals *ret)
{
	*ret = r->chunks.internals;
	r->chunks.internals = (hg_internals){};
}

void hg_recorder_roots(struct hg_recorder *r, hg_roots *ret, hg_root_gaps *gaps)
{
	*ret = r->roots;
	*gaps = r->root_gaps;
	r->roots = (hg_roots){};
	r->root_gaps = (hg_root_gaps){};
}

void hg_recorder_ask(struct hg_recorder *r,
		     bool (*is_asked)(void *ctx, uint64_t rip, uint64_t size), void *ctx)
{
	r->is_asked = is_asked;
	r->is_asked_ctx = ctx;
}

void hg_recorder_on_watch(struct hg_recorder *r, hg_watch_fn fn, void *ctx)
{
	r->watch = fn;
	r->watch_ctx = ctx;
}

void hg_recorder_on_alloc(struct hg_recorder *r,
			  struct err *(*fn)(void *ctx, struct hg_node_id id), void *ctx)
{
	r->allocated = fn;
	r->allocated_ctx = ctx;
}

const struct hg_graph *hg_recorder_graph(const struct hg_recorder *r)
{
	return r->app;
}

void hg_recorder_position(const struct hg_recorder *r, struct hg_position *ret)
{
	ret->time = r->time;
	ret->app_ops = hg_graph_ops(r->app);
	ret->chunk_ops = r->chunks.g ? hg_graph_ops(r->chunks.g) : 0;
}

void hg_recorder_finish(struct hg_recorder *r, struct hg_graph **app,
			struct hg_graph **chunks)
{
	hg_graph_trim(r->app);
	if (r->chunks.g)
		hg_graph_trim(r->chunks.g);
	*app = take_ptr(&r->app);
	*chunks = take_ptr(&r->chunks.g);
}

/* ---- stores held back ------------------------------------------------------------------ */

static struct err *recorder_hold(struct hg_recorder *r, uint64_t time, uint64_t addr,
				 uint32_t size, const void *data, uint64_t rip)
{
	struct held_store *h = vec_push(&r->held);

	if (!h || vec_reserve(&r->held_bytes, r->held_bytes.size + size))
		return &err_nomem;
	*h = (struct held_store){ time, addr, rip, r->held_bytes.size, size };
	memcpy(r->held_bytes.data + h->at, data, size);
	r->held_bytes.size += size;
	return NULL;
}

// The call is over: what still meets a live node did change it.
static struct err *held_apply(struct hg_recorder *r)
{
	struct err *err = NULL;

	for (size_t i = 0; i < r->held.size && !err; i++) {
		const struct held_store *h = &r->held.data[i];

		err = hg_graph_store(r->app, h->time, h->addr, h->size,
				     r->held_bytes.data + h->at, h->rip);
	}
	r->held.size = r->held_bytes.size = 0;
	return err;
}

static inline struct err *recorder_apply_held(struct hg_recorder *r)
{
	return r->held.size ? held_apply(r) : NULL;
}

/* ---- events ------------------------------------------------------------------------- */

// Events are in order but for the release by a realloc, which is told late with the time
// of the call's entry. Operations must not go back in time.
static inline uint64_t recorder_time(struct hg_recorder *r, uint64_t time)
{
	if (time > r->time)
		r->time = time;
	return r->time;
}

// The allocator's calls are no calls of its: only the plan's time goes on.
static struct err *recorder_follow(struct hg_recorder *r, uint64_t time)
{
	struct err *err;

	if (!r->follower || time < r->due)
		return NULL;
	err = hg_follower_advance(r->follower, time);
	r->due = hg_follower_due(r->follower);
	return err;
}

struct err *hg_recorder_reach(struct hg_recorder *r, uint64_t time)
{
	return time ? recorder_follow(r, time - 1) : NULL;
}

bool hg_recorder_is_due(const struct hg_recorder *r, uint64_t time)
{
	return time > r->due;
}

uint64_t hg_recorder_due(const struct hg_recorder *r)
{
	return r->due;
}

static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	struct hg_recorder *r = ctx;
	struct hg_node_id id;
	struct err *err;

	(void)pc;
	time = recorder_time(r, time);
	err = recorder_apply_held(r);
	if (err || !addr)
		return err;
	if (r->follower && is_zeroed && hg_memory_zero(r->app, addr, size))
		return &err_nomem;
	if (r->with_chunks &&
	    (err = hg_chunks_alloc(&r->chunks, time, addr, rip,
				   r->follower ? 0 : hg_graph_nodes(r->app) + 1)))
		return err;
	if (r->follower)
		return NULL;
	if (r->is_asked && !r->is_asked(r->is_asked_ctx, rip, size)) {
		if (is_zeroed && hg_memory_zero(r->app, addr, size))
			return &err_nomem;
		return hg_graph_alloc_bare(r->app, time, addr, size, rip);
	}
	if (is_zeroed)
		err = hg_graph_alloc(r->app, time, addr, size, rip, NULL, &id);
	else
		err = hg_graph_alloc_found(r->app, time, addr, size, rip, &id);
	if (!err && !is_zeroed)
		hg_graph_set_raw(r->app, id);
	return err || !r->allocated ? err : r->allocated(r->allocated_ctx, id);
}

static bool is_root(const struct hg_recorder *r, uint32_t node)
{
	size_t i = vec_rank(r->roots.size, k, r->roots.data[k].node < node);

	return i < r->roots.size && r->roots.data[i].node == node;
}

static struct err *on_root(void *ctx, uint64_t time, size_t index, uint64_t addr,
			   uint64_t size, const void *contents, uint64_t whose)
{
	struct hg_recorder *r = ctx;
	struct err *err = recorder_apply_held(r);
	struct hg_root root = { .index = index };
	uint64_t rip = DEC_HEAP_ROOT + index;

	time = recorder_time(r, time);
	if (!err)
		err = recorder_follow(r, time);
	if (err)
		return err;
	err = contents ? hg_graph_alloc(r->app, time, addr, size, rip, contents, NULL) :
			 hg_graph_alloc_found(r->app, time, addr, size, rip, NULL);
	root.node = hg_graph_nodes(r->app);
	if (!err && whose)
		err = hg_graph_set_whose(r->app, (struct hg_node_id){ root.node }, whose);
	return err ? err : vec_add(&r->roots, root);
}

static struct err *on_root_end(void *ctx, uint64_t time, size_t index, uint64_t addr,
			       uint64_t rip)
{
	struct hg_recorder *r = ctx;
	struct err *err = recorder_apply_held(r);
	uint32_t node = hg_graph_node_at(r->app, addr);

	(void)index;
	// Something else may be there by now: what was allocated over it.
	if (err || !node || !is_root(r, node))
		return err;
	return hg_graph_free(r->app, recorder_time(r, time), addr, rip);
}

static struct err *on_root_missing(void *ctx, uint64_t time, size_t index)
{
	struct hg_recorder *r = ctx;

	return vec_add(&r->root_gaps,
		       (struct hg_root_gap){ recorder_time(r, time), (uint32_t)index }) ?
		       &err_nomem :
		       NULL;
}

static void on_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	hg_recorder_memory(ctx, addr, buf, size);
}

static struct err *on_release(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
			      uint64_t pc)
{
	struct hg_recorder *r = ctx;
	struct err *err;

	(void)pc;
	if (addr && r->with_chunks)
		hg_chunks_release(&r->chunks, addr, hg_graph_node_at(r->app, addr));
	if (!addr || r->follower)
		return NULL;
	// Before the stores that are held, which may have gone to it.
	if (r->held.size && r->held.data[0].time < r->time)
		time = r->held.data[0].time;
	else
		time = recorder_time(r, time);
	err = r->roots.size && is_root(r, hg_graph_node_at(r->app, addr)) ?
		      hg_graph_free_wrong(r->app, time, addr, rip) :
		      hg_graph_free(r->app, time, addr, rip);
	return err ? err : recorder_apply_held(r);
}

static struct err *on_released(void *ctx, uint64_t time, uint64_t addr)
{
	struct hg_recorder *r = ctx;

	struct err *err;

	(void)addr;
	time = recorder_time(r, time);
	err = recorder_apply_held(r);
	if (err || !r->with_chunks)
		return err;
	return hg_chunks_settle(&r->chunks, time);
}

// A store that meets nodes, or perhaps does, or the chunks.
static struct err *recorder_store(struct hg_recorder *r, const struct dec_heap_store *s,
				  uint64_t time)
{
	struct hg_page *p = hg_memory_page(r->app, s->addr / HG_PAGE_BYTES);
	struct err *err = NULL;

	if (!p)
		return &err_nomem;
	if (r->follower)
		err = recorder_follow(r, time);
	else if (!s->in_allocator)
		err = recorder_apply_held(r);
	if (err)
		return err;
	if (s->in_allocator && !r->follower && !hg_page_is_free(p, s->addr, s->size) &&
	    hg_owners_first(r->app, s->addr, s->size).id)
		err = recorder_hold(r, time, s->addr, s->size, s->data, s->rip);
	else
		err = hg_graph_store_page(r->app, time, s->addr, s->size, s->data, s->rip,
					  p);
	if (err || !r->with_chunks)
		return err;
	if (!s->in_allocator && hg_chunks_is_quiet(&r->chunks) &&
	    hg_chunks_misses(&r->chunks, p, s->addr, s->size))
		return NULL;
	return hg_chunks_store(&r->chunks, time, s->addr, s->size, s->data, s->rip,
			       s->in_allocator);
}

/** Stores on their way: what they need of the graph is as a rule in no cache. */
struct stores_awaited {
	size_t n;
	struct {
		const struct dec_heap_store *store;
		uint64_t time;
		struct hg_awaited at;
	} of[STORES_AWAITED];
};

static struct err *awaited_store(struct hg_recorder *r, struct stores_awaited *w)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->n && !err; i++) {
		const struct dec_heap_store *s = w->of[i].store;

		err = hg_graph_store_awaited(r->app, w->of[i].time, s->addr, s->size,
					     s->data, s->rip, &w->of[i].at);
	}
	w->n = 0;
	return err;
}

/*
 * Most stores meet no node, which the page tells: they change memory, and that is all. Those
 * that meet one have other bytes, so they may wait, until there is no room for one more. Stops
 * at the first store that neither is, which *at then is: no others may pass it, because it may
 * meet the same bytes, or nodes may be born or end.
 */
static void stores_pass(struct hg_recorder *r, const struct dec_heap_store **at,
			const struct dec_heap_store *end, struct stores_awaited *w)
{
	// What is stored may be anything, for all that the compiler knows: these are not.
	const bool with_chunks = r->with_chunks, is_followed = r->follower != NULL;
	const uint64_t due = r->due;
	struct hg_memory *m = r->app->memory;
	const struct dec_heap_store *s = *at;
	uint64_t time = r->time;

	if (with_chunks && !hg_chunks_is_quiet(&r->chunks))
		return;
	for (; s < end && w->n < STORES_AWAITED; s++) {
		uint64_t number = s->addr / HG_PAGE_BYTES, at = s->addr % HG_PAGE_BYTES;
		const struct dec_heap_plain *plain = &m->plain[number % HG_PAGES_AT_HAND];
		struct hg_page *p;

		time = s->time > time ? s->time : time;
		if (time >= due)
			break;
		if (plain->number == number && at + s->size <= HG_PAGE_BYTES &&
		    !(with_chunks && s->in_allocator)) {
			hg_bytes_copy(plain->bytes + at, s->data, s->size);
			continue;
		}
		p = hg_memory_at_hand(m, s->addr);
		if (!p)
			break;
		if (with_chunks && (s->in_allocator ||
				    !hg_chunks_misses(&r->chunks, p, s->addr, s->size)))
			break;
		if (hg_page_is_free(p, s->addr, s->size) &&
		    hg_page_put_words(p, at, s->data, s->size)) {
			hg_memory_plain(m, p);
			continue;
		}
		if ((s->in_allocator && !is_followed) ||
		    !hg_graph_await(r->app, p, s->addr, s->size, &w->of[w->n].at))
			break;
		w->of[w->n].store = s;
		w->of[w->n++].time = time;
	}
	r->time = time;
	*at = s;
}

// The same with the allocator's stores into its own memory.
static struct err *allocator_stores_pass(struct hg_recorder *r,
					 const struct dec_heap_store **at,
					 const struct dec_heap_store *end)
{
	struct hg_memory *m = r->app->memory;
	struct err *err = NULL;

	if (r->follower)
		return NULL;
	for (; *at < end && (*at)->in_allocator && !err; ++*at) {
		const struct dec_heap_store *s = *at;
		struct hg_page *p = hg_memory_at_hand(m, s->addr);

		if (!p || !hg_page_misses(m, p, s->addr, s->size) ||
		    (r->with_chunks &&
		     !hg_chunks_misses(&r->chunks, p, s->addr, s->size)) ||
		    !hg_page_put_words(p, s->addr % HG_PAGE_BYTES, s->data, s->size))
			break;
		recorder_time(r, s->time);
		if (r->with_chunks)
			err = hg_chunks_touch(&r->chunks, s->addr, s->size, s->data,
					      s->rip);
	}
	return err;
}

static struct err *on_stores(void *ctx, const struct dec_heap_store *stores, size_t n)
{
	const struct dec_heap_store *end = stores + n;
	struct hg_recorder *r = ctx;
	struct stores_awaited w;
	struct err *err = hg_memory_make(r->app) ? &err_nomem : NULL;

	w.n = 0;
	while (stores < end && !err) {
		const struct dec_heap_store *s = stores;

		if (!r->held.size)
			stores_pass(r, &stores, end, &w);
		if (!r->held.size)
			err = allocator_stores_pass(r, &stores, end);
		if (err || (stores != s && w.n < STORES_AWAITED))
			continue;
		err = awaited_store(r, &w);
		if (err || stores != s)
			continue;
		err = recorder_store(r, s, recorder_time(r, s->time));
		stores++;
	}
	return err ? err : awaited_store(r, &w);
}

void hg_recorder_memory(const struct hg_recorder *r, uint64_t addr, void *buf,
			uint64_t size)
{
	hg_memory_get(r->app, addr, buf, size);
}

static struct err *on_region(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			     bool is_stack)
{
	struct hg_recorder *r = ctx;

	(void)is_stack;
	time = recorder_time(r, time);
	if (hg_memory_zero(r->app, addr, size))
		return &err_nomem;
	return r->with_chunks ? hg_chunks_region(&r->chunks, addr, size) : NULL;
}

static struct err *on_watch(void *ctx, uint64_t time, size_t index, bool is_return)
{
	struct hg_recorder *r = ctx;
	struct hg_position at;
	struct err *err;

	err = recorder_apply_held(r);
	if (!err)
		err = recorder_follow(r, time);
	if (err)
		return err;
	recorder_time(r, time);
	hg_recorder_position(r, &at);
	return r->watch ? r->watch(r->watch_ctx, &at, index, is_return) : NULL;
}

void hg_recorder_events(struct hg_recorder *r, struct dec_heap_events *ret)
{
	bool has_plain = !r->with_chunks && !r->follower && !hg_memory_make(r->app);

	*ret = (struct dec_heap_events){
		.ctx = r,
		.alloc = on_alloc,
		.release = on_release,
		.released = on_released,
		.stores = on_stores,
		.watch = on_watch,
		.root = on_root,
		.root_end = on_root_end,
		.root_missing = on_root_missing,
		.memory = on_memory,
		.plain = has_plain ? r->app->memory->plain : NULL,
		.region = on_region,
	};
}
