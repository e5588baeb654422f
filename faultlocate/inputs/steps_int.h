// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Between steps.c, which keeps states and steps, and steps_block.c, which goes over blocks by them.
 */
#ifndef FAULTLOCATE_INPUTS_STEPS_INT_H
#define FAULTLOCATE_INPUTS_STEPS_INT_H

#include "faultlocate/inputs/walk.h"

/** The need that is what waits in the call on top. */
enum { STEPS_WAITS = WALK_REGS };
#define STEPS_ALL (~UINT64_C(0))

/** Find needs @p which of the thread at hand: they count from here on. */
struct err *fl_steps_enter(struct walker *w, uint64_t which);

/** Have registers @p which of the thread at hand, no others, and what waits, where they are looked at and changed,
 * until they are entered. */
struct err *fl_steps_open(struct walker *w, struct walker_thread *t, uint64_t which);

/** Find the number of what waits in @p c: c->waits. */
struct err *fl_steps_cover(struct walker *w, struct call *c);

/** What was recorded since the needs were @p from is step @p step, whose operations begin at @p first_op;
 * @p other: one like it, or 0. */
struct err *fl_steps_add(struct walker *w, const struct automaton_step *step,
			 uint32_t first_op, const struct automaton_needs *from,
			 uint32_t other);

/** Forget all, which has become much; have what is needed to begin. */
struct err *fl_steps_room(struct walker *w);

#endif
