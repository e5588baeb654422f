// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Breakpoints, watchpoints and events to stop at, any number of them, in both directions. They
 * are found in the machine's log, a stretch of the run at a time, so a watched variable costs no
 * single steps, and going back costs a run from the nearest checkpoint. A stretch in which nobody
 * writes to the pages of what is watched is not even logged, as long as only writes, calls,
 * signals, switches and mappings are looked for.
 *
 * What a thread does by an instruction (read, write, a system call, a mapping) has that
 * instruction's position: forward the machine stands behind it, backward before it, so that the
 * other direction finds it again. What is there between two instructions (one about to be
 * executed, a handler that begins, a thread that goes on) has the later one's position, and the
 * machine stands there, in that handler or thread.
 */
#ifndef DECODE_MACHINE_TRAP_H
#define DECODE_MACHINE_TRAP_H

#include "decode/machine/machine.h"

/** On what to stop. Bits: a watchpoint for any access is DEC_TRAP_READ | DEC_TRAP_WRITE. */
enum dec_trap_on {
	DEC_TRAP_EXECUTE = 1, ///< the instruction at addr, before it is executed
	DEC_TRAP_READ = 2,    ///< memory [addr, addr + size), by the program
	/** The same, by the program or the kernel; also that a call maps it, unmaps it, or drops what
	 * it holds. */
	DEC_TRAP_WRITE = 4,
	DEC_TRAP_SYSCALL = 8, ///< a system call (that was answered, or ended its thread)
	DEC_TRAP_SIGNAL = 16, ///< a handler begins
	DEC_TRAP_SWITCH = 32, ///< another thread goes on
	DEC_TRAP_LOAD = 64,   ///< a file is mapped executable
	/** An instruction outside [addr, addr + size), before it is executed. */
	DEC_TRAP_LEAVE = 128,
};

/** Where to stop. */
struct dec_trap {
	unsigned on; ///< enum dec_trap_on
	uint64_t addr;
	uint64_t size;	///< READ, WRITE: bytes, from 1; LEAVE: from 0
	int64_t number; ///< SYSCALL: which; -1: any
	uint32_t tid;	///< only by this thread (SWITCH: to it); 0: any
	/** EXECUTE: only where one of these holds, which is asked where the program runs: that
	 * costs next to nothing. None: always. Borrowed. */
	struct dec_agent_conditions only_if;
	/** A condition, or NULL: asked where the machine stands behind the access or call, or at
	 * the instant of the others, in both directions. It may read the machine, not move it. */
	bool (*holds)(void *ctx, struct dec_machine *m);
	void *ctx;
};

/** What was stopped at. */
struct dec_trapped {
	size_t trap; ///< index; SIZE_MAX: none
	unsigned on; ///< one of its bits
	uint64_t position;
	uint32_t tid;
	uint64_t addr, size;	///< READ, WRITE: of the access; LOAD: of the mapping
	int64_t number;		///< SYSCALL
	bool is_by_kernel;	///< WRITE: for a system call or a handler's frame
	struct dec_where where; ///< where the machine stands
};

/**
 * Run forward to the next of @p traps, up to @p until.
 *
 * Where several are met at one stop, the first of @p traps is told; an instruction that is stopped
 * at is one stop, what it reads and writes the next. Without any the machine stands at @p until, or
 * where the run ended.
 *
 * @return ERR_USAGE (a trap that cannot be), as dec_machine_seek().
 */
struct err *dec_machine_forward(struct dec_machine *m, const struct dec_trap *traps,
				size_t n, uint64_t until, struct dec_trapped *ret);

/** dec_machine_forward() to the @p nth that is met, from 1; 0: to @p until. No two of @p traps may be
 * met at one position, and none has a condition. @p ret_met: how many were met, that one too. */
struct err *dec_machine_forward_nth(struct dec_machine *m, const struct dec_trap *traps,
				    size_t n, uint64_t until, uint64_t nth,
				    uint64_t *ret_met, struct dec_trapped *ret);

/** Takes one that was met, but for its `where`; it must not touch the machine. @return NULL to go on. */
typedef struct err *dec_trapped_fn(void *ctx, const struct dec_trapped *t);

/** Run forward to @p until, once, and tell @p each of all of @p traps that are met on the way; none
 * has a condition. As dec_machine_forward(). */
struct err *dec_machine_forward_each(struct dec_machine *m, const struct dec_trap *traps,
				     size_t n, uint64_t until, dec_trapped_fn *each,
				     void *ctx);

/** Run back to the last of @p traps before where @p m stands, down to @p since. Without one the
 * machine stands at @p since. Lays checkpoints. As dec_machine_forward(). */
struct err *dec_machine_back(struct dec_machine *m, const struct dec_trap *traps,
			     size_t n, uint64_t since, struct dec_trapped *ret);

/** Run back to the last write to any of @p size bytes at @p addr. As dec_machine_back(). */
struct err *dec_machine_last_write(struct dec_machine *m, uint64_t addr, uint64_t size,
				   uint64_t since, struct dec_trapped *ret);

/** So much is asked at once, going back, whether it can be left out. Tests make it small. */
extern uint64_t dec_trap_piece;

#endif
