// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/request.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

enum { FINE = 200, FORBIDDEN = 403, NOT_FOUND = 404, NOT_ALLOWED = 405 };

static bool is_ours(const struct report_door *door, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char ours[32];

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(ours, sizeof(ours), "%s:%u", names[i], door->port);
		if (!strcmp(host, ours))
			return true;
	}
	return false;
}

/* Behind "/TOKEN/" in @p path; NULL: that is not how it begins. How long it takes tells nothing of how
 * much was right. */
static const char *behind_token(const struct report_door *door, const char *path)
{
	unsigned char differs = 0;

	if (*path != '/' || strnlen(path, REPORT_TOKEN + 2) < REPORT_TOKEN + 2)
		return NULL;
	for (int i = 0; i < REPORT_TOKEN; i++)
		differs |= path[1 + i] ^ door->token[i];
	differs |= path[1 + REPORT_TOKEN] ^ '/';
	return differs ? NULL : path + REPORT_TOKEN + 2;
}

/* A number as it is printed: digits alone, no 0 before others. @return behind it; NULL: there is none. */
static const char *read_number(const char *at, uint64_t most, uint64_t *ret)
{
	const char *begin = at;
	uint64_t n = 0;

	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = *at - '0';

		if (n > (most - digit) / 10 || (at > begin && *begin == '0'))
			return NULL;
		n = n * 10 + digit;
	}
	*ret = n;
	return at == begin ? NULL : at;
}

/** What can be asked for, and how many numbers stand behind it. */
static const struct {
	const char *name;
	enum report_ask ask;
	int n_numbers;
} asks[] = {
	{ "", REPORT_ASK_PAGE, 0 },	    { "here", REPORT_ASK_HERE, 1 },
	{ "origin", REPORT_ASK_ORIGIN, 2 }, { "heap", REPORT_ASK_HEAP, 1 },
	{ "wrong", REPORT_ASK_WRONG, 0 },   { "story", REPORT_ASK_STORY, 1 },
	{ "inputs", REPORT_ASK_INPUTS, 1 }, { "known", REPORT_ASK_KNOWN, 0 },
	{ "far", REPORT_ASK_FAR, 2 },
};

enum { ASKS = sizeof(asks) / sizeof(*asks) };

unsigned report_request_read(const struct report_door *door, const char *method,
			     const char *host, const char *path,
			     struct report_request *ret)
{
	const char *at = is_ours(door, host) ? behind_token(door, path) : NULL;
	uint64_t numbers[2] = {};
	size_t i = 0;

	if (!at)
		return FORBIDDEN;
	if (strcmp(method, "GET"))
		return NOT_ALLOWED;
	while (i < ASKS && (strncmp(at, asks[i].name, strcspn(at, "/")) ||
			    asks[i].name[strcspn(at, "/")]))
		i++;
	if (i == ASKS)
		return NOT_FOUND;
	at += strlen(asks[i].name);
	for (int k = 0; k < asks[i].n_numbers && at; k++)
		at = *at == '/' ? read_number(at + 1, k ? UINT32_MAX : UINT64_MAX,
					      &numbers[k]) :
				  NULL;
	if (!at || *at)
		return NOT_FOUND;
	*ret = (struct report_request){ .ask = asks[i].ask,
					.position = numbers[0],
					.n = numbers[1] };
	return FINE;
}

void report_request_path(const struct report_request *r, char ret[REPORT_PATH])
{
	size_t i = 0, n;

	while (asks[i].ask != r->ask)
		i++;
	n = snprintf(ret, REPORT_PATH, "%s", asks[i].name);
	if (asks[i].n_numbers > 0)
		n += snprintf(ret + n, REPORT_PATH - n, "/%lu", r->position);
	if (asks[i].n_numbers > 1)
		snprintf(ret + n, REPORT_PATH - n, "/%u", r->n);
}
