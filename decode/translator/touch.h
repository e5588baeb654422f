// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which memory an instruction is about to read and write, for those whose operands alone
 * do not say it: string repeats, gathers, masks, bit offsets, state saves.
 */
#ifndef DECODE_TRANSLATOR_TOUCH_H
#define DECODE_TRANSLATOR_TOUCH_H

#include "decode/translator/engine.h"

enum { DEC_TOUCHES = 48 }; ///< at most: a store of 64 masked bytes has 32 runs

struct dec_touch {
	bool is_def;
	uint64_t addr, size; ///< size is not 0
};

/** @return how many times the repeated @p insn will run: its count register. */
uint64_t dec_touch_count(const struct dec_insn *insn, const uint64_t gpr[16]);

/**
 * List what @p insn touches when executed in the guest's present state; lanes that a mask
 * switches off are not touched.
 *
 * @param gpr  general registers before it.
 * @param n    iterations of a repeated string instruction; not used for others.
 * @return how many.
 */
int dec_touch_list(const struct dec_engine *e, const struct dec_insn *insn,
		   const uint64_t gpr[16], uint64_t n, struct dec_touch out[DEC_TOUCHES]);

/** @return whether the guest may read all of [addr, addr+size). */
bool dec_touch_is_readable(const struct dec_engine *e, uint64_t addr, uint64_t size);

#endif
