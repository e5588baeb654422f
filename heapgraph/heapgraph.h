// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * MG++ (paper 001, chapter 3): which heap node pointed where, when, and which statement
 * made it so. Built by appending operations in time order; read through views, each the
 * traditional memory graph at one time, which move backward and forward.
 *
 * Invariants:
 *  1. Operations are appended in the order of time (instruction count). Those that one
 *     instruction makes share its time and are told apart by their index.
 *  2. At any time live nodes do not overlap.
 *  3. A view shows exactly the first hg_view_ops() operations.
 *
 * A graph is built by one thread; then any number of threads may hold views, each its
 * own. Once a view exists nothing more is appended. After ERR_NOMEM from a building
 * function the graph can only be destroyed.
 */
#ifndef HEAPGRAPH_HEAPGRAPH_H
#define HEAPGRAPH_HEAPGRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct hg_graph;
struct hg_view;

/** A node, from 1 in order of creation; {0} = none. */
struct hg_node_id {
	uint32_t v;
};

enum hg_op_kind {
	HG_OP_ALLOC = 1, ///< a node appears
	HG_OP_FREE,	 ///< a node disappears
	HG_OP_STORE,	 ///< bytes of a live node change
};

/** One change of the graph. */
struct hg_op {
	uint64_t time; ///< instructions executed before it
	enum hg_op_kind kind;
	struct hg_node_id node; ///< the node that changed
	uint64_t rip;  ///< of the instruction that did it (ALLOC, FREE: return address)
	uint64_t addr; ///< STORE: first byte; ALLOC, FREE: start of the node
	uint32_t size; ///< STORE: bytes, 1..8 (larger stores are split)
	uint64_t before, after; ///< STORE: little-endian value; before = 0 when unknown
};

/** What a node is for its whole life. */
struct hg_node {
	uint64_t start, size; ///< address and bytes as requested
	uint64_t born, died;  ///< times; died = UINT64_MAX while alive
	uint64_t alloc_rip;   ///< return address of the allocator call in its caller
	uint64_t free_rip;    ///< 0 while alive
	uint32_t type : 30;   ///< set by hg_graph_set_type(); 0 = unknown
	uint32_t is_bare : 1; ///< of its bytes nothing is known (hg_graph_alloc_bare())
	uint32_t
		is_raw : 1; ///< it was given out as it was: no byte of it has a value yet
	uint32_t source;    ///< number of the node it was split off from; 0 = none
};

/** A merge edge (paper 001, section 3.1.2): @p node became part of @p cluster when that was
 * born. A cluster's members are in the order of their addresses. */
struct hg_member {
	struct hg_node_id cluster, node;
};

/** Calls of free() at one statement, of what cannot be freed. */
struct hg_release {
	uint64_t time, addr, rip; ///< of the first, as in struct hg_op
	/** It lies inside this one, or began there and had ended; {0}: neither is known. */
	struct hg_node_id node;
	uint64_t count;
};

/** What a graph costs and holds. */
struct hg_measure {
	uint64_t nodes, changes;
	uint64_t edges;	     ///< stores of a pointer to a node that lived then
	uint64_t clusters;   ///< nodes made of others
	uint64_t splits;     ///< nodes split off from others
	uint64_t log_bytes;  ///< memory of the changes
	uint64_t node_bytes; ///< of the nodes, their sources and merge edges
	uint64_t all_bytes;  ///< hg_graph_bytes()
};

/* ---- building ---------------------------------------------------------------- */

struct err *hg_graph_create(struct hg_graph **ret);
void hg_graph_destroy(struct hg_graph *g);
void hg_graph_destroyp(struct hg_graph **g);

/** A node of @p size bytes appears at @p addr. Memory that a live node covered is taken
 * from it (the old node ends: it was freed unseen). @p contents: initial bytes, or NULL
 * for zeros-or-unknown. @return ERR_RANGE when it leaves the address space. */
struct err *hg_graph_alloc(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint64_t size, uint64_t rip, const void *contents,
			   struct hg_node_id *ret);

/** As hg_graph_alloc(), of memory that nodes covered which just ended: each byte stays as it
 * was. What wrote it last before is still found (hg_view_last_write()) when those nodes are
 * its source or its members. */
struct err *hg_graph_alloc_kept(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t size, uint64_t rip, struct hg_node_id *ret);

/** As hg_graph_alloc(), of a node whose bytes nobody will ask for: what is stored there is kept
 * as memory outside of nodes is, and makes no operations. */
struct err *hg_graph_alloc_bare(struct hg_graph *g, uint64_t time, uint64_t addr,
				uint64_t size, uint64_t rip);

/** Node @p id is raw (struct hg_node): malloc() gave it, not calloc(). What realloc() gives is
 * raw, too, though its beginning has the values of the node that it ends just before. */
