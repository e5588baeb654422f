// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Effects of an instruction that Zydis's operands do not say: flags, state registers, and
 * those forms of which the inline instrumentation must keep away. Private to insn.c.
 */
#ifndef DECODE_X86_EFFECTS_H
#define DECODE_X86_EFFECTS_H

#include "decode/x86/zydis.h"

/** Set what @p insn does to the flags. */
void dec_insn_add_flags(struct dec_insn *insn, const ZydisDecodedInstruction *d);

/** Add registers that are no operands in Zydis's eyes. After the operands. */
void dec_insn_add_state(struct dec_insn *insn, const ZydisDecodedInstruction *d);

/** Tell whether @p insn is_integer. After all registers. */
void dec_insn_mark_integer(struct dec_insn *insn);

/** Mark forms whose effects on memory or registers do not follow from their operands.
 * After all else. */
void dec_insn_mark_slow(struct dec_insn *insn, const ZydisDecodedInstruction *d,
			const ZydisDecodedOperand *ops);

#endif
