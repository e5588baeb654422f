// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the guest writes into memory that it shares with other processes, turn by turn (joint.h). The pages
 * are read-only until it stores there, and what they held then is kept: what differs at the
 * end of the turn is what it wrote. In the machine's process; one of it.
 */
#ifndef DECODE_MACHINE_SHARED_H
#define DECODE_MACHINE_SHARED_H

#include "decode/machine/guest.h"

/** Guest memory [start, end) is that which has number @p key, from @p offset on. */
struct dec_share {
	uint64_t start, end, key, offset;
};

/** Guest @p g has memory @p s, which is kept from now on. @return err_nomem. */
struct err *dec_shared_add(struct dec_guest *g, const struct dec_share *s);

/** Does nothing where nothing is kept: as dec_alias_cut(), dec_alias_move(). */
struct err *dec_shared_cut(uint64_t start, uint64_t end);
struct err *dec_shared_move(uint64_t from, uint64_t size, uint64_t to);

/** What comes before the bytes of a change, which are padded to 8. */
struct dec_change {
	uint64_t key, offset, size;
};

/** Fill @p buf with the changes of this turn, the first ones if @p is_first, else those behind what was told
 * last. @return how many bytes of it are filled; 0: there are no more. */
size_t dec_shared_changes(bool is_first, uint8_t *buf, size_t size);

/** @return whether some could not be kept: there were too many in the turn. */
bool dec_shared_has_lost(void);

/** The turn is over: the next one's are kept. */
void dec_shared_begin_turn(void);

/** List up to @p max, behind the first @p from. @return how many. */
size_t dec_shared_list(size_t from, struct dec_share *ret, size_t max);

#endif
