// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "base/base.h"
#include "tests/unit.h"

#define KEYS 257

// A plain array, indexed by key number, says what the map must say.
struct model {
	uint64_t value[KEYS];
	bool is_there[KEYS];
	size_t size;
};

static uint64_t key_of(unsigned i)
{
	// Runs of neighbours, multiples of big powers of two, and the largest keys.
	return i < 90 ? i : i < 180 ? (uint64_t)i << 40 : UINT64_MAX - (i - 180);
}

static void check_all(const struct map *m, const struct model *model)
{
	assert_int_equal(m->size + m->has_empty_key, model->size);
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t *v = map_get(m, key_of(i));

		assert_int_equal(v != NULL, model->is_there[i]);
		if (v)
			assert_true(*v == model->value[i]);
	}
}

static void test_against_model(void **state)
{
	struct model model = {};
	struct map m = {};
	uint32_t x = 7;

	(void)state;
	for (int step = 0; step < 20000; step++) {
		unsigned i;

		x = x * 1664525 + 1013904223;
		i = (x >> 8) % KEYS;
		if (x >> 28 < 9) {
			assert_int_equal(map_put(&m, key_of(i), x), 0);
			model.size += !model.is_there[i];
			model.is_there[i] = true;
			model.value[i] = x;
		} else {
			assert_int_equal(map_remove(&m, key_of(i)), model.is_there[i]);
			model.size -= model.is_there[i];
			model.is_there[i] = false;
		}
		if (step % 500 == 0)
			check_all(&m, &model);
	}
	check_all(&m, &model);
	map_deinit(&m);
	assert_null(map_get(&m, 1));
}

static void test_empty(void **state)
{
	struct map m = {};

	(void)state;
	assert_null(map_get(&m, 0));
	assert_false(map_remove(&m, 0));
	map_deinit(&m);
	assert_int_equal(map_put(&m, 0, 5), 0);
	assert_true(*map_get(&m, 0) == 5);
	map_deinit(&m);
}

static void test_vec_grows(void **state)
{
	VEC(uint32_t) v = {};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t *slot = vec_push(&v);

		assert_non_null(slot);
		assert_int_equal(*slot, 0);
		*slot = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(v.data[i], i);
	vec_deinit(&v);
	assert_int_equal(v.size, 0);
}

static void test_arena(void **state)
{
	struct arena a = {};
	char *last = NULL;

	(void)state;
	for (size_t size = 1; size < 200000; size = size * 3 + 1) {
		char *p = arena_alloc(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0x5a, size);
		last = p;
	}
	assert_int_equal(last[0], 0x5a);
	assert_string_equal(arena_strndup(&a, "hello there", 5), "hello");
	arena_deinit(&a);
	assert_non_null(arena_alloc(&a, 10));
	arena_deinit(&a);
}

static void test_lines(void **state)
{
	line_list l = {};

	(void)state;
	assert_null(lines_add(&l, "at %#lx", 0x10ul));
	assert_null(lines_add(&l, "at %#lx", 0x20ul)); // says the same
	assert_null(lines_add(&l, "%d more", 2));
	assert_int_equal(l.size, 2);
	assert_string_equal(l.data[1], "2 more");
	lines_deinit(&l);
	assert_int_equal(l.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_vec_grows),     cmocka_unit_test(test_arena),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
