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

enum model_operand {
	MODEL_NONE,
	MODEL_GPR,
	MODEL_VEC,
	MODEL_MEM,
	MODEL_IMM,
	MODEL_MASK,
	MODEL_MMX,
	MODEL_X87_REG
};

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
	MODEL_ALL, ///< any such bit makes all of the result so: popcnt, crc32, conversions
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
	MODEL_ENTER,
	MODEL_LEAVE,
	MODEL_XLAT,
	MODEL_STRING_COPY,
	MODEL_STRING_FILL,
	MODEL_X87,  ///< values_x87.c
	MODEL_BITS, ///< what follows: values_bits.c. Of the lowest bit that is set: blsr
	MODEL_BYTE_SWAP,
	MODEL_ZERO_HIGH, ///< bzhi
	MODEL_FIELD,	 ///< bextr
	MODEL_EXTRACT,	 ///< pext
	MODEL_DEPOSIT,	 ///< pdep
	MODEL_TWO,	 ///< mulx
	MODEL_CARRY_ONE, ///< adcx, adox
	MODEL_BIT_TEST,
	MODEL_THROUGH_CARRY, ///< rcl, rcr
	MODEL_SIGN_OF,	     ///< of rax to rdx: cdq
	MODEL_FLAGS,	     ///< lahf, sahf, pushf, popf
	MODEL_CMPXCHG_TWO,   ///< cmpxchg16b
	MODEL_STRING_LOAD,
	MODEL_STRING_COMPARE, ///< scas, cmps
	MODEL_VECTORS,	      ///< what follows: values_vector.c
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
	MODEL_VEC_SHUFFLE,		///< which byte goes where is in the instruction
	MODEL_VEC_PERMUTE,		///< .. in a register
	MODEL_VEC_CHOOSE,		///< by a third register's signs: blendvps
	MODEL_VEC_SIGNS,		///< to a general register: pmovmskb
	MODEL_VEC_COMPARE,		///< comisd and the like
	MODEL_VEC_TEST,			///< ptest
	MODEL_VEC_UPPER,		///< vzeroupper
	MODEL_VEC_PICK,			///< by general ones' numbers: vpermi2d
	MODEL_LANES,			///< what follows: values_lanes.c
	MODEL_LANES_TEXT = MODEL_LANES, ///< pcmpistri and the like
	MODEL_LANES_CARRYLESS,		///< pclmulqdq
	MODEL_LANES_PRODUCT,		///< dpps
	MODEL_LANES_SADS,		///< mpsadbw
	MODEL_LANES_TERNARY,		///< vpternlogd
	MODEL_LANES_TEST,		///< vptestmb: to a mask
	MODEL_LANES_OR_TEST,		///< kortestb
	MODEL_LANES_BLEND,		///< by a mask: vpblendmb
	MODEL_LANES_SPREAD,		///< of a mask's bits: vpmovm2b
	MODEL_LANES_COMPRESS,
	MODEL_LANES_EXPAND,
	MODEL_LANES_MASKED, ///< by a vector's signs: vmaskmovps
	MODEL_LANES_GATHER,
	MODEL_LANES_SCATTER,
	MODEL_LANES_BIT_FIELD, ///< extrq, insertq
};

/** Of MODEL_VEC_SHUFFLE. Of lanes, as all vector instructions, within 16 bytes, unless it says more. */
enum model_shuffle {
	SHUFFLE_ALIGN,	     ///< bytes of both, from that which the number says on
	SHUFFLE_ALIGN_WHOLE, ///< .. lanes, of whole vectors
	SHUFFLE_BLEND,	     ///< of which each is, by bits of the number
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
	SHUFFLE_JOIN, ///< the first above the second
	SHUFFLE_LEFT, ///< by bytes
	SHUFFLE_LOWEST,
	SHUFFLE_LOW_WORDS,
	SHUFFLE_ODD,
	SHUFFLE_PAIR,  ///< of each source one, by a bit of the number
	SHUFFLE_PARTS, ///< 16 bytes each, the lower half from the first source: vshufi32x4
	SHUFFLE_QUADS, ///< of 32 bytes, by two bits each
	SHUFFLE_RIGHT,
	SHUFFLE_TWO_AND_TWO, ///< from the first, and the second, by two bits each
	SHUFFLE_UNPACK_HIGH, ///< in turn from the first and the second
	SHUFFLE_UNPACK_LOW,
};

/** Of MODEL_VEC_LOGIC. */
enum model_logic { LOGIC_AND, LOGIC_ANDN, LOGIC_OR, LOGIC_XOR };

/** Of MODEL_VEC_SHIFT. */
enum model_shift {
	SHIFT_LEFT,
	SHIFT_RIGHT,
	SHIFT_ARITHMETIC,
	SHIFT_AROUND,
	SHIFT_AROUND_RIGHT
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
	uint8_t condition;   ///< of branches, setcc, cmovcc
	uint8_t lane;	     ///< bytes
	uint8_t from;	     ///< bytes of a source's lane that count, if not as many
	uint8_t how;	     ///< enum model_shuffle, model_logic, model_shift
	uint8_t first, last; ///< operands that are a vector's sources
	uint8_t base;	     ///< the operand that MODEL_VEC_LOW has the rest from
	uint8_t n;
	bool is_same;	   ///< both sources are one register
	bool is_broadcast; ///< each lane of the operand in memory is the same
	bool is_each;	   ///< MODEL_VEC_SHIFT: each lane by a number of its own
	bool is_to_mask;   ///< it has a bit of a mask for each lane
	bool is_zeroing;   ///< so lanes are that the mask leaves out
	bool is_by_sign;   ///< MODEL_VEC_TEST: of lanes
	uint8_t mask;	   ///< this says which lanes it has to do with; 0: with all
	uint8_t mask_lane; ///< bytes
	uint8_t unit;	   ///< bytes in which shuffles stay: 16, of MMX 8
	uint8_t index,
		index_bytes; ///< of a gather: the vector of indexes, and how large they are
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
