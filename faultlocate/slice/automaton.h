// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a walk back remembers of pieces of code that it went over: a program runs the same code
 * again, and much of it with the same registers wanted in the same way. For slices (walk_memo.h) and
 * for roles of inputs (inputs/steps.h), which know what is wanted; here it has numbers.
 *
 * A *need* is what is wanted of one register, or of whatever else is like one. A *piece* of code, at
 * a *place*, has to do with some of them. An *outcome* is what besides needs decides what happens in
 * it: what of the memory that it stores to was wanted, where its branch went. Place, outcome and the
 * needs that the piece has to do with decide the needs before it: that is a *step*, found when it is
 * met again. Other needs stay as they are, so there are not more steps than ways to come to the
 * piece.
 *
 * Two steps, needs or outcomes are never taken for one because their hashes are the same.
 */
#ifndef FAULTLOCATE_SLICE_AUTOMATON_H
#define FAULTLOCATE_SLICE_AUTOMATON_H

#include "base/base.h"

enum { AUTOMATON_NEEDS = 64 };

/** What is wanted at some place: by number; that of nothing is 0. */
struct automaton_needs {
	uint64_t any; ///< bit n: of[n] is not 0
	uint32_t of[AUTOMATON_NEEDS];
};

/** A need behind a step, and before it. */
struct automaton_change {
	uint32_t from, to : 26, need : 6;
};
enum { AUTOMATON_NUMBERS = 1 << 26 }; ///< more there are not

/** A step, with all that is looked at when it is found again in one place: behind it are its changes, and words
 * of whoever added it. Its number says where it is. */
struct automaton_step {
	uint64_t place, outcome;
	uint64_t touched; ///< needs that it has to do with
	uint64_t from,
		to;	  ///< those of them that are not 0 behind it; before it
	uint32_t then[2]; ///< the steps that came last behind it
	uint32_t id;	  ///< the how manieth it is, from 1
	uint8_t n_changes,
		n_changed; ///< of needs in `from` or `to`; the first ones are not the same before
	struct automaton_change change[];
};

struct automaton_words {
	uint32_t first, n;
};

struct automaton {
	VEC(uint64_t) words;
	VEC(struct automaton_words) numbers; ///< [0]: none
	VEC(uint64_t) steps;		     ///< struct automaton_step; the first is none
	uint32_t n_steps;		     ///< that one, too
	struct map number_of, step_of;	     ///< hash -> number
	uint32_t last;			     ///< step that was found or added last
};

/** Forget all, and have what is needed to begin. */
struct err *fl_automaton_begin(struct automaton *a);
void fl_automaton_deinit(struct automaton *a);

/** @return whether it holds so much that it should begin anew. */
bool fl_automaton_is_full(const struct automaton *a);

/** Find the number of these @p n words, which are kept when they are new; 0: there are none. */
struct err *fl_automaton_number(struct automaton *a, const uint64_t *words, uint32_t n,
				uint32_t *ret);

/** @return the words of @p number, until there is a new one; *@p n: how many. */
static inline const uint64_t *automaton_words(const struct automaton *a, uint32_t number,
					      uint32_t *n)
{
	*n = a->numbers.data[number].n;
	return a->words.data + a->numbers.data[number].first;
}

/** @return step @p number, until one is added. */
static inline struct automaton_step *automaton_at(const struct automaton *a,
						  uint32_t number)
{
	return (struct automaton_step *)(a->steps.data + number);
}

/** @return the words of whoever added @p s. */
static inline uint64_t *automaton_own(struct automaton_step *s)
{
	return (uint64_t *)(s->change + s->n_changes);
}

static inline void automaton_set(struct automaton_needs *n, unsigned i, uint32_t number)
{
	n->of[i] = number;
	n->any = (n->any & ~(UINT64_C(1) << i)) | (uint64_t)(number != 0) << i;
}

static inline bool automaton_is(const struct automaton_step *s,
				const struct automaton_needs *needs, uint64_t place,
				uint64_t outcome)
{
	const struct automaton_change *c = s->change;

	if (s->place != place || s->outcome != outcome ||
	    (needs->any & s->touched) != s->from)
		return false;
	for (uint32_t i = 0; i < s->n_changes; i++)
		if (needs->of[c[i].need] != c[i].from)
			return false;
	return true;
}

/** @return the step of @p place and @p outcome from @p needs if it is one of those that came last behind
 * the last one; 0. */
static inline uint32_t automaton_next(struct automaton *a,
				      const struct automaton_needs *needs, uint64_t place,
				      uint64_t outcome)
{
	const uint32_t *then = automaton_at(a, a->last)->then;

	for (int i = 0; i < 2; i++) {
		uint32_t at = then[i];

		if (!at || !automaton_is(automaton_at(a, at), needs, place, outcome))
			continue;
		a->last = at;
		return at;
	}
	return 0;
}

/** @return the same wherever it came last, of a piece that has to do with needs @p touched; 0: it was not
 * met. */
uint32_t fl_automaton_find(struct automaton *a, const struct automaton_needs *needs,
			   uint64_t place, uint64_t outcome, uint64_t touched);

/** Add a step of @p step's place, outcome and touched, which led from needs @p from to @p to, and has @p n_own
 * words of its own, which are zeroed. Its number is then a->last. @p is_other: it goes on that one like it is
 * found. */
struct err *fl_automaton_add(struct automaton *a, const struct automaton_step *step,
			     const struct automaton_needs *from,
			     const struct automaton_needs *to, uint32_t n_own,
			     bool is_other);

/** Have @p needs as they are before step @p s. */
static inline void automaton_take(const struct automaton_step *s,
				  struct automaton_needs *needs)
{
	const struct automaton_change *c = s->change;

	for (uint32_t i = 0; i < s->n_changed; i++)
		needs->of[c[i].need] = c[i].to;
	needs->any = (needs->any & ~s->touched) | s->to;
}

#endif
