// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The call stack, followed from the log's calls, returns and tail calls. Answers to whom a
 * store in a library without line information belongs: the innermost caller that has lines.
 */
#ifndef DECODE_HISTORY_FRAMES_H
#define DECODE_HISTORY_FRAMES_H

#include "base/base.h"
#include "decode/x86/insn.h"
#include "decode/symbols/symbols.h"

#define FRAMES_RECENT 4096

struct frame {
	uint64_t return_rip; ///< of a tail call: behind the jump
	uint64_t rsp;	     ///< where the return address lies
	uint64_t time;	     ///< of the call
	/** 1 + index of the innermost frame, this or outer, whose return address is in a
	 * module with lines; 0 = none. */
	uint32_t own;
	uint32_t users; ///< the same of code that is not of libraries' headers
};

/** One thread's calls. */
typedef VEC(struct frame) frame_stack;

/** A thread that does not run. */
struct frames_thread {
	uint32_t tid;
	frame_stack stack;
};

/** Whose is it? */
enum frames_code {
	FRAMES_UNKNOWN,
	FRAMES_USERS,
	FRAMES_HEADERS, ///< in the user's module, of a library's header, as templates are
	FRAMES_FOREIGN,
};

struct frames {
	frame_stack stack; ///< of the thread that runs
	uint32_t tid;	   ///< which that is; 0 before dec_frames_switch()
	/** The last basic block ended with a jump of the user's: behind it. Else 0; calls
	 * and returns make it so. */
	uint64_t jump_end;
	VEC(struct frames_thread) threads; ///< that ran, and none (tid 0), the first
	struct map by_tid;		   ///< -> index of these
	size_t thread;			   ///< of these, that which runs
	/** A thread has changed to another stack, and may again: calls that are under way there may be told no more. */
	bool has_stacks;
	VEC(uint64_t) handlers; ///< where those of signals return by, the last ones
	uint64_t
		left; ///< the last return of the user's to where none of it is under way, as main() does; 0: none
	struct dec_symbols *symbols;
	uint32_t n_mapped; ///< how often modules were mapped that symbols got
	struct map own;	   ///< instruction address -> enum frames_code
	struct {
		uint64_t rip;
		uint8_t code;
	} recent[FRAMES_RECENT]; ///< of own, by address; rip 0: nothing
	bool exe_has_lines;	 ///< when not, the executable itself counts as own
	const char *exe;
	/** Paths of modules, borrowed: when there are any, all other modules' code is the
	 * user's, but for what has no lines in modules that have some. */
	const char *const *foreign;
	size_t n_foreign;
};

/** No thread, no calls. @p symbols, @p exe (the program's path): borrowed until
 * dec_frames_deinit(). */
void dec_frames_init(struct frames *f, struct dec_symbols *symbols, const char *exe);
void dec_frames_deinit(struct frames *f);

/** Thread @p tid runs from here on, with the calls that it was in. @return ERR_NOMEM. */
struct err *dec_frames_switch(struct frames *f, uint32_t tid);

/** @return whether code at @p rip is of the user's modules: it has lines, or it is the executable's
 * and nothing has. */
bool dec_frames_is_own(struct frames *f, uint64_t rip);

/** .. and is not of a library's header alone? */
bool dec_frames_is_users(struct frames *f, uint64_t rip);

/** Modules changed: forget what was known of code pages. */
void dec_frames_refresh(struct frames *f);

/** A call pushed @p return_rip at @p rsp at @p time. @return ERR_NOMEM. */
struct err *dec_frames_call(struct frames *f, uint64_t return_rip, uint64_t rsp,
			    uint64_t time);

/** A return popped the address at @p rsp: frames at or below it are gone. */
void dec_frames_return(struct frames *f, uint64_t rsp);

/** .. before that: it may be one to another stack, which nobody called from here. */
void dec_frames_meet_return(struct frames *f, uint64_t rsp);

/** An indirect jump led to where the stack ends at @p rsp: what was thrown landed, or a stack was changed to. */
void dec_frames_land_thrown(struct frames *f, uint64_t rsp);

/** A signal's handler begins, which is to return by the address at @p rsp. @return ERR_NOMEM. */
struct err *dec_frames_handle(struct frames *f, uint64_t rsp);

/** That was by the return at @p rip. */
static inline void frames_left(struct frames *f, uint64_t rip)
{
	size_t n = f->stack.size;

	if ((!n || !f->stack.data[n - 1].own) && dec_frames_is_own(f, rip))
		f->left = rip;
}

/** @return what is to be @p f's jump_end behind @p insn, which ends a basic block and is no
 * call and no return. */
uint64_t dec_frames_jump_end(struct frames *f, const struct dec_insn *insn);

/** frames_land() behind a jump of the user's. */
struct err *dec_frames_land_jump(struct frames *f, uint64_t rip);

/** A basic block begins at @p rip: where a jump led from the user's code into another's
 * it was a tail call, and is a frame that ends with the caller's. @return ERR_NOMEM. */
static inline struct err *frames_land(struct frames *f, uint64_t rip)
{
	return f->jump_end ? dec_frames_land_jump(f, rip) : NULL;
}

/** The statement to name for the instruction at @p pc: itself when it is the user's,
 * otherwise the call (return address - 1) in the innermost frame that is. Functions of libraries' headers
 * (C++'s templates) are not, though they are in the user's modules. @p pc when there is none. */
uint64_t dec_frames_statement(struct frames *f, uint64_t pc);

#endif
