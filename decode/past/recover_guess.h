// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside dec_recover: what guesses are made of. Where a store went whose address is not
 * known, or where it did not go, is told by what memory held before and after, by what the
 * heap was, by pointers that have an opposite.
 */
#ifndef DECODE_PAST_RECOVER_GUESS_H
#define DECODE_PAST_RECOVER_GUESS_H

#include "decode/past/recover_mem.h"

/** A word that holds a pointer in the end. */
struct past_end_home {
	uint64_t word, value;
};

/** The base of a store whose place was found by what memory held. */
struct past_assumed {
	uint32_t node;
	uint64_t value;
	uint8_t from;	 ///< stage of later rounds at which it is taken again
	bool is_refuted; ///< something else told otherwise
};

enum past_may { PAST_MAY_NO, PAST_MAY_PERHAPS, PAST_MAY_YES };

/* ---- rounds (recover_guess.c) -------------------------------------------------------- */

/** What is known is known: remember it, guess on from there. */
struct err *dec_recover_guess(struct dec_recover *r);

/** Guesses disagree about @p node: no one is to be believed. */
void dec_recover_refute(struct dec_recover *r, uint32_t node);

/* ---- what memory held (recover_look.c) ----------------------------------------- */

/** @return whether word @p word held @p value as it is seen at this moment of the sweep: at
 * access @p seen. @is_clear: no store that may have hit it lies between. */
bool dec_recover_mem_fact(struct dec_recover *r, uint64_t word, uint64_t *value,
			  uint32_t *seen, bool *is_clear);

/* ---- frames (recover_frame.c) ---------------------------------------------------------- */

/** @return whether @p f sets rsp from rbp, and forgets what it was. */
bool dec_recover_frame_ends(const struct past_form *f);

/** Find stack pointers before such instructions by what frames are like, and what follows. */
struct err *dec_recover_frames_apply(struct dec_recover *r);

/* ---- what loops compare (recover_bounds.c) ------------------------------------------------ */

/** Find values by what branches said of them and of those that hang together with them. */
struct err *dec_recover_bounds_apply(struct dec_recover *r);

/* ---- opposite pointers (recover_mirror.c) -------------------------------------------- */

/** The next sweep is to find out which loads have a mirror; it is over. */
void dec_recover_mirrors_begin(struct dec_recover *r);
void dec_recover_mirrors_end(struct dec_recover *r);

/** Load @p a comes in the sweep: find its base by its mirror, or see whether it has one. */
void dec_recover_mirror_apply(struct dec_recover *r, const struct past_access *a);

/* ---- where stores went (recover_alias.c) ------------------------------------------------ */

/** A new round: which pointers are gone through is what is known of it. @return false: out of
 * memory, here and below. */
bool dec_recover_bases_begin(struct dec_recover *r);
/** Access @p a has a place. */
bool dec_recover_bases_note(struct dec_recover *r, const struct past_access *a);

/** @p word changed to @p value between access @p seen and this moment: find the store without
 * a place that did it. @return whether one was. */
bool dec_recover_alias_missing(struct dec_recover *r, uint64_t word, uint32_t seen,
			       uint64_t value);

/** Which words hold pointers that allocator calls gave: a new round; what access @p access
 * holds. */
bool dec_recover_homes_begin(struct dec_recover *r);
bool dec_recover_homes_note(struct dec_recover *r, uint32_t access);
void dec_recover_homes_deinit(struct dec_recover *r);

/** In a new round what was found by safe guesses is taken for granted, at the stage at which
 * it was found; by a bold one, behind that stage, which may find something else first. But
 * not what was refuted meanwhile: node @p node should hold something else. */
void dec_recover_assume_again(struct dec_recover *r);
void dec_recover_assumed_conflict(struct dec_recover *r, uint32_t node);

/** @return whether lost store @p access may have hit @p word, of which @p now is known behind
 * it. A guess: when it would go through a pointer that nothing else goes through, it did
 * not. */
bool dec_recover_alias_may_hit(struct dec_recover *r, uint32_t access, uint64_t word,
			       struct past_bits now);

/** Find the place of store @p a by where its value is. @return whether it was. */
bool dec_recover_alias_home(struct dec_recover *r, const struct past_access *a);

/* ---- the heap (recover_heap.c) ---------------------------------------------------------- */

/** All calls are told: find the blocks. */
struct err *dec_recover_heap_build(struct dec_recover *r);

/** @return whether a store at step @p step did not hit @p word: it is the allocator's and the
 * word the program's, or the other way round. */
bool dec_recover_heap_excludes(struct dec_recover *r, uint32_t step, uint64_t word);
void dec_recover_heap_deinit(struct dec_recover *r);

#endif
