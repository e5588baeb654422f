// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/hash.h"
#include "faultlocate/slice/automaton.h"
#include "tests/unit.h"

enum { PLACES = 4, WORDS = 3, ROUNDS = 20000 };

// What each piece has to do with: two of six needs, of three values each (0 is one).
static const uint64_t touched[PLACES] = { 0x3, 0x9, 0x24, UINT64_C(1) << 63 | 2 };

/* A number for value @p value of @p need: 0 for value 0. */
static uint32_t number(struct automaton *a, unsigned need, uint64_t value)
{
	const uint64_t words[WORDS] = { value, need, ~value };
	uint32_t ret;

	assert_null(fl_automaton_number(a, words, value ? WORDS : 0, &ret));
	return ret;
}

static uint64_t value(const struct automaton *a, uint32_t number)
{
	uint32_t n;
	const uint64_t *words = automaton_words(a, number, &n);

	assert_int_equal(n, number ? WORDS : 0);
	return number ? words[0] : 0;
}

/* What a piece does, as it is found out the first time. */
static void plainly(struct automaton *a, uint64_t place, uint64_t outcome,
		    struct automaton_needs *needs)
{
	uint64_t hash = hash_mix(place, outcome);

	for (uint64_t left = touched[place]; left; left &= left - 1)
		hash = hash_mix(hash, value(a, needs->of[__builtin_ctzll(left)]));
	for (uint64_t left = touched[place]; left; left &= left - 1) {
		unsigned i = __builtin_ctzll(left);

		hash = hash_mix(hash, i);
		automaton_set(needs, i, number(a, i, hash % 3));
	}
}

static uint32_t find(struct automaton *a, const struct automaton_needs *needs,
		     uint64_t place, uint64_t outcome)
{
	uint32_t at = automaton_next(a, needs, place, outcome);

	return at ?: fl_automaton_find(a, needs, place, outcome, touched[place]);
}

static void test_steps(void **state)
{
	struct automaton a = {};
	struct automaton_needs needs = {}, before, plain;
	uint32_t x = 7, n_found = 0;

	(void)state;
	assert_null(fl_automaton_begin(&a));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t place, outcome;
		uint32_t at;

		x = x * 1664525 + 1013904223;
		place = x >> 24 & 3;
		outcome = x >> 20 & 1;
		before = plain = needs;
		plainly(&a, place, outcome, &plain);
		at = find(&a, &needs, place, outcome);
		if (at) {
			n_found++;
			assert_int_equal(at, a.last);
			assert_int_equal(*automaton_own(automaton_at(&a, at)),
					 hash_mix(place, outcome));
			automaton_take(automaton_at(&a, at), &needs);
		} else {
			needs = plain;
			assert_null(fl_automaton_add(
				&a,
				&(struct automaton_step){ .place = place,
							  .outcome = outcome,
							  .touched = touched[place] },
				&before, &needs, 1, false));
			assert_int_equal(automaton_at(&a, a.last)->id, a.n_steps - 1);
			*automaton_own(automaton_at(&a, a.last)) =
				hash_mix(place, outcome);
		}
		assert_memory_equal(&needs, &plain, sizeof(needs));
	}
	// Two needs of three values each, two outcomes: whatever the others were.
	assert_in_range(a.n_steps - 1, PLACES + 1, PLACES * 3 * 3 * 2);
	assert_int_equal(n_found, ROUNDS - (a.n_steps - 1));
	// Values but 0 of the six needs.
	assert_in_range(a.numbers.size - 1, 6, 6 * 2);
	fl_automaton_deinit(&a);
}

static void test_other(void **state)
{
	struct automaton a = {};
	const struct automaton_step step = { .place = 5, .touched = 1 };
	struct automaton_needs needs = {}, to = {};

	(void)state;
	assert_null(fl_automaton_begin(&a));
	assert_int_equal(fl_automaton_find(&a, &needs, 5, 0, 1), 0);
	assert_null(fl_automaton_add(&a, &step, &needs, &to, 0, false));
	automaton_set(&to, 0, number(&a, 0, 1));
	assert_null(fl_automaton_add(&a, &step, &needs, &to, 0, true));
	assert_int_equal(automaton_at(&a, a.last)->id, 2);
	assert_int_equal(automaton_at(&a, fl_automaton_find(&a, &needs, 5, 0, 1))->id, 1);
	fl_automaton_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
