// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A walk back: what is wanted, what was found. Private to slice/: walk.c goes over the records,
 * walk_control.c knows calls and branches, walk_kernel.c what is no instruction, walk_result.c
 * keeps what is found.
 */
#ifndef FAULTLOCATE_SLICE_WALK_H
#define FAULTLOCATE_SLICE_WALK_H

#include "faultlocate/slice/live.h"
#include "faultlocate/slice/trace.h"
#include "faultlocate/slice/walk_memo.h"

/**
 * What wants something: a node, and as what (enum fl_edge; LINK_SAVED: its register is kept there,
 * see struct saved). In one number, as there is one for each word of memory that is wanted.
 */
enum { LINK_SAVED = 3, LINK_BITS = 30 };
static inline uint32_t link_to(uint32_t node, unsigned edge)
{
	return node | edge << LINK_BITS;
}
static inline uint32_t link_node(uint32_t link)
{
	return link & FL_NONE;
}
static inline unsigned link_edge(uint32_t link)
{
	return link >> LINK_BITS;
}

/** Something in a slice whose deciding branch lies further back. */
struct pending {
	uint32_t block; ///< of the flow graphs
	live_who who;
	uint32_t node;
	uint64_t place; ///< of walk_share.c: of what is of its block, too
};

/** A call, seen from its return. */
struct frame {
	uint64_t slot;	 ///< where its return address is; 0: not known: it never returned
	uint64_t serial; ///< its number
	size_t first; ///< its pending things are pending[first] .., up to the next one's
	uint32_t function; ///< of the flow graphs, where it began as far as is known
	/** A signal's handler: what was wanted of the registers of whom it interrupted. */
	struct live_regs *interrupted;
};

struct walk_thread {
	uint32_t tid;
	struct live_regs regs;
	VEC(struct frame) frames; ///< outermost first; there is always one
	VEC(struct pending) pending;
	uint32_t
		next; ///< the instruction that it executed next; UINT32_MAX: none is known
	bool is_met;  ///< one was
	bool is_numbered;	      ///< `needs` counts, else `regs`
	struct automaton_needs needs; ///< of registers (walk_memo.h)
	uint32_t
		era; ///< handlers that were begun or left: between them registers are others
};

/** A register, got back from the stack, and wanted: unless what is found there proves to be no more
 * than the same register kept, neither is in the slice. */
struct saved {
	uint64_t addr, position, serial;
	uint32_t link; ///< who wants the register
	uint32_t insn; ///< that got it back
	uint32_t tid;
	live_who who;
	uint8_t reg;
};

/** A node that wants what is wanted already. */
struct walk_share {
	uint32_t next; ///< at the same place; FL_NONE: none
	uint32_t link;
	uint64_t bytes; ///< of the place; 0: this is not used
	uint64_t place;
};

struct walk_shares {
	struct map heads; ///< place -> the first of `all`
	VEC(struct walk_share) all;
	VEC(uint32_t) unused; ///< of all
	VEC(uint32_t) found;  ///< links: they shared what is just found to be defined
	VEC(struct fl_slice_share) told;
};

enum { WALK_HINTS = 4096 };

/** The last edges from an instruction: most are found here. */
struct walk_recent {
	uint32_t key[2]; ///< the other instruction << 2 | enum fl_edge
	uint32_t edge[2];
};

struct fl_slice {
	struct fl_trace *trace;
	struct fl_slice_options options;
	unsigned n;		   ///< slices
	bool has_several;	   ///< n > 1
	VEC(struct fl_seed) seeds; ///< the latest first
	size_t next_seed;
	VEC(struct walk_thread *) threads;
	struct walk_thread *at; ///< the one that runs
	struct memo memo;
	bool remembers; ///< .. may be used
	bool prunes_memory;
	size_t max_nodes;
	uint64_t fs_base;
	struct live_mem mem;
	uint64_t serial;
	VEC(struct saved) saves;
	VEC(uint32_t) free_saves;
	uint32_t saved_hint[WALK_HINTS]; ///< how many are at such an address
	uint64_t position;		 ///< of the instruction at hand
	VEC(uint32_t) of_call;		 ///< nodes to be told the call that wrote them
	bool is_signal;			 ///< what is written just now is a signal's frame
	uint64_t signal_event;
	// What comes of it.
	VEC(struct fl_node) nodes;
	VEC(struct fl_slice_insn) insns; ///< as the trace's
	VEC(uint32_t)
	folded; ///< insns.size: the node that stands for all further instances
	VEC(uint64_t) counts; ///< insns.size * n, with several slices
	VEC(struct fl_slice_edge) edges;
	struct map edge_of;
	VEC(struct walk_recent) recent; ///< insns.size
	struct {
		uint64_t begin, end;
		uint64_t *bits; ///< (end - begin) * n
	} * kept;
	size_t n_kept, kept_capacity;
	uint64_t *bits; ///< of the window at hand
	uint64_t bits_begin, bits_end;
	struct fl_slice_stats stats;
	struct walk_shares shares;
};

