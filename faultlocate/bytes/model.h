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
	MODEL_SHIFT,  ///< shl, shr, sar, rol, ror
	MODEL_ALL,    ///< any such bit makes all of the result so: popcnt, conversions
	MODEL_COUNT,  ///< of zeroes up to the first one: bsf, lzcnt
	MODEL_DOUBLE, ///< shld, shrd
	MODEL_XADD,
	MODEL_CMPXCHG,
	MODEL_WIDE, ///< mul, div: of rax and rdx
	MODEL_SWAP,
	MODEL_SET,  ///< setcc
	MODEL_MOVE, ///< cmovcc
	MODEL_PUSH,
	MODEL_POP,
	MODEL_LEAVE,
	MODEL_STRING_COPY,
	MODEL_STRING_FILL,
	MODEL_VECTORS, ///< what follows: values_vector.c
	MODEL_VEC_COPY = MODEL_VECTORS,
	MODEL_VEC_LOW,	   ///< computes in the lowest lane, and copies the rest
	MODEL_VEC_LANES,   ///< .. in each
	MODEL_VEC_CONVERT, ///< to lanes of another size
	MODEL_VEC_WIDEN,   ///< .. by zeroes
	MODEL_VEC_PACK,
	MODEL_VEC_PAIRS, ///< of neighbouring lanes: haddps
	MODEL_VEC_LOGIC,
	MODEL_VEC_EQUAL,
	MODEL_VEC_LEAST, ///< of each two lanes, without signs
	MODEL_VEC_SHIFT,
	MODEL_VEC_SHUFFLE, ///< which byte goes where is in the instruction
	MODEL_VEC_PERMUTE, ///< .. in a register
	MODEL_VEC_CHOOSE,  ///< by a third register's signs: blendvps
	MODEL_VEC_SIGNS,   ///< to a general register: pmovmskb
	MODEL_VEC_COMPARE, ///< comisd and the like
	MODEL_VEC_TEST,	   ///< ptest
	MODEL_VEC_UPPER,   ///< vzeroupper
};

/** Of MODEL_VEC_SHUFFLE. Of lanes, as all vector instructions, within 16 bytes, unless it says more. */
enum model_shuffle {
	SHUFFLE_ALIGN, ///< bytes of both, from that which the number says on
	SHUFFLE_BLEND, ///< of which each is, by bits of the number
	SHUFFLE_BROADCAST,
	SHUFFLE_DOUBLES, ///< by two bits of the number each
	SHUFFLE_EVEN,	 ///< those twice
	SHUFFLE_EXTRACT,
	SHUFFLE_HALVES, ///< 16 bytes, of 64, by four bits each
	SHUFFLE_HIGH_HALF,
	SHUFFLE_HIGH_TO_LOW,
	SHUFFLE_HIGH_WORDS,
	SHUFFLE_INSERT,
	SHUFFLE_INSERT_SINGLE,
	SHUFFLE_LEFT, ///< by bytes
	SHUFFLE_LOWEST,
	SHUFFLE_LOW_WORDS,
	SHUFFLE_ODD,
	SHUFFLE_PAIR,  ///< of each source one, by a bit of the number
	SHUFFLE_QUADS, ///< of 32 bytes, by two bits each
	SHUFFLE_RIGHT,
	SHUFFLE_TWO_AND_TWO, ///< from the first, and the second, by two bits each
	SHUFFLE_UNPACK_HIGH, ///< in turn from the first and the second
	SHUFFLE_UNPACK_LOW,
};

/** Of MODEL_VEC_LOGIC. */
enum model_logic { LOGIC_AND, LOGIC_ANDN, LOGIC_OR, LOGIC_XOR };

/** Of MODEL_VEC_SHIFT. */
enum model_shift { SHIFT_LEFT, SHIFT_RIGHT, SHIFT_ARITHMETIC };

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
	uint8_t condition;   ///< of branches, setcc, cmovcc
	uint8_t lane;	     ///< bytes
	uint8_t from;	     ///< bytes of a source's lane that count, if not as many
	uint8_t how;	     ///< enum model_shuffle, model_logic, model_shift
	uint8_t first, last; ///< operands that are a vector's sources
	uint8_t base;	     ///< the operand that MODEL_VEC_LOW has the rest from
	uint8_t n;
	bool is_same;	   ///< both sources are one register
	bool is_broadcast; ///< each lane of the operand in memory is the same
	uint8_t clears; ///< to which byte what is above the result in a vector register is cleared
	uint16_t mnemonic;
	uint8_t bytes[15];
	struct model_op op[4];
	struct dec_mem address; ///< of a memory operand, lea's too
};

/** Fill @p ret for @p insn. */
void fl_model_make(const struct dec_insn *insn, struct insn_model *ret);

/** Fill in @p m what it is if it is one of a vector's, called @p name: m->n and m->op[] are known. */
void fl_model_vector(const char *name, bool is_vex, struct insn_model *m);

#endif
