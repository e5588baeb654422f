// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is wanted, going backward: bytes of registers of each thread, bytes of memory (paper 001's
 * MemFilter). Wanted by whom: up to 32 slices of one walk, each a bit; and for which node.
 *
 * Memory is kept by pages with a bit a byte, not as a tree of ranges: whether a store meets
 * anything is asked for every store of the run, and takes one look at a table of pages, mostly.
 * Private to slice/.
 */
#ifndef FAULTLOCATE_SLICE_LIVE_H
#define FAULTLOCATE_SLICE_LIVE_H

#include "base/base.h"
#include "decode/x86/insn.h"

enum {
	LIVE_REGS = DEC_REG_MXCSR + 1,
	LIVE_PAGE = 4096,
	LIVE_HINTS = 1u << 16,
	LIVE_LAST = 64
};

/** A set of slices. */
typedef uint32_t live_who;

/** What some bytes are wanted for. */
struct live_want {
	live_who who;	///< 0: nobody wants them
	uint32_t node;	///< one that does
	uint64_t bytes; ///< which ones: bit n: byte n of the register, or of the range
	uint64_t
		first; ///< memory: the first byte that is wanted; `bytes` is for ranges of 64
	uint32_t size; ///< memory: how many from the first to the last
};

struct live_reg {
	uint64_t bytes; ///< wanted by somebody
	uint32_t node;
	live_who who;	///< with one slice, of all of them
	live_who *each; ///< with several, of each of 64
};

struct live_regs {
	uint64_t any; ///< bit n: some of register n is wanted
	struct live_reg reg[LIVE_REGS];
};

struct live_page {
	uint64_t addr;
	uint32_t n; ///< bytes wanted
	uint64_t bits[LIVE_PAGE / 64];
	uint32_t node[LIVE_PAGE / 8]; ///< of each word
	live_who *each;		      ///< with several slices
};

struct live_mem {
	bool has_several;
	struct map pages; ///< number -> index into page
	VEC(struct live_page *) page;
	VEC(uint32_t) unused;		   ///< pages of which nothing is wanted
	uint8_t hint[LIVE_HINTS];	   ///< 0: no page of such a number is wanted
	uint64_t n_bytes;		   ///< wanted
	size_t max_pages;		   ///< more are not kept
	bool is_full;			   ///< there would have been more
	struct live_page *last[LIVE_LAST]; ///< looked at, by number
};

/** Forget all. */
void fl_live_regs_deinit(struct live_regs *r);
void fl_live_mem_deinit(struct live_mem *m);

/** Want bytes @p bytes of register @p reg. If some of it is wanted already, it goes on being so for
 * the node it was: that one lies closer to what was asked about. */
struct err *fl_live_reg_want(struct live_regs *r, bool has_several, int reg,
			     uint64_t bytes, live_who who, uint32_t node);

/** Bytes @p bytes of @p reg are defined: who wants which of them? They stay wanted if @p stays. */
struct live_want fl_live_reg_take(struct live_regs *r, bool has_several, int reg,
				  uint64_t bytes, bool stays);

/** Want [addr, addr + size), word by word as fl_live_reg_want(). @return NULL or err_nomem. */
struct err *fl_live_mem_want(struct live_mem *m, uint64_t addr, uint64_t size,
			     live_who who, uint32_t node);

/** @return whether some of [addr, addr + size), 64 bytes at most, may be wanted: quickly. */
static inline bool fl_live_mem_may(const struct live_mem *m, uint64_t addr, uint32_t size)
{
	return m->hint[addr / LIVE_PAGE % LIVE_HINTS] |
	       m->hint[(addr + size - 1) / LIVE_PAGE % LIVE_HINTS];
}

/** [addr, addr + size), any size, is defined. As fl_live_reg_take(). */
struct live_want fl_live_mem_take(struct live_mem *m, uint64_t addr, uint64_t size,
				  bool stays);

/** @return the node that wants the word at @p addr, or UINT32_MAX. */
uint32_t fl_live_mem_node(const struct live_mem *m, uint64_t addr);

/** Call @p fn for each range of bytes that are wanted for one node, by address within pages. */
typedef struct err *(*live_range_fn)(void *ctx, uint64_t addr, uint64_t size,
				     live_who who, uint32_t node);
struct err *fl_live_mem_each(const struct live_mem *m, live_range_fn fn, void *ctx);

#endif
