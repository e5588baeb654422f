// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the dec_explain*.c files share.
 */
#ifndef DECODE_EXPLAIN_EXPLAIN_INT_H
#define DECODE_EXPLAIN_EXPLAIN_INT_H

#include "decode/explain/explain.h"
#include "decode/explain/slice.h"

/** An explanation being made. */
struct explain {
	struct dec_explanation *x;
	const struct capture *capture;
	struct dec_machine *machine; ///< the second one: goes back and forth
	struct dec_symbols *symbols;
	struct history history; ///< up to and with the event that should have been met
	size_t end;		///< index of that event; or as many as there are
	struct slice slice;
	struct cap_regs regs; ///< where the replay stands
	bool is_pointer; ///< REGISTER: the replayed value is the address of something
};

/** Fill in @p call from event @p e. */
struct err *dec_explain_call(struct explain *ex, const struct history_event *e,
			     struct dec_explain_call *call);

/* ---- suspect.c -------------------------------------------------------------- */

/** @return how unlikely node @p n is by what it is, in units of a node's cost. Negative:
 * it is more likely than anything that was recorded. */
int dec_explain_penalty(const struct explain *ex, const struct slice_node *n);

/** @return the node that most likely is what went wrong, or SLICE_NONE. */
uint32_t dec_explain_root(const struct explain *ex);

/** @return whether going back further is of no use: a suspect is found. */
bool dec_explain_has_suspect(const struct explain *ex);

/** @return whether a branch lies between @p node and the beginning. */
bool dec_explain_has_branch(const struct explain *ex, uint32_t node);

/** @return whether @p e (may be NULL) is a call by which the kernel chose an address:
 * recorded, and followed ever since. */
bool dec_explain_is_address_call(const struct history_event *e);

/** List other suspects than @p root, the likeliest first. */
struct err *dec_explain_others(struct explain *ex, uint32_t root);

/* ---- near.c ----------------------------------------------------------------- */

/** Where a signal or a switch was not met: look for the nearest place. */
struct err *dec_explain_near(struct explain *ex);

/* ---- cause.c ---------------------------------------------------------------- */

/** Name the cause, given the root of the chain. */
struct err *dec_explain_cause(struct explain *ex, uint32_t root);

/* ---- words.c ---------------------------------------------------------------- */

/** @return the event that node @p n is from, or NULL. */
const struct history_event *dec_explain_event(const struct explain *ex,
					      const struct slice_node *n);

/** @return the event that the replay should have met, or NULL: none is left. */
const struct history_event *dec_explain_expected(const struct explain *ex);

/** Say in @p text what system call @p e was, with its result and position. */
void dec_explain_call_text(const struct history_event *e, char *text, size_t size);

/** Say in @p text what input node @p n is. */
void dec_explain_origin(const struct explain *ex, uint32_t n, char *text, size_t size);

/** Fill in what the descriptor is that @p call takes, when it takes one. Moves the second
 * machine. */
void dec_explain_file(struct explain *ex, struct dec_explain_call *call);

#endif
