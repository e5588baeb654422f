// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which pages of the guest's are muted (translator/mute.h), whose they are, and what ends it:
 * the block that they are part of is released, a page is mapped anew or protected, somebody asks
 * for all. Then what they hold is written to the log, as if the kernel had stored it there just now.
 * For the one process.
 */
#ifndef DECODE_MACHINE_MUTED_H
#define DECODE_MACHINE_MUTED_H

#include "decode/machine/machine.h"
#include "decode/machine/replay.h"

/** Mute the @p n pages @p mute, as far as they can be. */
void dec_muted_add(struct dec_replay *r, const struct dec_mute *mute, size_t n);

/** Unmute all. */
void dec_muted_end(struct dec_replay *r);

/** As dec_world.unmute, @p ctx being the replay. */
void dec_muted_release(void *ctx, uint64_t addr);

#endif
