// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a call of a string function means to read. The C library's string functions read
 * more than that, by whole vectors and words, up to the next page, and what exactly depends
 * on the processor. So their loads are not judged one by one. The call is:
 * strlen(s) reads from s through the terminator, memcpy(d, s, n) n bytes at s, strcmp(a, b)
 * both through the first difference or terminator, whatever else was loaded.
 *
 * Functions are known by the names that the library exports. Behind most of them is a
 * resolver, which the dynamic linker (a static program's start) calls for the variant that
 * is best here; what it returns is the function's entry. So no variant has to be known.
 *
 * What the loads of a call found is kept as far as it decides where the reading ends: of the
 * bytes between a pointer and its node's end, in order. For heapgraph/ and faultlocate/.
 */
#ifndef HEAPGRAPH_HG_STRINGS_H
#define HEAPGRAPH_HG_STRINGS_H

#include "base/base.h"
#include "decode/symbols/symbols.h"
#include "decode/machine/trace.h"
#include "decode/machine/machine.h"

typedef VEC(struct dec_hook) hg_hooks;

/** Names and entries. Zeroed: none yet. */
struct hg_strings {
	struct map
		entries; ///< address -> function's number << 1 | whether it is a resolver
};

enum { HG_STRING_READS = 2 };

/** One pointer that a call reads from. */
struct hg_string_read {
	uint64_t start;
	uint32_t derivation; ///< of hg_derive.h; 0: not known
	uint64_t room;	     ///< bytes from start on that may be read
	VEC(uint16_t) bytes; ///< as loaded, + 1; 0: not loaded
};

/** The call of one thread that is under way, the outermost. Zeroed: none. */
struct hg_string_call {
	uint64_t rsp; ///< at its entry; 0: none
	uint32_t function;
	bool is_resolver;
	uint64_t position, statement, pc; ///< of the entry; statement: the user's
	uint64_t limit;	 ///< elements that may be read; UINT64_MAX: any number
	uint64_t intent; ///< bytes to deal with, as its caller says; 0: it does not
	/** The outermost call under way of a function that fills what it is given, or takes from
	 * it, whatever it calls for that: rsp at its entry (0: none), and bytes as above. */
	uint64_t outer_rsp, outer_intent;
	bool outer_sets;  ///< .. it sets all of these, from its first argument on
	uint64_t watched; ///< so many bytes from each start are kept when they are loaded
	struct hg_string_read read[HG_STRING_READS];
	uint32_t
		copied; ///< derivation of what `limit` bytes are copied to; 0: not known, no copy
};

/** Look the functions up, in modules that are new too. @return ERR_NOMEM. */
struct err *hg_strings_add(struct hg_strings *st, struct dec_symbols *symbols);

/** List the functions, and their resolvers, for a guard (decode/translator/guard.h), behind what is in
 * @p ret. @return ERR_NOMEM. */
struct err *hg_strings_hooks(struct dec_symbols *symbols, hg_hooks *ret);
void hg_strings_deinit(struct hg_strings *st);
void hg_string_call_deinit(struct hg_string_call *c);

/** @return whether a call begins at @p rip, with @p regs. If so @p c is it, but for position
 * and statement, which are the user's, and what hg_string_call_read() tells. Of others that
 * fill memory @p c learns only that they are under way. */
bool hg_strings_enter(const struct hg_strings *st, struct hg_string_call *c, uint64_t rip,
		      const uint64_t regs[DEC_GPRS]);

/** A function returns, its return address at @p rsp. */
static inline void hg_string_call_return(struct hg_string_call *c, uint64_t rsp)
{
	if (c->outer_rsp && rsp >= c->outer_rsp)
		c->outer_rsp = 0;
}

/** Read @p i, if it is one, is by a pointer of @p derivation, from where there is @p room
 * to the node's end (0: the node is gone, or the pointer is not to it). */
void hg_string_call_read(struct hg_string_call *c, size_t i, uint32_t derivation,
			 uint64_t room);

/** @return whether the call copies as many bytes as it is told, from its second to its first
 * argument. */
bool hg_string_call_copies(const struct hg_string_call *c);

/** @return whether a call under way stores as many bytes as it is told from its first argument on: in whatever order
 * it does, all of them are meant. */
static inline bool hg_string_call_fills(const struct hg_string_call *c)
{
	return (c->outer_rsp && c->outer_sets) || (c->rsp && hg_string_call_copies(c));
}

/** @return the name of the function if it copies from its second to its first argument, or behind the text there, and is
 * not memcpy, which may be memmove as well; NULL: it does not. */
const char *hg_string_call_copies_text(const struct hg_string_call *c);

/** Somebody will ask how much text it copies (hg_string_call_copied()). */
void hg_string_call_watch_copy(struct hg_string_call *c);

/** The call is over. @return false: it copied nothing, or it is not known how much (its arguments are further apart than
 * any text is followed). @p reads: bytes from its second argument on; @p writes: from its first on, the text that was there
 * before included; of what is longer than the two are apart at least as many as that and one element. */
bool hg_string_call_copied(const struct hg_string_call *c, uint64_t *reads,
			   uint64_t *writes);

/** @p r was loaded. @return ERR_NOMEM. */
struct err *hg_string_call_load(struct hg_string_call *c, const struct dec_ref *r);

/** The call has returned @p rax. A resolver's: that is an entry from here on. @return
 * ERR_NOMEM. */
struct err *hg_strings_leave(struct hg_strings *st, struct hg_string_call *c,
			     uint64_t rax);

/** @return how many bytes read @p i of the call that returned @p rax meant; when that is
 * more than there is room for it may be less than it was. */
uint64_t hg_string_call_reach(const struct hg_string_call *c, size_t i, uint64_t rax);

#endif
