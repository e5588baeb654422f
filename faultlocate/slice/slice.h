// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Dynamic backward slices: which executed instructions had a part in a value, or in that an
 * instruction ran (paper 001, chapter 5; paper 002, chapters 2 and 5).
 *
 * A *trace* is a run made ready once: what its code looks like, where indirect jumps went,
 * checkpoints on the way. Any number of slices are made of it; up to 32 in one *walk* back, which
 * costs hardly more than one.
 *
 * The walk replays the run window by window, the last one first, logs which addresses were
 * accessed, and reads each window's log from its end. What is held is what is wanted: bytes of
 * registers and memory, and blocks of code whose deciding branch was not met yet. A block that
 * defines nothing of it is passed over.
 *
 * What counts as a dependence:
 *   - data: a definition and the first use behind it, byte by byte, flags one by one; through all
 *     code, libraries too. The addresses of what is accessed are uses of their own kind.
 *   - control: the closest earlier branch of the same call that the block depends on, by
 *     postdominators; of what ran in a call, the call.
 * What does not, unless asked for: the stack pointer (options.follows_stack). mxcsr's sticky flags
 * never do. Inputs, which the kernel made, are where the way back ends.
 *
 * Not shared between threads. Positions are those of machine.h.
 */
#ifndef FAULTLOCATE_SLICE_SLICE_H
#define FAULTLOCATE_SLICE_SLICE_H

#include "base/base.h"
#include "decode/machine/machine.h"
#include "decode/symbols/symbols.h"

/* ---- a trace --------------------------------------------------------------------------------- */

struct fl_trace;

struct fl_trace_options {
	uint64_t end; ///< the run up to here; 0: up to its end
	/** This position is going to be sought to: a checkpoint is left there, one of many. 0: none. */
	uint64_t at;
	/** Branches depend on the code alone, not on where indirect jumps were seen to go: to show
	 * what that is worth. */
	bool ignores_jumps;
	/** Told now and then of where it is. Or NULL. */
	void (*progress)(void *ctx, uint64_t position);
	/** Told of the modules, as they are mapped; asked which functions never return. Or NULL. Borrowed as
	 * long as the trace lives. */
	struct dec_symbols *symbols;
	/** Told, while it is made ready, that the system call at @p position was answered by recorded event
	 * @p seq. @p call: as DEC_REC_SYSCALL, its number first, its arguments from [3] on. Or NULL. */
	void (*call)(void *ctx, uint64_t seq, uint64_t position, const uint64_t *call);
	void *ctx;
};

/** Run @p c once and make it ready. @p c is borrowed. @return as dec_machine_create(), _run(). A
 * replay that diverges ends the trace there: fl_trace_end() tells. */
struct err *fl_trace_create(const struct capture *c, const struct fl_trace_options *o,
			    struct fl_trace **ret);
void fl_trace_destroy(struct fl_trace *t);
void fl_trace_destroyp(struct fl_trace **t);

/** @return where the trace ends, as long as it lives. */
const struct dec_where *fl_trace_end(const struct fl_trace *t);

/** @return its machine, for looking: it may be sought to anywhere between walks, and must not log. */
struct dec_machine *fl_trace_machine(struct fl_trace *t);

/** What a trace knows of the code. */
struct fl_trace_size {
	uint64_t functions, blocks,
		jumps;	///< jumps: targets that indirect ones were seen to have
	uint64_t insns; ///< different ones that ran
};
struct fl_trace_size fl_trace_size(const struct fl_trace *t);

/* ---- what is asked ------------------------------------------------------------------------------ */

enum { FL_SLICES = 32 }; ///< of one walk

enum fl_seed_kind {
	FL_SEED_INSN, ///< all that the instruction at the position uses, and why it ran
	FL_SEED_REG, ///< a register just before the position, of the thread that runs there
	FL_SEED_MEM,  ///< memory just before the position
	FL_SEED_FLOW, ///< why the instruction at the position ran
};

/** What a slice begins with. */
struct fl_seed {
	uint8_t kind;  ///< enum fl_seed_kind
	uint8_t slice; ///< which one of the walk, from 0
	uint8_t reg;   ///< REG: number of x86/insn.h
	uint64_t position;
	uint64_t bytes;	     ///< REG: bit n: byte n of it
	uint64_t addr, size; ///< MEM
};

enum fl_prune_kind {
	FL_PRUNE_REG, ///< this register is not followed; `from`: its number
	FL_PRUNE_MEM, ///< nor memory in [from, to)
	/** What instructions at [from, to) stored, other than to the stack, is an input: the dynamic
	 * linker's, whose other work is the program's. */
	FL_PRUNE_STORES,
	FL_PRUNE_CODE, ///< nor what instructions at [from, to) used
	FL_PRUNE_AT,   ///< nor what those at positions [from, to) used
};

struct fl_prune {
	enum fl_prune_kind kind;
	uint64_t from, to;
};

/** For who shows statements, not instances: what is folded costs less than what is told apart. */
enum { FL_NODES_FEW = 1 << 18 };

struct fl_slice_options {
	uint64_t begin; ///< no further back than this position
	bool without_control, without_data, without_addresses;
	bool follows_stack; ///< rsp is a value like any other
	bool keeps_saves; ///< registers saved and restored are followed through their slots
	bool keeps_instances; ///< fl_slice_has() is going to be asked
	bool keeps_sharers; ///< fl_slice_shares() is going to be asked: without this they are none
	size_t max_nodes; ///< 0: a million; FL_NODES_FEW; see struct fl_node
	/** So many will do: it goes back no further than to where they would be folded. */
	bool ends_when_full;
	/** Only from values to those that they tell: back through copies, and what adds a constant and
	 * the like. If those that the seeds are of are right, so is what all that is in this slice
	 * made. */
	bool only_told;
	/** Such a slice, with keeps_instances, of the same trace: instances in its slice 0 made
	 * what is right, and are not in this one, nor what only they needed. Or NULL. Borrowed, while the
	 * walk lasts. */
	const struct fl_slice *right;
	const struct fl_prune *prunes;
	size_t n_prunes;
	void (*progress)(void *ctx, uint64_t position); ///< or NULL
	void *ctx;
};

