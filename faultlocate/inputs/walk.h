// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The walk back for roles: over the same windows of the same trace as a slice's (slice/trace.h),
 * with the same effects of instructions and the same control dependences; only what is held differs.
 * Private to inputs/: walk.c goes over the records, walk_insn.c over one instruction, walk_flow.c
 * knows calls and branches, walk_kernel.c where the way back ends.
 */
#ifndef FAULTLOCATE_INPUTS_WALK_H
#define FAULTLOCATE_INPUTS_WALK_H

#include "faultlocate/inputs/inputs.h"
#include "faultlocate/inputs/label.h"
#include "faultlocate/inputs/steps.h"
#include "faultlocate/slice/trace.h"

enum { WALK_REGS = DEC_REG_MXCSR + 1, WALK_NODES_MAX = 1u << 28 };

/** Something executed whose deciding branch lies further back: the ways that go to the branch, by
 * control and, for constants, by chains. */
struct waiting {
	uint32_t block; ///< of the flow graphs
	struct label by_control;
	uint32_t chain_ways, chain_link;
};

/** A call, seen from its return, as in slice/walk.h. */
struct call {
	uint64_t slot;
	VEC(struct waiting) waiting;
	uint32_t function;
	uint32_t waits; ///< both of these as the steps know them; 0: as they are
	struct wanted_regs *interrupted;
	/** What waited in a function that the dynamic linker had to find first, and jumped to: it was
	 * executed for the call. */
	struct waiting bound;
	bool is_bound;
	struct label
		string; ///< of a strings.c's function: by which ways its result is wanted
};

struct wanted_regs {
	uint64_t any; ///< bit n: some of register n is wanted
	uint64_t bytes[WALK_REGS];
	struct label at[WALK_REGS][64];
};

struct walker_thread {
	uint32_t tid, next;
	bool is_met;
	bool is_numbered; ///< `needs` tell of registers and of what waits on top
	struct automaton_needs needs; ///< of the steps
	struct wanted_regs *regs;
	VEC(struct call) calls; ///< outermost first; there is always one
};

/** A byte that a system call wrote and that was wanted, until the call is met. */
struct got {
	uint64_t addr;
	struct label label;
};

struct walker {
	struct fl_trace *trace;
	const struct fl_sources *sources;
	struct fl_inputs *in;
	struct fl_inputs_options o;
	VEC(struct fl_seed) seeds; ///< the latest first
	size_t next_seed;
	VEC(struct walker_thread *) threads;
	struct walker_thread *at;
	uint64_t fs_base, position;
	struct labels mem;
	VEC(struct got) got;
	bool is_signal;
	VEC(uint32_t) depths; ///< of in->parents' nodes
	struct map found;     ///< source << 40 | offset -> index into in->all
	struct map other;     ///< number -> index into in->others
	struct map link_of;   ///< a hash of what is in it -> index into in->links
	struct map
		tables; ///< address of a jump table's entry -> is it the only one of its kind?
	struct map string_of;	     ///< entry -> index into o.strings
	struct map string_functions; ///< function of the flow graphs -> the same
	VEC(uint8_t) kinds; ///< of the trace's instructions (walk_insn.c); 0: not known
	struct steps steps;
};

/** Where operands are: of a block's record, or of a single instruction's. */
struct operand_places {
	const struct trace_mem *mem;
	const uint8_t *rec;
	const struct dec_rec_slow *slow; ///< instead
};

/** @return whether a seed is at @p position or behind it. */
static inline bool walk_is_seeded(const struct walker *w, uint64_t position)
{
	return w->next_seed < w->seeds.size &&
	       w->seeds.data[w->next_seed].position >= position;
}

static inline uint64_t walk_address(const struct walker *w,
				    const struct operand_places *o, int m)
{
	return trace_address(&o->mem[m], o->rec, w->fs_base);
}

/* ---- walk.c ---------------------------------------------------------------------------------- */

/** Join @p from to what is wanted at @p to. */
void fl_inputs_join(const struct walker *w, struct label *to, const struct label *from);

/** Want @p n bytes of memory, or byte @p byte of a register, as @p l says. */
struct err *fl_inputs_want_mem(struct walker *w, uint64_t addr, uint64_t n,
			       const struct label *l);
void fl_inputs_want_reg(struct walker *w, int reg, int byte, const struct label *l);

