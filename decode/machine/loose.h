// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The loose world (branch.h), in the machine's process: first what the capture knows is read,
 * then forks of the process run altered. Private to child.c.
 */
#ifndef DECODE_MACHINE_LOOSE_H
#define DECODE_MACHINE_LOOSE_H

#include "decode/machine/branch.h"
#include "decode/machine/replay.h"

/** Read what the capture knows, for branches from where @p r stands. Once a position. */
struct err *dec_loose_prepare(struct dec_replay *r);

/**
 * Run @p r, which dec_loose_prepare() was called for, altered until it ends; it is of no use
 * afterwards.
 */
void dec_loose_run(struct dec_replay *r, const struct dec_alter *alters, size_t n,
		   uint64_t limit, struct dec_outcome *ret);

#endif
