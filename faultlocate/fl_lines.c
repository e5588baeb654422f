// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_lines.h"

#include <string.h>

#define ENTRIES_MAX 256 // of one line: inlined copies, ends of a function

struct err *fl_lines_add(struct fl_lines *l, const char *path, int line, int reach,
			 uint32_t cpoint)
{
	struct fl_line *new = vec_push(&l->all);

	if (!new)
		return &err_nomem;
	*new = (struct fl_line){
		.path = strdup(path), .line = line, .reach = reach, .cpoint = cpoint
	};
	return new->path ? NULL : &err_nomem;
}

struct err *
fl_lines_resolve(struct fl_lines *l, struct dec_symbols *symbols,
		 struct err *(*add)(void *ctx, uint64_t addr, uint32_t cpoint), void *ctx)
{
	uint64_t addr[ENTRIES_MAX];
	struct err *err = NULL;

	for (size_t i = 0; i < l->all.size && !err; i++) {
		struct fl_line *m = &l->all.data[i];
		size_t n = 0;

		for (int line = m->line; line < m->line + m->reach && !n; line++)
			n = dec_symbols_line_addrs(symbols, m->path, line, addr,
						   ENTRIES_MAX);
		m->has_code |= n > 0;
		for (size_t k = 0; k < n && k < ENTRIES_MAX && !err; k++)
			err = add(ctx, addr[k], m->cpoint);
	}
	return err;
}

void fl_lines_notes(const struct fl_lines *l, struct dec_symbols *symbols, FILE *out)
{
	for (size_t i = 0; i < l->all.size; i++) {
		const struct fl_line *m = &l->all.data[i];
		int before, after;

		if (m->has_code || m->reach != 1)
			continue;
		fprintf(out, "%s:%d: ", m->path, m->line);
		if (!dec_symbols_near_lines(symbols, m->path, m->line, &before, &after))
			fputs("no source of this name in the debug information\n", out);
		else if (before && after)
			fprintf(out,
				"no code at this line (the nearest lines with code are "
				"%d and %d)\n",
				before, after);
		else
			fprintf(out,
				"no code at this line (the nearest line with code is "
				"%d)\n",
				before ? before : after);
	}
}

void fl_lines_deinit(struct fl_lines *l)
{
	for (size_t i = 0; i < l->all.size; i++)
		free(l->all.data[i].path);
	vec_deinit(&l->all);
}
