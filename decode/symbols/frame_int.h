// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to frame.c, locate.c, value.c and variable_moving.c: where variables are and how they
 * look.
 */
#ifndef DECODE_SYMBOLS_FRAME_INT_H
#define DECODE_SYMBOLS_FRAME_INT_H

#include "decode/symbols/symbols_int.h"
#include "decode/symbols/frame.h"

/** A frame, with what is around the instruction where it stands. */
struct dec_sym_frame {
	const struct dec_frame *frame;
	struct dec_sym_unit *unit;
	uint64_t pc;	     ///< frame->rip at link time
	uint64_t bias;	     ///< what that takes to be a run-time address
	uint64_t thread;     ///< where the thread's variables of unit are; 0: not known
	Dwarf_Die *function; ///< the concrete one; NULL: static variables only
	struct dec_sym_scopes scopes; ///< around it
	/** What lies by the stack pointer is not known to: the frame does not say what was pushed. */
	bool is_stack_vague;
	/** Nothing is on the stack yet, and rbp the caller's: what lies by it is nowhere. */
	bool is_before_frame;
};

enum dec_sym_where {
	DEC_SYM_NOWHERE, ///< optimised away, or it is not known how to find it
	DEC_SYM_AT,	 ///< in memory, at value
	DEC_SYM_REG,	 ///< in register reg, which holds value
	DEC_SYM_VALUE,	 ///< nowhere, but this is its value
};

struct dec_sym_location {
	enum dec_sym_where kind;
	int reg;
	uint64_t value;
};

/** Where @p variable (or a parameter) is in @p at. */
void dec_sym_locate(const struct dec_sym_frame *at, Dwarf_Die *variable,
		    struct dec_sym_location *ret);

/** Read what @p variable, of @p size bytes, holds in @p at into @p buf. @return false: some of it
 * is nowhere. */
bool dec_sym_read(const struct dec_sym_frame *at, Dwarf_Die *variable, void *buf,
		  size_t size);

/** Print the value of type @p type that is at @p where. */
void dec_sym_value_print(const struct dec_frame *f, Dwarf_Die *type,
			 const struct dec_sym_location *where, FILE *out);

/** From an object of @p type down to the part of @p bytes that begins @p offset bytes into it:
 * appends `.next`, `[2].x` to @p name (DEC_NAME_BYTES). @return false: none begins there. */
bool dec_sym_part_name(const Dwarf_Die *type, uint64_t offset, uint64_t bytes, char *name,
		       Dwarf_Die *ret);

#endif
