// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where the ways behind a conditional branch come together again: its immediate
 * postdominator among the instructions that can be reached from it without leaving the
 * function. From the code alone, without symbols: jump tables are read where their shape is
 * known, other indirect jumps and returns leave the function. Any thread may call this.
 */
#ifndef DECODE_X86_JOIN_H
#define DECODE_X86_JOIN_H

#include "decode/x86/insn.h"

#define DEC_JOIN_STORES 32

struct dec_join {
	/** The first instruction that runs whichever way is taken; 0: there is none, the ways
	 * come together behind the function. */
	uint64_t rip;
	uint32_t n_insns; ///< between the branch and there
	// What these write: registers, as in dec_insn; memory at fixed places, as far as kept.
	uint16_t gpr_written;
	uint64_t other_written;
	bool writes_flags, has_calls;
	struct dec_mem store[DEC_JOIN_STORES];
	uint32_t n_stores;
};

/** Who has the code. */
struct dec_join_code {
	/** Decode the instruction at @p rip. @return false: there is none. */
	bool (*insn)(void *ctx, uint64_t rip, struct dec_insn *ret);
	/** Read memory, tables of jumps. @return whether all of it could be read. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/** @return whether the function at @p entry never returns. May be NULL. */
	bool (*never_returns)(void *ctx, uint64_t entry);
	void *ctx;
};

/** Find where the ways behind the branch, or indirect jump, at @p rip join.
 * @return false: no memory, no branch there, or too much code. */
bool dec_join_find(const struct dec_join_code *code, uint64_t rip, struct dec_join *ret);

#endif
