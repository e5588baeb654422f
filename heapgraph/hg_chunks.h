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

struct hg_chunks {
	struct hg_graph *g;
	const struct hg_image *shadow; ///< all memory the program wrote
	VEC(struct hg_range) regions;  ///< memory for heaps, ascending, not touching
	VEC(struct hg_word)
	touched;	  ///< stored by the allocator since the last call ended
	struct map sizes; ///< start of a node -> bytes of its chunk
	uint64_t rip;	  ///< statement of the last allocator store
};

struct hg_range {
	uint64_t start, end;
};

struct hg_word {
	uint64_t addr, value;
};

void hg_chunks_deinit(struct hg_chunks *c);

/** New memory for heaps. */
struct err *hg_chunks_region(struct hg_chunks *c, uint64_t addr, uint64_t size);

/** A store; the shadow already has it. */
struct err *hg_chunks_store(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint32_t size, const void *data, uint64_t rip,
			    bool in_allocator);

/** A call of the allocator is over: nodes are born and end. */
struct err *hg_chunks_settle(struct hg_chunks *c, uint64_t time);

/** The allocator gave out the memory at @p addr. */
struct err *hg_chunks_alloc(struct hg_chunks *c, uint64_t time, uint64_t addr,
			    uint64_t rip);

#endif
