// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/sources.h"

#include <string.h>

#include "report/script.h"

#define AROUND 4       // lines before and behind
#define LINE_BYTES 200 // shown of one

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

int report_sources_find(const struct report_sources *s, const struct dec_place *p)
{
	for (size_t i = s->files.size; i-- > 0;)
		if (is_same(s->files.data[i].place.file, p->file) &&
		    is_same(s->files.data[i].place.directory, p->directory))
			return i;
	return -1;
}

int report_sources_add(struct report_sources *s, const struct dec_place *p)
{
	int i = p->file && p->line > 0 ? report_sources_find(s, p) : -1,
	    around = s->around ?: AROUND;
	struct report_source *f = i >= 0 ? &s->files.data[i] : NULL;

	if (!p->file || p->line <= 0)
		return -1;
	if (!f) {
		f = vec_push(&s->files);
		if (!f)
			return -1;
		*f = (struct report_source){ .place = *p };
	}
	for (int n = p->line - around; n <= p->line + around; n++)
		if (n > 0 && map_put(&f->lines, n, 1))
			return -1;
	if (f->last < p->line + around)
		f->last = p->line + around;
	return f - s->files.data;
}

void report_sources_print(const struct report_sources *s, size_t i,
			  struct dec_symbols *symbols, FILE *out)
{
	const struct report_source *source = &s->files.data[i];
	_cleanup_fclose_ FILE *f = symbols ? dec_symbols_source(symbols, &source->place) :
					     NULL;
	_cleanup_free_ char *line = NULL;
	const char *comma = "";
	size_t bytes = 0;
	ssize_t n;

	fputc('{', out);
	for (int k = 1; f && k <= source->last && (n = getline(&line, &bytes, f)) >= 0;
	     k++) {
		if (!map_get(&source->lines, k))
			continue;
		line[strcspn(line, "\r\n")] = 0;
		if (n > LINE_BYTES)
			line[LINE_BYTES] = 0;
		fprintf(out, "%s\"%d\":", comma, k);
		report_script_string(out, line);
		comma = ",";
	}
	fputc('}', out);
}

void report_sources_deinit(struct report_sources *s)
{
	for (size_t i = 0; i < s->files.size; i++)
		map_deinit(&s->files.data[i].lines);
	vec_deinit(&s->files);
}
