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

unsigned report_request_read(const struct report_door *door, const char *method,
			     const char *host, const char *path,
			     struct report_request *ret)
{
	static const struct {
		const char *name;
		enum report_ask ask;
	} asks[] = { { "here/", REPORT_ASK_HERE },
		     { "origin/", REPORT_ASK_ORIGIN },
		     { "heap/", REPORT_ASK_HEAP } };
	const char *at = is_ours(door, host) ? behind_token(door, path) : NULL;
	struct report_request r = { .ask = REPORT_ASK_PAGE };
	uint64_t n = 0;

	if (!at)
		return FORBIDDEN;
	if (strcmp(method, "GET"))
		return NOT_ALLOWED;
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		if (strncmp(at, asks[i].name, strlen(asks[i].name)))
			continue;
		r.ask = asks[i].ask;
		at = read_number(at + strlen(asks[i].name), UINT64_MAX, &r.position);
		if (at && r.ask == REPORT_ASK_ORIGIN)
			at = *at == '/' ? read_number(at + 1, UINT32_MAX, &n) : NULL;
		break;
	}
	if (!at || *at)
		return NOT_FOUND;
	r.n = n;
	*ret = r;
	return FINE;
}
