// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Effects of an instruction that Zydis's operands do not say: flags, state registers, and
 * those forms of which the inline instrumentation must keep away. Private to insn.c, but
 * for the images, which recovery asks for, too.
 */
#ifndef DECODE_X86_EFFECTS_H
#define DECODE_X86_EFFECTS_H

#include <Zydis/Zydis.h>

#include "decode/x86/insn.h"

/** Images of the processor's state in memory. */
enum insn_image {
	INSN_IMAGE_NONE,
	INSN_IMAGE_X87,	     ///< fnstenv, fnsave; fldenv, frstor
	INSN_IMAGE_FX,	     ///< fxsave; fxrstor
	INSN_IMAGE_EXTENDED, ///< xsave, xsavec, xsaveopt; xrstor
};

/** @return what image instructions @p m save, or restore from. */
enum insn_image dec_insn_saves(ZydisMnemonic m);
enum insn_image dec_insn_restores(ZydisMnemonic m);

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
