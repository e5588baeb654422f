// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/source.h"

#include <string.h>

void report_place(const struct fl_analysis *a, uint64_t rip, struct dec_place *ret)
{
	a->places.place(a->places.ctx, rip, ret);
	dec_place_to_users(ret);
}

void report_place_print(const struct fl_analysis *a, uint64_t rip, FILE *out)
{
	struct dec_place place = {};

	report_place(a, rip, &place);
	dec_place_print(&place, out);
}

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
