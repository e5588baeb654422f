// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What there is to say of the instructions of one program, looked up once for each: where
 * it leads, its text, its symbol and line. A trace names few instructions many times.
 *
 * Not shared between threads.
 */
#ifndef DECODE_PT_BOOK_H
#define DECODE_PT_BOOK_H

#include <stdio.h>

#include "base/base.h"
#include "decode/x86/insn.h"
#include "decode/pt/image.h"

/** An instruction. Texts live as long as the book. */
struct dec_pt_entry {
	uint64_t ip;
	uint64_t behind; ///< where it leads when no packet says otherwise; 0 unknown
	uint64_t after;	 ///< the instruction that lies behind it
	uint32_t next;	 ///< 1-based index of the entry at `behind`; 0 not looked up yet
	uint8_t flow;	 ///< enum dec_flow
	bool is_known;	 ///< there is code
	bool is_entry;	 ///< a function's first
	bool is_wanted;	 ///< of the function that is looked for, or none is
	const char *symbol, *module, *file; ///< NULL unknown; symbol: as linkers have it
	const char *name; ///< the same for people: "point::scale(double)"
	const char *
		inlined; ///< the function whose code it is, where that is inlined; or NULL
	uint64_t offset;  ///< from the symbol
	int line;	  ///< 0 unknown
	const char *insn; ///< text
	/** Text: where it is ("main+0x1c", "malloc [libc]"), and with its line in the
	 * source. */
	const char *place, *where;
	const char *json; ///< "ip": and the rest, without braces; NULL when not wanted
	/** The instruction as a line of text, or the rest of a line of JSON. */
	const char *line_text;
	size_t line_bytes;
};

struct dec_pt_book;

/** @p image is borrowed: what is applied of it when an address is looked up is what its name
 * comes from. @p function: whose instructions are wanted; NULL: all; borrowed. @p as_json:
 * JSON is wanted. */
struct err *dec_pt_book_create(struct dec_pt_image *image, const char *function,
			       bool as_json, struct dec_pt_book **ret);
void dec_pt_book_destroy(struct dec_pt_book *b);

/** Look @p ip up. @p ret is valid until the next call.
 * @return NULL, also where no code is known, or err_nomem. */
struct err *dec_pt_book_find(struct dec_pt_book *b, uint64_t ip,
			     struct dec_pt_entry **ret);

/** Look up what @p e leads to without a packet; @p e may move. */
struct err *dec_pt_book_next(struct dec_pt_book *b, struct dec_pt_entry *e,
			     struct dec_pt_entry **ret);

/** @return whether an instruction that is wanted has been looked up. */
bool dec_pt_book_has_wanted(const struct dec_pt_book *b);

/** Write `,"key":"s"` with what JSON wants escaped; nothing when @p s is NULL. */
void dec_pt_book_json(FILE *f, const char *key, const char *s);

#endif
