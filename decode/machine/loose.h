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

/** Read what the capture knows, for branches from where @p r stands. With @p has_many of them, or the
 * second time at a position, their code is translated, too. */
struct err *dec_loose_prepare(struct dec_replay *r, bool has_many);

/**
 * Run @p r, which dec_loose_prepare() was called for, altered until it ends; it is of no use
 * afterwards.
 */
void dec_loose_run(struct dec_replay *r, const struct dec_alter *alters, size_t n,
		   uint64_t limit, struct dec_outcome *ret);

/** The same, nullifying what @p ask says (nullify.h). @p told: zeroed. */
void dec_loose_nullify(struct dec_replay *r, const struct dec_nullify *ask,
		       uint64_t limit, struct dec_outcome *ret,
		       struct dec_nullified *told);

/** From here on @p r is in the loose world, parted from the recording. @p is_awake: nobody sleeps. */
struct err *dec_loose_stray(struct dec_replay *r, bool is_awake);

/** Run on to @p until, a breakpoint, or the end; @return which. */
enum dec_stop dec_loose_go(struct dec_replay *r, uint64_t until);

/** Thread @p tid is the one that runs. @return whether it can. */
bool dec_loose_place(struct dec_replay *r, uint32_t tid);

/** @return what became of it. */
const struct dec_outcome *dec_loose_outcome(const struct dec_replay *r);

#endif
