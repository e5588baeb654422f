// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the walk remembers of pieces of blocks that it went over (slice/automaton.h). Private to
 * inputs/.
 *
 * A need is which labels a register has; one more is what waits in the call on top. A piece is some
 * instructions of a block of which only the last may store or branch. An outcome is which labels the
 * place has that it stores to; of a branch, what ran behind it; of a call, what waits in the caller.
 * A step then wants some operands in memory.
 *
 * Blocks follow each other as they did before, too. A superblock is what came of some that did: needs are
 * compared, and changed, once for all of them; only what memory is wanted that they store to, and which calls
 * are open, is looked at piece by piece. Where it is not what it was, the way leads out of the superblock.
 *
 * What depends on more is gone over plainly, as all is where a tree of nodes is made: nodes differ each
 * time. tests/inputs/unit_roles compares both ways.
 */
#ifndef FAULTLOCATE_INPUTS_STEPS_H
#define FAULTLOCATE_INPUTS_STEPS_H

#include "faultlocate/inputs/label.h"
#include "faultlocate/slice/automaton.h"
#include "faultlocate/slice/trace.h"

struct walker;
struct walker_thread;
struct call;
struct operand_places;

/** Bytes of an operand are wanted; or, to take the step, it must be what is_only says. */
struct step_op {
	label_word label;
	uint8_t mem; ///< operand of the block
	uint8_t from, n;
	bool is_guard;
	bool is_only; ///< of a guard: the only entry like it of a jump's table
};

/** What a step of the automaton does to memory: its own words there. */
struct step {
	uint32_t other; ///< one that differs in its guards; 0: none
	uint16_t n_ops;
	bool has_guards;
	struct step_op op[];
};

/** A piece: instructions [end, begin) of a block, gone over from the last one on. */
struct step_piece {
	uint64_t regs;	  ///< bit n: register n is defined
	uint64_t touched; ///< needs that it has to do with
	uint8_t begin, end;
	bool has_flow; ///< and before that, the branch that is the block's last instruction
	bool stores;   ///< the last one does, to operand `store` of the block
	bool stays;    ///< what was there may stay there
	bool is_odd;   ///< it is gone over plainly
	uint8_t store;
};

struct step_block {
	uint32_t first; ///< its pieces, the last first
	uint32_t super; ///< the newest superblock that begins with it; 0: none
	uint8_t n;	///< 0: not known
	uint8_t heat;	///< so often none led on
};

/** What an operation of a superblock does, or tests. */
enum super_kind {
	SUPER_WANTS,   ///< bytes by `what`, a label
	SUPER_CLEAN,   ///< of a place that is stored to nothing is wanted
	SUPER_STORES,  ///< all of it is by `what`
	SUPER_PATTERN, ///< .. by labels `what`, an outcome
	SUPER_CALLS,   ///< `what` waits in the caller
	SUPER_RETURNS, ///< `what` waits behind it
};

/** What is done to memory, or to the calls, by a piece of a superblock. All but SUPER_WANTS is the first of
 * its piece. */
struct super_op {
	uint64_t what;
	int64_t disp; ///< of the address, with the words of the record at these offsets, times that:
	uint16_t base_at, index_at;
	uint8_t base_scale, index_scale; ///< 0: there is none
	bool is_fs : 1, is_addr32 : 1;
	bool stays : 1; ///< what was there may stay there
	uint8_t kind : 5;
	uint8_t piece; ///< of its block
	uint8_t from, n;
};

/** A piece of a superblock. */
struct super_piece {
	uint32_t step; ///< 0: nothing that it defines was wanted
	uint32_t place;
};

struct super_block {
	uint32_t what; ///< as in trace_entry
	uint32_t first,
		first_op;   ///< its pieces and operations, up to those of the next one
	uint32_t n_insns;   ///< in all before it
	uint32_t exit;	    ///< the step that all before it are; 0: it was not asked for
	uint32_t exit_last; ///< the last one of their pieces
};

struct superblock {
	uint64_t touched, from; ///< of its step: most are told apart by these
	uint32_t step;		///< of the automaton: needs behind it, and before it
	uint32_t last;		///< the last step of its pieces
	uint32_t first, n;	///< its blocks; one more tells where its pieces end
	uint32_t n_insns;
	uint32_t other; ///< an older one that begins with the same block; 0: none
};

/** A superblock that is being made. */
struct super_making {
	const struct walker_thread *of; ///< NULL: none is
	struct automaton_needs from;
	uint64_t next;
	uint32_t first, n, n_insns; ///< n: blocks that are complete
};

struct steps {
	struct automaton automaton;
	VEC(struct step_op) ops; ///< of what is recorded
	VEC(uint64_t) scratch;
	VEC(struct step_block) blocks; ///< by number
	VEC(struct step_piece) pieces;
	VEC(struct superblock) superblocks; ///< [0]: none
	VEC(struct super_block) super_blocks;
	VEC(struct super_piece) super_pieces;
	VEC(struct super_op) super_ops;
	struct super_making making;
	bool is_ready;			     ///< there is room
	const struct trace_block *recording; ///< or NULL
	bool is_odd;			     ///< what is recorded depends on more
	bool is_going_on; ///< the last operation is of what is recorded
};

/** @return what else step @p number does, until one is added. */
static inline struct step *step_of(const struct steps *m, uint32_t number)
{
	return (struct step *)automaton_own(automaton_at(&m->automaton, number));
}

/** Go over the block that entry @p i of the window is, all of whose instructions ran, and which no seed is at; and
 * over as many like it as can be, back to entry @p least. *@p ret_n: how many entries these are. */
struct err *fl_steps_block(struct walker *w, size_t i, size_t least, size_t *ret_n);

/** Have what is wanted of @p t's registers and waits in its call on top where it is looked at and
 * changed. */
struct err *fl_steps_leave(struct walker *w, struct walker_thread *t);

/** Find needs @p which of the thread at hand: they count from here on. */
struct err *fl_steps_enter(struct walker *w, uint64_t which);

/** Have registers @p which of the thread at hand, no others, and what waits, where they are looked at and changed,
 * until they are entered. */
struct err *fl_steps_open(struct walker *w, struct walker_thread *t, uint64_t which);

/** Have what waits in @p c there. */
struct err *fl_steps_uncover(struct walker *w, struct call *c);

/** @return whether anything waits in @p c. */
bool fl_steps_has_waiting(const struct walker *w, const struct call *c);

/** While something is recorded, it wants @p n bytes of an operand from @p from on; whether it is the only
 * entry of its kind matters. */
struct err *fl_steps_want(struct walker *w, const struct trace_mem *mem, uint64_t from,
			  uint64_t n, const struct label *l);
struct err *fl_steps_guard(struct walker *w, const struct trace_mem *mem, bool is_only);

void fl_steps_deinit(struct steps *m);

#endif
