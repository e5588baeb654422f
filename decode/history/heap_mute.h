// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which pages the machine need not log the stores of (dec_machine_mute()): those on the stack, of
 * which nothing is told, and those that are plain (struct dec_heap_plain) and will be until the
 * machine says what is in them: they are part of a large block that is not released, or of the data
 * of a module without an allocator, where none puts blocks. Asked where the machine stands and all
 * of its log is read. Private to heap.c.
 */
#ifndef DECODE_HISTORY_HEAP_MUTE_H
#define DECODE_HISTORY_HEAP_MUTE_H

#include "decode/history/heap_calls.h"
#include "decode/history/heap_stores.h"

/** Plain pages, and pages of the stack, at once. */
#define HEAP_MUTES (DEC_HEAP_PLAINS + 256)

/** A block of several pages. */
struct heap_large {
	uint64_t start, end;
	bool is_muted; ///< part of it was, once
};

struct heap_mute {
	// Borrowed.
	struct dec_symbols *symbols;
	const struct heap_calls *calls;
	const struct heap_stores *stores;
	const struct dec_heap_plain *plain; ///< NULL: nothing is muted but the stack
	VEC(struct heap_large) large;	    ///< by address: those that are allocated
	struct map
		releases; ///< entry of a function that releases -> 1: the machine knows
	VEC(struct dec_span) data; ///< the modules of which some was muted
	bool is_off;		   ///< nothing is muted
	bool is_doubtful;	   ///< a block came to lie in what was muted
	size_t n;
	struct dec_mute of[HEAP_MUTES];
};

void dec_heap_mute_deinit(struct heap_mute *m);

/** @p size bytes at @p addr were allocated. @return err_nomem. */
struct err *dec_heap_mute_alloc(struct heap_mute *m, uint64_t addr, uint64_t size);

/** The block at @p addr is released. */
void dec_heap_mute_release(struct heap_mute *m, uint64_t addr);

/** Tell @p machine which functions release, of those that the calls know, as far as it was not told. */
struct err *dec_heap_mute_watch(struct heap_mute *m, struct dec_machine *machine);

/** Mute what can be, no allocator's function being under way. */
struct err *dec_heap_mute(struct heap_mute *m, struct dec_machine *machine);

#endif
