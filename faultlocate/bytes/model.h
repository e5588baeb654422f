// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An instruction's operands in order, which dec_insn does not have, and in which family it is: what becomes of
 * bits that have no value.
 */
#ifndef FAULTLOCATE_BYTES_MODEL_H
#define FAULTLOCATE_BYTES_MODEL_H

#include "decode/machine/trace.h"

enum model_operand { MODEL_NONE, MODEL_GPR, MODEL_VEC, MODEL_MEM, MODEL_IMM };

enum model_family {
	MODEL_OTHER, ///< what it defines has a value
	MODEL_COPY,
	MODEL_SIGN_EXTEND, ///< movsx, cbw and the like: operand 1 to operand 0
	MODEL_LEA,
	MODEL_CARRY, ///< add, sub, imul: from the lowest such bit up
	MODEL_AND,
	MODEL_OR,
	MODEL_XOR,
	MODEL_COMPARE,
	MODEL_TEST,
	MODEL_NOT,
	MODEL_SHIFT, ///< shl, shr, sar, rol, ror
	MODEL_ALL,  ///< any such bit makes all of the result so: bsf, popcnt, conversions
	MODEL_WIDE, ///< mul, div: of rax and rdx
	MODEL_SWAP,
	MODEL_SET,  ///< setcc
	MODEL_MOVE, ///< cmovcc
	MODEL_PUSH,
	MODEL_POP,
	MODEL_LEAVE,
	MODEL_STRING_COPY,
	MODEL_STRING_FILL,
	MODEL_VEC_COPY,
	MODEL_VEC_XOR,
	MODEL_VEC_LOW,	   ///< scalar arithmetic in the low lane
	MODEL_VEC_LANES,   ///< .. in each
	MODEL_VEC_COMPARE, ///< comisd and the like
};

/** Which flags decide. */
enum model_condition {
	MODEL_ALWAYS,
	MODEL_ZERO = 1,
	MODEL_SIGN = 2,
	MODEL_CARRIES = 4,
	MODEL_OVERFLOW = 8,
	MODEL_PARITY = 16,
};

struct model_op {
	uint8_t kind;  ///< enum model_operand
	uint8_t reg;   ///< number of its kind
	uint8_t shift; ///< 8: ah and the like
	uint8_t bytes;
	bool is_signed; ///< immediate
	uint64_t imm;
};

struct insn_model {
	uint8_t family;
	uint8_t condition; ///< of branches, setcc, cmovcc
	uint8_t lane;	   ///< bytes
	uint8_t n;
	bool is_same;	///< both sources are one register
	bool keeps_top; ///< of a vector register: what is above is as it was
	uint16_t mnemonic;
	uint8_t bytes[15];
	struct model_op op[4];
	struct dec_mem address; ///< of a memory operand, lea's too
};

/** Fill @p ret for @p insn. */
void fl_model_make(const struct dec_insn *insn, struct insn_model *ret);

#endif
