// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * This process's memory as it was: the guest's, the engine's, our own. A run in a fork that is
 * then taken back costs the pages that it changed; one more fork costs all pages there are, and
 * its end does again.
 *
 * All that may be written is made read-only; the first store to a page keeps a copy of it and
 * makes the page writable, for good: the next run does not fault there. The stack of C and its
 * TLS are not part of it, nor is what the kernel knows. What the guest maps where it had nothing goes
 * again; behind another change of its mappings, or one of the signal handlers' kind, nothing is taken
 * back: dec_rollback_can().
 *
 * One of it a process.
 */
#ifndef DECODE_MACHINE_ROLLBACK_H
#define DECODE_MACHINE_ROLLBACK_H

#include "decode/machine/replay.h"

/** Have malloc keep to memory that can be taken back: before it is used much. */
void dec_rollback_prepare(void);

/** Keep what is here, from now on. @return false: there is memory of a kind that cannot be kept
 * (shared, of code that may change, a sanitizer's); nothing has happened. */
bool dec_rollback_begin(struct dec_replay *r);

/** @return whether what happened since can be taken back. */
bool dec_rollback_can(const struct dec_replay *r);

/** All is as it was at dec_rollback_begin(), and kept as before. Only if dec_rollback_can(). */
void dec_rollback_take_back(struct dec_replay *r);

#endif
