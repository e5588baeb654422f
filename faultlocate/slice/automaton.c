// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/automaton.h"

#include <string.h>

#include "base/hash.h"

enum { MAX_STEPS = 1 << 19, MAX_WORDS = 1 << 22 };

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
	uint32_t *then = a->steps.data[a->last].then;

	then[1] = then[0];
	then[0] = at;
	a->last = at;
}

uint32_t fl_automaton_find(struct automaton *a, const struct automaton_needs *needs,
			   uint64_t place, uint64_t outcome, uint64_t touched)
{
	const uint64_t *at =
		map_get(&a->step_of, hash_step(needs, place, outcome, touched));

	if (!at || !automaton_is(a, &a->steps.data[*at], needs, place, outcome))
		return 0;
	go_on(a, *at);
	return *at;
}

/* The changes of @p step, those that are none or those that are. */
static struct err *add_changes(struct automaton *a, const struct automaton_step *step,
			       const struct automaton_needs *from,
			       const struct automaton_needs *to, bool are_some)
{
	struct err *err = NULL;

	for (uint64_t left = step->from | step->to; left && !err; left &= left - 1) {
		uint8_t i = __builtin_ctzll(left);

		if ((from->of[i] != to->of[i]) == are_some)
			err = vec_add(&a->changes, (struct automaton_change){
							   from->of[i], to->of[i], i });
	}
	return err;
}

struct err *fl_automaton_add(struct automaton *a, struct automaton_step step,
			     const struct automaton_needs *from,
			     const struct automaton_needs *to, bool is_other)
{
	uint32_t number = a->steps.size;
	struct err *err;

	step.from = from->any & step.touched;
	step.to = to->any & step.touched;
	step.first_change = a->changes.size;
	err = add_changes(a, &step, from, to, true);
	step.n_changed = a->changes.size - step.first_change;
	if (!err)
		err = add_changes(a, &step, from, to, false);
	step.n_changes = a->changes.size - step.first_change;
	if (!err)
		err = vec_add(&a->steps, step);
	if (err)
		return err;
	if (is_other) {
		a->last = number;
		return NULL;
	}
	go_on(a, number);
	return map_put(&a->step_of,
		       hash_step(from, step.place, step.outcome, step.touched), number) ?
		       &err_nomem :
		       NULL;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

bool fl_automaton_is_full(const struct automaton *a)
{
	return a->steps.size >= MAX_STEPS || a->words.size >= MAX_WORDS ||
	       a->changes.size >= MAX_WORDS;
}

struct err *fl_automaton_begin(struct automaton *a)
{
	fl_automaton_deinit(a);
	a->last = 0;
	return vec_push(&a->steps) && vec_push(&a->numbers) ? NULL : &err_nomem;
}

void fl_automaton_deinit(struct automaton *a)
{
	vec_deinit(&a->words);
	vec_deinit(&a->numbers);
	vec_deinit(&a->steps);
	vec_deinit(&a->changes);
	map_deinit(&a->number_of);
	map_deinit(&a->step_of);
}
