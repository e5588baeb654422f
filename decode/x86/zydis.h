// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions in Zydis's own words, for those who need more of one than dec_insn tells:
 * the one decoder, the one number of a register, and kinds of instructions that more than
 * one of them asks for. Any thread may call these. Mnemonics are in the order of their
 * names: a range of them is a family (VMOVDQA ... VMOVDQU8).
 */
#ifndef DECODE_X86_ZYDIS_H
#define DECODE_X86_ZYDIS_H

#include <Zydis/Zydis.h>

#include "decode/x86/insn.h"

/** Decode the 64-bit instruction at @p bytes, of which @p avail may be read. @p ops: room for
 * ZYDIS_MAX_OPERAND_COUNT, or NULL. @return false: there is none. */
bool dec_insn_zydis(const uint8_t *bytes, uint64_t avail, ZydisDecodedInstruction *d,
		    ZydisDecodedOperand *ops);

/** @return the number of the register that @p r is, or is a part of; DEC_REG_NONE for those
 * that have none. */
uint8_t dec_insn_reg(ZydisRegister r);

/** The same of general registers only: DEC_REG_NONE for others. */
uint8_t dec_insn_gpr(ZydisRegister r);

/** How control leaves an instruction. */
enum dec_flow dec_insn_flow(const ZydisDecodedInstruction *d,
			    const ZydisDecodedOperand *ops);

/** The images of the processor's state that instructions save, or restore from. */
enum dec_insn_image {
	DEC_INSN_IMAGE_NONE,
	DEC_INSN_IMAGE_X87,	 ///< fnstenv, fnsave; fldenv, frstor
	DEC_INSN_IMAGE_FX,	 ///< fxsave; fxrstor
	DEC_INSN_IMAGE_EXTENDED, ///< xsave, xsavec, xsaveopt; xrstor
};
enum dec_insn_image dec_insn_saves(ZydisMnemonic m);
enum dec_insn_image dec_insn_restores(ZydisMnemonic m);

/** bt, bts, btr, btc: a bit number in a register reaches beyond the operand. */
bool dec_insn_is_bit_test(ZydisMnemonic m);

/** Moves under a mask that is a vector register. @return the bytes of a lane, 1 for those that
 * store where rdi points; 0: it is none. */
int dec_insn_mask_bytes(ZydisMnemonic m);

/** A mask operand that is k0, which stands for none: nothing is read of it. */
bool dec_insn_is_no_mask(const ZydisDecodedOperand *op);

/** With itself it computes a result in which nothing of the register is: xor, sub, and what is
 * xor for vectors. */
bool dec_insn_is_zeroing(ZydisMnemonic m);

/** A vector register, all of it or the lower half, to or from another one or memory. */
bool dec_insn_is_vector_copy(ZydisMnemonic m);

/** Integer arithmetic that writes all six status flags, each a function of its operands. */
bool dec_insn_sets_status(ZydisMnemonic m);

// Pointers that are made of pointers: who follows them while code runs and who follows them in its log agree.

/** It makes pointers of pointers, in general registers and in memory; in each lane of vectors. */
bool dec_insn_is_arithmetic(ZydisMnemonic m);
bool dec_insn_is_lane_arithmetic(ZydisMnemonic m);

/** Of pointer @p source @p m made @p value: was that cut off, or are only its low bits left? */
bool dec_insn_cuts(ZydisMnemonic m, uint64_t source, uint64_t value);

/** What @p insn names relative to rip lies @p by bytes further on: whoever copies it makes the displacement anew. */
void dec_insn_move_relative(struct dec_insn *insn, int64_t by);

#endif