/** @return which registers of @p t are wanted, as live_regs.any. */
static inline uint64_t walk_any(const struct walk_thread *t)
{
	return t->is_numbered ? t->needs.any : t->regs.any;
}

/* ---- walk_share.c: all of it does nothing, unless options.keeps_sharers ---- */

/** @p link wants bytes of a register of the thread at hand, of memory: before they are noted as wanted. */
struct err *fl_share_reg(struct fl_slice *s, int reg, uint64_t bytes, uint32_t link);
struct err *fl_share_mem(struct fl_slice *s, uint64_t addr, uint64_t size, uint32_t link);

/** What is decided for @p node is so for what waits at @p place, a pending thing's, too. */
struct err *fl_share_pending(struct fl_slice *s, uint64_t place, uint32_t node);

/** @p p is decided, for the node @p first. */
struct err *fl_share_take_pending(struct fl_slice *s, const struct pending *p,
				  uint32_t first);

/** @return a place of its own. */
uint64_t fl_share_place(struct fl_slice *s);

/** They are defined: who shared them is found. They stay wanted if @p stays. */
struct err *fl_share_take_reg(struct fl_slice *s, int reg, uint64_t bytes, bool stays);
struct err *fl_share_take_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			      bool stays);

/** [addr, addr + size) is defined at once, words of which several want; before it is taken. */
struct err *fl_share_parts(struct fl_slice *s, uint64_t addr, uint64_t size);

/** @p link is found to have shared what the next node is about to be made for. */
struct err *fl_share_found(struct fl_slice *s, uint32_t link);

/** Node @p node made what those wanted that were found. */
struct err *fl_share_tell(struct fl_slice *s, uint32_t node);

/** Register @p reg is got back from @p addr, was kept there. */
struct err *fl_share_restore(struct fl_slice *s, int reg, uint64_t addr);
struct err *fl_share_save(struct fl_slice *s, int reg, uint64_t addr);

void fl_share_deinit(struct walk_shares *x);

/* ---- walk_want.c ---- */

/** @return whether @p at is left out by a pruning of kind @p kind. */
bool fl_walk_is_pruned(const struct fl_slice *s, enum fl_prune_kind kind, uint64_t at);

/** Want bytes @p bytes of register @p reg of the thread at hand, unless options say otherwise. */
struct err *fl_walk_want_reg(struct fl_slice *s, int reg, uint64_t bytes, live_who who,
			     uint32_t link);
struct err *fl_walk_want_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			     live_who who, uint32_t link);

/** Want the bytes @p bytes (bit n: byte n) of [addr, addr + size). */
struct err *fl_walk_want_some(struct fl_slice *s, uint64_t addr, uint32_t size,
			      uint64_t bytes, live_who who, uint32_t link);

/** @return whether a register is kept in some of [addr, addr + size). */
bool fl_walk_meets_saved(const struct fl_slice *s, uint64_t addr, uint64_t size);

/** @return what was wanted of [addr, addr + size), which was written; its link is of a node: a
 * register that was only kept there is one. @p ret. */
struct err *fl_walk_take_mem(struct fl_slice *s, uint64_t addr, uint64_t size, bool stays,
			     struct live_want *ret);

/** @return whether what a register is got back from, at @p addr, may be where it was kept. */
bool fl_walk_may_restore(const struct fl_slice *s, uint64_t addr);

/** Instruction @p insn got its register back from @p addr, which @p who want for @p link: so they
 * do what lies there. */
struct err *fl_walk_restore(struct fl_slice *s, uint32_t insn, uint64_t addr,
			    live_who who, uint32_t link);

/** @return whether the register that @p e keeps at @p addr is one that was got back from there, in
 * the same call; it is number *@p save. */
bool fl_walk_find_save(const struct fl_slice *s, const struct effect *e, uint64_t addr,
		       uint32_t *save);

/** Number @p save was kept: its register is wanted by @p who for @p link. */
struct err *fl_walk_save(struct fl_slice *s, uint32_t save, live_who *who,
			 uint32_t *link);

