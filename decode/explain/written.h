// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * When was it written, about? The run is cut into epochs of so many instructions; one replay notes for
 * each word of memory and each register in which of them it was written. Then a writer of long ago is
 * looked for in the one epoch where it is, instead of in all behind it.
 */
#ifndef DECODE_EXPLAIN_WRITTEN_H
#define DECODE_EXPLAIN_WRITTEN_H

#include "decode/explain/backward.h"

struct dec_written;

/** Note that of the first @p end positions of @p m's run: it is gone through once, from its beginning,
 * and stands at @p end then. Takes 24 bytes for each 512 bytes of memory in each epoch that they are
 * written in, 384 MiB at most: rather than take more, epochs become longer.
 * @return an error of the machine's; err_nomem. */
struct err *dec_written_create(struct dec_machine *m, uint64_t end,
			       struct dec_written **ret);

/** NULL is fine. */
void dec_written_destroy(struct dec_written *w);

/** @return whether any of @p l may have been written before @p before; if so, the last time within @p ret,
 * of about an epoch, or else (a neighbour in the same word was written there) before that. */
bool dec_written_before(const struct dec_written *w, const struct dec_location *l,
			uint64_t before, struct dec_span *ret);

/** So long an epoch is at first, in instructions, a power of two; and so many notes are taken. Tests make
 * them small. */
extern uint64_t dec_written_epoch;
extern size_t dec_written_most;

#endif
