// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "faultlocate/linear/parts.h"

int64_t fl_lin_value_text(struct fl_lin_values *v, const char *text, size_t n)
{
	uint64_t hash = hash_bytes(HASH_START, text, n),
		 *last = map_get(&v->by_hash, hash);
	uint32_t *same;
	const char **at;

	if (!n)
		return LIN_EMPTY;
	for (uint32_t i = last ? *last : 0; i; i = v->same.data[i - 1])
		if (strlen(v->texts.data[i - 1]) == n &&
		    !memcmp(v->texts.data[i - 1], text, n))
			return LIN_TEXT + i - 1;
	at = vec_push(&v->texts);
	same = at ? vec_push(&v->same) : NULL;
	if (!same)
		return LIN_NONE;
	*same = last ? *last : 0;
	*at = arena_strndup(&v->arena, text, n);
	if (!*at || map_put(&v->by_hash, hash, v->texts.size))
		return LIN_NONE;
	return LIN_TEXT + v->texts.size - 1;
}

int64_t fl_lin_value(struct fl_lin_values *v, const char *text, size_t n)
{
	static const struct {
		const char *name;
		int64_t value;
	} words[] = { { "nil", LIN_EMPTY },
		      { "null", LIN_EMPTY },
		      { "empty", LIN_EMPTY },
		      { "true", 1 },
		      { "false", 0 } };
	char buf[24], *end;
	long long number;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].name) == n && !memcmp(words[i].name, text, n))
			return words[i].value;
	if (n && n < sizeof(buf)) {
		memcpy(buf, text, n);
		buf[n] = 0;
		number = strtoll(buf, &end, 10);
		if (!*end && buf[0] > ' ' && number > -LIN_TEXT && number < LIN_TEXT)
			return number;
	}
	return fl_lin_value_text(v, text, n);
}

const char *fl_lin_value_name(const struct fl_lin_values *v, int64_t value, char *buf,
			      size_t size)
{
	if (value == LIN_NONE)
		snprintf(buf, size, "?");
	else if (value == LIN_EMPTY)
		snprintf(buf, size, "nil");
	else if (value >= LIN_TEXT && value < LIN_TEXT + (int64_t)v->texts.size)
		snprintf(buf, size, "%s", v->texts.data[value - LIN_TEXT]);
	else
		snprintf(buf, size, "%lld", (long long)value);
	return buf;
}

void fl_lin_values_deinit(struct fl_lin_values *v)
{
	vec_deinit(&v->texts);
	vec_deinit(&v->same);
	map_deinit(&v->by_hash);
	arena_deinit(&v->arena);
}

void fl_lin_history_deinit(struct fl_lin_history *h)
{
	vec_deinit(&h->ops);
	fl_lin_starts_deinit(&h->starts);
	fl_lin_values_deinit(&h->values);
}

size_t fl_lin_history_drop(struct fl_lin_history *h)
{
	size_t n = h->ops.size, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (h->ops.data[i].does >= 0)
			h->ops.data[kept++] = h->ops.data[i];
	h->ops.size = kept;
	return n - kept;
}

void fl_lin_verdict_deinit(struct fl_lin_verdict *v)
{
	vec_deinit(&v->witness);
	vec_deinit(&v->start);
}
