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

/** The place of all superblocks' steps. */
#define STEPS_SUPER UINT64_MAX

enum { STEPS_LABELS_MAX = 64 }; ///< bytes of a store that is no odd one

/** Find the pieces of block @p number, the last first. */
struct err *fl_steps_find_pieces(struct steps *m, const struct fl_trace *t,
				 uint32_t number);

/** Find the number of what waits in @p c: c->waits. */
struct err *fl_steps_cover(struct walker *w, struct call *c);

/** What was recorded since the needs were @p from is step @p step; @p other: one like it, or 0. */
struct err *fl_steps_add(struct walker *w, const struct automaton_step *step,
			 const struct automaton_needs *from, uint32_t other);

/** What is being made is a superblock as far as it is complete, if that pays; nothing more is made. */
struct err *fl_steps_finish_super(struct walker *w);

/** From here on make a superblock, which begins with block @p number; @p next: as in automaton_step.outcome. */
void fl_steps_begin_super(struct walker *w, uint32_t number, uint64_t next);

/** The block of entry @p what is the next one of what is being made, if anything is. */
struct err *fl_steps_super_block(struct walker *w, uint32_t what);

/** How far a superblock led. */
struct steps_went {
	size_t n;	 ///< entries
	uint32_t pieces; ///< and so many of the next one
};

/** Add the step that the pieces from @p p to @p end are together, which are gone over from needs @p from, as one
 * of outcome @p next; the last of theirs comes into @p last, 0: none. */
struct err *fl_steps_sum(struct steps *m, const struct super_piece *p,
			 const struct super_piece *end,
			 const struct automaton_needs *from, uint64_t next,
			 uint32_t *last);

/** Go along superblock @p s, whose needs these are, from entry @p i on, back to entry @p least at most. */
struct err *fl_steps_along(struct walker *w, const struct superblock *s, size_t i,
			   size_t least, struct steps_went *ret);

/** Forget all, which has become much; have what is needed to begin. */
struct err *fl_steps_room(struct walker *w);

#endif
