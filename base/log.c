// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static enum log_level floor_level = LOG_WARN;

void log_set_level(enum log_level level)
{
	floor_level = level;
}

/* The level that FAULTLINE_LOG gives @p room; -1 when it says nothing. */
static int log_env_level(const char *room)
{
	const char *s = secure_getenv("FAULTLINE_LOG");
	size_t n = strlen(room);

	for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
		if (*s >= '0' && *s <= '9')
			return atoi(s);
		if (!strncmp(s, room, n) && s[n] == ':')
			return atoi(s + n + 1);
	}
	return -1;
}

int log_is_on(enum log_level level, const char *room)
{
	return level <= floor_level || (int)level <= log_env_level(room);
}

void log_write(enum log_level level, const char *room, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_flatten(text);
	fprintf(stderr, "faultline: %s: %s\n", level == LOG_WARN ? "warning" : room,
		text);
}

void log_note(const char *fmt, ...)
{
	static char *told; // lines
	_cleanup_free_ char *text = NULL;
	char *all;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	text_flatten(text);
	if (text_has_line(told, text))
		return;
	if (asprintf(&all, "%s%s\n", told ?: "", text) >= 0) {
		free(told);
		told = all;
	}
	fprintf(stderr, "faultline: note: %s\n", text);
}
