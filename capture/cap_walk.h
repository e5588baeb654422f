// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A JSON object's members, both ways: one walk prints them and parses them. Each call is
 * given the value to print and returns the one to keep: when printing the same, when
 * parsing what the text says, or none (0, NULL), and the walk keeps which member was the
 * first that is missing or wrong. What parsing returns is the caller's. Private to capture/.
 */
#ifndef CAPTURE_CAP_WALK_H
#define CAPTURE_CAP_WALK_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CAP_WALK_ITEMS_MAX 100000 ///< an array of more objects is damage

#define CAP_WALK_VALUES_MAX (1u << 22) ///< of a text: each takes 80 bytes of memory

/** Parse @p text, which messages call @p name. @p ret: for cJSON_Delete(). cJSON itself ends
 * nesting at 1000. @return NULL, or ERR_FORMAT: it is no JSON, or has too many values. */
struct err *cap_walk_parse(const char *text, const char *name, cJSON **ret);

void cap_json_deletep(cJSON **j);

struct cap_walk {
	cJSON *at; ///< the object whose members are walked
	bool is_parse;
	const char
		*wrong; ///< parsing: the first member that is missing or wrong, or NULL
	bool no_memory;
	int64_t files; ///< for the caller: no index of a file is above
};

/** Walks the members of an object, w->at, of which @p what is kept. */
typedef void cap_walk_fn(struct cap_walk *w, void *what);

/** Read member @p name, or write @p v as that. @return its value. */
bool cap_walk_bool(struct cap_walk *w, const char *name, bool v);

/** The same; what is outside @p min to @p max is wrong. */
int64_t cap_walk_int(struct cap_walk *w, const char *name, int64_t v, int64_t min,
		     int64_t max);

/** As decimal text: JSON's numbers end at 2^53. */
uint64_t cap_walk_u64(struct cap_walk *w, const char *name, uint64_t v);

/** NULL is null. */
char *cap_walk_text(struct cap_walk *w, const char *name, char *v);

/** @p n texts; parsing puts a NULL behind the last. */
char **cap_walk_texts(struct cap_walk *w, const char *name, char **v, size_t *n);

/** One of @p n @p names, of which @p v is the index. */
unsigned cap_walk_name(struct cap_walk *w, const char *name, unsigned v,
		       const char *const *names, unsigned n);

/** An object that may be absent. @return whether it is there; printing: @p is_there. */
bool cap_walk_object(struct cap_walk *w, const char *name, bool is_there,
		     cap_walk_fn *each, void *what);

/** An array of @p n objects, of @p items of @p size bytes; parsing: NULL only where it is
 * wrong or memory is short. */
void *cap_walk_array(struct cap_walk *w, const char *name, void *items, size_t *n,
		     size_t size, cap_walk_fn *each);

/* ---- for members of other forms ------------------------------------------------------- */

/** @return whether w->at has member @p name. */
bool cap_walk_has(const struct cap_walk *w, const char *name);

/** Parsing. @return the member, of the walk's tree; NULL, and said to be wrong, where
 * @p is says no. */
cJSON *cap_walk_take(struct cap_walk *w, const char *name,
		     cJSON_bool (*is)(const cJSON *));

/** Printing: @p value, given to the tree. NULL = memory was short. */
void cap_walk_put(struct cap_walk *w, const char *name, cJSON *value);

/** Member @p name is wrong. */
void cap_walk_wrong(struct cap_walk *w, const char *name);

#endif
