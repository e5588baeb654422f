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
#include "heapgraph/hg_judge.h"
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
#define HG_ACCESS_CALLERS 8
#define HG_ACCESS_CHAINS 4
#define HG_ACCESS_OTHERS 8

/** The user's calls under way, innermost first: the addresses of their statements. */
struct hg_chain {
	uint64_t rip[HG_ACCESS_CALLERS];
	uint32_t n;
};

/** One more statement: of the same loop, or which reads what was written astray. */
struct hg_access_other {
	uint64_t rip, count;
	bool is_write; ///< some of them
	bool is_part;  ///< of the loop: hg_access counts them
};

/** Accesses one behind the other, from where the part of a struct ends that they began in. */
struct hg_access_run {
	uint64_t end,
		whole_end; ///< of the last of them; of the node (0: does not matter)
	uint64_t size;	   ///< of the last
	uint64_t count;
};

/** All accesses of one kind by one source line (and what goes astray in the same loop, or
 * because of it), from nodes of the same site. */
struct hg_access {
	enum hg_access_kind kind;
	int rule;      ///< the judge's number of what it breaks
	bool is_write; ///< some are
	uint64_t time; ///< of the first
	uint64_t rip;  ///< the statement (history/heap.h); the instruction itself is pc
	uint64_t function; ///< a number for that which the statement is in
	uint64_t pc;
	uint64_t addr;
	uint32_t size;
	struct hg_node_id from; ///< that the pointer is derived from
	struct hg_node_id to; ///< that the first that lands in one lands in; {0}: in none
	const char *field;    ///< FIELD: the part left; its name, borrowed of the layout,
	size_t field_length;  ///< has so many characters
	uint64_t count, writes; ///< all; those that write
	uint64_t last_time;
	/** Where they begin, and the end of the last: bytes from the node's end when all begin
	 * behind it (is_behind), else from its start. */
	bool is_behind;
	int64_t least, most, end;
	uint32_t size_least, size_most;
	struct hg_access_run run[2]; ///< of reads, of writes
	uint64_t excused;	     ///< of all: they went on to the node's end
	struct hg_access_step step[HG_ACCESS_STEPS]; ///< the user's first ones
	size_t n_steps;
	struct hg_chain chain[HG_ACCESS_CHAINS]; ///< by which calls; the first ones,
	uint64_t n_chains;			 ///< .. of so many
	struct hg_chain allocated;		 ///< by which calls the node was
	struct hg_access_other other[HG_ACCESS_OTHERS]; ///< the first ones,
	uint64_t n_others;				///< .. of so many
};

typedef VEC(struct hg_access) hg_accesses;

/** @return what the struct in @p n looks like, NULL when that is not known. Asked once for each
 * node. */
typedef const struct dec_struct *(*hg_layout_fn)(void *ctx, const struct hg_node *n);

struct hg_finder;

struct dec_insn;
struct dec_rec;

/**
 * Look at each access of a replay of which @p r makes the graph.
 *
 * @param r	 Has at each step what was done before: borrowed, as @p found is.
 * @param judge	 Says what of it is wrong; borrowed.
 * @param found  Empty before; those found are added in the order of their first time.
 *		 vec_deinit() by the caller.
 * @param ret	 hg_access_destroy() (NULL is fine).
 * @return NULL or ERR_NOMEM.
 */
struct err *hg_access_create(struct hg_recorder *r, hg_layout_fn layout, void *layout_ctx,
			     const struct hg_judge *judge, hg_accesses *found,
			     struct hg_finder **ret);
void hg_access_destroy(struct hg_finder *f);

/** Nobody asks of the graph what nodes held: it need not have it. What string functions stored it does have,
 * until the call is over. */
void hg_access_without_history(struct hg_finder *f);

/** Nobody looks at the accesses, there are no steps: of nodes it is to be known by which calls they were allocated
 * (hg_access_allocated()), and where they live. @p ctx, of dec_heap_options.lend: the finder. */
void hg_access_nodes_alone(struct hg_finder *f);
void hg_access_lend(void *ctx, struct frames *frames);

/** @return by whom node @p id was allocated: HG_FAMILY_.. */
uint8_t hg_access_family(const struct hg_finder *f, struct hg_node_id id);

/** @return the node that lives and covers @p addr; {0}: none. */
struct hg_node_id hg_access_live_at(const struct hg_finder *f, uint64_t addr);

/** @return how many bytes of node @p id malloc_usable_size() said that there are; 0: it was not asked. */
uint64_t hg_access_usable(const struct hg_finder *f, struct hg_node_id id);

/** @return whether node @p id was given to a function of its allocator that nobody knows, which may have released it, and given its
 * memory out again. */
bool hg_access_is_lent(const struct hg_finder *f, struct hg_node_id id);

/** @return whether such a function was called. */
bool hg_access_has_strangers(const struct hg_finder *f);

/** @return whether a vfork child, which nobody follows, may have allocated or released a block at @p addr after time
 * @p since: it wrote to where the allocator has something of that. */
bool hg_access_is_childs(const struct hg_finder *f, uint64_t addr, uint64_t since);

/** By which calls was node @p id allocated? Behind the statement that is named for it. */
void hg_access_allocated(const struct hg_finder *f, struct hg_node_id id,
			 struct hg_chain *ret);

/** The user's calls under way, innermost first, but for @p statement itself. */
void hg_chain_list(const struct frames *frames, uint64_t statement, struct hg_chain *ret);

/** The instruction of which these are the bytes (15 of them), at @p rip, cannot do what it was to do at
 * @p x->addr (0: the kernel did not say where, then it is what @p gpr, its registers, make): tell whose
 * pointer that is, and what it was to do. @return the register that is the base of the address; -1: none. */
int hg_access_fault(struct hg_finder *f, const uint8_t *bytes, uint64_t rip,
		    const uint64_t gpr[16], struct hg_judged *x);

/** Tell @p fn of all pointers that memory and registers hold, as far as they were seen to become such; what the
 * running thread's stack has left holds none. @return what it does. */
struct err *hg_access_pointers(struct hg_finder *f,
			       struct err *(*fn)(void *ctx, uint64_t value,
						 struct hg_node_id node),
			       void *ctx);

/** The run is over: what belongs together becomes one. */
void hg_access_finish(const struct hg_finder *f);

/** A step (dec_heap_options.step; of inert ones the references are not needed); @p ctx is the
 * finder. @return NULL or ERR_NOMEM. */
struct err *hg_access_step(void *ctx, struct frames *frames, const struct dec_step *s);

/** A handler begins, or returned (dec_heap_options.state): it has registers of its own. @return NULL or ERR_NOMEM. */
struct err *hg_access_state(void *ctx, uint32_t tid, const struct dec_rec *rec,
			    const uint64_t before[16]);

/** @return whether the judge asks about all accesses: then there must be no glances. */
bool hg_access_wants_steps(const struct hg_finder *f);

/** The same, several times as fast, of instructions that need no step
 * (dec_heap_options.glance, with hg_glance_bytes). @return NULL or ERR_NOMEM. */
struct err *hg_access_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			     const struct dec_heap_storer *storer);
/** .. and through block after block (dec_heap_options.stretch). @return NULL or ERR_NOMEM. */
struct err *hg_access_stretch(void *ctx, struct frames *frames, struct dec_stretch *s,
			      const struct dec_heap_storer *storer);
extern const size_t hg_glance_bytes;

#endif
