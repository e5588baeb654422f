// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The rest of the allocator's view: glibc's thread cache, fast bins and heads of bins, again
 * known by their layout and by what the allocator stores (malloc.c of 2.26 and later).
 */
#include "heapgraph/hg_chunks.h"

// struct tcache_perthread_struct: uint16_t counts[64]; tcache_entry *entries[64].
#define CACHE_ENTRIES_AT 128
#define CACHE_LISTS 64
#define CACHE_CHUNK_BYTES (HG_CACHE_BYTES + 16)
#define ENTRY_BYTES 16
#define BIN_BYTES 16
#define OFF_FD 16

// What a link of a single list holds, at addr: PROTECT_PTR().
static uint64_t reveal(uint64_t addr, uint64_t link)
{
	return addr >> 12 ^ link;
}

static uint64_t size_of(const struct hg_chunks *c, uint64_t mem)
{
	return hg_chunks_word(c, mem - 8) & ~(uint64_t)7;
}

static const struct hg_word *touched_at(const struct hg_chunks *c, uint64_t addr)
{
	for (size_t i = c->touched.size; i-- > 0;)
		if (c->touched.data[i].addr == addr)
			return &c->touched.data[i];
	return NULL;
}

// The list head that was made to lead to mem tells where the thread cache is.
static struct err *find_cache(struct hg_chunks *c, uint64_t time, uint64_t mem)
{
	uint64_t list = (size_of(c, mem) - 17) / 16;

	for (size_t i = 0; i < c->touched.size; i++) {
		const struct hg_word *w = &c->touched.data[i];
		uint64_t start = w->addr - 8 * list - CACHE_ENTRIES_AT;
		uint32_t id;

		if (w->value != mem || list >= CACHE_LISTS || start % 16 ||
		    !hg_chunks_is_heap(c, start) ||
		    size_of(c, start) != CACHE_CHUNK_BYTES)
			continue;
		id = hg_index_floor(&c->g->live, start);
		if (id && c->g->nodes.data[id - 1].start == start)
			return NULL;
		return hg_chunks_bear(c, time, start, HG_CACHE_BYTES, HG_INTERNAL_CACHE,
				      NULL);
	}
	return NULL;
}

// The memory at mem is in a single list from now on.
static struct err *bear_entry(struct hg_chunks *c, uint64_t time, uint64_t mem,
			      enum hg_internal_kind kind)
{
	uint64_t contents[ENTRY_BYTES / 8] = { reveal(mem, hg_chunks_word(c, mem)),
					       hg_chunks_word(c, mem + 8) };
	uint32_t id = hg_index_floor(&c->g->live, mem);
	struct hg_internal *in;
	struct err *err;

	if (!reveal(mem, hg_chunks_word(c, mem)))
		contents[0] = 0;
	if (id && c->g->nodes.data[id - 1].start == mem) {
		if (c->internals.data[id - 1].kind == kind)
			return NULL;
		err = hg_chunks_end(c, time, id, c->rip);
		if (err)
			return err;
	}
	err = hg_chunks_bear(c, time, mem, ENTRY_BYTES, kind, contents);
	if (err)
		return err;
	in = &c->internals.data[c->internals.size - 1];
	in->bytes = size_of(c, mem);
	if (c->released == mem)
		in->freed = c->released_node;
	return NULL;
}

struct err *hg_cache_settle(struct hg_chunks *c, uint64_t time, bool is_in_bin)
{
	const struct hg_word *key = c->released ? touched_at(c, c->released + 8) : NULL;
	bool is_linked = c->released && touched_at(c, c->released);
	struct err *err = NULL;

	if (!c->cache_key && is_linked && key && !is_in_bin)
		c->cache_key = key->value;
	if (is_linked && !is_in_bin && !(key && key->value == c->cache_key))
		err = bear_entry(c, time, c->released, HG_INTERNAL_FAST);
	for (size_t i = 0; i < c->touched.size && !err && c->cache_key; i++) {
		uint64_t mem = c->touched.data[i].addr - 8;

		if (c->touched.data[i].value != c->cache_key || mem % 16 ||
		    hg_chunks_word(c, mem + 8) != c->cache_key ||
		    !hg_chunks_is_heap(c, mem))
			continue;
		err = find_cache(c, time, mem);
		if (!err)
			err = bear_entry(c, time, mem, HG_INTERNAL_CACHED);
	}
	return err;
}

struct err *hg_cache_bin(struct hg_chunks *c, uint64_t time, uint64_t addr)
{
	struct err *err = NULL;

	for (int i = 0; i < 2 && !err; i++) {
		uint64_t head = hg_chunks_word(c, addr + OFF_FD + 8 * i) + OFF_FD;
		uint32_t id = hg_index_floor(&c->g->live, head);

		if (head == OFF_FD || hg_chunks_is_heap(c, head) ||
		    (id && c->g->nodes.data[id - 1].start == head))
			continue;
		err = hg_chunks_bear(c, time, head, BIN_BYTES, HG_INTERNAL_BIN, NULL);
	}
	return err;
}
