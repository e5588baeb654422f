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

/** What a step of the automaton does to memory. */
struct step {
	uint32_t first_op, n_ops;
	uint32_t other; ///< one that differs in its guards; 0: none
	bool has_guards;
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
	uint8_t n;	///< 0: not known
};

struct steps {
	struct automaton automaton;
	VEC(struct step) all; ///< by id
	VEC(struct step_op) ops;
	VEC(uint64_t) scratch;
	VEC(struct step_block) blocks; ///< by number
	VEC(struct step_piece) pieces;
	bool is_ready;			     ///< there is room
	const struct trace_block *recording; ///< or NULL
	bool is_odd;			     ///< what is recorded depends on more
	bool is_going_on; ///< the last operation is of what is recorded
};

/** @return what else step @p number does, until one is added. */
static inline struct step *step_of(const struct steps *m, uint32_t number)
{
	return &m->all.data[automaton_at(&m->automaton, number)->id];
}

/** Go over block @p number, all of whose instructions ran, and which no seed is at. */
struct err *fl_steps_block(struct walker *w, uint32_t number, const uint8_t *rec);

/** Have what is wanted of @p t's registers and waits in its call on top where it is looked at and
 * changed. */
struct err *fl_steps_leave(struct walker *w, struct walker_thread *t);

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
