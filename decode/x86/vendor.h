// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions whose outcome depends on whose processor executes them: a replay on another
 * one says that they ran. Pure functions of the instructions.
 */
#ifndef DECODE_X86_VENDOR_H
#define DECODE_X86_VENDOR_H

#include "decode/x86/insn.h"

/** @return what of @p insn, in words, differs between Intel's and AMD's processors; NULL when
 * nothing does that programs could notice. Static text. */
const char *dec_vendor_differs(const struct dec_insn *insn);

/** A flag that an instruction leaves undefined, and one that reads it. */
struct dec_vendor_flag {
	int by, read_by; ///< indices of instructions
};

/**
 * Look for a flag that is read before anything defines it, among @p n instructions that follow
 * each other. What they leave undefined at their end is taken to be of no use: no compiler
 * keeps such a flag across a branch.
 *
 * @return whether there is one; the first is in @p ret.
 */
bool dec_vendor_flags(const struct dec_insn *insn, int n, struct dec_vendor_flag *ret);

#endif
