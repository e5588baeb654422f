// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A branch in which some instructions, and all that they influence, have no effect (paper 003,
 * Figures 7.1 and 7.2), and of which each value's origin is known at its end.
 *
 * A corrupt bit is kept of each register and of each byte of memory: the NaT bit of Itanium's
 * deferred exceptions. What uses something corrupt is not executed, and what it would have
 * defined is corrupt; what is defined by clean things is clean.
 *
 *   - An omitted store keeps what is in memory, at an address that is corrupt nothing is marked.
 *   - A branch by a corrupt condition goes on where both ways join (x86/join.h), or returns from
 *     the function; what the ways between write at fixed places is corrupt.
 *   - A call of a corrupt address is passed over. A return goes where the call said, as what
 *     would have overwritten that was omitted, and so are the stack and frame pointers.
 *   - A system call with a corrupt argument, or that reads corrupt memory, is not made; its
 *     result is corrupt. The end of a process or thread is.
 *
 * The origin of a value is the instruction that made it: copies between registers and variables
 * are gone through, and so are parameters. A store through a pointer or by an index makes a
 * value, and so does a call that returns one.
 */
#ifndef DECODE_MACHINE_NULLIFY_H
#define DECODE_MACHINE_NULLIFY_H

#include <stdbool.h>
#include <stdint.h>

#define DEC_POINTS_MAX 48
#define DEC_KNOWN_ENTRIES 16 ///< of the allocator; that never return
#define DEC_ORIGINS_MAX 4
#define DEC_CHAIN_MAX 24
#define DEC_SAVED_REGS 6
#define DEC_OMITTED_MAX 1024
#define DEC_PRINTED_MAX 4096

/** A point of suppression: an instance of an instruction. */
struct dec_point {
	uint64_t rip, nth; ///< the how manyth time in this branch, from 1
	bool is_each;	   ///< and each time behind that
	/** The value is in register `reg` when `rip` is reached (a call has returned it): that
	 * is corrupt then, and the instruction is executed. Else it is not. */
	bool is_arrival;
	uint8_t reg;
	uint64_t
		addr; ///< memory that it defined in the crashing run, `size` bytes; 0: none
	uint32_t size;
};

enum dec_origin_kind {
	DEC_ORIGIN_NONE,
	DEC_ORIGIN_MADE,   ///< by instruction `rip` at `position`
	DEC_ORIGIN_BEFORE, ///< it was in memory [addr, addr+size) when the branch began
	DEC_ORIGIN_REG,	   ///< it was in register `reg` then
};

/** Where a value comes from. */
struct dec_source {
	uint8_t kind;	 ///< enum dec_origin_kind
	bool is_arrival; ///< MADE: a call returned it to `rip`
	bool is_right;	 ///< MADE: by the allocator for itself, or a variable's address
	uint8_t reg;
	uint32_t size;
	uint64_t rip, position, addr;
};

struct dec_origin {
	struct dec_source made;	    ///< the value, through all copies
	struct dec_source assigned; ///< the last assignment to a variable, no parameter
	struct dec_source address;  ///< of the place that it was loaded from
	struct dec_source beyond;   ///< of the place that this address was loaded from
	/** Of a place in a block of the allocator's: the call that gave it back, behind where that address was
	 * made; or (is_arrival) the return that gave it out, behind where the value was. Else NONE. */
	struct dec_source block;
	uint64_t at;	///< MADE: memory that it was put into then; 0: none or not known
	uint64_t value; ///< when it was loaded, or returned; `bytes` of it, 0: not known
	uint8_t bytes;
};

/** A call under way. */
struct dec_nullify_call {
	uint64_t entry, ret; ///< the function's; where it returns to
	uint64_t slot;	     ///< where the return address lies
	uint64_t tail;	     ///< the jump by which the function left for another; 0: none
	uint64_t saved[DEC_SAVED_REGS]; ///< rbx, rbp, r12 to r15 as the caller has them
};

