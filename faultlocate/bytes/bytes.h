// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is each byte: which variable's, and has it a value? Two trackers that go along a run,
 * instruction by instruction, outside of what heapgraph/ knows:
 *
 *   objects   Which variable, of a frame or static, is a pointer to? An access by it elsewhere, or when
 *	       its function has returned, is told.
 *   values    Which bits of registers and memory were never given a value (new blocks and frames)? Where such
 *	       decide something it is told: a branch, an address, what the kernel gets. A copy is
 *	       no use (Seward and Nethercote's definition, memcheck's).
 *
 * What is told are facts; which of them are mistakes rules say (specs/rules/).
 */
#ifndef FAULTLOCATE_BYTES_BYTES_H
#define FAULTLOCATE_BYTES_BYTES_H

#include "base/base.h"
#include "capture/capture.h"
#include "decode/symbols/object.h"
#include "heapgraph/hg_access.h"

/** An access by a pointer to a variable, to what is not that one's. */
struct fl_bytes_access {
	struct dec_object object;
	bool is_static;
	bool is_block; ///< object is of the heap: a block, or an array in it
	bool is_gone;  ///< its function has returned
	bool is_ended; ///< the block that declares it has ended
	bool is_write;
	uint64_t addr, size;
};

/** What decides something though it has no value. */
enum fl_bytes_use {
	FL_USE_BRANCH,	///< the condition of a branch
	FL_USE_TARGET,	///< where a jump or call leads to
	FL_USE_ADDRESS, ///< the address of an access
	FL_USE_TEXT,	///< what a string function looks at
	FL_USE_SYSCALL, ///< an argument of a system call
	FL_USE_OUTPUT,	///< memory that the kernel reads
	FL_USE_SIZE,	///< what the allocator is asked for, or gets back
	FL_USE_READ,	///< none: it is read, perhaps to be copied
};

/** Where it is: the same of both. */
struct fl_bytes_place {
	uint64_t time, pc, statement;
	struct frames *frames; ///< the calls under way, until the call returns
};

/** Who is told; each returns NULL or an error, which ends it. NULL: that tracker does not run. */
struct fl_bytes_events {
	void *ctx;
	struct err *(*access)(void *ctx, const struct fl_bytes_place *p,
			      const struct fl_bytes_access *x);
	/** @p addr: the first byte, of memory that is used or read; else 0. */
	struct err *(*use)(void *ctx, const struct fl_bytes_place *p,
			   enum fl_bytes_use use, uint64_t addr);
	/** The load at @p pc looks through the stack, whatever lies there: what it reads has a value, and is of
	 * no variable. All that was told is to be forgotten: the replay begins again. */
	void (*again)(void *ctx, uint64_t pc);
	uint64_t until;	  ///< so many instructions of the run; 0: all
	bool wants_reads; ///< use is told of FL_USE_READ, too
	bool is_plain; ///< each instruction by a step: the same, in more than twice the time
};

/** Replay @p c and tell @p events. @return ERR_DIVERGED, ERR_NOMEM, what a machine does. */
struct err *fl_bytes_find(const struct capture *c, struct dec_symbols *symbols,
			  const struct fl_bytes_events *events, bool with_progress);

#endif
