// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A hash map from 64-bit keys to 64-bit values: open addressing, linear probing. A slot with key
 * MAP_EMPTY_KEY (all ones) is free; as a key like any other, which a stranger's data may hold, it
 * is kept beside the slots. A zeroed map is an empty map.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_EMPTY_KEY UINT64_MAX

struct map_slot {
	uint64_t key, value;
};

struct map {
	struct map_slot *slots; ///< capacity entries; NULL when capacity is 0
	size_t size, capacity;	///< capacity is a power of two; size <= 3/4 of it
	uint64_t of_empty_key;	///< the value of MAP_EMPTY_KEY, which size does not count
	bool has_empty_key;
};

/** @return the value slot of @p key, valid until the next map_put/map_remove; NULL
 * when absent. */
uint64_t *map_get(const struct map *m, uint64_t key);

/** @return whether @p n more keys fit without more memory. */
static inline bool map_has_room(const struct map *m, size_t n)
{
	return m->size + n <= m->capacity / 4 * 3;
}

/** Set @p key to @p value. @return 0, or -1 when memory is out. */
int map_put(struct map *m, uint64_t key, uint64_t value);

/** Forget @p key. @return whether it was there. */
bool map_remove(struct map *m, uint64_t key);

/** Free the slots; the map is empty and usable again. */
void map_deinit(struct map *m);

#endif
