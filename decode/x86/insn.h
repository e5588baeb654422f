// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One decoded instruction, reduced to what the translator and the trace reader need:
 * how control leaves it, which registers and memory it reads and writes, and whether
 * the inline instrumentation can record it. A pure function of the bytes (Zydis), so
 * that the machine (which emits the log) and the reader (which decodes it) agree.
 */
#ifndef DECODE_X86_INSN_H
#define DECODE_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

/** How control leaves an instruction. */
enum dec_flow {
	DEC_FLOW_NEXT,	   ///< to the next instruction
	DEC_FLOW_JMP,	   ///< direct jump
	DEC_FLOW_JCC,	   ///< conditional jump (flags)
	DEC_FLOW_JRCX,	   ///< jrcxz, jecxz, loop, loope, loopne: 8-bit displacement only
	DEC_FLOW_CALL,	   ///< direct call
	DEC_FLOW_JMP_IND,  ///< jump through register or memory
	DEC_FLOW_CALL_IND, ///< call through register or memory
	DEC_FLOW_RET,	   ///< near return
	DEC_FLOW_SYSCALL,  ///< syscall
	DEC_FLOW_TSC,	   ///< rdtsc, rdtscp: answered from the capture
	DEC_FLOW_CPUID,	   ///< cpuid: answered from the capture
	DEC_FLOW_RANDOM,   ///< rdrand, rdseed, rdpid: answered from the capture
	DEC_FLOW_TRAP,	   ///< never falls through here: int3, ud2, hlt, unknown bytes
	DEC_FLOW_FORBIDDEN, ///< cannot be replayed: int 0x80, sysenter, far branches
};

/** Numbers of registers; those of the general ones are enum cap_gpr. */
enum {
	DEC_GPRS = CAP_GPRS,
	DEC_REG_VEC = 16, ///< vector registers are numbers 16..47 (zmm0..zmm31)
	DEC_REG_K = 48,	  ///< mask registers are numbers 48..55
	DEC_REG_FLAGS = 56,
	DEC_REG_X87 = 57, ///< the whole x87/MMX state as one
	DEC_REG_MXCSR = 58,
	DEC_REG_RIP = 59,
	DEC_REG_NONE = 255,
	DEC_MEMS = 3,	      ///< memory operands at most
	DEC_BLOCK_INSNS = 32, ///< longest block; bounds how late a run can stop
};

/** A memory operand of an instruction. */
struct dec_mem {
	uint8_t base, index; ///< GPR numbers or DEC_REG_NONE
	uint8_t scale;	     ///< 1, 2, 4, 8
	bool is_fs;	     ///< relative to the fs base
	bool is_gs;	     ///< relative to the gs base
	bool is_absolute;    ///< address known from the bytes: disp holds it
	bool is_read, is_write;
	bool is_addr32; ///< the address wraps at 32 bits (67 prefix)
	uint8_t size;	///< bytes, 1..64
	int64_t disp;	///< displacement, or the address when is_absolute
};

struct dec_insn {
	uint64_t rip;
	uint8_t len;
	uint8_t flow;	      ///< enum dec_flow
	uint8_t isa;	      ///< ZydisISASet: which instruction set extension it is of
	uint16_t mnemonic;    ///< ZydisMnemonic
	uint64_t target;      ///< of a direct jump or call
	uint8_t target_bytes; ///< .. its displacement, at the end of bytes: 1, 4; 0: another
	uint8_t code_len;     ///< of bytes: len, or more behind dec_insn_move()
	uint8_t bytes[15];
	uint8_t rel_at;	     ///< where in bytes a rip-relative disp32 lies; 0 = none
	uint64_t rel_target; ///< the address it names
	uint16_t gpr_read, gpr_written;	    ///< bit n: register n, whole or in part
	uint64_t other_read, other_written; ///< bit n: register 16+n above
	uint8_t vec_bytes[2]; ///< widest vector access: read, written (16, 32, 64)
	bool reads_flags, kills_flags; ///< kills: writes all six, reads none, always
	bool writes_flags;
	bool is_rep;
	bool is_string; ///< movs, stos, lods, scas, cmps: rsi, rdi move on
	bool is_vex;	///< VEX, EVEX, XOP: vector writes clear the bits above
	/** The operand, mem[0], is of lanes of so many bytes, of which bit n of mask register
	 * lane_mask has lane n read, or stored from store_reg; 0: all is, or is_slow_value. */
	uint8_t lane_bytes, lane_mask;
	bool is_plain_load; ///< low bytes of the register written are the bytes loaded
	uint8_t store_reg; ///< the low bytes of this register are what is stored, perhaps in part;
			   ///< DEC_REG_NONE when the value must be read back
	/** The inline instrumentation cannot record it; the machine steps it in C. Two
	 * strengths: for memory addresses and stores, and for all values. */
	bool is_slow_addr, is_slow_value;
	/** C has a part in it even when nothing is logged (translator/emulate.h): gs is the
	 * machine's own, images of the x87 state tell where code lies, protection keys
	 * would hit the machine. */
	bool is_slow_always;
	bool is_gs;	  ///< a memory operand is relative to gs
	bool shows_x87;	  ///< stores where the last x87 instruction lay
	bool is_emulated; ///< C does all of it
	bool is_integer;  ///< knows no state but general registers, flags and memory
	uint8_t n_mem;
	struct dec_mem mem[DEC_MEMS];
};

