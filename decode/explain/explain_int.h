// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the dec_explain*.c files share.
 */
#ifndef DECODE_EXPLAIN_EXPLAIN_INT_H
#define DECODE_EXPLAIN_EXPLAIN_INT_H

#include "decode/explain/backward.h"
#include "decode/explain/explain.h"
#include "decode/explain/history.h"
#include "faultlocate/slice/slice.h"

#define EXPLAIN_NONE UINT32_MAX

/** Where the way back ends, or may. */
enum explain_origin {
	EXPLAIN_CONSTANT, ///< an instruction that uses nothing
	EXPLAIN_RESULT,	  ///< what a system call returned
	EXPLAIN_WRITTEN,  ///< memory that a system call is recorded to have written
	EXPLAIN_CHILD,	  ///< the same, of vfork: a child wrote it
	EXPLAIN_UNMODELLED, ///< a call whose effects are not all recorded may have written it
	EXPLAIN_QUIET,	    ///< a call that got a pointer to it, and no write is recorded
	EXPLAIN_MAPPED,	    ///< fresh memory, or a file's
	EXPLAIN_SHARED,	    ///< memory that others may write
	EXPLAIN_FRAME,	    ///< a signal's frame, or what its handler is given
	EXPLAIN_TSC,
	EXPLAIN_CPUID,
	EXPLAIN_START, ///< the start state
	EXPLAIN_FAR,   ///< older than what is looked at
	EXPLAIN_ORIGINS
};

/** An input that what differs depends on, or may depend on. */
struct explain_suspect {
	uint8_t origin;	 ///< enum explain_origin
	uint8_t edge;	 ///< enum fl_edge: as what it is needed
	bool has_branch; ///< the way there leads through a branch
	bool is_certain; ///< a constant that was only copied since
	uint32_t cost;	 ///< how far away it is
	uint32_t walk,
		node; ///< who needs it (CONSTANT: what it is): a node of ex->walks; or FL_NONE
	uint32_t
		event; ///< index into the history; SHARED: into its shared memory; or EXPLAIN_NONE
	uint32_t tid;
	uint64_t position;
	struct dec_location at;
	const struct dec_insn *insn; ///< that got it, or NULL
};

/** How a node leads to what differs. */
struct explain_way {
	uint32_t cost, steps;
	bool has_branch;
};

/** A slice, as a way back. */
struct explain_walk {
	struct fl_slice *slice;
	const struct fl_node *nodes;
	size_t n;
	struct explain_way *ways; ///< of each node
};

/** What the walks follow: values; their addresses, too; and branches. */
enum { EXPLAIN_VALUES, EXPLAIN_ADDRESSES, EXPLAIN_BRANCHES, EXPLAIN_WALKS };

// What it costs that a branch decided; that one decided about another: they all lead here; and nodes
// to which the way is not known.
enum { EXPLAIN_BRANCH = 60, EXPLAIN_NEXT_BRANCH = 4, EXPLAIN_FOLDED = 2000 };

/** An explanation being made. */
struct explain {
	struct dec_explanation *x;
	const struct capture *capture;
	struct fl_trace *trace;
	struct dec_machine *machine; ///< the trace's: goes back and forth
	struct dec_symbols *symbols;
	struct history history; ///< up to and with the event that should have been met
	VEC(uint32_t)
	loose;	    ///< events that are loose calls, where their positions are known
	size_t end; ///< index of that event; or as many as there are
	VEC(struct fl_seed)
	seeds; ///< what is asked about: first n_values that differ, then branches
	VEC(uint32_t) costs; ///< of each seed
	size_t n_values;
	uint64_t straight; ///< position where the last straight piece of the run begins
	struct explain_walk walks[EXPLAIN_WALKS];
	VEC(struct explain_suspect) suspects;
	struct map suspect_of;
	struct cap_regs regs; ///< where the replay stands
	bool is_pointer; ///< REGISTER: the replayed value is the address of something
};

/** Fill in @p call from event @p e. */
struct err *dec_explain_call(struct explain *ex, const struct history_event *e,
			     struct dec_explain_call *call);

/* ---- search.c --------------------------------------------------------------- */

/** Find suspects. @p m stands at the divergence. */
struct err *dec_explain_search(struct explain *ex, struct dec_machine *m);

/* ---- origin.c --------------------------------------------------------------- */

/** Add the suspects of walk number @p walk, whose slice is made. */
struct err *dec_explain_collect(struct explain *ex, uint32_t walk);

/** Forget the walks and their suspects. */
void dec_explain_forget(struct explain *ex);

/** @return the instruction of node @p node, or NULL. As long as the walk. */
const struct dec_insn *dec_explain_insn(const struct explain_walk *w, uint32_t node);

/** @return whether node @p node is there for the way that its branch took. */
bool dec_explain_is_way(const struct explain_walk *w, uint32_t node);

/* ---- suspect.c -------------------------------------------------------------- */

/** @return how unlikely @p s is by what it is, in units of its cost. Negative: it is more likely than
 * anything that was recorded. */
int dec_explain_penalty(const struct explain *ex, const struct explain_suspect *s);

/** @return what most likely went wrong, or NULL. */
const struct explain_suspect *dec_explain_root(const struct explain *ex);

/** @return whether going back further is of no use: a suspect is found. */
bool dec_explain_has_suspect(const struct explain *ex);

/** @return whether @p e (may be NULL) is a call by which the kernel chose an address:
 * recorded, and followed ever since. */
bool dec_explain_is_address_call(const struct history_event *e);

/** List other suspects than @p root, the likeliest first. */
struct err *dec_explain_others(struct explain *ex, const struct explain_suspect *root);

/* ---- chain.c ---------------------------------------------------------------- */

/** Show the way from the divergence to @p root. Moves the machine. */
struct err *dec_explain_chain(struct explain *ex, const struct explain_suspect *root);

/* ---- near.c ----------------------------------------------------------------- */

/** Where a signal or a switch was not met: look for the nearest place. */
struct err *dec_explain_near(struct explain *ex);

/* ---- cause.c ---------------------------------------------------------------- */

/** Name the cause, given the root of the chain, or NULL. */
struct err *dec_explain_cause(struct explain *ex, const struct explain_suspect *root);

/* ---- words.c ---------------------------------------------------------------- */

/** @return the event that @p s is from, or NULL. */
const struct history_event *dec_explain_event(const struct explain *ex,
					      const struct explain_suspect *s);

/** @return the event that the replay should have met, or NULL: none is left. */
const struct history_event *dec_explain_expected(const struct explain *ex);

/** Say in @p text what system call @p e was, with its result and position. */
void dec_explain_call_text(const struct history_event *e, char *text, size_t size);

/** Say in @p text what input @p s is. */
void dec_explain_origin(const struct explain *ex, const struct explain_suspect *s,
			char *text, size_t size);

/** Fill in what the descriptor is that @p call takes, when it takes one. Moves the
 * machine. */
void dec_explain_file(struct explain *ex, struct dec_explain_call *call);

#endif
