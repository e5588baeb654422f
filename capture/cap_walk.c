// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cap_walk.h"

/** @return how many values @p text has at most. */
static size_t count_values(const char *text)
{
	bool is_text = false;
	size_t n = 1;

	for (; *text; text++) {
		if (is_text && *text == '\\' && text[1])
			text++;
		else if (*text == '"')
			is_text = !is_text;
		else if (!is_text)
			n += *text == ',' || *text == '[' || *text == '{';
	}
	return n;
}

void cap_json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

struct err *cap_walk_parse(const char *text, const char *name, cJSON **ret)
{
	if (count_values(text) > CAP_WALK_VALUES_MAX)
		return err_new(ERR_FORMAT, "%s has more than %u values", name,
			       CAP_WALK_VALUES_MAX);
	*ret = cJSON_ParseWithOpts(text, NULL, true);
	return *ret ? NULL : err_new(ERR_FORMAT, "%s is not valid JSON", name);
}

void cap_walk_wrong(struct cap_walk *w, const char *name)
{
	w->wrong = w->wrong ?: name;
}

bool cap_walk_has(const struct cap_walk *w, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(w->at, name);
}

/** @return the member; NULL, and said to be wrong, where it is not what @p is asks for. */
cJSON *cap_walk_take(struct cap_walk *w, const char *name,
		     cJSON_bool (*is)(const cJSON *))
{
	cJSON *m = cJSON_GetObjectItemCaseSensitive(w->at, name);

	if (is(m))
		return m;
	cap_walk_wrong(w, name);
	return NULL;
}

void cap_walk_put(struct cap_walk *w, const char *name, cJSON *value)
{
	if (!cJSON_AddItemToObject(w->at, name, value)) {
		cJSON_Delete(value);
		w->no_memory = true;
	}
}

bool cap_walk_bool(struct cap_walk *w, const char *name, bool v)
{
	if (w->is_parse)
		return cJSON_IsTrue(cap_walk_take(w, name, cJSON_IsBool));
	cap_walk_put(w, name, cJSON_CreateBool(v));
	return v;
}

int64_t cap_walk_int(struct cap_walk *w, const char *name, int64_t v, int64_t min,
		     int64_t max)
{
	const cJSON *m;

	if (!w->is_parse) {
		cap_walk_put(w, name, cJSON_CreateNumber(v));
		return v;
	}
	m = cap_walk_take(w, name, cJSON_IsNumber);
	if (m && m->valuedouble >= min && m->valuedouble <= max)
		return m->valuedouble;
	cap_walk_wrong(w, name);
	return 0;
}

uint64_t cap_walk_u64(struct cap_walk *w, const char *name, uint64_t v)
{
	const cJSON *m;
	char text[24], extra;

	if (!w->is_parse) {
		snprintf(text, sizeof(text), "%" PRIu64, v);
		cap_walk_put(w, name, cJSON_CreateString(text));
		return v;
	}
	m = cap_walk_take(w, name, cJSON_IsString);
	if (m && m->valuestring[0] >= '0' && m->valuestring[0] <= '9' &&
	    sscanf(m->valuestring, "%" SCNu64 "%c", &v, &extra) == 1)
		return v;
	cap_walk_wrong(w, name);
	return 0;
}

static cJSON_bool is_text(const cJSON *m)
{
	return cJSON_IsString(m) || cJSON_IsNull(m);
}

char *cap_walk_text(struct cap_walk *w, const char *name, char *v)
{
	const cJSON *m;

	if (!w->is_parse) {
		cap_walk_put(w, name, v ? cJSON_CreateString(v) : cJSON_CreateNull());
		return v;
	}
	m = cap_walk_take(w, name, is_text);
	if (!m || cJSON_IsNull(m))
		return NULL;
	v = strdup(m->valuestring);
	w->no_memory |= !v;
	return v;
}

char **cap_walk_texts(struct cap_walk *w, const char *name, char **v, size_t *n)
{
	const cJSON *m, *item;

	if (!w->is_parse) {
		cap_walk_put(w, name,
			     v ? cJSON_CreateStringArray((const char *const *)v, *n) :
				 cJSON_CreateArray());
		return v;
	}
	*n = 0;
	m = cap_walk_take(w, name, cJSON_IsArray);
	v = calloc(cJSON_GetArraySize(m) + 1, sizeof(*v));
	w->no_memory |= !v;
	if (!v)
		return NULL;
	cJSON_ArrayForEach(item, m)
	{
		if (!cJSON_IsString(item)) {
			cap_walk_wrong(w, name);
			break;
		}
		v[*n] = strdup(item->valuestring);
		if (!v[*n]) {
			w->no_memory = true;
			break;
		}
		(*n)++;
	}
	return v;
}

unsigned cap_walk_name(struct cap_walk *w, const char *name, unsigned v,
		       const char *const *names, unsigned n)
{
	const cJSON *m;

	if (!w->is_parse) {
		cap_walk_put(w, name, cJSON_CreateString(names[v]));
		return v;
	}
	m = cap_walk_take(w, name, cJSON_IsString);
	for (v = 0; m && v < n; v++)
		if (!strcmp(names[v], m->valuestring))
			return v;
	cap_walk_wrong(w, name);
	return 0;
}

static void walk_inside(struct cap_walk *w, cJSON *inside, cap_walk_fn *each, void *what)
{
	cJSON *back = w->at;

	w->at = inside;
	each(w, what);
	w->at = back;
}

bool cap_walk_object(struct cap_walk *w, const char *name, bool is_there,
		     cap_walk_fn *each, void *what)
{
	if (w->is_parse)
		is_there = cap_walk_has(w, name);
	else if (is_there)
		cap_walk_put(w, name, cJSON_CreateObject());
	if (is_there)
		walk_inside(w, cJSON_GetObjectItemCaseSensitive(w->at, name), each, what);
	return is_there;
}

static cJSON *add_object(struct cap_walk *w, cJSON *array)
{
	cJSON *o = cJSON_CreateObject();

	if (cJSON_AddItemToArray(array, o))
		return o;
	cJSON_Delete(o);
	w->no_memory = true;
	return NULL;
}

void *cap_walk_array(struct cap_walk *w, const char *name, void *items, size_t *n,
		     size_t size, cap_walk_fn *each)
{
	cJSON *array, *item;
	size_t n_items;

	if (!w->is_parse) {
		array = cJSON_CreateArray();
		cap_walk_put(w, name, array);
		for (size_t i = 0; !w->no_memory && i < *n; i++) {
			item = add_object(w, array);
			walk_inside(w, item, each, (char *)items + i * size);
		}
		return items;
	}
	*n = 0;
	array = cap_walk_take(w, name, cJSON_IsArray);
	n_items = cJSON_GetArraySize(array);
	if (n_items > CAP_WALK_ITEMS_MAX) {
		cap_walk_wrong(w, name);
		return NULL;
	}
	items = calloc(n_items + 1, size);
	w->no_memory |= !items;
	if (!items)
		return NULL;
	cJSON_ArrayForEach(item, array)
		walk_inside(w, item, each, (char *)items + (*n)++ * size);
	return items;
}
