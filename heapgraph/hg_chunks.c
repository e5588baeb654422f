// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_chunks.h"

#include <string.h>

#include "heapgraph/hg_record.h"

// struct malloc_chunk: prev_size, size | flags, fd, bk, fd_nextsize, bk_nextsize.
#define OFF_SIZE 8
#define OFF_FD 16
#define OFF_BK 24
#define PREV_INUSE 1
#define SIZE_FLAGS 7
#define CHUNK_ALIGN 16
#define CHUNK_MIN 32

void hg_chunks_deinit(struct hg_chunks *c)
{
	hg_graph_destroy(c->g);
	vec_deinit(&c->regions);
	vec_deinit(&c->touched);
	map_deinit(&c->sizes);
}

struct err *hg_chunks_region(struct hg_chunks *c, uint64_t addr, uint64_t size)
{
	struct hg_range new = { addr, addr + size }, *r;
	size_t n = 0, at = 0;

	if (new.end <= new.start)
		return NULL;
	if (!vec_push(&c->regions))
		return &err_nomem;
	r = c->regions.data;
	for (size_t i = 0; i + 1 < c->regions.size; i++) {
		if (r[i].start <= new.end &&new.start <= r[i].end) {
			new.start = r[i].start < new.start ? r[i].start : new.start;
			new.end = r[i].end > new.end ? r[i].end : new.end;
		} else {
			r[n++] = r[i];
		}
	}
	while (at < n && r[at].start < new.start)
		at++;
	memmove(&r[at + 1], &r[at], (n - at) * sizeof(*r));
	r[at] = new;
	c->regions.size = n + 1;
	return NULL;
}

static const struct hg_range *chunks_region(const struct hg_chunks *c, uint64_t addr)
{
	for (size_t i = 0; i < c->regions.size; i++)
		if (addr >= c->regions.data[i].start && addr < c->regions.data[i].end)
			return &c->regions.data[i];
	return NULL;
}

static uint64_t word_at(const struct hg_chunks *c, uint64_t addr)
{
	uint64_t value;

	hg_image_read(&c->shadow->slots, c->shadow->pages.data, addr, &value, 8);
	return value;
}

static bool is_written(const struct hg_chunks *c, uint64_t addr)
{
	return hg_image_page(&c->shadow->slots, c->shadow->pages.data,
			     addr / HG_PAGE_BYTES) != NULL;
}

/* ---- is it in a bin? ----------------------------------------------------------------- */

// Whether the word at `link` of neighbour q leads back to p. The head of a bin lies in
// libc's data, of which not everything may have been seen.
static bool points_back(const struct hg_chunks *c, uint64_t q, uint64_t link, uint64_t p)
{
	if (!q)
		return false;
	if (!chunks_region(c, q) && !is_written(c, q + link))
		return true;
	return word_at(c, q + link) == p;
}

static bool is_in_bin(const struct hg_chunks *c, uint64_t p, uint64_t *size)
{
	const struct hg_range *r;
	uint64_t n;

	if (p % CHUNK_ALIGN || !(r = chunks_region(c, p)))
		return false;
	n = word_at(c, p + OFF_SIZE) & ~(uint64_t)SIZE_FLAGS;
	if (n < CHUNK_MIN || n % CHUNK_ALIGN || n > r->end - p ||
	    r->end - p - n < 2 * sizeof(uint64_t))
		return false;
	if ((word_at(c, p + n + OFF_SIZE) & PREV_INUSE) || word_at(c, p + n) != n)
		return false;
	if (!points_back(c, word_at(c, p + OFF_FD), OFF_BK, p) ||
	    !points_back(c, word_at(c, p + OFF_BK), OFF_FD, p))
		return false;
	*size = n;
	return true;
}

/* ---- births and ends ------------------------------------------------------------------- */

static uint64_t node_start(const struct hg_chunks *c, uint32_t id)
{
	return c->g->nodes.data[id - 1].start;
}

static uint64_t chunk_size(const struct hg_chunks *c, uint32_t id)
{
	const uint64_t *size = map_get(&c->sizes, node_start(c, id));

	return size ? *size : 0;
}

// End the nodes that start within [from, to).
static struct err *chunks_end_in(struct hg_chunks *c, uint64_t time, uint64_t from,
				 uint64_t to, uint64_t rip)
{
	uint32_t id;

	while ((id = hg_index_ceil(&c->g->live, from)) && node_start(c, id) < to) {
		struct err *err = hg_graph_free(c->g, time, node_start(c, id), rip);

		if (err)
			return err;
	}
	return NULL;
}

