// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Growing arrays. Declare `struct { T *data; size_t size, capacity; } v = {};`, push
 * with vec_push(), free with vec_deinit(). Elements move when the array grows.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"

/** Declare an anonymous vector type of @p T. */
#define VEC(T)                         \
	struct {                       \
		T *data;               \
		size_t size, capacity; \
	}

/** Make room for at least @p want elements of @p elem bytes. @return 0, or -1 when
 * memory is out (the array is unchanged). */
static inline int vec_reserve_(void **data, size_t *capacity, size_t want, size_t elem)
{
	size_t cap = *capacity ? *capacity : 8;
	void *p;

	if (want <= *capacity)
		return 0;
	while (cap < want)
		cap *= 2;
	p = realloc(*data, cap * elem);
	if (!p)
		return -1;
	*data = p;
	*capacity = cap;
	return 0;
}

/** Make room for @p n elements in all. @return 0 or -1 (out of memory). */
#define vec_reserve(v, n) \
	vec_reserve_((void **)&(v)->data, &(v)->capacity, (n), sizeof(*(v)->data))

/** Give back the room behind @p size elements, if that can be done. */
static inline void vec_trim_(void **data, size_t *capacity, size_t size, size_t elem)
{
	void *p = size && size < *capacity ? realloc(*data, size * elem) : NULL;

	if (!p)
		return;
	*data = p;
	*capacity = size;
}

/** Give back the room behind the elements; the next push takes it again. */
#define vec_trim(v) \
	vec_trim_((void **)&(v)->data, &(v)->capacity, (v)->size, sizeof(*(v)->data))

/** Append a zeroed element. @return pointer to it, or NULL when memory is out; valid
 * until the next growth. */
#define vec_push(v)                                                                  \
	(vec_reserve((v), (v)->size + 1) ?                                           \
		 NULL :                                                              \
		 (__typeof__((v)->data))__builtin_memset(&(v)->data[(v)->size++], 0, \
							 sizeof(*(v)->data)))

/** Append the element that follows, as it was before the growth. @return NULL or err_nomem. */
#define vec_add(v, ...)                                    \
	({                                                 \
		__typeof__(*(v)->data) one_ = __VA_ARGS__; \
		__typeof__((v)->data) at_ = vec_push(v);   \
		if (at_)                                   \
			*at_ = one_;                       \
		at_ ? NULL : &err_nomem;                   \
	})

/** Of indices 0 to @p n, those for which expression @p before (of @p i) holds come first.
 * @return how many they are, in log n steps. */
#define vec_rank(n, i, before)                            \
	({                                                \
		size_t lo_ = 0, hi_ = (n);                \
		while (lo_ < hi_) {                       \
			size_t i = lo_ + (hi_ - lo_) / 2; \
			if (before)                       \
				lo_ = i + 1;              \
			else                              \
				hi_ = i;                  \
		}                                         \
		lo_;                                      \
	})

/** @return the first element of @p v for which expression @p is_it (of pointer @p e) holds, NULL
 * for none. */
#define vec_find(v, e, is_it)                                   \
	({                                                      \
		size_t at_ = 0;                                 \
		while (at_ < (v)->size && ({                    \
			       __auto_type e = &(v)->data[at_]; \
			       !(is_it);                        \
		       }))                                      \
			at_++;                                  \
		at_ < (v)->size ? &(v)->data[at_] : NULL;       \
	})

/** Order the elements by @p order, a comparison as qsort() takes it. */
#define vec_sort(v, order)                                                        \
	do {                                                                      \
		if ((v)->size)                                                    \
			qsort((v)->data, (v)->size, sizeof(*(v)->data), (order)); \
	} while (0)

/** Free the elements; the vector is empty and usable again. */
#define vec_deinit(v)                          \
	do {                                   \
		free((v)->data);               \
		(v)->data = NULL;              \
		(v)->size = (v)->capacity = 0; \
	} while (0)

#endif
