// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What glance.c, which goes from instruction to instruction, and course.c, which goes through whole blocks, share:
 * all that is known of a block's instructions without running them.
 */
#ifndef FAULTLOCATE_BYTES_GLANCE_INT_H
#define FAULTLOCATE_BYTES_GLANCE_INT_H

#include "decode/machine/log.h"
#include "faultlocate/bytes/bytes_int.h"
#include "heapgraph/hg_glance.h"

enum bytes_kind { KIND_STEP, KIND_INERT, KIND_PLAIN };

/** One instruction, as far as it does not depend on the run. */
struct bytes_seen {
	uint8_t kind;
	bool may_store; ///< dec_heap_may_store()
	bool may_load;	///< see fl_made_may_load()
	bool is_call;	///< .. and fl_made_give_out()
	bool reads_flags, writes_flags, moves_stack;
	uint8_t words; ///< of 8 bytes that it reads, at word_at; 0: nobody looks at them
	uint8_t def;   ///< as struct hg_slots_at has it
	uint16_t def_at, word_at, store_at;
	uint32_t regs; ///< those that are read or written, as bytes_regs.live has them,
	uint32_t vec;
	struct hg_glance_mem mem;

	/** .. in a course. */
	struct hg_place base, index, rsp; ///< rsp: behind it,
	int32_t rsp_step;		  ///< .. and how far it went since
	int64_t disp;			  ///< that of mem, and how far rsp went
};

/** How a block ends, behind its first n. */
enum bytes_end {
	BYTES_END_STEP,	 ///< with something for a step
	BYTES_END_PLAIN, ///< these are all
	BYTES_END_CALL,
	BYTES_END_RETURN,
	BYTES_END_JUMP, ///< an indirect one
};

/** A block's, in front of its instructions': what each run through it looks at comes first. */
struct bytes_seen_block {
	bool is_known, is_entry;
	bool is_watched; ///< a load in it is to be seen each time,
	uint8_t n;	 ///< instructions before the first for a step
	uint8_t end;	 ///< enum bytes_end
	uint8_t n_finals;
	uint32_t regs;	    ///< that those n read or write
	uint32_t n_watched; ///< is_watched was found when looks.next was that
	uint32_t n_mapped;  ///< known when so many modules were mapped
	uint32_t n_entries; ///< so many were known when is_entry was found
	uint32_t vec;
	uint32_t
		relevant; ///< instructions: those that access memory or move the stack's end
	uint32_t others;   ///< .. that define other registers than general ones
	int32_t rsp_step;  ///< since rsp was defined
	uint64_t jump_end; ///< what frames.jump_end is behind it
	/** Where what general registers hold behind it is, in the record. */
	struct hg_place final[DEC_GPRS];
};

#define BYTES_SEEN_AT 128 ///< where the instructions' begin
#define BYTES_SEEN_EACH \
	96 ///< bytes an instruction, and one more: a block has at least one

_Static_assert(sizeof(struct bytes_seen_block) <= BYTES_SEEN_AT,
	       "the block's comes first");
_Static_assert(BYTES_SEEN_AT + sizeof(struct bytes_seen) <= 2 * BYTES_SEEN_EACH &&
		       sizeof(struct bytes_seen) <= BYTES_SEEN_EACH,
	       "room for all");

static inline struct bytes_seen_block *fl_seen_block(const struct dec_glance *g)
{
	return g->plan->user;
}

static inline struct bytes_seen *fl_seen(const struct dec_glance *g, uint32_t i)
{
	return (struct bytes_seen *)((char *)g->plan->user + BYTES_SEEN_AT) + i;
}

/** Is something done where @p g's block begins, if a jump leads there? */
bool fl_glance_is_entry(const struct bytes_walk *w, const struct dec_glance *g);

/** Go on instruction by instruction, from number @p i. @return the one that is left to a step. */
uint32_t fl_glance_go_on(struct bytes_walk *w, const struct dec_glance *g, uint32_t i,
			 const struct dec_heap_storer *storer, struct err **err);

/** The instructions of @p g's block are known: lay out its course. */
void fl_course_plan(const struct dec_glance *g, struct frames *frames);

#endif
