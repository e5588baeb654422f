// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to heapgraph/: which glibc chunks are free and in a bin.
 *
 * The allocator is not asked and its functions are not known; its stores and the layout of
 * malloc.c are enough. A chunk in a bin is one whose successor has PREV_INUSE clear and
 * repeats the chunk's size in prev_size, and whose neighbours in the list point back.
 * Chunks in the thread cache and the fast bins keep the successor's bit set, so they are
 * not mistaken for it. The question is put whenever a call of the allocator is over, and
 * only about chunks that the call touched. Once born, a node stays until the *allocator*
 * says otherwise: what the application overwrites never ends it, since that is exactly
 * the corruption to be shown.
 */
#ifndef HEAPGRAPH_HG_CHUNKS_H
#define HEAPGRAPH_HG_CHUNKS_H

#include "heapgraph/hg_int.h"
#include "heapgraph/hg_record.h"

struct hg_range {
	uint64_t start, end;
};

#define HG_CHUNKS_ASKED 32 // a power of two

/** A node that ended in the call of the allocator that runs. */
struct hg_ended {
	uint32_t id;
	uint64_t start, bytes; ///< of its chunk
};

struct hg_chunks {
	struct hg_graph *g;
	bool with_internals;	      ///< also caches and bins
	hg_internals internals;	      ///< what each node is
	struct hg_graph *memory;      ///< knows all that the program wrote; borrowed
	VEC(struct hg_range) regions; ///< memory for heaps, ascending, not touching
	size_t at_hand;		      ///< the one that was asked for last
	struct hg_range gap;	      ///< is in none, as was asked last
	uint64_t
		asked[HG_CHUNKS_ASKED]; ///< what settling found to be no chunk to be born
	VEC(struct hg_word)
	touched;		    ///< stored by the allocator since the last call ended
	struct map sizes;	    ///< start of a node -> bytes of its chunk
	uint64_t rip;		    ///< statement of the last allocator store
	VEC(struct hg_ended) ended; ///< in this call, in order
	bool is_settled;	    ///< the call is over
	uint64_t released,
		released_bytes; ///< what it frees, 0: nothing; its chunk's size
	uint32_t released_node; ///< of the application's view
	uint64_t cache_key; ///< that marks what is in the thread cache; 0: not known yet
};

struct hg_word {
	uint64_t addr, value;
};

void hg_chunks_deinit(struct hg_chunks *c);

/** New memory for heaps. */
struct err *hg_chunks_region(struct hg_chunks *c, uint64_t addr, uint64_t size);

/** @return whether no call of the allocator waits for hg_chunks_settle(). */
static inline bool hg_chunks_is_quiet(const struct hg_chunks *c)
{
	return c->is_settled && !c->touched.size && !c->released;
}

/** @return whether a store meets no node of the chunks; @p p is the page of @p addr in
 * c->memory. */
static inline bool hg_chunks_misses(const struct hg_chunks *c, const struct hg_page *p,
				    uint64_t addr, uint32_t size)
{
	if (p->meets_chunks) {
		p = hg_memory_at_hand(c->g->memory, addr);
		return p && hg_page_is_free(p, addr, size);
	}
	return addr % HG_PAGE_BYTES + size <= HG_PAGE_BYTES;
}

/** A store; memory already has it. */
struct err *hg_chunks_store(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint32_t size, const void *data, uint64_t rip,
			    bool in_allocator);

/** A store of the allocator that meets no node. */
struct err *hg_chunks_touch(struct hg_chunks *c, uint64_t addr, uint32_t size,
			    const void *data, uint64_t rip);

/** A call of the allocator is over: nodes are born and end. */
struct err *hg_chunks_settle(struct hg_chunks *c, uint64_t time);

/** The memory at @p addr, @p node of the application's view, is to be freed by the call that
 * begins. */
void hg_chunks_release(struct hg_chunks *c, uint64_t addr, uint32_t node);

/** The allocator gave out the memory at @p addr, which will be @p node of the application's
 * view. */
struct err *hg_chunks_alloc(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint64_t rip, uint32_t node);

#define HG_CACHE_BYTES 640 ///< of the thread cache, the largest node

/* ---- for hg_cache.c ---------------------------------------------------------------------- */

/** @return the word that memory holds at @p addr. */
uint64_t hg_chunks_word(const struct hg_chunks *c, uint64_t addr);

/** @return whether @p addr is in memory for heaps. */
bool hg_chunks_is_heap(struct hg_chunks *c, uint64_t addr);

/** A node of @p kind is born at @p addr. @p contents: NULL for what memory holds. */
struct err *hg_chunks_bear(struct hg_chunks *c, uint64_t time, uint64_t addr,
			   uint64_t size, enum hg_internal_kind kind,
			   const void *contents);

/** Node @p id ends. */
struct err *hg_chunks_end(struct hg_chunks *c, uint64_t time, uint32_t id, uint64_t rip);

/** A call of the allocator is over, and @p is_in_bin tells whether what it freed went to a
 * bin: did it go to the thread cache, or to a fast bin? */
struct err *hg_cache_settle(struct hg_chunks *c, uint64_t time, bool is_in_bin);

/** The free chunk at @p addr links to others, perhaps to the head of a bin. */
struct err *hg_cache_bin(struct hg_chunks *c, uint64_t time, uint64_t addr);

#endif
