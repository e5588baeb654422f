// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to heapgraph/: live nodes ordered by start address. A B+ tree of two levels:
 * a sorted array of leaves, each a sorted array of up to HG_LEAF_CAP entries.
 *
 * Invariants:
 *  1. No leaf is empty.
 *  2. Two neighbours hold more than HG_LEAF_CAP / 2 entries together, so n entries need
 *     at most 4 n / HG_LEAF_CAP + 1 leaves: a view can reserve them and never fail later.
 */
#ifndef HEAPGRAPH_HG_INDEX_H
#define HEAPGRAPH_HG_INDEX_H

#include <stdint.h>

#include "base/base.h"

#define HG_LEAF_CAP 128

struct hg_leaf {
	uint32_t n;
	uint32_t id[HG_LEAF_CAP];
	uint64_t start[HG_LEAF_CAP];
};

struct hg_leaf_ref {
	uint64_t first; ///< leaf->start[0]
	struct hg_leaf *leaf;
};

struct hg_index {
	VEC(struct hg_leaf_ref) leaves;
	uint64_t size;		     ///< entries
	VEC(struct hg_leaf *) spare; ///< leaves to use again
	struct hg_leaf *slab;	     ///< reserved leaves, NULL when leaves are single
	size_t slab_used, slab_size;
	size_t at_hand; ///< the leaf that was inserted to or removed from last
};

/** Free everything; the index is empty and usable again. */
void hg_index_deinit(struct hg_index *ix);

/** @return the memory of its entries, room and all. */
uint64_t hg_index_bytes(const struct hg_index *ix);

/** Make room in an empty index so that up to @p n entries at a time never need memory.
 * @return 0, or -1 when memory is out. */
int hg_index_reserve(struct hg_index *ix, uint64_t n);

/** Make sure that the next insert does not need memory. @return 0 or -1. */
int hg_index_prepare(struct hg_index *ix);

/** Forget all entries; what was reserved stays. */
void hg_index_clear(struct hg_index *ix);

/** Add @p id at @p start (not yet present). hg_index_prepare() or _reserve() came before. */
void hg_index_insert(struct hg_index *ix, uint64_t start, uint32_t id);

/** Remove the entry at @p start, which must exist. */
void hg_index_remove(struct hg_index *ix, uint64_t start);

/** @return the entry with the greatest start <= @p addr, 0 for none. */
uint32_t hg_index_floor(const struct hg_index *ix, uint64_t addr);

/** @return the entry with the smallest start >= @p addr, 0 for none. */
uint32_t hg_index_ceil(const struct hg_index *ix, uint64_t addr);

#endif
