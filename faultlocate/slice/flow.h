// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which branch decides whether this block runs? Control-flow graphs of the functions that ran,
 * also of what did not run in them: found in the code from their entries on, with the targets
 * that indirect jumps were seen to have. From postdominators follow the branches that each block
 * depends on (paper 002, section 5.4.1). Private to slice/.
 */
#ifndef FAULTLOCATE_SLICE_FLOW_H
#define FAULTLOCATE_SLICE_FLOW_H

#include "base/base.h"
#include "decode/x86/insn.h"

#define FLOW_NONE UINT32_MAX

/** Decode the instruction at @p rip. @return false: there is no code. */
typedef bool (*flow_code_fn)(void *ctx, uint64_t rip, struct dec_insn *ret);

/** @return whether the call at @p rip, whose successor is at @p next, never came back, or would not. */
typedef bool (*flow_ends_fn)(void *ctx, uint64_t rip, uint64_t next);

struct flow;

struct err *fl_flow_create(flow_code_fn code, flow_ends_fn ends, void *ctx,
			   struct flow **ret);
void fl_flow_destroy(struct flow *f);

/** A function begins at @p rip. */
struct err *fl_flow_entry(struct flow *f, uint64_t rip);

/** The indirect jump at @p from went to @p to. Repeats are ignored. */
struct err *fl_flow_jump(struct flow *f, uint64_t from, uint64_t to);

/** Find the functions that begin at the entries given so far. */
struct err *fl_flow_build(struct flow *f);

/** Find the block that holds the instruction at @p rip; what no entry leads to counts as a
 * function of its own. @p ret: its number, FLOW_NONE when there is no code. */
struct err *fl_flow_block(struct flow *f, uint64_t rip, uint32_t *ret);

/** @return whether block @p block depends on the branch that ends @p branch. */
bool fl_flow_depends(const struct flow *f, uint32_t block, uint32_t branch);

/** @return the number of the function that @p block is in. */
uint32_t fl_flow_function(const struct flow *f, uint32_t block);

/** How much there is. */
struct flow_size {
	size_t functions, blocks, jumps; ///< jumps: observed targets of indirect ones
};
struct flow_size fl_flow_size(const struct flow *f);

#endif
