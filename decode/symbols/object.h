// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which variable is at an address that code computes? Of a function's frame DWARF says it, of static data
 * the symbol table.
 */
#ifndef DECODE_SYMBOLS_OBJECT_H
#define DECODE_SYMBOLS_OBJECT_H

#include "decode/symbols/frame.h"

/** The code of a block, at run time, in pieces: of one of C++ what exceptions do lies elsewhere. Of clang's, what
 * destroys the block's variables is not in it. */
struct dec_scope {
	const void *die; ///< what DWARF says of it
	uint32_t n;
	struct {
		uint64_t start, end;
	} piece[];
};

/** A variable in memory. */
struct dec_object {
	const char *name;     ///< as long as the symbols live; NULL: there is none
	uint64_t start, size; ///< at run time; bytes
	/** In code that was not optimized: the block that declares it, or the inlined call of its function, as
	 * long as the symbols live. NULL: its whole function's, or not known. */
	const struct dec_scope *scope;
	const void *die; ///< of a frame's: what DWARF says of it
	bool is_array;
};

/** What may be meant by an address: what lies there, or what ends there. */
struct dec_around {
	struct dec_object at, before;
	bool is_static; ///< both are; else of the frame's function
	/** Of a frame: up to there, and from there on, is what surely is something else: the nearest other
	 * variables, the return address, what is below the frame. What has no name may have the place of
	 * a variable, where code was optimized, and be larger. */
	uint64_t other_end, other_start;
	/** In code that was not optimized: of so many bytes on a variable that is no array may share its place with what has
	 * no name; 0: none does. */
	uint32_t shares_from;
};

/** @return whether an object is at @p addr, or ends there, where the code of frame @p f computes it: a variable
 * of its function, or static. Of several in one place, that whose scope it is. */
bool dec_symbols_around(struct dec_symbols *s, const struct dec_frame *f, uint64_t addr,
			struct dec_around *ret);

/** @return whether a static object begins at @p addr. @p ret: the one there, or about it; without a name there is
 * none. */
bool dec_symbols_begins(struct dec_symbols *s, uint64_t addr, struct dec_object *ret);

/** @p o, as dec_symbols_around() told of it to code at @p rip, is a struct, and what @p addr is in is a member of it, an
 * array of more than one: that is @p ret. The last member has all that is behind it, too. @p is_pointed_to: it is not
 * @p o, but at start, that a pointer leads to. @return how many bytes an element has; 0: it is not, or that is not known. */
uint32_t dec_symbols_array_at(struct dec_symbols *s, uint64_t rip,
			      const struct dec_object *o, bool is_pointed_to,
			      uint64_t addr, struct dec_object *ret);

/** @return whether both are in one module: code or data. */
bool dec_symbols_same_module(struct dec_symbols *s, uint64_t a, uint64_t b);

/** @return whether the function at @p rip keeps all its variables in memory, as without optimization: then
 * its addresses are the source's own. */
bool dec_symbols_is_literal(struct dec_symbols *s, uint64_t rip);

#endif
