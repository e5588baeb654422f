// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to heapgraph/: the parts of a graph.
 *
 *   image   heap bytes by address, in pages that came into being with the first store
 *   log     operations in order, as bytes in blocks of HG_BLOCK_OPS; a block is decoded
 *	     from its start. Some blocks together are a segment, which is packed when it
 *	     is full, and unpacked to be read (hg_pack.h): random access costs at most that
 *   index   live nodes by address (hg_index.h)
 *
 * A node's bytes live in the image under its address, also when it is dead: the next node
 * there records only the words in which its contents at birth differ from what lay there
 * (its patch, as exclusive or, hence valid both ways). So FREE needs no bytes at all.
 *
 *   tag      kind | size - 1 << 2 | length of node << 5
 *   byte     length of time | of statement << 3 | of offset << 5; 7: 8; of a statement, 3: 4
 *   byte     STORE only: length of before | of after << 4
 *   time     less that of the previous operation
 *   node     less that of the previous operation, zigzag
 *   STORE    statement index, offset in the node, before, after
 *   ALLOC    varint words in the patch, each: varint words skipped, length, bytes
 *
 * Lengths come first so that it takes no branches to write and read them: which way it goes
 * could not be foretold.
 */
#ifndef HEAPGRAPH_HG_INT_H
#define HEAPGRAPH_HG_INT_H

#include <pthread.h>

#include "heapgraph/heapgraph.h"
#include "heapgraph/hg_index.h"
#include "heapgraph/hg_memory.h"
#include "heapgraph/hg_pack.h"

#define HG_BLOCK_OPS 128
#define HG_SEGMENT_BLOCKS 16 // some 30 KB: twice as many gain 2 % of what is packed
#define HG_SEGMENT_BYTES (64u << 10) // where large patches are, a segment ends early
#define HG_SEGMENTS_RAW 8   // fewer are not packed: they take no more than an unpacker
#define HG_RIPS_AT_HAND 512 // a power of two

/* ---- image -------------------------------------------------------------------- */

struct hg_image {
	struct map slots; ///< page number -> index into pages
	VEC(uint8_t *) pages;
};

void hg_image_deinit(struct hg_image *im);

/** @return the bytes of @p page, zeros, which was not there; NULL when memory is out. */
uint8_t *hg_image_add(struct hg_image *im, uint64_t page);

/** @return the page's bytes, NULL when it was never written (all zeros). */
uint8_t *hg_image_page(const struct map *slots, uint8_t *const *pages, uint64_t page);

/** Copy out; what has no page reads as zeros. */
void hg_image_read(const struct map *slots, uint8_t *const *pages, uint64_t addr,
		   void *buf, uint64_t size);

/** Copy in; the pages must exist. */
void hg_image_write(const struct map *slots, uint8_t *const *pages, uint64_t addr,
		    const void *buf, uint64_t size);

/* ---- log ---------------------------------------------------------------------- */

struct hg_block {
	uint32_t segment, at; ///< where its operations begin
	uint32_t prev_node;   ///< node of the operation before the block
	uint64_t prev_time;   ///< time of the operation before the block
	uint64_t node_filter; ///< bit (node % 64) of every node in it
};

/** For readers without an unpacker of their own, one at a time. */
struct hg_aside {
	pthread_mutex_t lock;
	struct hg_unpacker unpacker;
};

/** A statement met lately. */
struct hg_known_rip {
	uint64_t rip;
	uint32_t number; ///< index into rips + 1; 0: none
};

struct hg_log {
	VEC(struct hg_block) blocks;
	VEC(struct hg_packed) segments; ///< but for the last one, which is open:
	uint8_t *open;			///< its operations
	uint32_t n_open, room, n_open_blocks;
	uint64_t n_ops;
	uint64_t last_time;
	uint32_t last_node;
	VEC(uint64_t) rips; ///< distinct statements
	struct map rip_index;
	struct hg_known_rip *at_hand; ///< HG_RIPS_AT_HAND, while the log grows
	uint64_t n_bytes;	      ///< of closed segments
	uint32_t raw_max;	      ///< bytes of the largest of them, unpacked
	struct hg_packer packer;
	struct hg_aside *aside; ///< NULL as long as no segment is packed
};

/** An operation and, for ALLOC, its encoded patch. */
struct hg_decoded {
	struct hg_op op;
	const uint8_t *patch;
};

void hg_log_deinit(struct hg_log *l);

/** Give back the room for more operations; it is taken again when there are any. */
void hg_log_trim(struct hg_log *l);

/** Append @p op; time must not go back. @return 0 or -1 (out of memory). */
int hg_log_store(struct hg_log *l, const struct hg_op *op, uint64_t node_start);
int hg_log_free(struct hg_log *l, uint64_t time, uint32_t node);

/** Append an ALLOC: begin, the patch's words in ascending order, end. @p n_words is known
 * first. Each @return 0 or -1. */
int hg_log_alloc(struct hg_log *l, uint64_t time, uint32_t node, uint64_t n_words);
int hg_log_patch(struct hg_log *l, uint64_t skipped, uint64_t bits);

/** @return the memory of all operations. */
uint64_t hg_log_bytes(const struct hg_log *l);

/** Make an unpacker that hg_log_decode() can use, as long as nothing is appended.
 * @return 0 or -1. */
int hg_log_unpacker(const struct hg_log *l, struct hg_unpacker *ret);

/** Decode all of block number @p block into @p ret (HG_BLOCK_OPS). Patches are valid until
 * @p u is used for another block. @return how many. */
