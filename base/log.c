// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/** What was noted. */
struct note {
	struct note *next;
	char text[];
};

static bool is_new_note(const char *text)
{
	static struct note *notes;
	struct note **slot = &notes;

	while (*slot && strcmp((*slot)->text, text))
		slot = &(*slot)->next;
	if (*slot)
		return false;
	*slot = calloc(1, sizeof(**slot) + strlen(text) + 1);
	if (*slot)
		strcpy((*slot)->text, text);
	return true;
}

void log_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_flatten(text);
	if (is_new_note(text))
		fprintf(stderr, "faultline: note: %s\n", text);
}