// What the allocator's store of w says about nodes that live.
static struct err *chunks_end_by(struct hg_chunks *c, uint64_t time,
				 const struct hg_word *w)
{
	uint64_t p = w->addr - OFF_SIZE, now = word_at(c, w->addr);
	uint64_t size = now & ~(uint64_t)SIZE_FLAGS;
	const struct hg_range *r = chunks_region(c, p);
	uint32_t id;

	if (!r || p % CHUNK_ALIGN || p < r->start)
		return NULL;
	// Seen as the header of chunk p. The chunk before it is in use again:
	id = hg_index_floor(&c->g->live, p - 1);
	if (id && (now & PREV_INUSE) && node_start(c, id) + chunk_size(c, id) == p)
		return hg_graph_free(c->g, time, node_start(c, id), c->rip);
	// It has got another size, by a split or a merger:
	id = hg_index_floor(&c->g->live, p);
	if (id && node_start(c, id) == p && size != chunk_size(c, id))
		return hg_graph_free(c->g, time, p, c->rip);
	// It reaches to the end of the heap: it is the top, in which nothing is listed.
	if (size >= CHUNK_MIN && size == r->end - p)
		return chunks_end_in(c, time, p, r->end, c->rip);
	return NULL;
}

static struct err *chunks_born_at(struct hg_chunks *c, uint64_t time, uint64_t p)
{
	uint64_t size, contents[HG_CHUNK_LARGE_BYTES / 8];
	uint32_t id = hg_index_floor(&c->g->live, p);
	struct err *err;

	if (!is_in_bin(c, p, &size))
		return NULL;
	if (id && node_start(c, id) == p && chunk_size(c, id) == size)
		return NULL;
	err = chunks_end_in(c, time, p, p + size, c->rip);
	if (err)
		return err;
	if (map_put(&c->sizes, p, size))
		return &err_nomem;
	hg_image_read(&c->shadow->slots, c->shadow->pages.data, p, contents,
		      sizeof(contents));
	return hg_graph_alloc(c->g, time, p,
			      size < HG_CHUNK_LARGE_FROM ? HG_CHUNK_BYTES :
							   HG_CHUNK_LARGE_BYTES,
			      c->rip, contents, NULL);
}

struct err *hg_chunks_settle(struct hg_chunks *c, uint64_t time)
{
	struct err *err = NULL;

	for (size_t i = 0; i < c->touched.size && !err; i++)
		err = chunks_end_by(c, time, &c->touched.data[i]);
	for (size_t i = 0; i < c->touched.size && !err; i++) {
		const struct hg_word *w = &c->touched.data[i];
		// The word may be a chunk's size, fd or bk, or a link to the chunk.
		uint64_t p[] = { w->addr - OFF_SIZE, w->addr - OFF_FD, w->addr - OFF_BK,
				 w->value };

		for (size_t k = 0; k < sizeof(p) / sizeof(*p) && !err; k++)
			err = chunks_born_at(c, time, p[k]);
	}
	c->touched.size = 0;
	return err;
}

struct err *hg_chunks_alloc(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint64_t rip)
{
	uint64_t p = addr - 2 * sizeof(uint64_t);
	const struct hg_range *r = chunks_region(c, p);
	struct err *err = hg_chunks_settle(c, time);
	uint64_t size;

	if (err || !r)
		return err;
	size = word_at(c, p + OFF_SIZE) & ~(uint64_t)SIZE_FLAGS;
	if (size < CHUNK_MIN || size > r->end - p)
		size = CHUNK_MIN;
	return chunks_end_in(c, time, p, p + size, rip);
}

/* ---- stores ----------------------------------------------------------------------------- */

struct err *hg_chunks_store(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint32_t size, const void *data, uint64_t rip,
			    bool in_allocator)
{
	const uint8_t *from = data;
	struct err *err;

	if (!in_allocator) {
		err = hg_chunks_settle(c, time);
		if (err)
			return err;
	}
	err = hg_graph_store(c->g, time, addr, size, data, rip);
	if (err || !in_allocator)
		return err;
	c->rip = rip;
	// Links and sizes are words or pairs of them; wider stores copy or clear user data.
	if (addr % 8 || (size != 8 && size != 16))
		return NULL;
	for (uint32_t at = 0; at < size; at += 8) {
		struct hg_word *w = vec_push(&c->touched);

		if (!w)
			return &err_nomem;
		w->addr = addr + at;
		memcpy(&w->value, from + at, 8);
	}
	return NULL;
}
