// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How far functions look at texts that they get, as strcmp() and strlen() do: where one begins, the log tells it
 * (DEC_REC_LOOK).
 */
#ifndef DECODE_TRANSLATOR_LOOK_H
#define DECODE_TRANSLATOR_LOOK_H

#include "decode/translator/engine.h"

/** A function begins at @p rip that stops as @p stops, of enum dec_look, says. The registers are logged there, too,
 * and its block is entered from C alone. */
void dec_look_set(struct dec_engine *e, uint64_t rip, uint8_t stops);

/** The guest is about to execute rip: if such a function begins there, and there is a log, that gets a DEC_REC_LOOK. */
void dec_look_log(struct dec_engine *e);

#endif
