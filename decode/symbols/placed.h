// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the program's own code consists of, and the variables that it has in memory: for who lays them out
 * anew.
 */
#ifndef DECODE_SYMBOLS_PLACED_H
#define DECODE_SYMBOLS_PLACED_H

#include "decode/symbols/symbols.h"

enum dec_placed_kind {
	DEC_PLACED_FUNCTION, ///< [addr, addr + size) is its code
	DEC_PLACED_GLOBAL,   ///< at addr
	DEC_PLACED_LOCAL,    ///< of the function whose code begins at addr
};

/** Types, as far as an overflow asks. */
enum dec_placed_type {
	DEC_PLACED_OTHER,
	DEC_PLACED_BUFFER, ///< an array, or a struct with one in it
	DEC_PLACED_POINTER,
	DEC_PLACED_INTEGER, ///< of 4 or 8 bytes: it may be an index
};

/** A function or a variable. */
struct dec_placed {
	enum dec_placed_kind kind;
	enum dec_placed_type type;
	const char *name;    ///< as long as the symbols live
	uint64_t addr, size; ///< at run time; bytes
	int64_t offset;	     ///< LOCAL: from just behind the return address
	uint32_t align;	     ///< what its type wants, a power of two
	/** LOCAL: a parameter. FUNCTION: all its variables are in memory, as without
	 * optimization, and known. */
	bool is_parameter, is_literal;
};

typedef VEC(struct dec_placed) dec_placed_list;

/** Append all that the modules have which are mapped now, the system's left out; functions come before
 * what is local to them. @return ERR_NOMEM. */
struct err *dec_symbols_placed(struct dec_symbols *s, dec_placed_list *ret);

#endif
