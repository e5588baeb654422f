// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside dec_recover: values that nobody knows, but how they hang together: `i` of one
 * iteration and `i + 1` of the next, a variable in a frame that is loaded again and again. They
 * make classes: each is mul * root + off, modulo 2^32 or 2^64. What a class is compared
 * with, over a whole loop, may leave one value for its root (recover_bounds.c). A guess, as far as memory takes
 * part. Rebuilt whenever it is asked; nothing of it is kept.
 */
#ifndef DECODE_PAST_RECOVER_AFFINE_H
#define DECODE_PAST_RECOVER_AFFINE_H

#include "decode/past/recover_guess.h"

/** mul * (value of node root) + off; root PAST_NO_NODE: off is all of it, and known. */
struct past_term {
	uint32_t root;
	bool is_there; ///< the rest means something
	uint64_t mul, off;
};

/** Values of a root, or of a difference of two, from @p low on: @p n more than one. */
struct past_interval {
	uint64_t low, n;
	bool is_empty; ///< what was found contradicts itself
};

/** The classes modulo 2^bits. */
struct past_affine {
	struct dec_recover *r;
	unsigned bits;	      ///< 32 or 64
	struct past_term *up; ///< by node: the next one on the way to its root
	struct map touched;   ///< while building: word -> who touched its halves last
	struct map bounds;    ///< root, or both of a pair -> index
	VEC(struct past_interval) intervals;
	bool has_joined; ///< since it was set false
};

/** Build the classes. @return false: out of memory, here and below. */
bool dec_recover_affine_build(struct past_affine *x);
void dec_recover_affine_deinit(struct past_affine *x);

/** @return operand @p i of @p at; of which less than x->bits are looked at: not there. */
struct past_term dec_recover_affine_operand(struct past_affine *x,
					    const struct past_at *at, int i, bool is_out);

/** @return the address of an access that is no range. */
struct past_term dec_recover_affine_address(struct past_affine *x,
					    const struct past_access *a);

/** @return what @p node is. */
struct past_term dec_recover_affine_find(struct past_affine *x, uint32_t node);

static inline struct past_term past_term_const(uint64_t v)
{
	return (struct past_term){ PAST_NO_NODE, true, 0, v };
}

/** Terms @p a and @p b are the same value. */
void dec_recover_affine_join(struct past_affine *x, struct past_term a,
			     struct past_term b);

/** The values of a root are among the @p n + 1 from @p low on. */
bool dec_recover_affine_bound(struct past_affine *x, uint64_t key, uint64_t low,
			      uint64_t n);

/** Find classes by what lies where they point to (recover_content.c). */
bool dec_recover_affine_contents(struct past_affine *x);

/** Let all nodes of classes whose root is found learn their values. */
void dec_recover_affine_learn(struct past_affine *x);

/** @return the value of @p t when its root is @p v. */
static inline uint64_t past_term_at(struct past_term t, uint64_t v)
{
	return t.mul * v + t.off;
}

#endif
