// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_record.h"

#include <string.h>

#include "heapgraph/hg_chunks.h"

struct hg_recorder {
	struct hg_graph *app;
	/** All memory the program wrote, in or out of nodes: a node's contents at birth. */
	struct hg_image shadow;
	bool with_chunks;
	struct hg_chunks chunks;
	uint64_t time; ///< of the last event
	hg_watch_fn watch;
	void *watch_ctx;
};

struct err *hg_recorder_create(bool with_chunks, struct hg_recorder **ret)
{
	_cleanup_(hg_recorder_destroyp) struct hg_recorder *r = calloc(1, sizeof(*r));
	struct err *err;

	if (!r)
		return &err_nomem;
	r->with_chunks = with_chunks;
	r->chunks.shadow = &r->shadow;
	err = hg_graph_create(&r->app);
	if (!err && with_chunks)
		err = hg_graph_create(&r->chunks.g);
	if (err)
		return err;
	*ret = take_ptr(&r);
	return NULL;
}

void hg_recorder_destroy(struct hg_recorder *r)
{
	if (!r)
		return;
	hg_graph_destroy(r->app);
	hg_chunks_deinit(&r->chunks);
	hg_image_deinit(&r->shadow);
	free(r);
}

void hg_recorder_destroyp(struct hg_recorder **r)
{
	hg_recorder_destroy(*r);
}

void hg_recorder_on_watch(struct hg_recorder *r, hg_watch_fn fn, void *ctx)
{
	r->watch = fn;
	r->watch_ctx = ctx;
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
	*app = take_ptr(&r->app);
	*chunks = take_ptr(&r->chunks.g);
}

/* ---- events ------------------------------------------------------------------------- */

// The bytes of a new node: NULL when they are all zeros because nobody ever wrote there.
static struct err *recorder_contents(struct hg_recorder *r, uint64_t addr, uint64_t size,
				     uint8_t **ret)
{
	bool is_written = false;

	*ret = NULL;
	for (uint64_t at = addr; at - addr < size && !is_written;
	     at = (at / HG_PAGE_BYTES + 1) * HG_PAGE_BYTES)
		is_written = hg_image_page(&r->shadow.slots, r->shadow.pages.data,
					   at / HG_PAGE_BYTES) != NULL;
	if (!is_written)
		return NULL;
	*ret = malloc(size);
	if (!*ret)
		return &err_nomem;
	hg_image_read(&r->shadow.slots, r->shadow.pages.data, addr, *ret, size);
	return NULL;
}

static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	struct hg_recorder *r = ctx;
	_cleanup_free_ uint8_t *contents = NULL;
	struct err *err;

	(void)pc;
	r->time = time;
	if (!addr)
		return NULL;
	if (is_zeroed)
		hg_image_zero(&r->shadow, addr, size);
	else if ((err = recorder_contents(r, addr, size, &contents)))
		return err;
	if (r->with_chunks && (err = hg_chunks_alloc(&r->chunks, time, addr, rip)))
		return err;
	return hg_graph_alloc(r->app, time, addr, size, rip, contents, NULL);
}

static struct err *on_release(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
			      uint64_t pc)
{
	struct hg_recorder *r = ctx;

	(void)pc;
	r->time = time;
	return addr ? hg_graph_free(r->app, time, addr, rip) : NULL;
}

static struct err *on_released(void *ctx, uint64_t time, uint64_t addr)
{
	struct hg_recorder *r = ctx;

	(void)addr;
	r->time = time;
	return r->with_chunks ? hg_chunks_settle(&r->chunks, time) : NULL;
}

static struct err *on_store(void *ctx, uint64_t time, uint64_t addr, uint32_t size,
			    const void *data, uint64_t rip, uint64_t pc, bool in_allocator)
{
	struct hg_recorder *r = ctx;
	struct err *err;

	(void)pc;
	r->time = time;
	if (hg_image_ensure(&r->shadow, addr, size))
		return &err_nomem;
	hg_image_write(&r->shadow.slots, r->shadow.pages.data, addr, data, size);
	// The allocator does not write into memory that is given out, so its own stores
	// are ignored here by nature; where a double free made it, the node did change.
	err = hg_graph_store(r->app, time, addr, size, data, rip);
	if (err || !r->with_chunks)
		return err;
	return hg_chunks_store(&r->chunks, time, addr, size, data, rip, in_allocator);
}

static struct err *on_region(void *ctx, uint64_t time, uint64_t addr, uint64_t size)
{
	struct hg_recorder *r = ctx;

	r->time = time;
	hg_image_zero(&r->shadow, addr, size);
	return r->with_chunks ? hg_chunks_region(&r->chunks, addr, size) : NULL;
}

static struct err *on_watch(void *ctx, uint64_t time, size_t index, bool is_return)
{
	struct hg_recorder *r = ctx;
	struct hg_position at;

	r->time = time;
	hg_recorder_position(r, &at);
	return r->watch ? r->watch(r->watch_ctx, &at, index, is_return) : NULL;
}

void hg_recorder_events(struct hg_recorder *r, struct dec_heap_events *ret)
{
	*ret = (struct dec_heap_events){
		.ctx = r,
		.alloc = on_alloc,
		.release = on_release,
		.released = on_released,
		.store = on_store,
		.watch = on_watch,
		.region = on_region,
	};
}
