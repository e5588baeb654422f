// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Between steps.c, which keeps states and steps, and steps_block.c, which goes over blocks by them.
 */
#ifndef FAULTLOCATE_INPUTS_STEPS_INT_H
#define FAULTLOCATE_INPUTS_STEPS_INT_H

#include "faultlocate/inputs/walk.h"

/** Find the number of the @p n words at @p words in @p p; they are added when they are new. */
struct err *fl_pool_find(struct pool *p, const uint64_t *words, uint32_t n,
			 uint32_t *ret);

/** Find the state that the thread at hand, which has its registers, is in. */
struct err *fl_steps_enter(struct walker *w);

/** Have its registers in the thread, which stays in its state. */
struct err *fl_steps_bring(struct walker *w, struct walker_thread *t);

/** Find the number of what waits in @p c: c->waits. */
struct err *fl_steps_cover(struct walker *w, struct call *c);

/** @return the step of piece @p place from the state at hand; 0: it was not met. */
uint32_t fl_steps_find(struct walker *w, uint32_t place, uint64_t outcome);

/** What was recorded is @p step, whose operations begin at first_op; @p other: one of the same place, state and
 * outcome, or 0. */
struct err *fl_steps_add(struct walker *w, struct step step, uint32_t other);

/** @return whether they are as many as are kept. */
bool fl_steps_are_many(const struct steps *m);

/** Forget all when it has become much; have what is needed to begin. */
struct err *fl_steps_room(struct walker *w);

#endif