uint32_t hg_log_decode(const struct hg_graph *g, uint64_t block, struct hg_unpacker *u,
		       struct hg_decoded *ret);

/** The same, for any thread, without patches. */
uint32_t hg_log_decode_aside(const struct hg_graph *g, uint64_t block,
			     struct hg_decoded *ret);

/** Exclusive-or the @p patch of the node at @p start into an image. */
void hg_log_apply_patch(const uint8_t *patch, uint64_t start, uint64_t size,
			const struct map *slots, uint8_t *const *pages);

/* ---- graph -------------------------------------------------------------------- */

/** Ids of a type's nodes, ascending. */
struct hg_type_nodes {
	uint32_t *data;
	size_t size, capacity;
};

struct hg_graph {
	VEC(struct hg_node) nodes; ///< id - 1
	VEC(uint64_t) ended; ///< a bit for each node, id - 1: they are asked for often
	struct hg_log log;
	struct hg_image image; ///< now
	struct hg_index live;  ///< now
	uint64_t peak_live;
	uint64_t
		n_empty; ///< live nodes of no bytes, and bare ones: no page tells of them
	uint64_t unknown_frees;
	VEC(struct hg_release) unknown; ///< by statement, the first ones
	struct hg_memory *memory; ///< made with the first node or store; NULL: not wanted
	bool keeps_outside;	  ///< hg_graph_keep_outside()
	VEC(struct hg_patch_word) patch; ///< of the node that is being born
	VEC(struct hg_type_nodes) types; ///< index type - 1
	VEC(struct hg_member) members;	 ///< by cluster, then by address
	struct map clusters;		 ///< node -> the cluster that took it
	struct map whose; ///< node that is a variable -> the thread or call that it is of
	uint64_t n_clusters, n_split;
};

/** @return the node whose byte at @p addr became @p id's when that was born; 0: none. */
uint32_t hg_graph_before(const struct hg_graph *g, uint32_t id, uint64_t addr);

/** @return what @p v shows. */
const struct hg_graph *hg_view_graph(const struct hg_view *v);

/** @return the page, as good as always at hand; NULL when memory is out. */
static inline struct hg_page *hg_memory_page(struct hg_graph *g, uint64_t number)
{
	struct hg_page *p = g->memory ? g->memory->at_hand[number % HG_PAGES_AT_HAND] :
					NULL;

	return p && p->number == number ? p : hg_memory_page_make(g, number);
}

/** A store of up to 8 bytes that a node gets, as it seems, waiting for what it takes to be
 * fetched. */
struct hg_awaited {
	struct hg_page *page;
	uint32_t id;
};

/** Whether [addr, addr + size) is in one granule of page @p p that only one live node has, or
 * in a page that is all a node's: then *ret is that, and what a store takes is being fetched. */
static inline bool hg_graph_await(const struct hg_graph *g, struct hg_page *p,
				  uint64_t addr, uint32_t size, struct hg_awaited *ret)
{
	uint32_t at = addr % HG_PAGE_BYTES;

	if (at % HG_GRANULE + size > HG_GRANULE || size > 8 || !size)
		return false;
	if (p->owned == HG_OWNED_IN_PARTS)
		ret->id = p->owners[at / HG_GRANULE];
	else if (p->owned == HG_OWNED_WHOLE)
		ret->id = p->whole;
	else
		return false;
	if (!ret->id || ret->id == HG_CROWDED)
		return false;
	ret->page = p;
	__builtin_prefetch(&g->memory->extents.data[ret->id - 1]);
	__builtin_prefetch(p->bytes + at, 1);
	return true;
}

/** The store for which hg_graph_await() gave @p at; since then no node was born or ended. */
struct err *hg_graph_store_awaited(struct hg_graph *g, uint64_t time, uint64_t addr,
				   uint32_t size, const void *data, uint64_t rip,
				   const struct hg_awaited *at);

/** As hg_graph_store(); @p p is the page of @p addr. */
struct err *hg_graph_store_page(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint32_t size, const void *data, uint64_t rip,
				struct hg_page *p);

/** From now on what is stored outside of nodes is remembered: hg_graph_alloc_found() and
 * hg_memory_get() know it. */
void hg_graph_keep_outside(struct hg_graph *g);

/** As hg_graph_alloc(), with what memory holds as contents. */
struct err *hg_graph_alloc_found(struct hg_graph *g, uint64_t time, uint64_t addr,
				 uint64_t size, uint64_t rip, struct hg_node_id *ret);

/** hg_graph_free() of what may not be freed: it is counted, and stays. */
struct err *hg_graph_free_wrong(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t rip);

/** @return the last node that began at @p addr, 0: none. Looks at them one by one. */
uint32_t hg_graph_ended_at(const struct hg_graph *g, uint64_t addr);

/** @return the live node that starts at @p addr, 0: none. */
uint32_t hg_graph_node_at(struct hg_graph *g, uint64_t addr);

/** @return whether @p id lives now, behind the last operation. */
static inline bool hg_graph_lives(const struct hg_graph *g, struct hg_node_id id)
{
	return !(g->ended.data[(id.v - 1) / 64] >> (id.v - 1) % 64 & 1);
}

/** @return the node that covers @p addr now, {0} for none. */
struct hg_node_id hg_graph_covers(const struct hg_graph *g, uint64_t addr);

/** Give back what is needed only to append (appending more takes it again). */
void hg_graph_trim(struct hg_graph *g);

#endif
