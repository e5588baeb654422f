// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: which results depend on which nodes (paper 001, section 4.3.1: the
 * mapping between constraint atoms and the nodes they depend on). A result is anything
 * that was computed and is kept: the inconsistencies of one node (TRACK_UNIT), the value of
 * an attribute (TRACK_MEMO), arguments that the traceback watches (TRACK_WATCH). When a
 * node that it depends on changes, a result becomes stale, and with it what depends on
 * the result.
 *
 * Invariants:
 *  1. A result that is not stale is what would be computed now.
 *  2. A stale result has no links: it costs nothing until it is computed again.
 *  3. Lists of nodes are in their edge_node, or in pieces, and hold links of live nodes
 *     only.
 */
#ifndef SPECDSL_SPEC_TRACK_H
#define SPECDSL_SPEC_TRACK_H

#include "specdsl/spec_edges.h"

struct spec_eval;

/** What a link depends on. The first four are lists of a node. */
enum track_list {
	TRACK_NODE,   ///< SPEC_DEP_NODE
	TRACK_INTO,   ///< SPEC_DEP_INTO
	TRACK_PATHS,  ///< SPEC_DEP_EDGES
	TRACK_RING,   ///< SPEC_DEP_RING
	TRACK_RESULT, ///< another result: SPEC_DEP_ATTR
	TRACK_ALL,    ///< SPEC_DEP_ALL
	TRACK_SAME,   ///< SPEC_DEP_SAME
};

enum track_kind { TRACK_FREE, TRACK_UNIT, TRACK_MEMO, TRACK_WATCH };

/** Result @p result depends on @p of. */
struct track_link {
	uint32_t result;
	uint32_t of;	     ///< node or result; TRACK_SAME: a hash
	uint32_t next, prev; ///< in the list of what it depends on; 0 ends
	uint32_t next_own;   ///< of the same result; 0 ends
	uint32_t piece; ///< TRACK_NODE: in the list of this piece of it; 0: of the node
	uint32_t group; ///< in the list of this group instead; 0: of none
	enum track_list list;
	struct spec_bytes bytes; ///< TRACK_NODE
};

/** What depends on bytes of a node larger than TRACK_SMALL_BYTES is in a list for each
 * TRACK_PIECE_BYTES of it; pieces count from 1. */
#define TRACK_PIECE_BYTES 64
#define TRACK_SMALL_BYTES 256

/** Links on one number of a node, each of which lets it change within a range. */
struct track_group {
	struct spec_bytes bytes; ///< which; to the range all of them allow, or less
	uint32_t node, n, first; ///< first link of n
	uint32_t next, prev;	 ///< groups of the same word; 0 ends
};

#define TRACK_GROUP_LINKS 64
#define TRACK_UNGROUPED_LINKS 24
#define TRACK_WORD_BYTES 8

struct track_result {
	enum track_kind kind;
	uint32_t owner;	     ///< index of the unit or memo, tag of the watch
	uint32_t first_own;  ///< link
	uint32_t dependents; ///< first link of list TRACK_RESULT
	bool is_stale;
};

/** A zeroed one is off: nothing is tracked. Index 0 of each array is not used. */
struct track {
	bool is_on;
	VEC(struct track_link) links;
	uint32_t first_free_link;
	VEC(struct track_result) results;
	VEC(uint32_t) free_results;
	uint32_t dependents_of_all; ///< first link of list TRACK_ALL
	struct map pieces;	    ///< node << 32 | piece -> first link
	struct map sames;	    ///< hash -> first link of TRACK_SAME
	VEC(struct track_group) groups;
	uint32_t first_free_group;
	struct map words;      ///< node << 32 | word -> first group
	VEC(uint32_t) stale;   ///< results that became so and are not settled
	VEC(uint32_t) moved;   ///< nodes whose pointers lead elsewhere
	VEC(uint32_t) touched; ///< watches that became stale and were not told
	VEC(uint32_t) told;    ///< their tags: what spec_touched() answered last
	size_t n_path_links, n_ring_links;
};

/** Begin to track: what @p e knows so far is forgotten. */
struct err *spec_track_start(struct spec_eval *e);
void spec_track_deinit(struct track *t);

/** A new result, stale. @return 0, or -1 when memory is out. */
int spec_track_new(struct track *t, enum track_kind kind, uint32_t owner, uint32_t *ret);

/** The result is no more; what depends on it becomes stale. 0 is allowed. */
void spec_track_free(struct spec_eval *e, uint32_t result);

/** The result was computed and depends on @p deps. @return 0, or -1 when memory is out:
 * then it is stale. */
int spec_track_set(struct spec_eval *e, uint32_t result, const struct spec_args *deps);

/** Let everything that became stale be known to its owner. After spec_edges_refresh(). */
struct err *spec_track_settle(struct spec_eval *e);

/* ---- spec_links.c -------------------------------------------------------------------- */

/** Result @p result depends on what @p list of @p of is about, of a node on @p bytes.
 * @return 0, or -1 when memory is out. */
int spec_links_add(struct spec_eval *e, uint32_t result, enum track_list list,
		   uint32_t of, const struct spec_bytes *bytes);

/** The result depends on nothing more. */
void spec_links_drop(struct spec_eval *e, uint32_t result);

/** The result must be computed anew. */
void spec_links_make_stale(struct spec_eval *e, uint32_t result);

/** What the list is about has changed: make stale who depends on it. */
void spec_links_touch(struct spec_eval *e, enum track_list list, uint32_t of);

/** Bytes of node @p id have changed; all, and its life, when @p size is 0. */
void spec_links_touch_bytes(struct spec_eval *e, uint32_t id, uint64_t offset,
			    uint32_t size);

/** There are no links any more, and no nodes that had any. */
void spec_links_forget(struct track *t);

#endif
