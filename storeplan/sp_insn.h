// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One instruction as the analysis of values sees it: what it reads and writes as
 * *locations*, whether its results follow from its inputs alone, how it can be undone,
 * and what a uprobe on it costs. A pure function of the bytes (Zydis).
 */
#ifndef STOREPLAN_SP_INSN_H
#define STOREPLAN_SP_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

/** Where a value can be inside a function. */
enum {
	SP_GPRS = CAP_GPRS, ///< locations 0..15, enum cap_gpr
	SP_FLAGS = 16,
	SP_XMM = 17, ///< 17..32: the low 16 bytes of xmm0..xmm15
	SP_XMMS = 16,
	SP_SLOT = 33, ///< from here on: words of the function's own stack frame
	SP_LOCATIONS = 128,
	SP_NONE = 255,
};

/** A set of locations, bit n = location n. */
typedef unsigned __int128 sp_set;

#define SP_BIT(n) ((sp_set)1 << (n))
#define SP_ALL_GPRS ((sp_set)0xffff)

enum sp_flow {
	SP_FLOW_NEXT,
	SP_FLOW_JMP,
	SP_FLOW_JCC, ///< jrcxz, loop too
	SP_FLOW_JMP_IND,
	SP_FLOW_CALL,
	SP_FLOW_CALL_IND,
	SP_FLOW_RET,
	SP_FLOW_STOP, ///< ud2, hlt, int3: nothing follows
};

enum { SP_MEMS = 2 };

struct sp_mem {
	uint8_t base, index; ///< GPR or SP_NONE
	uint8_t scale;
	bool is_absolute; ///< disp is the address
	bool is_fs;	  ///< relative to the thread's fs base
	bool is_odd;	  ///< gs, 32-bit or vector address: not computed here
	bool is_read, is_write;
	uint16_t size;
	int64_t disp;
};

/** How what it wrote is undone. */
enum sp_undo_kind {
	SP_UNDO_NONE,
	SP_UNDO_COPY, ///< all of a location was copied: the copy tells the original
	SP_UNDO_SELF, ///< `dst op= rest`: the result and the rest tell what dst was
};

struct sp_insn {
	uint64_t at;	 ///< address
	uint64_t target; ///< of a direct branch
	/** Of the pointer that an indirect branch goes through, or what lea says, when the
	 * bytes tell; 0 otherwise. */
	uint64_t slot;
	uint8_t len;
	uint8_t flow;	   ///< enum sp_flow
	uint16_t mnemonic; ///< ZydisMnemonic
	sp_set reads;	   ///< registers that go into its results, not into addresses
	sp_set writes; ///< registers, in whole or (then they are in reads too) in part
	uint8_t undo;  ///< enum sp_undo_kind
	bool is_exact; ///< its results are a function of its inputs that we know
	bool has_exact_flags; ///< the flags it writes are, too
	bool is_rep;
	bool is_string;	      ///< movs, stos, lods, scas, cmps
	bool is_push, is_pop; ///< of a word; rsp moves
	bool is_lea;
	bool is_emulated;    ///< the kernel emulates it under a uprobe
	bool is_unprobable;  ///< nobody should put a uprobe on it
	bool is_other_write; ///< it writes memory that no operand says (xsave and its kin)
	int32_t step; ///< constant that it adds to the one register it writes, has_step
	bool has_step;
	uint8_t step_from; ///< the register that the constant is added to
	uint8_t n_mem;
	struct sp_mem mem[SP_MEMS];
};

/** Decode what lies at @p bytes. @return false: no instruction. */
bool sp_insn_decode(const uint8_t *bytes, size_t avail, uint64_t at, struct sp_insn *ret);

/** @return the operand that it stores to, NULL when it stores nothing. */
const struct sp_mem *sp_insn_store(const struct sp_insn *i);

/** @return its name; static text. */
const char *sp_insn_name(const struct sp_insn *i);

#endif
