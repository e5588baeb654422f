// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where threads were interrupted, as somebody saw who counted their instructions (a
 * processor's trace): so that a replay, which finds such an instant by registers and
 * signature, need not take one that only looks the same.
 *
 * Each is at a number of instructions that the thread has executed before. Made by one
 * process, read by the machine's (they share a file in memory).
 */
#ifndef DECODE_MACHINE_INTERRUPTS_H
#define DECODE_MACHINE_INTERRUPTS_H

#include "base/base.h"

struct dec_interrupts;

/** Of no thread yet. @return NULL or ERR_NOMEM. */
struct err *dec_interrupts_create(struct dec_interrupts **ret);
void dec_interrupts_destroy(struct dec_interrupts *p);

/** Begin with thread @p tid; what follows is of it. */
struct err *dec_interrupts_thread(struct dec_interrupts *p, uint32_t tid);

/** The thread was interrupted before its instruction number @p at: ascending, twice the same
 * when it was interrupted there twice. */
struct err *dec_interrupts_add(struct dec_interrupts *p, uint64_t at);

/** All of its interruptions up to @p at are known; by default none is. */
void dec_interrupts_know(struct dec_interrupts *p, uint64_t at);

/** No more comes: write the file. @return ERR_OS. */
struct err *dec_interrupts_finish(struct dec_interrupts *p);

/** @return the file, which processes inherit that are started; -1 when there is none (@p p
 * may be NULL). */
int dec_interrupts_fd(const struct dec_interrupts *p);

/* ---- reading ---------------------------------------------------------------------- */

enum dec_interrupts_answer {
	DEC_INTERRUPTS_UNKNOWN, ///< nobody saw
	DEC_INTERRUPTS_YES,	///< it was interrupted there
	DEC_INTERRUPTS_NO,	///< it was not
};

struct dec_interrupts_map {
	const uint64_t *words; ///< NULL: nothing is known
	size_t n;
};

/** Map the file behind @p fd. It is there for good. */
struct err *dec_interrupts_open(int fd, struct dec_interrupts_map *ret);

/** Was thread @p tid interrupted before its instruction number @p at? Each
 * interruption answers once: @p n_used, of this thread, is 0 at first, and goes on when the
 * answer is yes. */
enum dec_interrupts_answer dec_interrupts_look(const struct dec_interrupts_map *m,
					       uint32_t tid, uint64_t at,
					       uint64_t *n_used);

#endif
