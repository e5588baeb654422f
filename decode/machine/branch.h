// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What if: runs that begin where a machine stands, with something altered, and go on in the
 * *loose* world. There system calls are answered by a model of what the capture knows, never
 * by the host, and an end that was not recorded is a result, no divergence:
 *
 *   - As long as the altered run makes the recorded calls with the recorded registers, it gets
 *     the recorded answers, in the recorded order of threads.
 *   - From the first other one on, files, pipes and sockets give what was read of them, from the
 *     altered run's own offsets; memory calls are done; threads take turns and wait for each
 *     other; time goes on; output is collected. What was never recorded ends the run: it left
 *     the recorded inputs.
 *
 * A branch runs in a fork of the machine's process, with its warm code; the machine itself stays
 * where it is. One fork runs several, and takes back what each did (rollback.h). Repeated, a branch
 * gives the same.
 *
 * A pointer that an alteration makes (REG, MEMORY) to where the machine has memory of its own
 * faults, as it did without a machine: that begins anew elsewhere, and its checkpoints are gone.
 * A pointer that the altered run computes, or that is set astray, may meet it unseen: its places
 * are random, 2 MiB (more for much code) within 1 GiB of the guest's code, half of one below
 * 2 GiB, the rest in 2^47 bytes.
 */
#ifndef DECODE_MACHINE_BRANCH_H
#define DECODE_MACHINE_BRANCH_H

#include "decode/machine/machine.h"

enum dec_alter_kind {
	DEC_ALTER_REG,	  ///< general register (enum cap_gpr) `reg` becomes `value`
	DEC_ALTER_MEMORY, ///< `bytes` (1 to 8) bytes at `addr` become those of `value`
	DEC_ALTER_SKIP, ///< the instruction is not executed; of a call: nor what it calls
	DEC_ALTER_INVERT, ///< a conditional branch goes the other way
	/** Thread number `value` goes on in the place of the running one, if it can; from there
	 * on threads take turns. */
	DEC_ALTER_THREAD,
	/** What the instruction accesses in memory, or the address that it computes (lea), lies
	 * `value` bytes further on: so a variable has another place. Of one memory operand. */
	DEC_ALTER_MOVE,
};

/** One alteration, and when. */
struct dec_alter {
	enum dec_alter_kind kind;
	/** At which instruction, before it is executed; 0: at once, where the branch begins
	 * (REG, MEMORY). */
	uint64_t rip;
	/** The how manyth time that it is reached, from 1; and then each `every`th time again,
	 * 0 = never. */
	uint64_t nth, every;
	uint8_t reg;
	uint8_t bytes;
	uint64_t addr, value;
};

#define DEC_ALTERS_MAX 256

enum dec_moved_kind {
	DEC_MOVED_AREA,	 ///< [at, at + size), whole pages, is memory, empty
	DEC_MOVED_BYTES, ///< `size` bytes at `at` are copied to `to`
	DEC_MOVED_WORD,	 ///< the 8 bytes at `at` become `to`: a pointer to what has moved
	/** What the instruction at `at` names in memory, relative to rip or by a displacement,
	 * lies `to` bytes (signed) further on, whenever it is executed. */
	DEC_MOVED_INSN,
	/** `at` is the entry of the function of the allocator that `to`, an enum dec_moved_call, says:
	 * its blocks get more room, and DEC_MAGIC_BYTES just before and behind them have values that nobody else may change.
	 * Where they are changed when a block is given back, or at the end, the run ends with
	 * SIGABRT, fault_addr being the first of them. */
	DEC_MOVED_CALL,
};

enum dec_moved_call {
	DEC_MOVED_MALLOC,
	DEC_MOVED_CALLOC,
	DEC_MOVED_REALLOC,
	DEC_MOVED_FREE,
	DEC_MOVED_USABLE, ///< malloc_usable_size(): from then on all behind where the block begins is the program's
};

#define DEC_MAGIC_BYTES 16

/** A part of a layout: where variables lie in a branch that lie elsewhere in the recorded run. */
struct dec_moved {
	enum dec_moved_kind kind;
	uint64_t at, to, size;
};

