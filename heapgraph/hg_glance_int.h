// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What hg_glance.c, which goes from instruction to instruction, and hg_course.c, which goes
 * through whole blocks, share: all that is known of a block's instructions without running them.
 */
#ifndef HEAPGRAPH_HG_GLANCE_INT_H
#define HEAPGRAPH_HG_GLANCE_INT_H

#include <string.h>

#include "heapgraph/hg_access_int.h"
#include "heapgraph/hg_derive_int.h"
#include "heapgraph/hg_glance.h"

enum hg_glance_kind {
	GLANCE_STEP,  ///< calls, returns, several operands, what is rare
	GLANCE_INERT, ///< compares, branches
	GLANCE_PLAIN,
};

/** What a course does with an instruction. */
enum hg_course_op {
	COURSE_LEAVE,  ///< it is not for courses if it has to do with pointers
	COURSE_VECTOR, ///< a vector is loaded: the same, if pointers are in it
	COURSE_LOAD,   ///< a register is loaded
	COURSE_STORE,  ///< a word is stored
	COURSE_MOVE,   ///< registers alone, no arithmetic
	COURSE_DERIVE, ///< .. arithmetic
	COURSE_MIXED,  ///< other operations with memory
};

#define HG_COURSE_SOURCES 3

/** One instruction, as far as it does not depend on the run; the end is what was met lately. */
struct hg_glanced {
	uint8_t kind;
	bool may_store; ///< dec_heap_may_store()
	bool is_pop;	///< writes rsp
	uint8_t def; ///< general register that alone it defines; DEC_REG_NONE: look at all
	uint8_t loads; ///< bytes that are read, in whole words
	struct hg_glance_mem mem;
	uint16_t reads, writes, address;    ///< general registers
	uint16_t only_address;		    ///< .. that are not stored
	uint16_t def_at, load_at, store_at; ///< in the block's record; 0: not there

	/** .. in a course. */
	uint8_t op;
	uint8_t to;    ///< the general register defined, but for rsp by push and pop
	uint16_t dead; ///< registers that were overwritten with what is no pointer
	uint8_t n_sources;
	bool is_own, is_sub, is_mask; ///< the user's code; subtracts; masks
	struct hg_place base_at, index_at;
	struct hg_place source[HG_COURSE_SOURCES]; ///< registers read, but for rsp
	int64_t course_disp;			   ///< disp, and how far rsp went
	bool is_small;				   ///< what it defines is below 64 kB

	/** The last access by a pointer that was right, to a node whose parts do not matter:
	 * all of it is right as long as that lives. */
	uint32_t derivation, node;
	uint64_t start, end;
	/** .. whose parts do: all such accesses by pointers of this shape (0: none) at this offset
	 * are right. */
	uint64_t shape, offset;
	/** .. the last one that may be meant for a part. */
	struct hg_meant meant;
	/** The last arithmetic: from which derivation (0: none) to which. */
	uint32_t derived_from, derived;

	uint32_t vec_reads, vec_writes;
};

/** How a block ends, for stretches. */
enum hg_glance_end {
	GLANCE_END_STEP,  ///< not for them
	GLANCE_END_PLAIN, ///< its instructions were all gone through
	GLANCE_END_CALL,
	GLANCE_END_RETURN,
	GLANCE_END_JUMP, ///< an indirect one
};

/** A block's first, in front of its instructions'. */
struct hg_glanced_block {
	bool is_known;
	bool is_entry;	    ///< a function begins that is known
	uint8_t n;	    ///< instructions up to one for a step
	uint8_t end;	    ///< enum hg_glance_end
	bool is_own_end;    ///< the last one is the user's code,
	uint64_t jump_end;  ///< .. and what frames.jump_end is behind it, where
	uint32_t n_mapped;  ///< .. so many modules were mapped when that was found
	uint32_t n_entries; ///< so many were known when is_entry was found
	uint16_t reads;	    ///< general registers, of those n
	uint16_t may;	    ///< .. that were pointers when it began, at any time
	uint16_t dead;	    ///< behind it, as above
	bool has_course;
	uint32_t relevant; ///< instructions: those of the course
	uint32_t others;   ///< .. that define other registers than general ones
	uint32_t vec_reads, vec_writes;
	int32_t rsp_step; ///< since rsp was defined
	uint8_t n_finals;
	struct hg_place
		final[DEC_GPRS]; ///< where what general registers hold behind it is
};

/** The entries of @p g's block. */
static inline struct hg_glanced_block *hg_glanced_block(const struct dec_glance *g)
{
	return g->plan->user;
}

static inline struct hg_glanced *hg_glanced_insns(const struct dec_glance *g)
{
	return (struct hg_glanced *)g->plan->user + 1;
}

/** @return whether the storer is to be told of stores, as things are. */
static inline bool hg_glance_tells_store(const struct hg_finder *f)
{
	return !f->is_without_history || f->thread->string.rsp ||
	       f->thread->allocator_rsp;
}

/** Make the definitions of instruction @p i. */
static inline void hg_glance_define(const struct dec_glance *g,
				    const struct hg_glanced *q, uint32_t i)
{
	if (q->def != DEC_REG_NONE)
		memcpy(&g->gpr[q->def], g->rec + q->def_at, 8);
	else
		dec_glance_define(g, i);
}

/** What registers hold is what the glance has. */
static inline void hg_glance_level(struct hg_finder *f, const struct dec_glance *g)
{
	memcpy(f->derive.regs->value, g->gpr, sizeof(f->derive.regs->value));
	f->is_level = true;
}

/** @return whether a function that is known to be special begins with @p g's block. */
bool hg_glance_is_entry(const struct hg_finder *f, const struct dec_glance *g);

/** Go on instruction by instruction, from number @p i. @return up to which. */
uint32_t hg_glance_go_on(struct hg_finder *f, struct dec_glance *g, uint32_t i,
			 const struct dec_heap_storer *storer, struct err **err);

/** General registers @p which are no pointers. */
static inline void hg_glance_forget(struct hg_derived_regs *regs, uint32_t which)
{
	for (uint32_t r = which & regs->live; r; r &= r - 1)
		regs->gpr[__builtin_ctz(r)] = 0;
	regs->live &= ~which;
}

/** The access of instruction @p i at @p addr: registers of the address are pointers, and that of
 * its base, if it has one, holds @p base. @return ERR_NOMEM. */
struct err *hg_glance_check(struct hg_finder *f, const struct dec_glance *g,
			    struct hg_glanced *q, uint32_t i, uint64_t addr,
			    uint64_t base);

/** The instructions of @p g's block are known: lay out its course. */
void hg_course_plan(const struct dec_glance *g, struct frames *frames);

/**
 * Go through @p g's block from its beginning, as if each instruction were looked at: only those
 * are that pointers may have a part in, and registers are defined at the end.
 *
 * @param ret  As many instructions were gone through: the others are to be looked at one by one.
 * @return an error of the storer's, or NULL.
 */
struct err *hg_course_run(struct hg_finder *f, struct dec_glance *g,
			  const struct dec_heap_storer *storer, uint32_t *ret);

#endif