/* ---- walk_insn.c ---- */

/** Where operands are: of a block's record, or of a single instruction's. */
struct operands {
	const struct trace_mem *mem;
	const uint8_t *rec;
	const struct dec_rec_slow *slow; ///< instead
};

static inline uint64_t fl_walk_address(const struct fl_slice *s, const struct operands *o,
				       int m)
{
	return trace_address(&o->mem[m], o->rec, s->fs_base);
}

/** Want uses @p from of instruction @p insn for node @p node. @p narrow: bytes of use
 * narrow_use that are wanted, others are not; or narrow_use is -1. */
struct err *fl_walk_use(struct fl_slice *s, uint32_t insn, uint64_t from,
			const struct operands *o, live_who who, uint32_t node);

/** Instruction @p insn, which is none of those stepped in C, ran. */
struct err *fl_walk_insn(struct fl_slice *s, uint32_t insn, const struct operands *o);

/** @return whether what instruction @p insn used, here, is not to be followed. */
bool fl_walk_is_cut(const struct fl_slice *s, uint32_t insn);

/** Instruction @p insn was stepped in C: what it touched is in its record alone. */
struct err *fl_walk_touched(struct fl_slice *s, uint32_t insn,
			    const struct dec_rec_slow *rec);

/** Slices @p who begin with instruction @p insn: with what it used, if @p is_used, and why it ran. */
struct err *fl_walk_ask(struct fl_slice *s, uint32_t insn, const struct operands *o,
			live_who who, bool is_used);

/* ---- walk_image.c ---- */

/** Instruction @p insn was stepped in C. If it saves or restores vector registers, what is wanted of
 * those of which it is known where they lie is followed, each by itself. */
struct err *fl_walk_image(struct fl_slice *s, uint32_t insn,
			  const struct dec_rec_slow *rec);

/* ---- walk.c ---- */

/** Make thread @p tid the one at hand. */
struct err *fl_walk_thread(struct fl_slice *s, uint32_t tid);

/* ---- walk_control.c --------------------------------------------------------------------------- */

/** @p node, an instance of @p insn just now, is in slices @p who: why did it run? */
struct err *fl_walk_pend(struct fl_slice *s, uint32_t insn, live_who who, uint32_t node);

/** Flow block @p block waits, in the call at hand, for what decided that it ran. */
struct err *fl_walk_wait(struct fl_slice *s, uint32_t block, live_who who, uint32_t node);

/** Branch @p insn decided that node @p node ran. */
struct err *fl_walk_decide(struct fl_slice *s, uint32_t insn, const struct operands *o,
			   live_who who, uint32_t node);

/** The thread at hand executed @p insn: if it is the first of it that is met, its outermost known
 * frame is of that function. */
struct err *fl_walk_meet(struct fl_slice *s, uint32_t insn);

/** The branch @p insn was executed. */
struct err *fl_walk_branch(struct fl_slice *s, uint32_t insn, const struct operands *o);
struct err *fl_walk_call(struct fl_slice *s, uint32_t insn, uint64_t slot,
			 const struct operands *o);
struct err *fl_walk_return(struct fl_slice *s, uint64_t slot);

/** A jump that may lead from one function to another was executed. */
struct err *fl_walk_jump(struct fl_slice *s, uint32_t insn, const struct operands *o);

/* ---- walk_kernel.c ---------------------------------------------------------------------------- */

/** A record that is neither a block nor an instruction. */
struct err *fl_walk_other(struct fl_slice *s, const struct dec_rec *rec);

/** Nothing lies further back: what is wanted was there. */
struct err *fl_walk_start(struct fl_slice *s);

/* ---- walk_result.c ---------------------------------------------------------------------------- */

/** Add an instance; node.parent and .edge follow from @p link. Its number comes into @p ret. */
struct err *fl_walk_add(struct fl_slice *s, const struct fl_node *node, live_who who,
			uint32_t link, uint32_t *ret);

/** @p n more instances of instruction @p insn are in slices @p who, and of edge @p edge (FL_NONE:
 * of none). */
void fl_walk_count(struct fl_slice *s, uint32_t insn, uint32_t edge, live_who who,
		   uint64_t n);

/** The instance at @p position is in slices @p who: for fl_slice_has(). */
void fl_walk_keep(struct fl_slice *s, uint64_t position, live_who who);

/** A window of instructions [begin, end) is next. */
struct err *fl_walk_window(struct fl_slice *s, uint64_t begin, uint64_t end);

#endif
