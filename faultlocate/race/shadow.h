// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who accessed a word last, and nothing that is ordered has superseded. Private to race/.
 *
 * A word of 8 bytes has a list of records; of one thread, kind and set of bytes one at most. A write takes away
 * those before it whose bytes it covers; a read such reads: whoever races with one of them races with the
 * new one, too. Of most words there is one record, which lies in the page itself.
 */
#ifndef FAULTLOCATE_RACE_SHADOW_H
#define FAULTLOCATE_RACE_SHADOW_H

#include "faultlocate/race/clock.h"

struct shadow_record {
	uint64_t time; ///< position
	uint32_t clock, statement, locks;
	uint32_t next; ///< of the word's: its index in more + 1; 0: the last
	uint16_t thread;
	uint8_t bytes; ///< bit n: byte n of the word; 0: no record
	uint8_t is_write : 1, is_atomic : 1, begin : 3;
	uint32_t
		size; ///< of the whole access, which began at byte `begin`, or in a word before
};

#define SHADOW_PAGE 4096
#define SHADOW_WORDS (SHADOW_PAGE / 8)
#define SHADOW_RECENT 256

struct shadow {
	struct map pages; ///< number -> struct shadow_record[SHADOW_WORDS]
	struct {
		uint64_t number;
		struct shadow_record *records;
	} recent[SHADOW_RECENT];
	VEC(struct shadow_record) more;
	uint32_t free; ///< of more: index + 1; 0: none
	/** An access of the same thread, at the same time of its clock, which was settled when this number was
	 * the same, would change nothing and race with nothing. The caller adds one where the
	 * thread, or its clock's time, is another. */
	uint64_t generation;
	bool is_settled; ///< the last access is
};

void fl_shadow_deinit(struct shadow *s);

/** Told of a race: the access at @p addr, and one before it. */
typedef struct err *(*shadow_race_fn)(void *ctx, const struct shadow_record *earlier,
				      const struct shadow_record *later, uint64_t addr);

/** Thread x->thread accesses x->size bytes at @p addr. @p x: bytes, next and begin are set here.
 * @return ERR_NOMEM, what @p fn does. */
struct err *fl_shadow_access(struct shadow *s, const struct clocks *c, uint64_t addr,
			     struct shadow_record *x, shadow_race_fn fn, void *ctx);

/** What lies in [addr, addr + size) is new. */
void fl_shadow_clear(struct shadow *s, uint64_t addr, uint64_t size);

#endif