/** How a branch ended. */
enum dec_fate {
	DEC_FATE_EXIT,	  ///< it exited; value: the status
	DEC_FATE_SIGNAL,  ///< a signal killed it; value: which
	DEC_FATE_HANG,	  ///< all that runs waits for what nobody will do
	DEC_FATE_LIMIT,	  ///< it had not ended within the limit
	DEC_FATE_LEFT,	  ///< it needed what was never recorded; text: what
	DEC_FATE_END,	  ///< the recording ends there (detached, unfinished)
	DEC_FATE_MACHINE, ///< the machine cannot execute this; text: what
};

/** What was written to one place. */
struct dec_written {
	uint64_t bytes, hash; ///< FNV-1a, 64 bits, of all of them
};

struct dec_outcome {
	enum dec_fate fate;
	int value;
	uint64_t position;	  ///< steps from exec, as if it were the recorded run
	uint64_t rip, fault_addr; ///< SIGNAL of a fault: its; else where it stood
	uint32_t tid;
	uint64_t n_altered; ///< how often an alteration took place
	/** Where it left the recorded calls: position; UINT64_MAX: it made them all. */
	uint64_t parted;
	struct dec_written out[3]; ///< to 1, 2 and all others, from the branch on
	char text[256];
};

/**
 * Run from where @p m stands, altered, in a fork of its process; @p m does not move.
 *
 * @param limit  instructions at most.
 * @return NULL, whatever became of it; ERR_USAGE (an alteration that cannot be), ERR_OS.
 */
struct err *dec_machine_branch(struct dec_machine *m, const struct dec_alter *alters,
			       size_t n, uint64_t limit, struct dec_outcome *ret);

struct dec_nullify;
struct dec_nullified;

/** One of several branches. */
struct dec_branch {
	const struct dec_alter *alters;
	size_t n;
	uint64_t limit;
	struct dec_outcome outcome; ///< set by dec_machine_branches()
	/** NULL; or it is a nullifying one (nullify.h), without other alterations, and what
	 * there is to tell of it goes to `told`. */
	const struct dec_nullify *nullify;
	struct dec_nullified *told;
	bool is_laid_out; ///< it begins with the layout of dec_machine_lay_out()
	/** Set: it is DEC_FATE_MACHINE as it wanted the machine's own addresses, wherever the
	 * machine lay. */
	bool has_collided;
};

/** Keep @p n parts of a layout for the branches that begin where @p m stands, in the order in which they are
 * done, those of instructions ascending. It is forgotten when @p m moves. */
struct err *dec_machine_lay_out(struct dec_machine *m, const struct dec_moved *moved,
				size_t n);

/** Run @p n branches from where @p m stands, @p at_once at a time. As dec_machine_branch(). */
struct err *dec_machine_branches(struct dec_machine *m, struct dec_branch *branches,
				 size_t n, unsigned at_once);

/* ---- a branch to walk in ------------------------------------------------------------------ */

/**
 * Leave the recorded run where @p m stands, until dec_machine_return(): from here on it goes on
 * in a fork of its process, in the loose world, as a branch does. It can be altered there,
 * be looked at, and dec_machine_run() takes it on, to breakpoints, too; DEC_AT_END is its end,
 * of whatever kind. Threads take turns.
 *
 * It cannot go back meanwhile: neither dec_machine_seek(), nor logs, checkpoints, traps.
 */
struct err *dec_machine_stray(struct dec_machine *m);

/** The same, and nobody sleeps: each sleep is over at once, as time orders nothing. */
struct err *dec_machine_stray_awake(struct dec_machine *m);

/** Throw that away and stand at @p position, where it began. @p ret as dec_machine_seek(). */
struct err *dec_machine_return(struct dec_machine *m, uint64_t position,
			       struct dec_where *ret);

/** Astray, give register @p reg (DEC_REG_RIP, too; not DEC_REG_X87) of thread @p tid, which
 * then is the one that runs, the value that dec_machine_thread_reg() would tell.
 * @return ERR_RANGE: there is no such thread or register, or it cannot go on. */
struct err *dec_machine_set_reg(struct dec_machine *m, uint32_t tid, int reg,
				const uint8_t value[64]);

/** Astray, write @p size bytes of memory. @return ERR_RANGE where there is none that may be
 * written; what is before that is written. */
struct err *dec_machine_write(struct dec_machine *m, uint64_t addr, const void *bytes,
			      size_t size);

/** What has become of it, astray: set behind DEC_AT_END; `parted` before, too. */
struct err *dec_machine_outcome(struct dec_machine *m, struct dec_outcome *ret);

#endif
