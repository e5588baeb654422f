// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

// "</" would end the element.
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~' || strchr("\"\\<", *s))
			return false;
	return true;
}

static void escape(FILE *out, const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == '<')
			fprintf(out, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
}

void report_script_string(FILE *out, const char *text)
{
	_cleanup_free_ char *escaped = NULL, *clean = NULL;
	size_t bytes;
	FILE *f;

	if (!text || is_plain(text)) {
		fprintf(out, "\"%s\"", text ? text : "");
		return;
	}
	f = open_memstream(&escaped, &bytes);
	if (f) {
		escape(f, text);
		fclose(f);
	}
	clean = escaped ? text_cleaned(escaped, TEXT_JSON) : NULL;
	fprintf(out, "\"%s\"", clean ? clean : "?");
}