/* ---- what comes of it ----------------------------------------------------------------------------- */

enum fl_edge { FL_EDGE_DATA, FL_EDGE_ADDRESS, FL_EDGE_CONTROL, FL_EDGE_BEGIN };

/** Where a value comes from. */
enum fl_origin {
	FL_ORIGIN_INSN,	   ///< made by an instruction
	FL_ORIGIN_RESULT,  ///< returned by a system call
	FL_ORIGIN_WRITTEN, ///< in memory, written by one; SIGNAL: by a signal's delivery
	FL_ORIGIN_MAPPED,  ///< memory made by one: zeros, or a file's bytes
	FL_ORIGIN_SIGNAL,
	FL_ORIGIN_PROCESSOR, ///< rdtsc, cpuid, rdrand
	FL_ORIGIN_START,     ///< there when the trace began, or options.begin was reached
};

enum { FL_NONE = 0x3fffffff };

/**
 * An instance in a slice: an instruction that ran, or an input. They come latest first. Beyond
 * options.max_nodes, one instance of each instruction goes on being moved back instead
 * (is_folded): statements and their edges stay complete, their instances do not.
 */
struct fl_node {
	uint64_t position;
	uint64_t addr; ///< of what it defines that is wanted, if is_mem
	uint32_t size; ///< bytes of that; 0: it defines nothing that is: a branch, a seed
	uint32_t insn; ///< index of fl_slice_insn(); FL_NONE: of none
	uint32_t tid;
	uint32_t parent; ///< the latest node that wants it; FL_NONE: a seed
	uint8_t edge;	 ///< enum fl_edge, to its parent
	uint8_t origin;	 ///< enum fl_origin
	uint8_t reg;	 ///< register that it defines, unless is_mem
	bool is_mem, is_folded;
	uint32_t number; ///< of the system call, or the signal
	uint64_t event;	 ///< seq of the recorded event that it is from; 0: none
};

/** An instruction, and how often it is in which slice. */
struct fl_slice_insn {
	struct dec_insn insn;
	uint64_t n;    ///< instances, each counted once however many slices have it
	uint32_t node; ///< its latest node
};

/** Instances of one instruction needed by ones of another. */
struct fl_slice_edge {
	uint32_t from, to; ///< instructions: `to` needs what `from` made
	uint8_t edge;	   ///< enum fl_edge
	bool crosses;	   ///< they were, once at least, in different threads
	uint64_t n;
	uint64_t from_at, to_at; ///< positions of the latest pair
};

/** A node that wanted what another made, beside that one's parent. */
struct fl_slice_share {
	uint32_t from,
		to;   ///< nodes: `to` needed what `from` made, and came before its parent
	uint8_t edge; ///< enum fl_edge
};

struct fl_slice;

/**
 * Make the slices that begin with @p seeds: seed.slice says of which one each is; there are as
 * many as the largest such number says.
 *
 * Edges and parents are those of the walk: with several slices, they may be another's.
 *
 * @return ERR_USAGE (no seed, too many slices, a position outside of the trace), ERR_NOMEM, or what
 *	   the replay returns.
 */
struct err *fl_slice_walk(struct fl_trace *t, const struct fl_seed *seeds, size_t n_seeds,
			  const struct fl_slice_options *o, struct fl_slice **ret);
void fl_slice_destroy(struct fl_slice *s);
void fl_slice_destroyp(struct fl_slice **s);

/** @return its nodes, *@p n of them. As long as it lives, as all that follows. */
const struct fl_node *fl_slice_nodes(const struct fl_slice *s, size_t *n);

/** @return instruction @p i, NULL behind the last. Not all of them are in a slice. */
const struct fl_slice_insn *fl_slice_insn(const struct fl_slice *s, uint32_t i);

/** @return how many instances of instruction @p i slice @p slice has. */
uint64_t fl_slice_count(const struct fl_slice *s, uint32_t i, unsigned slice);

/** @return its edges between instructions, *@p n of them. */
/** By `from`, as far as nodes are not folded; two million at most. Valid as long as the slice. */
const struct fl_slice_share *fl_slice_shares(const struct fl_slice *s, size_t *n);
const struct fl_slice_edge *fl_slice_edges(const struct fl_slice *s, size_t *n);

/** @return whether the instance at @p position is in slice @p slice; options.keeps_instances. */
bool fl_slice_has(const struct fl_slice *s, uint64_t position, unsigned slice);

struct fl_slice_stats {
	uint64_t n_walked;    ///< instructions gone back over
	uint64_t n_instances; ///< in the slices
	uint64_t n_insns;     ///< different instructions in them
	uint64_t n_right;     ///< instances left out since what they made is right
	uint64_t n_pairs;     ///< saves and restores left out, pairs
	uint64_t n_skipped;   ///< blocks passed over
	uint64_t n_blocks;    ///< blocks
	uint64_t log_bytes;   ///< of the largest window
	uint64_t begin;	      ///< it went back to here
	uint64_t n_wanted;    ///< bytes of memory still wanted there
	/** More memory was wanted than is kept track of: what that depends on is missing. */
	bool is_full;
};
const struct fl_slice_stats *fl_slice_stats(const struct fl_slice *s);

/** @return what @p edge, @p origin are called; static text. */
const char *fl_edge_name(enum fl_edge edge);
const char *fl_origin_name(enum fl_origin origin);

#endif
