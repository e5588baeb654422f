// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the machine logs for an instruction, in which order: the one description that
 * the emitter (translate.c) and the reader (machine/trace.c) both follow.
 *
 * The log is a sequence of 8-byte words. A block that ran leaves a header word (its
 * number; where others are counted, in its upper half, the low one of what a DEC_REC_QUIET would have) and
 * then its slots, so a block's record has the same size each time. Control
 * records (struct dec_rec) tell the rest: new blocks, system calls, partial blocks.
 */
#ifndef DECODE_TRANSLATOR_SLOTS_H
#define DECODE_TRANSLATOR_SLOTS_H

#include "decode/x86/insn.h"

/** What is logged. */
enum dec_log_mode {
	DEC_LOG_NONE, ///< nothing: the fastest replay
	DEC_LOG_FLOW, ///< blocks
	DEC_LOG_JUMPS, ///< blocks with an indirect jump or call at the end, and where it leads: others are
	///< announced and counted (DEC_REC_QUIET)
	DEC_LOG_CALLS, ///< calls and returns, and of blocks those with one of them or a jump at the end
	///< (dec_engine_tell_jumps()):
	///< others are counted (DEC_REC_QUIET)
	DEC_LOG_STORES, ///< .. and stores outside the stack with values, and blocks with one
	DEC_LOG_ALL_STORES, ///< blocks, stores with values, calls
	DEC_LOG_ADDRESSES,  ///< blocks, addresses of all loads and stores
	DEC_LOG_VALUES,	    ///< everything: addresses, values loaded, stored, defined
};

enum dec_slot_kind {
	// Logged before the instruction:
	DEC_SLOT_LOAD,	 ///< what memory operand `which` held
	DEC_SLOT_BEFORE, ///< GPR `which` before the instruction
	// Logged after it:
	DEC_SLOT_STORE, ///< what memory operand `which` holds, where a mask has lanes stored
	DEC_SLOT_LANES, ///< the same of one whose lanes were read by a mask; others are 0
	DEC_SLOT_GPR,	///< GPR `which`
	DEC_SLOT_VEC,	///< vector register `which`, `bytes` wide
	DEC_SLOT_K,	///< mask register `which`
};

struct dec_slot {
	uint8_t kind, which, bytes;
};

/** @return whether blocks of which nothing is to be told are counted in a log of @p mode, not logged. */
static inline bool dec_log_counts(enum dec_log_mode mode)
{
	return mode == DEC_LOG_JUMPS || mode == DEC_LOG_CALLS || mode == DEC_LOG_STORES;
}

/** @return the log bytes of a slot: whole words. */
static inline uint32_t dec_slot_size(const struct dec_slot *s)
{
	return (s->bytes + 7u) & ~7u;
}

enum { DEC_SLOTS = 64 }; ///< at most, for one instruction

/**
 * Which registers' values the reader knows at a point of a block. An address is never
 * logged: the registers it is made of are, and only where they are not known already.
 */
struct dec_known {
	uint16_t gpr; ///< bit n: register n
};

/** @return what is known where a block begins: everything in a full value log (the
 * reader keeps all registers) and where a watch logs them all. */
struct dec_known dec_known_start(enum dec_log_mode mode, bool is_watched);

/** @return by how much @p insn moves rsp when that is all it does to it (push, pop); 0
 * otherwise. The reader still knows rsp behind it. */
int dec_insn_rsp_step(const struct dec_insn *insn);

/** @return from which byte on @p insn clears each of the first sixteen vector registers, when that
 * is all it does (vzeroupper, vzeroall); -1 otherwise. The reader does the same. */
int dec_insn_cleared_from(const struct dec_insn *insn);

/** @return whether a block that @p insn is part of has a record under @p mode
 * for its sake. @p tells_jumps: behind its jumps there may be another's code, which is a call. */
bool dec_insn_is_told(const struct dec_insn *insn, enum dec_log_mode mode,
		      bool tells_jumps);

/** @return whether @p insn must be stepped in C under @p mode. */
bool dec_insn_is_slow(const struct dec_insn *insn, enum dec_log_mode mode);

/** List the slots of @p insn under @p mode. @p known is brought up to behind @p insn.
 * @return how many. */
int dec_insn_slots(const struct dec_insn *insn, enum dec_log_mode mode,
		   struct dec_known *known, struct dec_slot slots[DEC_SLOTS]);

/** Where a function stops that looks at texts, whose addresses are its first arguments. Bits. */
enum dec_look {
	DEC_LOOK_DIFFERENT = 1, ///< two texts, at the first difference
	DEC_LOOK_NUL = 2,	///< behind a NUL
	DEC_LOOK_FOUND = 4,	///< behind the byte that the second argument is
	DEC_LOOK_COUNT = 8,	///< at as many as the third argument says
	DEC_LOOK_SECOND = 16,	///< .. as the second one says
	DEC_LOOK_ANY_CASE = 32, ///< letters are alike
};