void hg_graph_set_raw(struct hg_graph *g, struct hg_node_id id);

/** Node @p id is a variable of the thread or call @p whose (dec_heap_events.root).
 * @return ERR_NOMEM or NULL. */
struct err *hg_graph_set_whose(struct hg_graph *g, struct hg_node_id id, uint64_t whose);

/** @return whether variables @p a and @p b may be seen together: not if they are of two threads,
 * or of two calls of what they share, a function, if @p share_scope. */
bool hg_graph_is_together(const struct hg_graph *g, struct hg_node_id a,
			  struct hg_node_id b, bool share_scope);

/** Node @p id was split off from @p source. */
void hg_graph_set_source(struct hg_graph *g, struct hg_node_id id,
			 struct hg_node_id source);

/** The youngest node is a cluster: it consists of the @p n nodes of @p members, which ended
 * when it was born. @return NULL or ERR_NOMEM. */
struct err *hg_graph_set_members(struct hg_graph *g, const struct hg_node_id *members,
				 size_t n);

/** The node at @p addr ends. Unknown addresses are counted, not an error. */
struct err *hg_graph_free(struct hg_graph *g, uint64_t time, uint64_t addr, uint64_t rip);

/** Instruction @p rip stored @p size bytes @p data at @p addr. Bytes outside live nodes
 * are ignored. One store may reach several nodes; it makes one op per node and 8 bytes. */
struct err *hg_graph_store(struct hg_graph *g, uint64_t time, uint64_t addr,
			   uint32_t size, const void *data, uint64_t rip);

/** Give @p node the type @p type (a small index of the caller's, > 0; 0 takes it away).
 * Allowed at any time, also while views exist. @return NULL or ERR_NOMEM. */
struct err *hg_graph_set_type(struct hg_graph *g, struct hg_node_id node, uint32_t type);

/* ---- reading ------------------------------------------------------------------ */

uint32_t hg_graph_nodes(const struct hg_graph *g); ///< count; ids are 1..count
uint64_t hg_graph_ops(const struct hg_graph *g);   ///< count; indices are 0..count-1
uint64_t hg_graph_unknown_frees(const struct hg_graph *g); ///< frees that met no node

/** @return number @p i (0 ..) of those, in the order of time, as long-lived as @p g; NULL: there are no
 * more, or too many. */
const struct hg_release *hg_graph_unknown_free(const struct hg_graph *g, size_t i);

uint64_t hg_graph_log_bytes(const struct hg_graph *g); ///< memory of all operations

/** @return memory of the whole graph as it is now: operations, nodes, heap bytes, indices;
 * room kept for growth counts. */
uint64_t hg_graph_bytes(const struct hg_graph *g);
/** Measure @p g, its bytes as allocated; walks through all changes for the edges. @return
 * NULL or ERR_NOMEM. */
struct err *hg_graph_measure(const struct hg_graph *g, struct hg_measure *ret);

/** @return the members of @p id, *n of them, until the next append: none unless it is a
 * cluster. */
const struct hg_member *hg_graph_members(const struct hg_graph *g, struct hg_node_id id,
					 size_t *n);

/** @return the cluster that @p id became part of, {0} for none. */
struct hg_node_id hg_graph_cluster(const struct hg_graph *g, struct hg_node_id id);

/** @return the node; valid until the next append. @p id must exist. */
const struct hg_node *hg_graph_node(const struct hg_graph *g, struct hg_node_id id);

/** Decode operation @p index. Costs up to a block of 128 operations; step a view instead
 * to read many. */
struct hg_op hg_graph_op(const struct hg_graph *g, uint64_t index);

/** Tell the statement of some operations, number @p i (0 ..) of all there are, each once and in the
 * order of its first. @return false: there are no more. */
bool hg_graph_statement(const struct hg_graph *g, size_t i, uint64_t *ret);

/** @return the index of the first operation later than @p time. */
uint64_t hg_graph_op_after(const struct hg_graph *g, uint64_t time);

/** @return the node that covered @p addr just after @p time, {0} for none. Looks at the
 * nodes one by one, youngest first: for reports; a view finds in logarithmic time. */
struct hg_node_id hg_graph_find(const struct hg_graph *g, uint64_t addr, uint64_t time);

/* ---- views: retrieval and rollback (paper 001, Algorithm 1) --------------------- */

/** The memory graph after the first @p n_ops operations. @p g must outlive it. */
struct err *hg_view_create(const struct hg_graph *g, uint64_t n_ops,
			   struct hg_view **ret);
/** Make a view that stands where @p v does. @return ERR_NOMEM. */
struct err *hg_view_copy(const struct hg_view *v, struct hg_view **ret);
void hg_view_destroy(struct hg_view *v);
void hg_view_destroyp(struct hg_view **v);

