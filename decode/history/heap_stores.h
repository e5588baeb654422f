// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Stores outside the stack, from the records that heap.c reads in the log, handed over
 * many at a time. Private to heap.c.
 */
#ifndef DECODE_HISTORY_HEAP_STORES_H
#define DECODE_HISTORY_HEAP_STORES_H

#include "decode/history/frames.h"
#include "decode/history/heap.h"
#include "decode/history/heap_calls.h"
#include "decode/history/heap_roots.h"
#include "decode/machine/log.h"

#define HEAP_STORES_AT_ONCE 256

/** One stored operand of a block. */
struct heap_store {
	struct log_where where; ///< its address, of is_fs less the fs base
	uint32_t insn, value_at;
	uint8_t size;
	uint8_t lane_bytes; ///< a mask, behind the value, has lanes of so many bytes stored; 0: all is
	bool is_fs;
};

/** @return how many pieces @p s stored of its operand as record @p rec has it: @p ret. */
static inline int heap_store_runs(const struct heap_store *s, const uint8_t *rec,
				  struct log_run ret[LOG_RUNS])
{
	return dec_log_runs(s->lane_bytes, s->size,
			    s->lane_bytes ? log_word(rec, s->value_at + s->size) : 0,
			    ret);
}

/** What is asked of a block each time it ran, found once. */
struct heap_block {
	uint32_t n_stores;
	uint32_t branch_at; ///< slot offset of the terminator's BEFORE slots
	bool has_call, has_ret;
	uint64_t return_rip; ///< of a call
	uint64_t jump_end;   ///< for frames.jump_end
	struct heap_store store[];
};

struct heap_stores {
	// Borrowed.
	const struct dec_heap_events *ev;
	struct frames *frames;
	struct heap_calls *calls;
	struct heap_roots *roots;
	enum dec_log_mode mode;
	uint64_t stack_start, stack_end; ///< what is stored here is not told
	bool skips_allocator;		 ///< .. nor what the allocator stores
	size_t n;
	struct dec_heap_store of[HEAP_STORES_AT_ONCE];
};

/** @return what is asked of @p b, which has it from now on; NULL when memory is out. */
struct heap_block *dec_heap_block_make(const struct heap_stores *q, struct log_block *b);

/** Tell the stores that wait. Before anything else is told, and before what they point to, the
 * log, goes. @return NULL or the callback's error. */
struct err *dec_heap_stores_flush(struct heap_stores *q);

/** @p data are stored by @p pc. @return NULL or the callback's error. */
struct err *dec_heap_stores_add(struct heap_stores *q, uint64_t addr, uint32_t size,
				const void *data, uint64_t pc, uint64_t time);

/** The stores of a block of which @p n_ran instructions ran. */
struct err *dec_heap_stores_add_block(struct heap_stores *q, const struct log_block *b,
				      const uint8_t *rec, uint32_t n_ran, uint64_t time,
				      uint64_t fs_base);

/** The stores of a step of which dec_heap_may_store() says so; they are told at once. @return
 * NULL or the callback's error. */
struct err *dec_heap_stores_add_step(struct heap_stores *q, const struct dec_step *s);

#endif
