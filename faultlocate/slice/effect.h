// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What one instruction defines, of which of its uses: parts of registers, single flags, operands
 * in memory. dec_insn tells of whole registers, and that all feed all; here a push moves rsp by
 * what rsp was, and stores what it pushes. A pure function of the bytes. Private to slice/.
 */
#ifndef FAULTLOCATE_SLICE_EFFECT_H
#define FAULTLOCATE_SLICE_EFFECT_H

#include "decode/x86/insn.h"

enum { EFFECT_USES = 64, EFFECT_DEFS = 64 };

/** Flags are bytes of register DEC_REG_FLAGS, in this order. */
enum effect_flag {
	EFFECT_CF,
	EFFECT_PF,
	EFFECT_AF,
	EFFECT_ZF,
	EFFECT_SF,
	EFFECT_OF,
	EFFECT_DF
};

/** How a use matters. */
enum effect_why { EFFECT_VALUE, EFFECT_ADDRESS };

struct effect_use {
	bool is_mem;
	uint8_t reg;	///< number of x86/insn.h
	uint8_t mem;	///< is_mem: index of the operand
	uint8_t why;	///< enum effect_why
	uint64_t bytes; ///< bit n: byte n of the register
};

struct effect_def {
	bool is_mem;
	bool is_maybe; ///< what was there may stay there
	uint8_t reg, mem;
	uint64_t bytes;
	uint64_t from; ///< bit n: use[n] has a part in it
	/** Byte n is byte n of use[copies], for n below n_copied; behind it zeros, or of a sign the
	 * last one's. -1: no copy. */
	int8_t copies;
	uint8_t n_copied;
	bool is_signed;
	/** Who knows the first n_told bytes of what is made knows those of use[tells]: all else in it
	 * is constant. -1: no such. A copy tells what it copies. */
	int8_t tells;
	uint8_t n_told;
};

struct effect {
	uint64_t regs; ///< bit n: register n is defined, in part at least
	uint8_t n_uses, n_defs;
	/** A register kept on the stack, or got back from there: the whole of `saved`. */
	bool is_save, is_restore;
	uint8_t saved;
	uint64_t control; ///< bit n: use[n] decides where a branch goes
	struct effect_use *use;
	struct effect_def *def;
};

/** @return which registers it defines, uses, keeps or gets back. */
static inline uint64_t effect_touches(const struct effect *e)
{
	uint64_t regs = e->regs | (uint64_t)(e->is_save || e->is_restore) << e->saved;

	for (int i = 0; i < e->n_uses; i++)
		regs |= e->use[i].is_mem ? 0 : UINT64_C(1) << e->use[i].reg;
	return regs;
}

/** Work out what @p insn does. @return NULL: no memory. Free with free(). */
struct effect *fl_effect_of(const struct dec_insn *insn);

/** @return which bytes register @p reg has, as effects tell them: bit n: byte n. */
uint64_t fl_effect_reg_bytes(uint8_t reg);

#endif
