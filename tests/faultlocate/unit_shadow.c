// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "base/hash.h"
#include "faultlocate/race/shadow.h"
#include "tests/unit.h"

/* Threads access a few words at random, by statements that mostly repeat themselves. The races must be those, in the
 * same order, that a list without any short cut has, whatever was left out because it was settled. */

enum { THREADS = 3, WORDS = 8, STATEMENTS = 8, STEPS = 20000, ROUNDS = 20, MANY = 64 };
#define BASE UINT64_C(0x10000)

struct statement {
	uint64_t addr, generation;
	uint32_t size;
	bool is_write, is_atomic;
};

/* A word's records: the first one's place, then from the last that came to the first. */
struct model_word {
	struct shadow_record record[MANY];
	size_t n; ///< at least 1; the first may be empty
};

struct model {
	struct clocks clocks;
	struct shadow shadow;
	struct model_word words[WORDS + 1];
	struct statement statements[THREADS][STATEMENTS];
	uint64_t epoch[THREADS];
	uint64_t random, told, expected; ///< hashes of the races
	size_t n_races, n_settled, last;
};

static uint64_t pick(struct model *m, uint64_t n)
{
	m->random = hash_mix(m->random, 1);
	return m->random % n;
}

static uint64_t add_race(uint64_t hash, const struct shadow_record *a,
			 const struct shadow_record *b, uint64_t addr)
{
	return hash_mix(
		hash_mix(hash_mix(hash_mix(hash, a->time), a->statement), b->time), addr);
}

static struct err *on_race(void *ctx, const struct shadow_record *earlier,
			   const struct shadow_record *later, uint64_t addr)
{
	struct model *m = ctx;

	m->told = add_race(m->told, earlier, later, addr);
	m->n_races++;
	return NULL;
}

static void foresee_word(struct model *m, struct model_word *word,
			 const struct shadow_record *x, uint64_t addr)
{
	struct shadow_record *r = word->record;
	size_t n = 1;

	if (word->n == 1 && r->thread == x->thread && r->clock == x->clock &&
	    !(x->bytes & ~r->bytes) && r->is_write >= x->is_write &&
	    r->is_atomic == x->is_atomic)
		return;
	for (size_t i = 0; i < word->n; i++) {
		bool is_before =
			clocks_is_before(&m->clocks, r[i].thread, r[i].clock, x->thread);

		if (!is_before && r[i].bytes & x->bytes &&
		    (r[i].is_write || x->is_write) && !(r[i].is_atomic && x->is_atomic))
			m->expected = add_race(m->expected, &r[i], x, addr);
		if (is_before && !(r[i].bytes & ~x->bytes) &&
		    (x->is_write || !r[i].is_write) && (r[i].is_atomic || !x->is_atomic))
			r[i].bytes = 0;
	}
	for (size_t i = 1; i < word->n; i++)
		if (r[i].bytes)
			r[n++] = r[i];
	word->n = n;
	if (!r->bytes) {
		*r = *x;
		return;
	}
	assert_true(word->n < MANY);
	memmove(&r[2], &r[1], (word->n++ - 1) * sizeof(*r));
	r[1] = *x;
}

static void foresee(struct model *m, const struct shadow_record *x, uint64_t addr)
{
	struct shadow_record part = *x;

	for (uint64_t at = addr, n; at < addr + x->size; at += n) {
		n = 8 - at % 8 < addr + x->size - at ? 8 - at % 8 : addr + x->size - at;
		part.bytes = ((1u << n) - 1) << at % 8;
		foresee_word(m, &m->words[(at - BASE) / 8], &part, at);
	}
}

static void access_memory(struct model *m, size_t t, uint64_t time)
{
	uint32_t number = pick(m, STATEMENTS);
	struct statement *s = &m->statements[t][number];
	struct shadow_record x = { .time = time,
				   .clock = clocks_now(&m->clocks, t),
				   .statement = t * STATEMENTS + number + 1,
				   .thread = t,
				   .is_write = s->is_write,
				   .is_atomic = s->is_atomic,
				   .size = s->size };

	m->shadow.generation += t != m->last || x.clock != m->epoch[t];
	m->last = t;
	m->epoch[t] = x.clock;
	foresee(m, &x, s->addr);
	if (s->generation == m->shadow.generation) {
		m->n_settled++;
		return;
	}
	ok(fl_shadow_access(&m->shadow, &m->clocks, s->addr, &x, on_race, m));
	s->generation = m->shadow.is_settled && !s->is_atomic ? m->shadow.generation : 0;
}

static void clear(struct model *m)
{
	uint64_t addr = BASE + pick(m, 8 * WORDS), size = 1 + pick(m, 12);

	fl_shadow_clear(&m->shadow, addr, size);
	for (uint64_t at = addr; at < addr + size; at++) {
		struct model_word *word = &m->words[(at - BASE) / 8];
		size_t n = 1;

		if ((at - BASE) / 8 > WORDS)
			break;
		for (size_t i = 0; i < word->n; i++)
			word->record[i].bytes &= ~(1u << at % 8);
		for (size_t i = 1; i < word->n; i++)
			if (word->record[i].bytes)
				word->record[n++] = word->record[i];
		word->n = n;
	}
}

static void init(struct model *m, uint64_t seed)
{
	*m = (struct model){ .random = seed, .shadow.generation = 1 };
	for (size_t i = 0; i <= WORDS; i++)
		m->words[i].n = 1;
	for (size_t t = 0; t < THREADS; t++) {
		assert_int_equal(fl_clocks_begin(&m->clocks, 0), t);
		for (size_t i = 0; i < STATEMENTS; i++)
			m->statements[t][i] = (struct statement){
				.addr = BASE + 4 * pick(m, 2 * WORDS) + !pick(m, 8),
				.size = pick(m, 8) ? 4 : 1 + pick(m, 8),
				.is_write = !pick(m, 3),
				.is_atomic = !pick(m, 6),
			};
	}
}

static void test_random(void **state)
{
	struct model *m = malloc(sizeof(*m));
	size_t n_races = 0, n_settled = 0;
	uint64_t seed = unit_seed();

	(void)state;
	assert_non_null(m);
	for (int round = 0; round < ROUNDS; round++) {
		size_t t = 0;

		init(m, seed + round);
		for (int i = 0; i < STEPS; i++) {
			uint64_t what = pick(m, 100);

			if (what < 3)
				t = pick(m, THREADS);
			else if (what < 5)
				ok(fl_clocks_release(&m->clocks, t, 1));
			else if (what < 8)
				ok(fl_clocks_acquire(&m->clocks, t, 1));
			else if (what == 8)
				clear(m);
			else
				access_memory(m, t, i);
			assert_int_equal(m->told, m->expected);
		}
		n_races += m->n_races;
		n_settled += m->n_settled;
		fl_shadow_deinit(&m->shadow);
		fl_clocks_deinit(&m->clocks);
	}
	free(m);
	printf("%zu races, %zu accesses were settled\n", n_races, n_settled);
	assert_true(n_races && n_settled);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
