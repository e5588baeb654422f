// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Why a program ended that a signal ended: where it was in the user's code and with which
 * arguments, what was said on stderr, which value was bad, and which statement made it so.
 * doc/traceback.md ("How it ended") tells what a user may expect.
 */
#ifndef FAULTLOCATE_FL_END_H
#define FAULTLOCATE_FL_END_H

#include "decode/history/frames.h"
#include "decode/symbols/symbols.h"
#include "decode/symbols/frame.h"
#include "heapgraph/heapgraph.h"

/** A call under way, inlined or not. */
struct fl_end_frame {
	struct dec_place place; ///< file, line, function; no inlined calls
	char *arguments;	///< "p = NULL, n = 3"; NULL: not known
	bool is_library;	///< code of no user's
};

/** A statement that had a part in it. */
struct fl_statement {
	uint64_t time;
	uint64_t rip; ///< of the user's instruction, or call of a library
	struct dec_place place;
	const char
		*by; ///< the library's function that did it; NULL: itself, or not known
};

enum fl_end_kind {
	FL_END_SENT,	 ///< a signal that something sent: killed from outside, abort()
	FL_END_ACCESS,	 ///< memory that cannot be accessed so
	FL_END_JUMP,	 ///< code was to be run where there is none
	FL_END_STACK,	 ///< the stack was used up
	FL_END_DIVISION, ///< by zero, or the result is too large
	FL_END_ILLEGAL,	 ///< no instruction
	FL_END_TRAP,	 ///< the compiler's own trap (ud2)
};

/** What is wrong with a value. */
enum fl_bad {
	FL_BAD_NOT, ///< nothing
	FL_BAD_NULL,
	FL_BAD_SMALL,	  ///< a small number
	FL_BAD_TEXT,	  ///< characters
	FL_BAD_FREED,	  ///< leads into memory that was released
	FL_BAD_NOWHERE,	  ///< nothing is mapped there
	FL_BAD_FORM,	  ///< cannot be an address
	FL_BAD_PROTECTED, ///< what is mapped there may not be accessed so
	FL_BAD_BEYOND,	  ///< leads behind the end of the file that is mapped there
	FL_BAD_INDEX,	  ///< a number, too large or too small
	FL_BAD_DIVISOR,
};

/** How it came about. */
enum fl_made {
	FL_MADE_UNKNOWN,  ///< longer ago than is looked back
	FL_MADE_STORED,	  ///< by that statement
	FL_MADE_RETURNED, ///< by a function of a library, called there
	FL_MADE_INPUT,	  ///< by the kernel, for that statement
	FL_MADE_LOCAL,	  ///< a local variable that was never written in this call
	FL_MADE_HEAP, ///< a part of `node` that was never written since it was allocated
	FL_MADE_STATIC, ///< static memory that was never written
	FL_MADE_FREED,	///< read from `node`, which was freed
	FL_MADE_DEAD,	///< read from the stack where a function's variables had been, by
			///< the address that the statement took
};

struct fl_end_value {
	char name[DEC_NAME_BYTES];   ///< what the program calls it; "" unknown
	char access[DEC_NAME_BYTES]; ///< what was accessed by it; "" unknown
	uint64_t value;
	enum fl_bad bad;
	enum fl_made made;
	struct hg_node_id node; ///< FL_BAD_FREED, FL_MADE_HEAP, FL_MADE_FREED; {0}: none
	bool has_statement;
	struct fl_statement statement; ///< what made it, or see enum fl_made
	VEC(struct fl_statement)
	copies; ///< by which it came from there, the latest first
};

/** What a function's return depends on was overwritten: a write behind the end of a variable. */
struct fl_smash {
	uint64_t addr;	       ///< where it is; 0: nothing was
	bool is_guard;	       ///< the compiler's guard, else the return address,
	bool is_frame_pointer; ///< .. or the caller's frame pointer, which says where that is
	uint64_t rip;	       ///< in the function whose it is
	struct fl_statement statement; ///< who did; rip 0: not known, or nobody
};

struct fl_end {
	bool is_known; ///< all below is
	enum fl_end_kind kind;
	uint64_t rip, address; ///< of the access or jump
	uint64_t
		target_at; ///< of a jump: the memory that had the address; 0: none, a register
	uint32_t bytes; ///< accessed; 0 unknown
	bool is_write;
	char *message;	   ///< what was written to stderr on the way; NULL: nothing
	frame_stack calls; ///< private: under way at the end, the innermost last
	VEC(struct fl_end_frame) frames; ///< innermost first
	uint64_t n_hidden; ///< calls that are left out before frame number hidden_at
	size_t hidden_at;
	bool has_value;
	struct fl_end_value value;
	struct fl_smash smash;
};

void fl_end_deinit(struct fl_end *e);

#endif