/** A call under way at the end. */
struct dec_nullify_frame {
	struct dec_nullify_call call;
	uint64_t branch; ///< its last conditional branch; 0: none
	uint32_t n_branch, n_arg;
	struct dec_origin by[DEC_ORIGINS_MAX]; ///< what decided it
	struct dec_origin arg[2];	       ///< its first argument
};

/** How it is done: the paper's three implementations (7.2, 7.3). Their results are the same. What
 * is clean runs in emitted code (translator/nat.h), the rest an instruction at a time. */
enum dec_nullify_mode {
	DEC_NULLIFY_SOFTWARE, ///< each register and word is tested by each instruction
	DEC_NULLIFY_NAT_REG,  ///< registers have NaT bits, memory is tested
	/** So has memory: pages with such words are inaccessible, so that the processor tests
	 * them; where that is asked too often memory is tested as above, for a while. */
	DEC_NULLIFY_NAT_MEM,
	DEC_NULLIFY_MODES
};

/** What a function of the allocator's does. */
enum dec_nullify_allocator {
	DEC_NULLIFY_OTHER,
	DEC_NULLIFY_MALLOC,
	DEC_NULLIFY_CALLOC,
	DEC_NULLIFY_REALLOC,
	DEC_NULLIFY_FREE,
};

/** What is asked. */
struct dec_nullify {
	enum dec_nullify_mode mode;
	uint8_t granule; ///< bytes of memory that are NaT together: 4 or 8; else each alone
	/** From this position on it goes an instruction at a time, and where values come from is
	 * kept; before that quickly, if it can be. 0: all of it; UINT64_MAX: never, of which
	 * there are no origins, and of calls under way neither entry nor branch. */
	uint64_t full_from;
	struct dec_point points[DEC_POINTS_MAX];
	uint32_t n_points;
	uint64_t allocator
		[DEC_KNOWN_ENTRIES];	 ///< entries of malloc(), free() ...; 0: none
	uint8_t does[DEC_KNOWN_ENTRIES]; ///< enum dec_nullify_allocator, of each
	uint64_t no_return[DEC_KNOWN_ENTRIES];	      ///< of exit(), abort() ...
	uint64_t counted[DEC_POINTS_MAX];	      ///< instructions to count; 0: none
	struct dec_nullify_call calls[DEC_CHAIN_MAX]; ///< under way then, innermost first
	uint32_t n_calls;
	/** Whose origin is to be told at the end: `size` bytes of memory; or a register; else
	 * (kind NONE) that of what made it crash. */
	struct dec_source asked;
};

struct dec_nullified {
	struct {
		uint64_t position; ///< 0: it was not met
		uint32_t n_callers;
		uint64_t caller[DEC_CHAIN_MAX]; ///< return addresses, innermost first
	} fired[DEC_POINTS_MAX];
	uint64_t counts[DEC_POINTS_MAX]; ///< as asked.counted
	uint64_t n_steps, n_omitted;	 ///< instructions; of them, not executed
	uint64_t n_slow;		 ///< of them, not in emitted code
	bool is_quick;			 ///< some were
	uint32_t n_joined, n_calls;	 ///< constructs, system calls left out
	uint32_t n_frames;
	struct dec_nullify_frame frames[DEC_CHAIN_MAX]; ///< innermost first
	/** Around them: what another thread than the first was in when it was met, whose calls are not
	 * known. */
	struct dec_nullify_frame outermost;
	uint64_t crash; ///< the instruction that crashed; 0: it did not
	bool is_known;	///< that is one: control did not go astray
	bool is_overrun; ///< what lies beside a block was changed (DEC_MOVED_CALL), by what causes[] has
	uint64_t stack; ///< the stack pointer at the end
	uint32_t n_causes;
	struct dec_origin causes[2 * DEC_ORIGINS_MAX];
	uint32_t n_rips;
	struct {
		uint64_t rip, n;
	} omitted[DEC_OMITTED_MAX]; ///< instructions, and how often each
	uint32_t n_printed[2];	    ///< what it wrote to 1 and 2 first
	char printed[2][DEC_PRINTED_MAX];
};

#endif
