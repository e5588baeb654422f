// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Accesses that go astray: by a pointer that is derived from one node, to memory that is
 * not that node's (paper 001, section 3.3.3). With the structs' layouts also those that
 * leave the array or nested struct they began in, inside the node, which the paper's method
 * does not see.
 *
 * What the allocator itself does is not looked at. String functions may load more than they
 * are to read: their calls are judged (hg_strings.h), not their loads.
 */
#ifndef HEAPGRAPH_HG_ACCESS_H
#define HEAPGRAPH_HG_ACCESS_H

#include "base/base.h"
#include "heapgraph/hg_record.h"

enum hg_access_kind {
	HG_ACCESS_BEYOND, ///< outside the node, before it or behind it
	HG_ACCESS_FREED,  ///< the node was freed before
	HG_ACCESS_FIELD,  ///< inside the node, outside the part that the pointer is to
};

/** A step of pointer arithmetic on the way from the allocation to the access. */
struct hg_access_step {
	uint64_t time, rip;
	int64_t offset; ///< of the result, from the node's start
};

#define HG_ACCESS_STEPS 8

/** All accesses of one kind by one statement, between nodes of the same sites. */
struct hg_access {
	enum hg_access_kind kind;
	bool is_write;
	uint64_t time; ///< of the first
	uint64_t rip;  ///< the statement (history/heap.h); the instruction itself is pc
	uint64_t pc;
	uint64_t addr;
	uint32_t size;
	struct hg_node_id from; ///< that the pointer is derived from
	struct hg_node_id to;	///< that the access lands in; {0}: in none
	const char *field;   ///< FIELD: the part left; its name, borrowed of the layout,
	size_t field_length; ///< has so many characters
	uint64_t count;
	struct hg_access_step step[HG_ACCESS_STEPS]; ///< the first ones
	size_t n_steps;
};

typedef VEC(struct hg_access) hg_accesses;

/** @return what the struct in @p n looks like, NULL when that is not known. Asked once for each
 * node. */
typedef const struct dec_struct *(*hg_layout_fn)(void *ctx, const struct hg_node *n);

struct hg_finder;

/**
 * Look at each access of a replay of which @p r makes the graph.
 *
 * @param r	 Has at each step what was done before: borrowed, as @p found is.
 * @param found  Empty before; those found are added in the order of their first time.
 *		 vec_deinit() by the caller.
 * @param ret	 hg_access_destroy() (NULL is fine).
 * @return NULL or ERR_NOMEM.
 */
struct err *hg_access_create(struct hg_recorder *r, hg_layout_fn layout, void *layout_ctx,
			     hg_accesses *found, struct hg_finder **ret);
void hg_access_destroy(struct hg_finder *f);

/** A step (dec_heap_options.step; of inert ones the references are not needed); @p ctx is the
 * finder. @return NULL or ERR_NOMEM. */
struct err *hg_access_step(void *ctx, struct frames *frames, const struct dec_step *s);

/** The same, several times as fast, of instructions that need no step
 * (dec_heap_options.glance, with hg_glance_bytes). @return NULL or ERR_NOMEM. */
struct err *hg_access_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			     const struct dec_heap_storer *storer);
extern const size_t hg_glance_bytes;

#endif