/** Byte @p byte of @p reg is wanted no more, unless it @p stays. @return what it was. */
struct label fl_inputs_take_reg(struct walker *w, int reg, int byte, bool stays);

/** Something executed, wanted as @p l says, is a node of the tree: from here on l->node is that. */
struct err *fl_inputs_node(struct walker *w, struct label *l);

/** @return whether the code at @p rip is the dynamic linker's (options.prunes). */
bool fl_inputs_is_linker(const struct walker *w, uint64_t rip);

/** Go over instructions [end, begin) of @p b, whose first one is at position @p first, from the last one
 * on. */
struct err *fl_inputs_insns(struct walker *w, const struct trace_block *b,
			    const uint8_t *rec, uint64_t first, uint32_t begin,
			    uint32_t end);

/** Make thread @p tid the one at hand. */
struct err *fl_inputs_thread(struct walker *w, uint32_t tid);

/* ---- walk_insn.c ------------------------------------------------------------------------------- */

/** Instruction number @p insn was executed. @p at, @p i: where in its block; or NULL. */
struct err *fl_inputs_insn(struct walker *w, uint32_t insn,
			   const struct operand_places *o, const struct trace_block *at,
			   uint32_t i);

/** @return whether the entry of @p size bytes of a jump's table at @p addr is the only one like it. */
bool fl_inputs_is_only_entry(struct walker *w, uint64_t addr, unsigned size);

/** One of which only its record tells what it touched. */
struct err *fl_inputs_touched(struct walker *w, uint32_t insn,
			      const struct dec_rec_slow *rec);

/** Want uses @p from of @p insn: values by @p values, addresses by @p addresses. */
struct err *fl_inputs_use(struct walker *w, uint32_t insn, uint64_t from,
			  const struct operand_places *o, const struct label *values,
			  const struct label *addresses);

/** The target of jump or call @p insn is wanted, by ways of WAYS_TABLE. */
struct err *fl_inputs_target(struct walker *w, uint32_t insn,
			     const struct operand_places *o, const struct label *l);

/** Seed @p seed, at the instruction @p insn. */
struct err *fl_inputs_seed(struct walker *w, const struct fl_seed *seed, uint32_t insn,
			   const struct operand_places *o);

/* ---- walk_flow.c ------------------------------------------------------------------------------- */

/** Instruction @p insn was executed for something: why? @p control: the ways to what decided it;
 * @p chain: those of a constant, to the exact test that it follows from; or NULL. */
struct err *fl_inputs_wait(struct walker *w, uint32_t insn, const struct label *control,
			   const struct label *chain);

/** Forget the call on top of @p t, which is not the only one. */
struct err *fl_inputs_pop(struct walker *w, struct walker_thread *t);

/** The thread at hand executed @p insn, perhaps the first one that is met. */
struct err *fl_inputs_meet(struct walker *w, uint32_t insn);

/** The instruction @p insn, which may be a branch, ran. @p n_mem: its operands in memory. */
struct err *fl_inputs_flow(struct walker *w, uint32_t insn,
			   const struct operand_places *o, uint32_t n_mem);

/* ---- strings.c --------------------------------------------------------------------------------- */

/** Have registers logged, and how far they look, at the entries of options.strings. */
struct err *fl_inputs_strings_begin(struct walker *w);

/** Is what instruction @p insn is in one of these? */
struct err *fl_inputs_is_string(struct walker *w, uint32_t insn, bool *ret);

/** Function @p function of the flow graphs returned: if it is one of these, its result is taken into
 * @p ret. @return whether it was wanted. */
bool fl_inputs_string_left(struct walker *w, uint32_t function, struct label *ret);

/** Entry @p e of the window was gone through, whose record is @p rec and whose first instruction @p insn:
 * if that is the entry of such a function, what its result depends on is wanted now. */
struct err *fl_inputs_string_entered(struct walker *w, const struct trace_entry *e,
				     const uint8_t *rec, uint32_t insn);

/* ---- walk_kernel.c ----------------------------------------------------------------------------- */

/** A record that is neither a block nor an instruction. */
struct err *fl_inputs_other(struct walker *w, const struct dec_rec *rec);

/** Nothing lies further back. */
struct err *fl_inputs_start(struct walker *w);

#endif
