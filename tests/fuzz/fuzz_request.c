// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whatever a browser asks, as lines: method, host, path. What is let through has the token and the host,
 * and is written like the request that it was read as.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct report_door *door, const char *host, const char *path,
		  const struct report_request *r)
{
	char again[128], ours[2][32];
	int n = snprintf(again, sizeof(again), "/%s/", door->token);

	report_request_path(r, again + n);
	snprintf(ours[0], sizeof(ours[0]), "127.0.0.1:%u", door->port);
	snprintf(ours[1], sizeof(ours[1]), "localhost:%u", door->port);
	if (strcmp(path, again) || (strcmp(host, ours[0]) && strcmp(host, ours[1])))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct report_door door = { 8080,
						 "0123456789abcdef0123456789abcdef" };
	char *text = strndup((const char *)data, size), *at = text;
	struct report_request r;
	const char *method, *host, *path;

	if (!text)
		return 0;
	method = strsep(&at, "\n");
	host = at ? strsep(&at, "\n") : NULL;
	path = at ?: "";
	if (report_request_read(&door, method, host, path, &r) == 200)
		check(&door, host, path, &r);
	free(text);
	return 0;
}
