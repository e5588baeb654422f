// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

// Fibonacci hashing spreads the low bits that aligned addresses share.
static size_t map_home(const struct map *m, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> (64 - __builtin_ctzl(m->capacity));
}

static struct map_slot *map_find(const struct map *m, uint64_t key)
{
	size_t i = map_home(m, key);

	while (m->slots[i].key != key && m->slots[i].key != MAP_EMPTY_KEY)
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_slot *s;

	if (key == MAP_EMPTY_KEY)
		return m->has_empty_key ? (uint64_t *)&m->of_empty_key : NULL;
	if (!m->capacity)
		return NULL;
	s = map_find(m, key);
	return s->key == key ? &s->value : NULL;
}

static int map_grow(struct map *m)
{
	struct map bigger = *m;

	bigger.capacity = m->capacity ? m->capacity * 2 : 16;
	bigger.slots = malloc(bigger.capacity * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	memset(bigger.slots, 0xff, bigger.capacity * sizeof(*bigger.slots));
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->slots[i].key != MAP_EMPTY_KEY)
			*map_find(&bigger, m->slots[i].key) = m->slots[i];
	}
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct map_slot *s;

	if (key == MAP_EMPTY_KEY) {
		m->of_empty_key = value;
		m->has_empty_key = true;
		return 0;
	}
	if (!map_has_room(m, 1) && map_grow(m))
		return -1;
	s = map_find(m, key);
	m->size += s->key != key;
	*s = (struct map_slot){ key, value };
	return 0;
}

bool map_remove(struct map *m, uint64_t key)
{
	struct map_slot *s;
	bool had = m->has_empty_key;
	size_t hole, i;

	if (key == MAP_EMPTY_KEY)
		m->has_empty_key = false;
	if (key == MAP_EMPTY_KEY || !m->capacity)
		return key == MAP_EMPTY_KEY && had;
	s = map_find(m, key);
	if (s->key != key)
		return false;
	// Close the hole: pull back each later entry of the run that may move.
	hole = s - m->slots;
	for (i = (hole + 1) & (m->capacity - 1); m->slots[i].key != MAP_EMPTY_KEY;
	     i = (i + 1) & (m->capacity - 1)) {
		size_t home = map_home(m, m->slots[i].key);

		if (((i - home) & (m->capacity - 1)) >=
		    ((i - hole) & (m->capacity - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].key = MAP_EMPTY_KEY;
	m->size--;
	return true;
}

void map_deinit(struct map *m)
{
	free(m->slots);
	*m = (struct map){};
}