/** How many operations the view shows. */
uint64_t hg_view_ops(const struct hg_view *v);

/** The last operation shown, which hg_view_back() would undo. There must be one. */
void hg_view_peek(struct hg_view *v, struct hg_op *ret);

/** Undo the last operation shown. @p ret gets it (NULL: not wanted). The view must show
 * at least one. */
void hg_view_back(struct hg_view *v, struct hg_op *ret);

/** Show one operation more, if there is one. @return whether there was. */
bool hg_view_forward(struct hg_view *v, struct hg_op *ret);

/** Move to exactly @p n_ops operations, whichever way is shorter. */
void hg_view_seek(struct hg_view *v, uint64_t n_ops);

/** @return whether @p id is alive in the view. */
bool hg_view_is_live(const struct hg_view *v, struct hg_node_id id);

/** Read @p size (1..8) bytes at @p offset of live node @p id as a little-endian value.
 * @return false when that is outside the node. */
bool hg_view_read(const struct hg_view *v, struct hg_node_id id, uint64_t offset,
		  uint32_t size, uint64_t *ret);

/** @return the live node that covers @p addr in the view, {0} for none. */
struct hg_node_id hg_view_find(const struct hg_view *v, uint64_t addr);

/** The operation that last wrote the byte at @p offset of @p id (its ALLOC when nothing
 * did); @p id must have been born in the view. Searches backward through the log, and on
 * in what @p id was split off from or made of. @return its index. */
uint64_t hg_view_last_write(const struct hg_view *v, struct hg_node_id id,
			    uint64_t offset);

/** The same of the @p size bytes at address @p addr, which begin in @p id: the last that wrote one of them; what lies
 * outside of it is nobody's. */
uint64_t hg_view_last_write_of(const struct hg_view *v, struct hg_node_id id,
			       uint64_t addr, uint32_t size);

/** A byte of a node, and what wrote it last. */
struct hg_written {
	struct hg_node_id node; ///< asked: it must have been born in the view
	uint64_t offset;	///< asked: of the byte, in the node
	uint64_t index;		///< answer: hg_view_last_write()
	uint64_t time, rip;	///< answer: of that operation
};

/** Answer all @p n of @p w, the same ones more than once if need be, in one pass backward:
 * as hg_view_last_write() would, each in its turn. @return NULL or ERR_NOMEM: then some may
 * be without an answer. */
struct err *hg_view_last_writes(const struct hg_view *v, struct hg_written *w, size_t n);

/** Next live node with type @p type after @p prev ({0} to start); {0} at the end.
 * type 0 walks all live nodes. */
struct hg_node_id hg_view_next(const struct hg_view *v, uint32_t type,
			       struct hg_node_id prev);

/* ---- addresses through time ------------------------------------------------------- */

/** Tells of any address which node had it last. */
struct hg_past;

/** @p g must outlive it, and nothing more is appended. @return NULL or ERR_NOMEM. */
struct err *hg_past_create(const struct hg_graph *g, struct hg_past **ret);
void hg_past_destroy(struct hg_past *p);
void hg_past_destroyp(struct hg_past **p);

/** @return the youngest of the nodes born at @p time or before that cover, or covered,
 * @p addr; {0} for none. Costs logarithmic time, and a walk through the nodes for all
 * questions whose times go forward; one that goes back begins anew. */
struct hg_node_id hg_past_find(struct hg_past *p, uint64_t addr, uint64_t time);

/* ---- asked again and again ---- */

/**
 * Where somebody waits for answers about any time: which operations wrote each word, which nodes were where,
 * and views on the way. About 12 bytes an operation, 256 MiB of views at most. Not shared between threads.
 */
struct hg_trails;

/** @p g is borrowed, and gets no more operations. @return ERR_NOMEM, ERR_RANGE (more than 2^32 of them). */
struct err *hg_trails_create(const struct hg_graph *g, struct hg_trails **ret);
void hg_trails_destroy(struct hg_trails *t);
void hg_trails_destroyp(struct hg_trails **t);

/** As hg_view_create(), from the nearest view before. */
struct err *hg_trails_view(const struct hg_trails *t, uint64_t n_ops,
			   struct hg_view **ret);

/** As hg_view_last_write_of() of a view at @p n_ops operations; where the node itself was not written, what its first
 * byte was made of is looked at. */
uint64_t hg_trails_last_write(struct hg_trails *t, uint64_t n_ops, struct hg_node_id id,
			      uint64_t addr, uint32_t size);

/** As hg_past_find(), at any time. */
struct hg_node_id hg_trails_find(const struct hg_trails *t, uint64_t addr, uint64_t time);

/** As hg_view_last_writes() of a view at @p n_ops operations. */
struct err *hg_trails_last_writes(struct hg_trails *t, uint64_t n_ops,
				  struct hg_written *w, size_t n);

#endif
