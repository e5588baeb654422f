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
#include "capture/capture.h"
#include "decode/symbols/symbols.h"
#include "heapgraph/heapgraph.h"

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

struct hg_access_options {
	const struct dec_struct *(*layout)(void *ctx, struct hg_node_id id); ///< or NULL
	void *layout_ctx;
	void (*progress)(void *ctx, uint64_t time); ///< now and then
	void *progress_ctx;
};

/**
 * Replay @p c a second time, with all values, along @p g, its application view, and look at
 * each access.
 *
 * @param symbols  With all modules of the first replay.
 * @param ret	   Empty before; those found are added in the order of their first time.
 *		   vec_deinit() by the caller.
 * @return NULL, ERR_NOMEM, or as the machine's.
 */
struct err *hg_access_find(const struct capture *c, struct dec_symbols *symbols,
			   const struct hg_graph *g, const struct hg_access_options *o,
			   hg_accesses *ret);

#endif
