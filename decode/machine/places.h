// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where threads were interrupted, as somebody saw who counted their instructions (a
 * processor's trace): so that a replay, which finds such a place by registers and
 * signature, need not take one that only looks the same.
 *
 * A place is the number of instructions that the thread has executed before. Made by one
 * process, read by the machine's (they share a file in memory).
 */
#ifndef DECODE_MACHINE_PLACES_H
#define DECODE_MACHINE_PLACES_H

#include "base/base.h"

struct dec_places;

/** Places of no thread yet. @return NULL or ERR_NOMEM. */
struct err *dec_places_create(struct dec_places **ret);
void dec_places_destroy(struct dec_places *p);

/** Begin with thread @p tid; what follows is of it. */
struct err *dec_places_thread(struct dec_places *p, uint32_t tid);

/** The thread was interrupted before its instruction number @p at: ascending, twice the same
 * when it was interrupted there twice. */
struct err *dec_places_add(struct dec_places *p, uint64_t at);

/** All of its places up to @p at are known; by default none is. */
void dec_places_know(struct dec_places *p, uint64_t at);

/** No more comes: write the file. @return ERR_OS. */
struct err *dec_places_finish(struct dec_places *p);

/** @return the file, which processes inherit that are started; -1 when there is none (@p p
 * may be NULL). */
int dec_places_fd(const struct dec_places *p);

/* ---- reading ---------------------------------------------------------------------- */

enum dec_places_answer {
	DEC_PLACES_UNKNOWN, ///< nobody saw
	DEC_PLACES_YES,	    ///< it was interrupted there
	DEC_PLACES_NO,	    ///< it was not
};

struct dec_places_map {
	const uint64_t *words; ///< NULL: nothing is known
	size_t n;
};

/** Map the file behind @p fd. It is there for good. */
struct err *dec_places_open(int fd, struct dec_places_map *ret);

/** Was thread @p tid interrupted before its instruction number @p at? A place is an
 * interruption's only once: @p n_used, of this thread, is 0 at first, and goes on when the
 * answer is yes. */
enum dec_places_answer dec_places_look(const struct dec_places_map *m, uint32_t tid,
				       uint64_t at, uint64_t *n_used);

#endif
