// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A function as a graph of basic blocks. Its instructions are those of all ranges that it
 * is made of, swept from their beginnings; a sweep that does not agree with the branches
 * makes the function unsound, and nothing is probed in it.
 */
#ifndef STOREPLAN_SP_FUNCTION_H
#define STOREPLAN_SP_FUNCTION_H

#include "storeplan/sp_image.h"
#include "storeplan/sp_insn.h"

/** How control can come to a block but along edges. */
enum sp_entry {
	SP_ENTRY_NONE,
	SP_ENTRY_CALL, ///< it is where the function is called: rsp is that of the call
	SP_ENTRY_ODD,  ///< nobody knows how (a landing pad, a jump that was not resolved)
};

struct sp_block {
	uint32_t first, end;			   ///< instructions first <= i < end
	uint32_t succ_at, n_succ, pred_at, n_pred; ///< in sp_function.succs, .preds
	uint8_t entry;				   ///< enum sp_entry
	bool leaves;				   ///< the function can be left behind it
	bool is_idle;				   ///< padding: never runs
	double often; ///< estimate: executions for each call of the function
};

struct sp_function {
	const char *name; ///< NULL: none; the image's
	uint64_t start;
	const char *unsound; ///< why it is left alone; NULL: it is not
	bool returns;
	struct sp_insn *insns;
	size_t n_insns;
	struct sp_block *blocks;
	size_t n_blocks;
	uint32_t *block_of; ///< by instruction
	VEC(uint32_t) succs, preds;
};

/** Decide which ranges belong to one function. @return ERR_NOMEM. */
struct err *sp_function_group(struct sp_image *m);

/** Build the function whose first range is number @p range (its own owner). */
struct err *sp_function_build(const struct sp_image *m, size_t range,
			      struct sp_function *ret);
void sp_function_deinit(struct sp_function *f);

/** @return the instruction at @p addr; SIZE_MAX: none begins there. */
size_t sp_function_insn_at(const struct sp_function *f, uint64_t addr);

/** Find functions that never return, until no more are found. */
struct err *sp_function_find_ends(struct sp_image *m);

#endif
