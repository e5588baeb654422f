// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pairs of sub-operations of two operations under way (paper 001, section 6.4), derived with Z3:
 * which can follow one another, and which can then change places without a difference.
 *
 * States are those that can be reached, as far as facts of a few shapes tell (facts.h): they hold at
 * first and whatever is done. What Z3 does not decide counts as orderable, and as not reversible.
 */
#ifndef FAULTLOCATE_LINEAR_PAIRS_H
#define FAULTLOCATE_LINEAR_PAIRS_H

#include "base/vec.h"
#include "faultlocate/linear/steps.h"

/** What is known of a, b: a of one operation, at once followed by b of another. */
struct fl_lin_pair {
	bool is_orderable;  ///< b can follow
	bool is_reversible; ///< b, a can be done then as well, and comes to the same
	bool is_boundary;   ///< a ends an operation and b begins one: never reversible
	bool is_undecided;  ///< by Z3
	enum {
		PAIR_SAME,
		PAIR_SECOND_FIRST, ///< what b needs does not hold before a
		PAIR_THEN_FIRST,   ///< what a needs does not hold after b
		PAIR_DIFFERS, ///< the two orders end in different states, or see other values
	} why;		      ///< not reversible, in one state at least
	char what[96]; ///< of why, in that state: the condition, or what differs; or ""
};

/** How what came between an operation's first sub-operations, x, and its next, S, is taken out of between
 * them. An operation that has read is of two *versions*: what it read holds still when it goes on, or no
 * longer. */
enum fl_lin_move {
	MOVE_BY_PAIRS, ///< as Algorithm 6 has it
	MOVE_LATE,     ///< x has read, which holds still before S: it may have read there
	MOVE_SPLIT,    ///< or it holds no longer: S may have been done when it last did
};

struct fl_lin_pairs {
	struct fl_lin_pair *data; ///< a * n + b
	size_t n;
	enum fl_lin_move *move; ///< of S
	bool *is_never; ///< of each sub-operation: its conditions hold in no state
	/** Of each: an operation that has written, and others mind, may wait for ever before it: a proof is
	 * one of executions in which it does not. Known where there is a proof. */
	bool *may_wait;
	size_t n_facts, n_questions, n_undecided;
};

struct err *fl_lin_pairs_derive(const struct fl_lin_steps *steps,
				struct fl_lin_pairs *ret);
/** Of @p n sub-operations nothing is known. @return false: memory is out. */
bool fl_lin_pairs_alloc(struct fl_lin_pairs *pairs, size_t n);
void fl_lin_pairs_deinit(struct fl_lin_pairs *pairs);

static inline const struct fl_lin_pair *fl_lin_pair(const struct fl_lin_pairs *p,
						    size_t a, size_t b)
{
	return &p->data[a * p->n + b];
}

/** @return a sub-operation that is never done, or before which one that has written may wait for ever: a
 * proof with these @p pairs says nothing of all executions; pairs->n: there is none. */
size_t fl_lin_pairs_reservation(const struct fl_lin_pairs *pairs);

/** What Algorithm 6 found. */
struct fl_lin_proof {
	bool is_proven;
	// Else prefixes, one behind the other: of an operation with sub-operation `last` its sub-
	// operations up to that; behind them `next`, which goes on with the first prefix.
	VEC(size_t) last;
	size_t next;
};

/** Algorithm 6, as corrected: can all histories that the pairs allow be made sequential? */
struct err *fl_lin_prove(const struct fl_lin_steps *steps,
			 const struct fl_lin_pairs *pairs, struct fl_lin_proof *ret);
void fl_lin_proof_deinit(struct fl_lin_proof *proof);

#endif
