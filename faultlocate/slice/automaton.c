// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/automaton.h"

#include <string.h>

#include "base/hash.h"

enum { MAX_STEPS = 1 << 19, MAX_WORDS = 1 << 22, MAX_STEP_WORDS = 1 << 24 };
enum { STEP_WORDS = sizeof(struct automaton_step) / 8 };

_Static_assert(sizeof(struct automaton_step) % 8 == 0 &&
		       sizeof(struct automaton_change) == 8,
	       "steps are of words");
_Static_assert(MAX_WORDS <= AUTOMATON_NUMBERS / 2, "a need has a word at least");
_Static_assert(AUTOMATON_NEEDS <= 64, "struct automaton_change");

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool is_it(const struct automaton *a, uint32_t number, const uint64_t *words,
		  uint32_t n)
{
	const struct automaton_words *w = &a->numbers.data[number];

	return w->n == n && !memcmp(a->words.data + w->first, words, n * sizeof(*words));
}

struct err *fl_automaton_number(struct automaton *a, const uint64_t *words, uint32_t n,
				uint32_t *ret)
{
	uint64_t hash = n;
	const uint64_t *at;

	*ret = 0;
	if (!n)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		hash = hash_mix(hash, words[i]);
	while ((at = map_get(&a->number_of, hash))) {
		*ret = *at;
		if (is_it(a, *ret, words, n))
			return NULL;
		hash++;
	}
	*ret = a->numbers.size;
	if (vec_reserve(&a->words, a->words.size + n) ||
	    map_put(&a->number_of, hash, *ret))
		return &err_nomem;
	memcpy(a->words.data + a->words.size, words, n * sizeof(*words));
	a->words.size += n;
	return vec_add(&a->numbers, (struct automaton_words){ a->words.size - n, n });
}

/* ---- steps ------------------------------------------------------------------------------------ */

static uint64_t hash_step(const struct automaton_needs *needs, uint64_t place,
			  uint64_t outcome, uint64_t touched)
{
	uint64_t hash = hash_mix(hash_mix(0, place), outcome);

	hash = hash_mix(hash, needs->any & touched);
	for (uint64_t left = needs->any & touched; left; left &= left - 1)
		hash = hash_mix(hash, needs->of[__builtin_ctzll(left)]);
	return hash;
}

/* Step @p at comes behind the last one. */
static void go_on(struct automaton *a, uint32_t at)
{
	uint32_t *then = automaton_at(a, a->last)->then;

	then[1] = then[0];
	then[0] = at;
	a->last = at;
}

uint32_t fl_automaton_find(struct automaton *a, const struct automaton_needs *needs,
			   uint64_t place, uint64_t outcome, uint64_t touched)
{
	const uint64_t *at =
		map_get(&a->step_of, hash_step(needs, place, outcome, touched));

	if (!at || !automaton_is(automaton_at(a, *at), needs, place, outcome))
		return 0;
	go_on(a, *at);
	return *at;
}

/* The changes of @p s, those that are none or those that are. */
static void add_changes(struct automaton_step *s, const struct automaton_needs *from,
			const struct automaton_needs *to, bool are_some)
{
	for (uint64_t left = s->from | s->to; left; left &= left - 1) {
		unsigned i = __builtin_ctzll(left);

		if ((from->of[i] != to->of[i]) == are_some)
			s->change[s->n_changes++] =
				(struct automaton_change){ from->of[i], to->of[i], i };
	}
}

struct err *fl_automaton_add(struct automaton *a, const struct automaton_step *step,
			     const struct automaton_needs *from,
			     const struct automaton_needs *to, uint32_t n_own,
			     bool is_other)
{
	uint64_t is_from = from->any & step->touched, is_to = to->any & step->touched;
	uint32_t number = a->steps.size;
	uint32_t n = STEP_WORDS + __builtin_popcountll(is_from | is_to) + n_own;
	struct automaton_step *s;

	if (vec_reserve(&a->steps, number + n))
		return &err_nomem;
	a->steps.size += n;
	s = automaton_at(a, number);
	memset(s, 0, n * sizeof(*a->steps.data));
	s->place = step->place;
	s->outcome = step->outcome;
	s->touched = step->touched;
	s->from = is_from;
	s->to = is_to;
	s->id = a->n_steps++;
	add_changes(s, from, to, true);
	s->n_changed = s->n_changes;
	add_changes(s, from, to, false);
	if (is_other) {
		a->last = number;
		return NULL;
	}
	go_on(a, number);
	return map_put(&a->step_of,
		       hash_step(from, step->place, step->outcome, step->touched),
		       number) ?
		       &err_nomem :
		       NULL;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

bool fl_automaton_is_full(const struct automaton *a)
{
	return a->n_steps >= MAX_STEPS || a->words.size >= MAX_WORDS ||
	       a->steps.size >= MAX_STEP_WORDS;
}

struct err *fl_automaton_begin(struct automaton *a)
{
	fl_automaton_deinit(a);
	a->last = 0;
	a->n_steps = 1;
	if (vec_reserve(&a->steps, STEP_WORDS) || !vec_push(&a->numbers))
		return &err_nomem;
	a->steps.size = STEP_WORDS;
	*automaton_at(a, 0) = (struct automaton_step){};
	return NULL;
}

void fl_automaton_deinit(struct automaton *a)
{
	vec_deinit(&a->words);
	vec_deinit(&a->numbers);
	vec_deinit(&a->steps);
	map_deinit(&a->number_of);
	map_deinit(&a->step_of);
}
