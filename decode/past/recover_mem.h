// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside dec_recover: memory. Each word lists the accesses that touched it; what it held at a
 * moment follows from the nearest of them. A sweep lets those accesses learn from memory
 * that may find something new.
 */
#ifndef DECODE_PAST_RECOVER_MEM_H
#define DECODE_PAST_RECOVER_MEM_H

#include "decode/past/recover_int.h"

enum { PAST_PARTS = 3 };
enum { PAST_AROUND = 4096 }; ///< accesses that are passed for other bytes of a word

/** What an access of any number of bytes did. */
struct past_range {
	uint64_t to, n;
	uint64_t from;	///< is_copy: what was written was there
	uint64_t value; ///< is_fill: it was this, over and over
	uint8_t unit;	///< bytes of value
	bool is_copy, is_fill;
};

enum past_range_certainty {
	PAST_RANGE_UNKNOWN, ///< it may have written anything
	PAST_RANGE_NONE,    ///< it has written nothing
	PAST_RANGE_SOME
};

/** Who touched 8 bytes: both halves of them, the first, the second. Two variables that share
 * a word need not be told apart access by access. */
struct past_word {
	struct past_chain parts[PAST_PARTS];
};

/** 64 bytes of memory, and who touched which words of them. */
struct past_line {
	uint64_t addr;
	uint8_t end[64];
	struct past_word words[8];
	uint32_t page;
	uint8_t map; ///< enum dec_recover_map
};

/** 4096 bytes of memory. */
struct past_page {
	struct past_chain ranges; ///< that touched any of them
};

/* ---- who touched what (recover_lines.c) --------------------------------------------- */

/** The line of @p addr. @p cached: its index as it was found last time, or PAST_NO_NODE. NULL:
 * out of memory. */
struct past_line *dec_recover_line_get(struct dec_recover *r, uint64_t addr,
				       uint32_t *cached);

/** Through the accesses listed at a word and at its page, away from a moment. */
struct past_walk {
	uint32_t line, page;
	uint32_t left[PAST_PARTS + 1]; ///< the page's behind the word's
	uint8_t word;		       ///< of the line
	bool is_later;
};

struct past_walk dec_recover_walk_from(const struct dec_recover *r, uint32_t line,
				       uint64_t word, uint32_t moment, bool is_later);

/** @return the next one in the direction of the walk that may have touched bytes @p want of the
 * word; PAST_NO_ACCESS: there is none. */
uint32_t dec_recover_walk_next(const struct dec_recover *r, struct past_walk *k,
			       uint8_t want);

/** @return which bytes of @p word are among the @p n at @p addr. */
uint8_t dec_recover_overlap(uint64_t word, uint64_t addr, uint64_t n);

/** Access @p a has a place; access @p access touches [addr, addr+n). */
bool dec_recover_mem_list(struct dec_recover *r, struct past_access *a);
bool dec_recover_mem_list_range(struct dec_recover *r, uint32_t access, uint64_t addr,
				uint64_t n);

/** More is known of [addr, addr+n) at access @p from: those accesses that learn from it,
 * before it or behind it, are dirty. */
void dec_recover_mem_spread(struct dec_recover *r, uint32_t from, uint64_t addr,
			    uint64_t n, bool is_later);

/* ---- what it held (recover_look.c) --------------------------------------------------- */

/** What memory is known to hold at [addr, addr+n), n up to 64, at this moment of the sweep,
 * from behind it when it goes backward. @p cached: the line that was found last time, or
 * PAST_NO_NODE. @return false: out of memory, here and below. */
bool dec_recover_mem_read(struct dec_recover *r, uint64_t addr, unsigned n,
			  uint32_t *cached, struct past_bytes *ret);

/** The same bit by bit, @p n up to 8. */
bool dec_recover_mem_read_bits(struct dec_recover *r, uint64_t addr, unsigned n,
			       uint32_t *cached, struct past_bits *ret);

/** The same as it is seen next behind r->mem.moment, whatever may have hit it between. @p is_const:
 * nobody may write it. */
bool dec_recover_mem_seen(struct dec_recover *r, uint64_t addr, unsigned n,
			  struct past_bits *ret, bool *is_const);

/** @return whether all of @p word is known of access @p a. */
bool dec_recover_access_word(const struct dec_recover *r, const struct past_access *a,
			     uint64_t word, uint64_t *v);

/** The lost stores between accesses @p a and @p b, in order: the one behind @p i, or the first
 * one. @return PAST_NO_ACCESS: no more. */
uint32_t dec_recover_lost_between(const struct dec_recover *r, uint32_t a, uint32_t b,
				  uint32_t i);

/** @return how many of them may have hit @p word, of which @p now is known behind them; not
 * exact when it is more than @p most. */
uint32_t dec_recover_mem_lost(struct dec_recover *r, uint32_t a, uint32_t b,
			      uint64_t word, struct past_bits now, uint32_t most);

/* ---- accesses (recover_mem.c, recover_calls.c) ---------------------------------- */

/** What system call @p at did to memory. */
enum past_range_certainty dec_recover_call_find(const struct past_at *at,
						struct past_range *ret);

/** What access @p a, a range, did. */
enum past_range_certainty dec_recover_range_find(struct dec_recover *r,
						 const struct past_access *a,
						 struct past_range *ret);

/** Find r->ran.const_from. */
void dec_recover_calls_look(struct dec_recover *r);

/** Find where an access goes, once the registers are known. */
void dec_recover_access_place(struct dec_recover *r, struct past_access *a);

/** Let access @p a learn from memory, at r->mem.moment. @return false: out of memory. */
bool dec_recover_access_apply(struct dec_recover *r, struct past_access *a);

/* ---- sweeps (recover_sweep.c) ------------------------------------------------------ */

struct err *dec_recover_sweep_create(struct dec_recover *r);
void dec_recover_sweep_destroy(struct dec_recover *r);

/** What is known has changed as a whole: look at all again. */
void dec_recover_sweep_restart(struct dec_recover *r);

/** More is known of @p node, at step @p step. */
void dec_recover_sweep_stir(struct dec_recover *r, uint32_t step, uint32_t node);

/** Sweep to and fro until nothing is new. */
struct err *dec_recover_settle_memory(struct dec_recover *r);

/** Find out which loads have mirrors. */
struct err *dec_recover_sweep_mine(struct dec_recover *r);

#endif