#define DEC_LOOK_MAX (1u << 20) ///< bytes that are looked at

/** Control records: `id` is above every block number. */
enum dec_rec_id {
	DEC_REC_BLOCK = 0x7fffff00, ///< a new block: struct dec_rec_block, then its bytes
	DEC_REC_PARTIAL, ///< only value[0] instructions of the block just before ran
	DEC_REC_STATE,	 ///< registers from here on: gpr[16], rip, fs_base; then, when an
			 ///< instruction was answered by C (rdtsc, cpuid), its length
			 ///< and bytes: it ran just before; then enum dec_state_why,
			 ///< SIGNAL: the address of the instruction that did not run;
			 ///< and the number (seq) of the event it comes from
	DEC_REC_SYSCALL, ///< nr, ret, rip, six arguments, file, its offset, brk, r11,
	///< fs_base, event (seq): a system call was answered, or is a thread's
	///< last, which has no event of its own
	DEC_REC_ACCESS, ///< struct dec_rec_access: of the call that is answered next, in a full value log
	DEC_REC_WRITE, ///< struct dec_rec_write: memory written in bulk
	DEC_REC_HEAP,  ///< fn, args[3]: an allocator call the recorder saw
	DEC_REC_SLOW,  ///< struct dec_rec_slow: one instruction stepped in C
	DEC_REC_LOOK, ///< n, is_equal: the function that begins next looks at n bytes of its texts, up to
	///< DEC_LOOK_MAX; is_equal: of both, and finds no difference (look.h)
	DEC_REC_QUIET, ///< 0 less the instructions up to here that are in no record, since the
	///< last of these that is 0: there the count begins
	DEC_REC_THREAD, ///< tid, left_rip, is_left_in_call, event: it runs from here on, a
			///< STATE follows. The one that ran stands at left_rip (0: none
			///< ran), perhaps inside the system call there. In a full value
			///< log then its vector and mask registers
};

/** Why there is a DEC_REC_STATE. */
enum dec_state_why {
	DEC_STATE_NOW,	  ///< the log begins, or another thread runs
	DEC_STATE_INSN,	  ///< an instruction was answered by C
	DEC_STATE_CALL,	  ///< a system call changed more than its result
	DEC_STATE_SIGNAL, ///< a handler begins
	DEC_STATE_OMITTED, ///< a piece was left out, which counts as one step; WRITEs of what
			   ///< it changed in memory follow
	DEC_STATE_REP, ///< the repeated string instruction before ran in part only; it
		       ///< goes on at the next instruction, as one of its own
};

/** The words of a DEC_REC_THREAD before its registers. */
#define DEC_REC_THREAD_WORDS 4

/** The 32 vector registers and 8 masks of a DEC_REC_THREAD. */
#define DEC_REC_THREAD_VECTORS (32 * 64 + 8 * 8)

struct dec_rec {
	uint32_t id;
	uint32_t size; ///< bytes of the whole record, a multiple of 8
	uint64_t value[];
};

struct dec_rec_block {
	uint32_t id, size;
	uint32_t block, n_insns;
	uint64_t rip;
	uint32_t n_bytes;
	uint8_t is_watched; ///< 16 GPRs precede the slots
	uint8_t mode;
	uint8_t pad[2];
	uint8_t bytes[];
};

/** One reference of a slow instruction, followed by its data (padded to 8 bytes)
 * unless is_far: then DEC_REC_WRITE records with by_insn set follow the instruction. */
struct dec_rec_ref {
	uint8_t is_def, is_mem, reg, is_far;
	uint32_t bytes;
	uint64_t addr;
};

struct dec_rec_slow {
	uint32_t id, size;
	uint64_t rip;
	uint8_t len, n_refs, is_watched, pad[5];
	uint8_t bytes[16];
	uint64_t gpr[16]; ///< before
			  // n_refs times struct dec_rec_ref with its data
};

/** dec_access.reg: the pointer is a word of memory. */
enum { DEC_ACCESS_WORD = 0xff };

#define DEC_ACCESS_MOST 0x7ffff000u ///< bytes: no call moves more

/** What a system call accesses of its caller's memory (machine/call_access.h). */
struct dec_access {
	uint64_t addr, size; ///< not 0, nor more than DEC_ACCESS_MOST
	uint64_t at;	     ///< of DEC_ACCESS_WORD: where the pointer is
	uint32_t offset;     ///< of addr from what the pointer is
	uint8_t reg;	     ///< general register with the pointer
	bool is_write;
	bool is_bounds; ///< all of it is accessed by that pointer
	bool is_value;	///< what it reads matters
};

struct dec_rec_access {
	uint32_t id, size;
	struct dec_access access[];
};

struct dec_rec_write {
	uint32_t id, size;
	uint64_t addr, n_bytes;
	uint64_t by_insn; ///< 1: written by the slow instruction before; 0: by the kernel
	uint8_t bytes[];
};

#endif
