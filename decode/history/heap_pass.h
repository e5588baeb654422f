// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Blocks in the log, one behind the other, in which nothing happens that anybody wants to be told:
 * they store on the stack or in plain pages (struct dec_heap_plain), call and return. Most of a
 * run is that, and a call of heap.c's for each would cost more than all else. Private to heap.c.
 */
#ifndef DECODE_HISTORY_HEAP_PASS_H
#define DECODE_HISTORY_HEAP_PASS_H

#include "decode/history/heap_stores.h"

/** Where it goes on, and what it must not pass. */
struct heap_pass {
	struct heap_stores *stores;
	const struct dec_heap_plain *plain; ///< DEC_HEAP_PLAINS, by number
	struct log_reader *reader;
	uint64_t fs_base;
	uint64_t until;	 ///< what is behind this position is not for it
	bool may_return; ///< no call is under way whose return is asked for
};

/** Go through blocks of @p p->reader from @p *log on, up to the first one that is not like that, which
 * *log is then; frames and position go along. @return NULL, or what the stores' callback returns:
 * those that wait are told before. */
struct err *dec_heap_pass(const struct heap_pass *p, const uint8_t **log,
			  const uint8_t *end);

#endif
