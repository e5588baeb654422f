// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The program's variables where a frame stands: which one a register or a piece of memory is,
 * what lies behind a pointer, and the arguments of a function with their values. From DWARF,
 * so all of it may be unknown: optimised code has variables that are nowhere.
 */
#ifndef DECODE_SYMBOLS_FRAME_H
#define DECODE_SYMBOLS_FRAME_H

#include <stdio.h>

#include "decode/symbols/symbols.h"

/** A frame: registers as they are where it stands, and memory at that time. */
struct dec_frame {
	uint64_t rip; ///< of the instruction that is next, or of the call under way
	uint64_t gpr[CAP_GPRS];
	uint64_t fs_base; ///< behind the thread's own variables; 0: not known
	bool has_entry;
	uint64_t entry[CAP_GPRS]; ///< the registers when its function was entered
	/** @return whether all of it could be read. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/** Asked to say more of an address that was printed; NULL: nobody is. */
	void (*pointer)(void *ctx, uint64_t addr, FILE *out);
	void *ctx; ///< of both
};

/** A type, as long as the symbols live. Opaque. */
struct dec_type {
	uint64_t die[4];
};

enum { DEC_NAME_BYTES = 128 }; ///< of the name of a variable and its part

/** Where a value is. */
struct dec_spot {
	bool is_mem;
	uint8_t reg;   ///< enum cap_gpr, unless is_mem
	uint64_t addr; ///< if is_mem
};

/** The variable visible in @p f that is at @p spot: `p`, `list.head`, `slot[3]`.
 *
 * @param name  DEC_NAME_BYTES.
 * @param type  of what is there. @return false: none is known. */
bool dec_symbols_variable(struct dec_symbols *s, const struct dec_frame *f,
			  const struct dec_spot *spot, char *name, struct dec_type *type);

/** What lies @p offset bytes behind where the pointer called @p name of @p type leads:
 * `p->next`, `a[3].x`, `*n`. @p ret may be @p type, @p to (DEC_NAME_BYTES) not @p name.
 * @return false: the type does not say. */
bool dec_symbols_behind(const struct dec_type *type, const char *name, int64_t offset,
			uint64_t bytes, char *to, struct dec_type *ret);

/** Print the arguments of a function of @p f: `p = NULL, n = 3`. @p depth: 0 the innermost, n the
 * one that called it, of those that are inlined there. */
void dec_symbols_arguments(struct dec_symbols *s, const struct dec_frame *f,
			   uint32_t depth, FILE *out);

#endif
