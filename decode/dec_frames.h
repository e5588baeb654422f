// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The call stack, followed from the log's calls and returns. Answers to whom a store in
 * a library without line information belongs: the innermost caller that has lines.
 */
#ifndef DECODE_DEC_FRAMES_H
#define DECODE_DEC_FRAMES_H

#include "base/base.h"
#include "decode/dec_symbols.h"

#define FRAMES_RECENT 4096

struct frame {
	uint64_t return_rip;
	uint64_t rsp;  ///< where the return address lies
	uint64_t jump; ///< the last jump of the user's in the function, out of it if what
		       ///< runs is not the user's: a tail call; 0 = none
	uint32_t own; ///< 1 + index of the innermost frame, this or outer, whose
		///< return address is in a module with lines; 0 = none
};

/** One thread's calls. */
typedef VEC(struct frame) frame_stack;

/** A thread that does not run. */
struct frames_thread {
	uint32_t tid;
	frame_stack stack;
};

struct frames {
	frame_stack stack; ///< of the thread that runs
	uint32_t tid;	   ///< which that is; 0 before frames_switch()
	VEC(struct frames_thread) threads;
	struct dec_symbols *symbols;
	struct map own; ///< instruction address -> 1 own, 2 foreign
	struct {
		uint64_t rip;
		bool is_own;
	} recent[FRAMES_RECENT]; ///< of own, by address; rip 0: nothing
	bool exe_has_lines;	 ///< when not, the executable itself counts as own
	const char *exe;
	/** Paths of modules, borrowed: when there are any, all other modules' code is the
	 * user's, but for what has no lines in modules that have some. */
	VEC(const char *) foreign;
};

void frames_init(struct frames *f, struct dec_symbols *symbols, const char *exe);
void frames_deinit(struct frames *f);

/** Thread @p tid runs from here on, with the calls that it was in. @return ERR_NOMEM. */
struct err *frames_switch(struct frames *f, uint32_t tid);

/** @return whether code at @p rip is the user's: it has lines, or it is the executable's
 * and nothing has. */
bool frames_is_own(struct frames *f, uint64_t rip);

/** Modules changed: forget what was known of code pages. */
void frames_refresh(struct frames *f);

/** A call pushed @p return_rip at @p rsp. @return ERR_NOMEM. */
struct err *frames_call(struct frames *f, uint64_t return_rip, uint64_t rsp);

/** Jump @p rip of the user's: what runs next without a call, and is not the user's, it
 * called. */
static inline void frames_jump(struct frames *f, uint64_t rip)
{
	struct frame *top = f->stack.size ? &f->stack.data[f->stack.size - 1] : NULL;

	if (!top)
		return;
	top->jump = rip;
	top->own = f->stack.size;
}

/** The statement that called from frame @p own - 1 of the stack what is not the user's. */
static inline uint64_t frames_caller(const struct frames *f, uint32_t own)
{
	const struct frame *frame = &f->stack.data[own - 1];

	return frame->jump ? frame->jump : frame->return_rip - 1;
}

/** A return popped the address at @p rsp: frames at or below it are gone. */
void frames_return(struct frames *f, uint64_t rsp);

/** The statement to name for the instruction at @p pc: itself when it is the user's,
 * otherwise the call (return address - 1) in the innermost frame that is. @p pc when
 * there is none. */
uint64_t frames_statement(struct frames *f, uint64_t pc);

#endif
