// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Variables that have other places in a branch: the instructions that name one (relative to the
 * frame pointer, or to rip) name its other place, and what it held when the branch began is there.
 */
#ifndef DECODE_MACHINE_LAYOUT_H
#define DECODE_MACHINE_LAYOUT_H

#include "decode/machine/loose_int.h"

/** Add @p n to what is moved; first forget what there is, unless @p goes_on. @return err_nomem. */
struct err *dec_layout_add(const struct dec_moved *moved, size_t n, bool goes_on);

/** A branch begins: move what there is to be moved. */
struct err *dec_layout_apply(struct dec_replay *r);

/** The guest, which has not parted yet, is at a system call. Where that is the recorded one but for pointers to what
 * has moved, the event at hand becomes it, with what it wrote there; what the allocator asks the
 * kernel for is passed by in the recording where it asks differently now. @return whether the event at hand is
 * the guest's call. */
bool dec_layout_align(struct dec_replay *r);

/** @return whether the call is one for memory: it is the allocator's, and does not part the run. */
bool dec_layout_is_memory(const struct dec_replay *r, uint64_t nr);

/** @return whether the guest is about to enter a function of the allocator that has to do with blocks whose
 * ends are watched, or has just come back from one. */
bool dec_layout_is_at(const struct dec_replay *r);

/** It is: have it allocate more, put the values there, or compare them. @p nat: bit n: register n has no
 * value; such a call is left alone. @return DEC_GO; DEC_END: they have changed. */
enum dec_verdict dec_layout_here(struct dec_replay *r, uint64_t nat);

/** The run has ended by itself: compare what is behind all blocks; has one changed, that is how it ended. */
void dec_layout_end(struct dec_replay *r);

/** @return where what has changed begins; 0: nothing has. */
uint64_t dec_layout_changed(void);

/** @return where what is to be left alone begins that [@p addr, @p addr + @p size) has a part of; 0: none
 * has. */
uint64_t dec_layout_guarded(uint64_t addr, uint64_t size);

#endif
