// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/hash.h"
#include "faultlocate/race/clock.h"
#include "tests/unit.h"

/* Threads begin, share locks, access, end and are joined at random. What happened before what is told by one clock for each
 * thread there ever was, too: both must agree, though ended threads' clocks are used again. */

enum { THREADS = 300, LIVE = 6, LOCKS = 4, ROUNDS = 30, STEPS = 4000 };
enum { KEY_BIRTH = 1000, KEY_END = 2000 };

struct thread {
	size_t clock; ///< of the clocks under test
	bool is_live, is_joined;
	uint32_t times[THREADS]; ///< its own place is its time
};

struct access {
	size_t thread, clock;
	uint32_t time, own; ///< of the clock under test; of its thread
};

struct model {
	struct clocks clocks;
	struct thread threads[THREADS];
	size_t n;
	uint32_t locks[LOCKS][THREADS];
	VEC(struct access) accesses;
	uint64_t random;
};

static uint64_t pick(struct model *m, uint64_t n)
{
	m->random = hash_mix(m->random, 1);
	return m->random % n;
}

static void join(uint32_t *to, const uint32_t *from)
{
	for (size_t i = 0; i < THREADS; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

static size_t n_live(const struct model *m)
{
	size_t ret = 0;

	for (size_t i = 0; i < m->n; i++)
		ret += m->threads[i].is_live;
	return ret;
}

static void begin(struct model *m, struct thread *maker)
{
	uint64_t key = KEY_BIRTH + m->n;
	struct thread *t = &m->threads[m->n];

	if (m->n == THREADS || n_live(m) == LIVE)
		return;
	if (maker) {
		ok(fl_clocks_release(&m->clocks, maker->clock, key));
		join(t->times, maker->times);
		maker->times[maker - m->threads]++;
	}
	t->clock = fl_clocks_begin(&m->clocks, key);
	fl_clocks_forget(&m->clocks, key);
	assert_true(t->clock != SIZE_MAX);
	t->is_live = true;
	t->times[m->n++] = 1;
}

/* Nobody may join what has none to do so. */
static void end(struct model *m, struct thread *t)
{
	if (n_live(m) < 2)
		return;
	ok(fl_clocks_end(&m->clocks, t->clock, KEY_END + (t - m->threads)));
	t->is_live = false;
}

static void join_one(struct model *m, struct thread *t)
{
	for (size_t i = 0; i < m->n; i++) {
		struct thread *from = &m->threads[i];

		if (from->is_live || from->is_joined || pick(m, 3))
			continue;
		ok(fl_clocks_acquire(&m->clocks, t->clock, KEY_END + i));
		join(t->times, from->times);
		from->is_joined = true;
		return;
	}
}

static void look(struct model *m, struct thread *t)
{
	struct access a = { t - m->threads, t->clock, clocks_now(&m->clocks, t->clock),
			    t->times[t - m->threads] };

	clocks_access(&m->clocks, t->clock);
	for (size_t i = 0; i < m->accesses.size; i++) {
		const struct access *x = &m->accesses.data[i];

		assert_int_equal(clocks_is_before(&m->clocks, x->clock, x->time,
						  t->clock),
				 x->thread == a.thread || x->own <= t->times[x->thread]);
	}
	ok(vec_add(&m->accesses, a));
}

static void step(struct model *m)
{
	struct thread *t = &m->threads[pick(m, m->n)];
	uint64_t lock = pick(m, LOCKS);

	if (!t->is_live)
		return;
	switch (pick(m, 12)) {
	case 0:
		begin(m, t);
		break;
	case 1:
		end(m, t);
		break;
	case 2:
		join_one(m, t);
		break;
	case 3:
		ok(fl_clocks_release(&m->clocks, t->clock, lock));
		join(m->locks[lock], t->times);
		t->times[t - m->threads]++;
		break;
	case 4:
		ok(fl_clocks_acquire(&m->clocks, t->clock, lock));
		join(t->times, m->locks[lock]);
		break;
	default:
		look(m, t);
	}
}

static void test_random(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	uint64_t seed = unit_seed();
	size_t n = 0, used = 0;

	(void)state;
	assert_non_null(m);
	for (int round = 0; round < ROUNDS; round++) {
		*m = (struct model){ .random = seed + round };
		begin(m, NULL);
		for (int i = 0; i < STEPS; i++)
			step(m);
		n += m->n;
		used += m->clocks.threads.size;
		fl_clocks_deinit(&m->clocks);
		vec_deinit(&m->accesses);
	}
	free(m);
	printf("%zu threads, %zu clocks\n", n, used);
	assert_true(used < n);
}

/* Who makes threads and joins them needs no more clocks than there are at a time. */
static void test_bounded(void **state)
{
	struct clocks c = {};
	size_t first = fl_clocks_begin(&c, 0), clock[LIVE];

	(void)state;
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < LIVE; i++) {
			ok(fl_clocks_release(&c, first, KEY_BIRTH));
			clock[i] = fl_clocks_begin(&c, KEY_BIRTH);
			fl_clocks_forget(&c, KEY_BIRTH);
			clocks_access(&c, clock[i]);
		}
		for (int i = 0; i < LIVE; i++) {
			ok(fl_clocks_end(&c, clock[i], KEY_END));
			ok(fl_clocks_acquire(&c, first, KEY_END));
			fl_clocks_forget(&c, KEY_END);
		}
	}
	assert_int_equal(c.threads.size, LIVE + 1);
	assert_true(c.objects.size <= 2);
	fl_clocks_deinit(&c);
}

/* What is told and learnt again, as tasks do whose threads seldom take turns, looks at no clock of the others. */
static void test_repeated(void **state)
{
	enum { MANY = 1000, TIMES = 1000, KEY = 1 };
	struct clocks c = {};
	size_t first = fl_clocks_begin(&c, 0), second;
	uint64_t before;

	(void)state;
	for (int i = 0; i < MANY; i++)
		ok(fl_clocks_release(&c, fl_clocks_begin(&c, 0), KEY));
	second = fl_clocks_begin(&c, 0);
	before = c.n_joined;
	for (int i = 0; i < TIMES; i++) {
		ok(fl_clocks_acquire(&c, first, KEY));
		ok(fl_clocks_release(&c, first, KEY));
		ok(fl_clocks_release(&c, first, KEY + 1));
	}
	assert_true(c.n_joined - before <= 4 * (MANY + 2));
	assert_true(clocks_is_before(&c, MANY / 2, 1, first));

	assert_false(clocks_is_before(&c, first, TIMES, second));
	ok(fl_clocks_acquire(&c, second, KEY));
	assert_true(clocks_is_before(&c, first, 2 * TIMES - 1, second));
	assert_false(clocks_is_before(&c, first, 2 * TIMES, second));
	fl_clocks_deinit(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random),
					    cmocka_unit_test(test_bounded),
					    cmocka_unit_test(test_repeated) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
