// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a walk remembers of pieces of blocks that it went over (automaton.h). Private to slice/.
 *
 * A need is what is wanted of one register: which bytes, by whom, for which node. A piece is some
 * instructions of a block of which only the last may store. An outcome is what of that store was
 * wanted, in memory. A step is then counted: which instructions are in the slice; and what it wants of
 * memory is wanted.
 *
 * This needs nodes that are the same each time, so it begins when instances are folded (struct
 * fl_node). What is counted comes to nodes, instructions and edges when a window ends.
 */
#ifndef FAULTLOCATE_SLICE_WALK_MEMO_H
#define FAULTLOCATE_SLICE_WALK_MEMO_H

#include "faultlocate/slice/automaton.h"
#include "faultlocate/slice/live.h"
#include "faultlocate/slice/trace.h"

struct fl_slice;
struct fl_node;
struct operands;
struct walk_thread;

/** What a step does again: it wants bytes of an operand, or something waits. */
struct memo_op {
	struct trace_mem mem;
	uint64_t bytes; ///< as those of a use
	uint32_t link;	///< or the node that waits
	live_who who;
	uint32_t block; ///< the flow block that waits; FLOW_NONE: none does
	uint32_t what;	///< operand of the branch, whose block may be another each time
};

/** An instance of a step, but for what differs. */
struct memo_add {
	uint32_t insn, node, link, size;
	uint32_t edge; ///< its number; FL_NONE: none
	live_who who;
	uint8_t at; ///< its place in the block
	uint8_t reg;
	bool is_mem;
};

/** What a step of the automaton does besides: its own words. */
struct memo_step {
	uint64_t at,
		addr; ///< the last time, as `tid`: position of the block; what of the store was wanted
	uint32_t tid;
	uint32_t n; ///< times that are not accounted for yet
	uint32_t first_add;
	uint16_t n_ops, n_adds;
	uint8_t end; ///< the piece is that from instruction `end` on
	struct memo_op op[];
};

/** What is being remembered, while it happens for the first time. */
struct memo_recording {
	const struct trace_mem *mem;   ///< operands are numbered from here
	const struct live_want *taken; ///< what of the store was wanted
	uint64_t first;		       ///< position of the block
	uint32_t first_add;
	struct automaton_needs from;
};

struct memo {
	struct automaton automaton;
	bool has_room;
	VEC(struct memo_op) ops; ///< of what is being remembered
	VEC(struct memo_add) adds;
	VEC(uint64_t) words;		  ///< of a need that is being numbered
	VEC(uint32_t) counted;		  ///< steps with n
	struct memo_recording *recording; ///< or NULL
};

/** @return whether @p s remembers by now. */
bool fl_memo_is_on(const struct fl_slice *s);

/** Go over the first @p n_ran instructions of @p b, which no seed is at; the first one's position
 * is @p first. */
struct err *fl_memo_block(struct fl_slice *s, const struct trace_block *b,
			  const uint8_t *rec, uint32_t n_ran, uint64_t first);

/** Branch @p insn decided for node @p node: what fl_walk_decide() would do. */
struct err *fl_memo_decide(struct fl_slice *s, uint32_t insn, const struct operands *o,
			   live_who who, uint32_t node);

/** Have what is wanted of @p t's registers in t->regs, to be looked at and changed. */
struct err *fl_memo_leave(struct fl_slice *s, struct walk_thread *t);

/** While something is remembered, it wants bytes @p bytes of operand @p m; @p block waits; it adds
 * @p node, whose edge is number @p edge. */
struct err *fl_memo_want(struct fl_slice *s, const struct trace_mem *m, uint64_t bytes,
			 live_who who, uint32_t link);
struct err *fl_memo_pend(struct fl_slice *s, uint32_t block, live_who who, uint32_t node);
struct err *fl_memo_add(struct fl_slice *s, uint32_t node, uint32_t edge, live_who who);

/** Forget all when it has become much; have what is needed to begin. */
struct err *fl_memo_room(struct fl_slice *s);

/** Find the needs of the thread at hand: they count from here on. */
struct err *fl_memo_enter(struct fl_slice *s);

/** Sizes of what was wanted that are no bytes of a store: of a register that was got back from the stack, and
 * of its having been kept there. */
enum { MEMO_GOT_BACK = UINT16_MAX, MEMO_KEPT };

/** Find the outcome that @p w was wanted of a store of @p size bytes to @p addr; 0: nothing was. It is wanted for
 * a node that stands for all of its instruction, which comes into @p w. */
struct err *fl_memo_outcome(struct fl_slice *s, struct live_want *w, uint64_t addr,
			    uint32_t size, uint64_t *ret);

/** @return the outcome that a branch decided for *@p node, which is made such a node. */
uint64_t fl_memo_decided(struct fl_slice *s, live_who who, uint32_t *node);

/** @return what step @p number does, until one is added. */
static inline struct memo_step *memo_step(const struct memo *m, uint32_t number)
{
	return (struct memo_step *)automaton_own(automaton_at(&m->automaton, number));
}

/** Step @p number once more, the one found last: in a block whose first instruction is at @p first;
 * what of its store was wanted is at @p addr. @p mem: of a branch, its operands; NULL. */
struct err *fl_memo_do(struct fl_slice *s, uint32_t number, const struct trace_mem *mem,
		       const uint8_t *rec, uint64_t first, uint64_t addr);

/** Record what happens from here on, as @p r says, with registers @p touched, which alone are laid out
 * in the thread's; what was, is @p step, whose piece is that from instruction @p end on. */
struct err *fl_memo_begin(struct fl_slice *s, uint64_t touched, struct memo_recording *r);
struct err *fl_memo_end(struct fl_slice *s, const struct memo_recording *r,
			const struct automaton_step *step, uint8_t end);

/** Account for what was counted. */
void fl_memo_count(struct fl_slice *s);

void fl_memo_deinit(struct memo *m);

#endif