/** @return whether a mask says which lanes @p insn loads, and nothing else is odd about its operand. */
static inline bool dec_insn_loads_lanes(const struct dec_insn *insn)
{
	return insn->lane_bytes && !insn->mem[0].is_write;
}

/**
 * Decode the instruction at @p rip from @p bytes.
 *
 * @param avail  bytes that may be read.
 * @return false when the bytes are no instruction (flow is DEC_FLOW_TRAP, len 0).
 */
bool dec_insn_decode(const uint8_t *bytes, uint64_t avail, uint64_t rip,
		     struct dec_insn *ret);

/** Decoded instructions, by what they are: many of a program's are the same, and decoding one takes far longer than to
 * find it. Zeroed: none. */
struct dec_insns {
	// Whole pages; they fit into a processor's second cache.
	struct dec_insn known[4096]; ///< by what they are
	struct dec_insn
		placed[1024]; ///< .. and were, with the same key as those, by where
};

/** @return the instruction at @p rip, from its @p bytes, of which @p avail may be read; its flow is DEC_FLOW_TRAP, its len 0
 * where there is none. It is one of @p known, valid until the next call. */
const struct dec_insn *dec_insns_decode(struct dec_insns *known, const uint8_t *bytes,
					uint64_t avail, uint64_t rip);

/** @return some to use, of who gave them back last or new ones; NULL: no memory. By any thread. */
struct dec_insns *dec_insns_take(void);

/** Give back @p known, which may be NULL. */
void dec_insns_give(struct dec_insns *known);

enum { DEC_INSN_KEY = 8 }; ///< bytes

/** @return of what lies at @p bytes, at least DEC_INSN_KEY, a number that is the same for most of what dec_insn_again() takes
 * for the same. */
uint32_t dec_insn_key(const uint8_t *bytes);

/** Is what lies at @p bytes, at least @p insn->len, instruction @p insn, but for where what it names by its distance is? Then
 * make it the one there, at @p rip. */
bool dec_insn_again(struct dec_insn *insn, const uint8_t *bytes, uint64_t rip);

enum { DEC_REG_NAME = 8 }; ///< bytes

/** @return the register that says where @p insn, an indirect jump or call, leads; DEC_REG_NONE: its first operand
 * in memory does. */
uint8_t dec_insn_target_reg(const struct dec_insn *insn);

/** Have the operand of @p insn that is relative to rip, or has a displacement, lie @p by bytes further
 * on: what is executed is another instruction then, of the same length to whoever goes on behind
 * it. @return false: it has none, or one that does not reach. */
bool dec_insn_move(struct dec_insn *insn, int64_t by);

/** @return the register to which the operand is relative that dec_insn_move() would move, *@p disp its
 * displacement: DEC_REG_RIP, and the address that it names; DEC_REG_NONE: there is none. */
uint8_t dec_insn_names(const struct dec_insn *insn, int64_t *disp);

/** Write the name of register @p reg into @p buf: "rax", "zmm3", "k1", "flags". @return buf */
const char *dec_reg_name(unsigned reg, char buf[DEC_REG_NAME]);

/** @return the name of general register @p reg; static text. */
const char *dec_reg_gpr_name(unsigned reg);

/** @return the mnemonic of @p insn; static text. */
const char *dec_insn_name(const struct dec_insn *insn);

/** Write @p insn as text, in Intel's syntax, with addresses as they are at run time.
 * @return its length. */
size_t dec_insn_text(const struct dec_insn *insn, char *buf, size_t size);

/** @return the name of instruction set @p isa, as in dec_insn.isa. */
const char *dec_insn_isa_name(unsigned isa);

/** @return whether @p byte is a prefix that stands before REX, VEX and EVEX. */
static inline bool dec_insn_is_legacy_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

/** @return whether legacy instruction @p insn computes with 64 bits. */
static inline bool dec_insn_is_wide(const struct dec_insn *insn)
{
	const uint8_t *rex = insn->bytes;

	while (dec_insn_is_legacy_prefix(*rex))
		rex++;
	return (*rex & 0xf8) == 0x48;
}

/** @return whether what @p insn writes is zero whatever its register was: xor eax, eax and its kin. */
bool dec_insn_zeroes(const struct dec_insn *insn);

/** @return where memory operand @p m is with general registers @p gpr. */
static inline uint64_t dec_insn_address(const struct dec_mem *m, const uint64_t *gpr,
					uint64_t fs_base, uint64_t gs_base)
{
	uint64_t a = m->disp;

	if (m->base != DEC_REG_NONE)
		a += gpr[m->base];
	if (m->index != DEC_REG_NONE)
		a += gpr[m->index] * m->scale;
	if (m->is_addr32)
		a = (uint32_t)a;
	return a + (m->is_fs ? fs_base : m->is_gs ? gs_base : 0);
}

/** @return whether general register @p reg tells @p insn where memory is, and is not what that stores. */
static inline bool dec_insn_is_only_address(const struct dec_insn *insn, int reg)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base == reg || insn->mem[i].index == reg)
			return insn->store_reg != reg;
	return false;
}

/** @return whether a block ends behind @p insn. */
static inline bool dec_insn_ends_block(const struct dec_insn *insn)
{
	return insn->flow != DEC_FLOW_NEXT;
}

#endif
