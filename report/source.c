// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/source.h"

#include <string.h>

void report_source_line(const struct fl_analysis *a, const struct dec_place *p, FILE *out)
{
	_cleanup_fclose_ FILE *f = p->line ? dec_symbols_source(a->symbols, p) : NULL;
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;
	const char *text;

	if (!f)
		return;
	for (int i = 0; i < p->line; i++)
		if (getline(&line, &bytes, f) < 0)
			return;
	text = line + strspn(line, " \t");
	line[strcspn(line, "\r\n")] = 0;
	if (*text)
		fprintf(out, "       %s\n", text);
}
