// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One value followed back, copy by copy: from the register that held it to the load, to the
 * store of what was loaded, and so on to the instruction that made it. A slice asks
 * for all that had a part in a value; here it is only where it lay.
 */
#ifndef DECODE_EXPLAIN_FOLLOW_H
#define DECODE_EXPLAIN_FOLLOW_H

#include "decode/explain/backward.h"

/** What an instruction did to make the value. */
enum dec_hop_kind {
	DEC_HOP_COPY,	  ///< copied it from `from`
	DEC_HOP_OFFSET,	  ///< made it of a pointer in `from`, a little further on
	DEC_HOP_INDEX,	  ///< made it of a number in `from` and of what is all right
	DEC_HOP_CONSTANT, ///< knew it
	DEC_HOP_COMPUTED, ///< made it of several
	DEC_HOP_KERNEL,	  ///< the kernel wrote it
	DEC_HOP_PIECE,	  ///< wrote a part of it
};

struct dec_hop {
	enum dec_hop_kind kind;
	uint64_t position, rip;
	uint32_t tid;
	struct dec_location to; ///< what it wrote
	uint64_t value;		///< that was there then, as far as has_value
	bool has_value;
	struct dec_location from; ///< COPY, OFFSET, INDEX
	uint64_t written;	  ///< bytes that it wrote at once
	bool is_narrow; ///< a small number that was summed up in four bytes or less
	bool is_part;	///< COPY: taken out of a word that has more, or put into one
};

/** What is followed: where arithmetic is gone through. */
enum dec_follow_what {
	DEC_FOLLOW_POINTER, ///< sums of a pointer and little
	DEC_FOLLOW_WORD, ///< a word that a pointer is taken out of: what else is there, too
	DEC_FOLLOW_INDEX,  ///< of a number, until it was loaded; then as NUMBER
	DEC_FOLLOW_NUMBER, ///< nowhere
};

struct dec_follow {
	VEC(struct dec_hop) hops; ///< the latest first
	/** No instruction wrote it before the last hop (or the beginning): it was there since the
	 * program, or the memory, began; or that was longer ago than is looked back. */
	bool is_unwritten, is_far;
	struct dec_location last; ///< is_unwritten, is_far: where it was
};

/** Does the way go on with a hop, end before it, or end with it? */
enum dec_follow_next { DEC_FOLLOW_ON, DEC_FOLLOW_STOP, DEC_FOLLOW_LAST };

/** Asked of @p hop before it is added. @p later: it wrote what that one read (NULL: nobody). */
typedef enum dec_follow_next (*dec_follow_stop_fn)(void *ctx, const struct dec_hop *later,
						   const struct dec_hop *hop);

/**
 * Follow what is at @p l just before @p before.
 *
 * @param stop  NULL, or it may end the way.
 * @param ret	Zeroed before; dec_follow_deinit() after.
 */
struct err *dec_follow(struct dec_past *p, const struct dec_location *l, uint64_t before,
		       enum dec_follow_what what, dec_follow_stop_fn stop, void *ctx,
		       struct dec_follow *ret);
void dec_follow_deinit(struct dec_follow *f);

/** What step @p s, which wrote @p l, made it of. */
void dec_follow_hop(const struct dec_past *p, const struct dec_past_step *s,
		    const struct dec_location *l, enum dec_follow_what what,
		    struct dec_hop *ret);

#endif
