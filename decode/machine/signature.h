// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What memory says about the instant at which a thread was interrupted (struct cap_signature). Private to replay.c and
 * its kin. General registers alone are used: emitted code may ask while the others are the guest's.
 */
#ifndef DECODE_MACHINE_SIGNATURE_H
#define DECODE_MACHINE_SIGNATURE_H

#include "decode/machine/replay.h"

/** @return whether memory is as the event at hand, an interruption of the thread that runs, has it. What could not be read
 * when it was recorded, or was masked, is taken to be. */
bool dec_signature_matches(struct dec_replay *r);

/** dec_world.may_pass: memory alone tells whether this is the place, and says that it is not. */
bool dec_signature_may_pass(void *ctx);

#endif
