// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The local variables that the user named and that are not in memory, or not always: what they
 * hold is read where the symbols say that it may have changed, and told as stores into a place
 * that the program has not. Where one is optimized out it ends, if anybody looks. Private to
 * heap_roots.c.
 */
#ifndef DECODE_HISTORY_HEAP_MOVING_H
#define DECODE_HISTORY_HEAP_MOVING_H

#include "base/base.h"
#include "decode/history/heap.h"

/** One, in a call of its function. */
struct heap_moving {
	const struct dec_var_moving *of;
	size_t index, thread;
	uint64_t return_at;	  ///< where the return address lies
	uint64_t entry[CAP_GPRS]; ///< the registers when the function was entered
	uint64_t addr;		  ///< where it is told to be; 0: nowhere
	uint8_t *held;		  ///< its bytes, told last; owned
	bool was_there, is_there, is_within;
};

/** A place to look at some. */
struct heap_look {
	const struct dec_var_site *site;
	size_t index;
	uint32_t next; ///< 1 + the next one at its address, or 0
};

struct heap_movings {
	// Borrowed.
	const struct dec_heap_events *ev;
	struct dec_symbols *symbols;
	const struct dec_variable *vars;
	VEC(struct heap_look) looks;
	struct map at;		      ///< address -> 1 + first look
	VEC(struct heap_moving) live; ///< of a thread, inner calls behind outer ones
	uint64_t n_bytes;	      ///< of all that were told
};

void dec_heap_moving_deinit(struct heap_movings *m);

/** Site @p site of variable @p index is mapped at @p addr. *@p is_new: to be watched. */
struct err *dec_heap_moving_add(struct heap_movings *m, size_t index,
				const struct dec_var_site *site, uint64_t addr,
				bool *is_new);

/** As dec_heap_roots_reach(). */
struct err *dec_heap_moving_reach(struct heap_movings *m, size_t thread, uint64_t rip,
				  uint64_t from, const uint64_t *gpr, uint64_t time);

/** @return whether dec_heap_moving_return() has something to do. */
bool dec_heap_moving_returns(const struct heap_movings *m, size_t thread, uint64_t rsp);

/** As dec_heap_roots_return(). */
struct err *dec_heap_moving_return(struct heap_movings *m, size_t thread, uint64_t rsp,
				   uint64_t rip, uint64_t time);

/** Somebody is about to look: those that are optimized out are there no more. */
struct err *dec_heap_moving_settle(struct heap_movings *m, uint64_t time);

#endif
