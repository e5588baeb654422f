// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the dec_explain*.c files share.
 */
#ifndef DECODE_DEC_EXPLAIN_INT_H
#define DECODE_DEC_EXPLAIN_INT_H

#include "decode/dec_explain.h"
#include "decode/dec_slice.h"

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
struct err *explain_call(struct explain *ex, const struct history_event *e,
			 struct dec_explain_call *call);

/* ---- dec_explain_cause.c ---------------------------------------------------------------- */

/** @return the node that most likely is what went wrong, or SLICE_NONE. */
uint32_t explain_root(const struct explain *ex);

/** @return whether going back further is of no use: a suspect is found. */
bool explain_has_suspect(const struct explain *ex);

/** Name the cause, given the root of the chain. */
struct err *explain_cause(struct explain *ex, uint32_t root);

/** Say in @p text what input node @p n is. */
void explain_origin(const struct explain *ex, uint32_t n, char *text, size_t size);

#endif
