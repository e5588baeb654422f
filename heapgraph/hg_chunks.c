// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_chunks.h"

#include <assert.h>
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
	vec_deinit(&c->ended);
	vec_deinit(&c->internals);
}

struct err *hg_chunks_region(struct hg_chunks *c, uint64_t addr, uint64_t size)
{
	struct hg_range new = { addr, addr + size }, *r;
	size_t n = 0, at = 0;

	if (new.end <= new.start)
		return NULL;
	if (!vec_push(&c->regions))
		return &err_nomem;
	c->gap = (struct hg_range){};
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

static const struct hg_range *chunks_region(struct hg_chunks *c, uint64_t addr)
{
	const struct hg_range *r = c->regions.data;
	size_t i = c->at_hand;

	if (i < c->regions.size && addr >= r[i].start && addr < r[i].end)
		return &r[i];
	if (!c->regions.size || addr < r[0].start)
		return NULL;
	if (addr >= c->gap.start && addr < c->gap.end)
		return NULL;
	i = vec_rank(c->regions.size, k, r[k].end <= addr);
	if (i == c->regions.size || addr < r[i].start) {
		c->gap.start = r[i - 1].end;
		c->gap.end = i < c->regions.size ? r[i].start : UINT64_MAX;
		return NULL;
	}
	c->at_hand = i;
	return &r[i];
}

uint64_t hg_chunks_word(const struct hg_chunks *c, uint64_t addr)
{
	const struct hg_page *p;
	uint64_t value;

	if (addr % 8) {
		hg_memory_get(c->memory, addr, &value, 8);
		return value;
	}
	p = hg_memory_page(c->memory, addr / HG_PAGE_BYTES);
	return p ? hg_memory_word(p, addr % HG_PAGE_BYTES / 8) : 0;
}

bool hg_chunks_is_heap(struct hg_chunks *c, uint64_t addr)
{
	return chunks_region(c, addr) != NULL;
}

static bool is_written(const struct hg_chunks *c, uint64_t addr)
{
	return hg_memory_is_written(c->memory, addr);
}

/* ---- is it in a bin? ----------------------------------------------------------------- */

// Whether the word at `link` of neighbour q leads back to p. The head of a bin lies in
// libc's data, of which not everything may have been seen.
static bool points_back(struct hg_chunks *c, uint64_t q, uint64_t link, uint64_t p)
{
	if (!q)
		return false;
	if (!chunks_region(c, q) && !is_written(c, q + link))
		return true;
	return hg_chunks_word(c, q + link) == p;
}

static bool is_in_bin(struct hg_chunks *c, uint64_t p, uint64_t *size)
{
	const struct hg_range *r;
	uint64_t n;

	if (p % CHUNK_ALIGN || !(r = chunks_region(c, p)))
		return false;
	n = hg_chunks_word(c, p + OFF_SIZE) & ~(uint64_t)SIZE_FLAGS;
	if (n < CHUNK_MIN || n % CHUNK_ALIGN || n > r->end - p ||
	    r->end - p - n < 2 * sizeof(uint64_t))
		return false;
	if ((hg_chunks_word(c, p + n + OFF_SIZE) & PREV_INUSE) ||
	    hg_chunks_word(c, p + n) != n)
		return false;
	if (!points_back(c, hg_chunks_word(c, p + OFF_FD), OFF_BK, p) ||
	    !points_back(c, hg_chunks_word(c, p + OFF_BK), OFF_FD, p))
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

struct err *hg_chunks_end(struct hg_chunks *c, uint64_t time, uint32_t id, uint64_t rip)
{
	struct hg_ended *e = vec_push(&c->ended);

	if (!e)
		return &err_nomem;
	*e = (struct hg_ended){ id, node_start(c, id), c->internals.data[id - 1].bytes };
	return hg_graph_free(c->g, time, e->start, rip);
}

// End the nodes that start within [from, to).
static struct err *chunks_end_in(struct hg_chunks *c, uint64_t time, uint64_t from,
				 uint64_t to, uint64_t rip)
{
	uint32_t id;

	while ((id = hg_index_ceil(&c->g->live, from)) && node_start(c, id) < to) {
		struct err *err;

		// The thread cache is in memory of its own, which nobody frees.
		if (c->internals.data[id - 1].kind == HG_INTERNAL_CACHE) {
			from = node_start(c, id) + 1;
			continue;
		}
		err = hg_chunks_end(c, time, id, rip);
		if (err)
			return err;
	}
	return NULL;
}

// What the allocator's store of w says about nodes that live.
static struct err *chunks_end_by(struct hg_chunks *c, uint64_t time,
				 const struct hg_word *w)
{
	uint64_t p = w->addr - OFF_SIZE, now, size;
	const struct hg_range *r = p % CHUNK_ALIGN ? NULL : chunks_region(c, p);
	uint32_t id;

	if (!r)
		return NULL;
	now = hg_chunks_word(c, w->addr);
	size = now & ~(uint64_t)SIZE_FLAGS;
	// Seen as the header of chunk p. The chunk before it is in use again:
	id = now & PREV_INUSE ? hg_index_floor(&c->g->live, p - 1) : 0;
	if (id && node_start(c, id) + chunk_size(c, id) == p)
		return hg_chunks_end(c, time, id, c->rip);
	// It has got another size, by a split or a merger:
	id = hg_graph_node_at(c->g, p);
	if (id && size != chunk_size(c, id))
		return hg_chunks_end(c, time, id, c->rip);
	// It reaches to the end of the heap: it is the top, in which nothing is listed.
	if (size >= CHUNK_MIN && size == r->end - p)
		return chunks_end_in(c, time, p, r->end, c->rip);
	return NULL;
}

struct err *hg_chunks_bear(struct hg_chunks *c, uint64_t time, uint64_t addr,
			   uint64_t size, enum hg_internal_kind kind,
			   const void *contents)
{
	uint8_t memory[HG_CACHE_BYTES];
	struct err *err;

	assert(size <= sizeof(memory));
	if (!contents)
		hg_memory_get(c->memory, addr, memory, size);
	err = hg_graph_alloc(c->g, time, addr, size, c->rip, contents ? contents : memory,
			     NULL);
	if (err)
		return err;
	// Nodes that this one covered ended with it, unseen: their slots are there.
	if (vec_add(&c->internals, (struct hg_internal){ .kind = kind }))
		return &err_nomem;
	return hg_memory_meet_chunks(c->memory, addr, size) ? &err_nomem : NULL;
}

// What the call frees becomes part of the chunk at p: it is a chunk itself, for a moment.
static struct err *bear_released(struct hg_chunks *c, uint64_t time, uint64_t p,
				 uint64_t size)
{
	uint64_t chunk = c->released - 2 * sizeof(uint64_t);
	struct err *err;

	if (!c->with_internals || !c->released || chunk < p || chunk >= p + size ||
	    size <= c->released_bytes)
		return NULL;
	err = hg_chunks_bear(c, time, chunk, HG_CHUNK_BYTES, HG_INTERNAL_CHUNK, NULL);
	if (err)
		return err;
	c->internals.data[c->internals.size - 1].bytes = c->released_bytes;
	c->internals.data[c->internals.size - 1].freed = c->released_node;
	return hg_chunks_end(c, time, c->internals.size, c->rip);
}

static int compare_ended(const void *a, const void *b)
{
	const struct hg_ended *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

// Where does the youngest node, the chunk of size bytes at p, come from? Of chunks that
// ended inside it: it is their cluster. Of one that was bigger: it is what is left of that.
static struct err *chunks_lineage(struct hg_chunks *c, uint64_t p, uint64_t size)
{
	struct hg_node_id id = { c->internals.size };
	VEC(struct hg_node_id) members = {};
	struct err *err = NULL;

	vec_sort(&c->ended, compare_ended);
	for (size_t i = 0; i < c->ended.size && !err; i++) {
		const struct hg_ended *e = &c->ended.data[i];
		struct hg_node_id *slot;

		if (e->start <= p && e->bytes > size && p + size <= e->start + e->bytes)
			hg_graph_set_source(c->g, id, (struct hg_node_id){ e->id });
		if (e->start < p || e->start >= p + size || e->bytes >= size ||
		    (members.size &&
		     node_start(c, members.data[members.size - 1].v) == e->start))
			continue;
		slot = vec_push(&members);
		if (!slot)
			err = &err_nomem;
		else
			slot->v = e->id;
	}
	if (!err && members.size)
		err = hg_graph_set_members(c->g, members.data, members.size);
	vec_deinit(&members);
	return err;
}

// The chunk of size bytes at p is in a bin, and new there.
static struct err *bear_chunk(struct hg_chunks *c, uint64_t time, uint64_t p,
			      uint64_t size)
{
	struct hg_internal *in;
	struct err *err;

	err = chunks_end_in(c, time, p, p + size, c->rip);
	if (!err)
		err = bear_released(c, time, p, size);
	if (!err && map_put(&c->sizes, p, size))
		err = &err_nomem;
	if (!err)
		err = hg_chunks_bear(c, time, p,
				     size < HG_CHUNK_LARGE_FROM ? HG_CHUNK_BYTES :
								  HG_CHUNK_LARGE_BYTES,
				     HG_INTERNAL_CHUNK, NULL);
	if (err)
		return err;
	in = &c->internals.data[c->internals.size - 1];
	in->bytes = size;
	if (c->released == p + 2 * sizeof(uint64_t) && size == c->released_bytes)
		in->freed = c->released_node;
	err = chunks_lineage(c, p, size);
	return err || !c->with_internals ? err : hg_cache_bin(c, time, p);
}

// Words of a chunk lead to it again and again: the answer stays as long as nothing is born.
static struct err *chunks_born_at(struct hg_chunks *c, uint64_t time, uint64_t p)
{
	uint64_t *asked = &c->asked[p / CHUNK_ALIGN % HG_CHUNKS_ASKED], size;
	struct err *err;
	uint32_t id;

	if (p % CHUNK_ALIGN || *asked == p)
		return NULL;
	*asked = p;
	if (!is_in_bin(c, p, &size))
		return NULL;
	id = hg_graph_node_at(c->g, p);
	if (id && chunk_size(c, id) == size)
		return c->with_internals ? hg_cache_bin(c, time, p) : NULL;
	err = bear_chunk(c, time, p, size);
	memset(c->asked, 0, sizeof(c->asked));
	return err;
}

static struct err *chunks_settle(struct hg_chunks *c, uint64_t time)
{
	struct err *err = NULL;
	uint64_t size;

	memset(c->asked, 0, sizeof(c->asked));
	for (size_t i = 0; i < c->touched.size && !err; i++)
		err = chunks_end_by(c, time, &c->touched.data[i]);
	for (size_t i = 0; i < c->touched.size && !err; i++) {
		const struct hg_word *w = &c->touched.data[i];
		bool is_odd = w->addr % CHUNK_ALIGN;
		// The word may be a chunk's size, fd or bk, or a link to the chunk.
		uint64_t p[] = { w->addr - (is_odd ? OFF_SIZE : OFF_FD),
				 is_odd ? w->addr - OFF_BK : 0, w->value };

		for (size_t k = 0; k < sizeof(p) / sizeof(*p) && !err; k++)
			err = chunks_born_at(c, time, p[k]);
	}
	if (!err && c->with_internals && c->touched.size)
		err = hg_cache_settle(c, time,
				      c->released &&
					      is_in_bin(c, c->released - OFF_FD, &size));
	c->touched.size = 0;
	c->released = 0;
	c->is_settled = true;
	return err;
}

struct err *hg_chunks_settle(struct hg_chunks *c, uint64_t time)
{
	return hg_chunks_is_quiet(c) ? NULL : chunks_settle(c, time);
}

void hg_chunks_release(struct hg_chunks *c, uint64_t addr, uint32_t node)
{
	bool is_node = addr >= OFF_FD && chunks_region(c, addr - OFF_FD);

	c->released = is_node ? addr : 0;
	c->released_bytes =
		is_node ? hg_chunks_word(c, addr - OFF_SIZE) & ~(uint64_t)SIZE_FLAGS : 0;
	c->released_node = node;
}

// The nodes that ended when node `taken` of the application's view got [p, p + size); 0: it is
// not known.
static void chunks_taken(struct hg_chunks *c, uint64_t p, uint64_t size, uint32_t taken)
{
	for (size_t i = 0; taken && i < c->ended.size; i++) {
		const struct hg_ended *e = &c->ended.data[i];
		uint64_t bytes = e->bytes ? e->bytes : 1;

		if (e->start < p + size && p < e->start + bytes &&
		    !c->internals.data[e->id - 1].taken)
			c->internals.data[e->id - 1].taken = taken;
	}
}

struct err *hg_chunks_alloc(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint64_t rip, uint32_t node)
{
	uint64_t p = addr - 2 * sizeof(uint64_t);
	const struct hg_range *r = chunks_region(c, p);
	struct err *err = hg_chunks_settle(c, time);
	uint64_t size;

	if (err || !r)
		return err;
	size = hg_chunks_word(c, p + OFF_SIZE) & ~(uint64_t)SIZE_FLAGS;
	if (size < CHUNK_MIN || size > r->end - p)
		size = CHUNK_MIN;
	err = chunks_end_in(c, time, p, p + size, rip);
	if (!err)
		chunks_taken(c, p, size, node);
	return err;
}

/* ---- stores ----------------------------------------------------------------------------- */

struct err *hg_chunks_touch(struct hg_chunks *c, uint64_t addr, uint32_t size,
			    const void *data, uint64_t rip)
{
	c->rip = rip;
	if (c->is_settled)
		c->ended.size = 0;
	c->is_settled = false;
	// Links and sizes are words or pairs of them; wider stores copy or clear user data.
	if (addr % 8 || (size != 8 && size != 16))
		return NULL;
	if (vec_reserve(&c->touched, c->touched.size + 2))
		return &err_nomem;
	for (uint32_t at = 0; at < size; at += 8) {
		struct hg_word *w = &c->touched.data[c->touched.size++];

		w->addr = addr + at;
		memcpy(&w->value, (const uint8_t *)data + at, 8);
	}
	return NULL;
}

struct err *hg_chunks_store(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint32_t size, const void *data, uint64_t rip,
			    bool in_allocator)
{
	struct err *err = NULL;

	if (!in_allocator)
		err = hg_chunks_settle(c, time);
	if (!err)
		err = hg_graph_store(c->g, time, addr, size, data, rip);
	return err || !in_allocator ? err : hg_chunks_touch(c, addr, size, data, rip);
}
