// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Is the instant at which an interrupted thread was found the only one that the recording
 * can mean? The thread alone decides what it does from its last event to its next one:
 * so run it on, take that back, and look whether it passed the same place with the same
 * registers and signature again (doc/threads.md).
 */
#ifndef DECODE_MACHINE_CERTAIN_H
#define DECODE_MACHINE_CERTAIN_H

#include "decode/machine/replay.h"

enum certain {
	CERTAIN_UNIQUE,	 ///< it does not, before its next event
	CERTAIN_EQUAL,	 ///< it does, and nothing at all differs then: a pure spin
	CERTAIN_NOT,	 ///< it does, with other memory or vector registers
	CERTAIN_UNKNOWN, ///< not within the budget, or so much changes that nobody looked
};

/**
 * The guest stands where the event at hand says. Nothing is logged.
 *
 * @param budget  Instructions to look ahead.
 */
enum certain dec_certain_check(struct dec_replay *r, uint64_t budget);

/** The same by a fork for each question. */
enum certain dec_certain_check_plainly(struct dec_replay *r, uint64_t budget);

/** Whom the replay asks: dec_certain_check(). A test may put another here. */
extern enum certain (*dec_certain_judge)(struct dec_replay *r, uint64_t budget);

#endif
