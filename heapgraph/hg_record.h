// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From the events of a replay (decode/history/heap.h) to heap graphs, in two views:
 *
 *   application  A node is an allocation as requested. It ends when its release is
 *		  requested. Contents at birth are whatever the memory held. Variables that
 *		  the user named are nodes, too.
 *   chunks	  (paper 001, section 3.1.2) A node is the head of a glibc chunk that is
 *		  free and linked in a bin: struct malloc_chunk as malloc.c has it. It is
 *		  born when the allocator has linked it, ends when it is taken out, split
 *		  or merged into a neighbour, and the allocator's stores are operations on
 *		  it as much as the application's are.
 *
 * Without allocator knowledge (hg_infer.h) the nodes of the application view are planned
 * beforehand; the calls of allocators are then as any other code.
 *
 * Not shared between threads.
 */
#ifndef HEAPGRAPH_HG_RECORD_H
#define HEAPGRAPH_HG_RECORD_H

#include "decode/history/heap.h"
#include "heapgraph/heapgraph.h"
#include "heapgraph/hg_plan.h"

/** A chunk node has prev_size, size, fd and bk; a large one also the two nextsize links.
 * What follows is the former owner's data, of which pointers mean nothing. */
#define HG_CHUNK_BYTES 32
#define HG_CHUNK_LARGE_BYTES 48
#define HG_CHUNK_LARGE_FROM 1024 ///< chunks of so many bytes are in large bins

/** What a node of the allocator's view is. All but CHUNK only on request. */
enum hg_internal_kind {
	HG_INTERNAL_CHUNK,  ///< the head of a free chunk in a bin
	HG_INTERNAL_CACHED, ///< a free chunk in the thread cache: next, key
	HG_INTERNAL_FAST,   ///< a free chunk in a fast bin: fd
	HG_INTERNAL_CACHE,  ///< the thread cache itself: counts and lists
	HG_INTERNAL_BIN,    ///< the head of a bin: fd, bk
	HG_INTERNAL_KINDS
};

struct hg_internal {
	enum hg_internal_kind kind;
	uint64_t bytes; ///< of the whole chunk; 0: it is none
	uint32_t
		freed; ///< node of the application's view that was freed into it; 0: none
	uint32_t taken; ///< .. and the first one that was made of it; 0: none
};

/** By node (number - 1) of the allocator's view. */
typedef VEC(struct hg_internal) hg_internals;

/** A node of the application's view that is a variable. */
struct hg_root {
	uint32_t node;
	uint32_t index; ///< of dec_heap_options.vars
};

/** Ascending by node. */
typedef VEC(struct hg_root) hg_roots;

/** Variable @ref index was optimized out when a watched address was reached. */
struct hg_root_gap {
	uint64_t time;
	uint32_t index; ///< of dec_heap_options.vars
};

/** Ascending by time. */
typedef VEC(struct hg_root_gap) hg_root_gaps;

struct hg_recorder;

/** Where the graphs stand when something is watched: positions for hg_view_seek(). */
struct hg_position {
	uint64_t time;
	uint64_t app_ops, chunk_ops;
};

/** A watched address was reached (dec_heap_events.watch). */
typedef struct err *(*hg_watch_fn)(void *ctx, const struct hg_position *at, size_t index,
				   bool is_return);

/** @param with_chunks  also make the view of the allocator's chunks */
struct err *hg_recorder_create(bool with_chunks, struct hg_recorder **ret);
void hg_recorder_destroy(struct hg_recorder *r);
void hg_recorder_destroyp(struct hg_recorder **r);

/** Instead of what allocator calls say, the nodes are those of @p plan, which must live as
 * long as @p r and is of the same capture. Before the first event. @return NULL or ERR_NOMEM. */
struct err *hg_recorder_follow(struct hg_recorder *r, const hg_plan *plan);

/** The allocator's view, which is being made, also has the thread cache, fast bins and heads
 * of bins. Links of single lists are shown as the pointers that they hide (glibc combines
 * them with their own address). Before the first event. */
void hg_recorder_with_internals(struct hg_recorder *r);

/** Move out what the nodes of the allocator's view are: vec_deinit() by the caller. Before
 * hg_recorder_finish(). */
void hg_recorder_internals(struct hg_recorder *r, hg_internals *ret);

/** Move out which nodes are variables, and when there was none: as above. */
void hg_recorder_roots(struct hg_recorder *r, hg_roots *ret, hg_root_gaps *gaps);

/** Of nodes that @p is_asked (ctx, as in dec_heap_events.alloc) says no of nobody asks what is in them
 * (hg_graph_alloc_bare()). Before the first event; not where there are chunks or a plan. */
void hg_recorder_ask(struct hg_recorder *r,
		     bool (*is_asked)(void *ctx, uint64_t rip, uint64_t size), void *ctx);

/** Tell @p fn of watched addresses. */
void hg_recorder_on_watch(struct hg_recorder *r, hg_watch_fn fn, void *ctx);

/** Tell @p fn of each node of the application's, as it is allocated. */
void hg_recorder_on_alloc(struct hg_recorder *r,
			  struct err *(*fn)(void *ctx, struct hg_node_id id), void *ctx);

/** The callbacks for dec_heap_trace(); valid as long as @p r. */
void hg_recorder_events(struct hg_recorder *r, struct dec_heap_events *ret);

/** The application view that is being made; as long as @p r, until hg_recorder_finish(). */
const struct hg_graph *hg_recorder_graph(const struct hg_recorder *r);

/** Copy out what memory holds now at @p addr, @p size bytes: as long as hg_recorder_graph(). */
void hg_recorder_memory(const struct hg_recorder *r, uint64_t addr, void *buf,
			uint64_t size);

/** What a plan has before @p time is done, for who looks at the graph before the instruction at
 * that time. @return NULL or ERR_NOMEM. */
struct err *hg_recorder_reach(struct hg_recorder *r, uint64_t time);

/** @return whether a plan has anything before @p time that is not done. */
bool hg_recorder_is_due(const struct hg_recorder *r, uint64_t time);

/** @return up to which time hg_recorder_is_due() says no. */
uint64_t hg_recorder_due(const struct hg_recorder *r);

/** Where the graphs stand now. */
void hg_recorder_position(const struct hg_recorder *r, struct hg_position *ret);

/** Move the graphs out: the caller destroys them. @p chunks: NULL when not made. To be
 * called once, after the trace. */
void hg_recorder_finish(struct hg_recorder *r, struct hg_graph **app,
			struct hg_graph **chunks);

#endif
