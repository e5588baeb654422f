// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdio.h>
#include <string.h>

#include "decode/symbols/symbols.h"

/* Headers of libraries have lines, too. */
static bool is_users(const char *file)
{
	return file && strncmp(file, "/usr/include/", 13) != 0 &&
	       strncmp(file, "/usr/lib/", 9) != 0 &&
	       strncmp(file, "/usr/bin/../", 12) != 0; // as clang has it
}

bool dec_place_to_users(struct dec_place *p)
{
	uint32_t i = 0;

	if (!p->line || is_users(p->file))
		return true;
	while (i < p->n_inlined && !is_users(p->inlined[i].file))
		i++;
	if (i == p->n_inlined)
		return false;
	p->file = p->inlined[i].file;
	p->line = p->inlined[i].line;
	p->function = p->inlined[i].function;
	p->inlined += i + 1;
	p->n_inlined -= i + 1;
	p->is_inlined = p->n_inlined > 0;
	return true;
}

void dec_place_print(const struct dec_place *p, FILE *out)
{
	const char *function = p->function ? p->function : p->outer;

	if (p->file && p->line)
		fprintf(out, "%s:%d", p->file, p->line);
	else if (p->module)
		fprintf(out, "%s", p->module);
	else
		fprintf(out, "unknown code");
	if (!p->line) {
		if (p->outer || p->offset)
			fprintf(out, "%s%s+%#llx", function ? ": " : "",
				function ? function : "", (unsigned long long)p->offset);
		return;
	}
	if (!function)
		return;
	fprintf(out, " in %s", function);
	for (uint32_t i = 0; i < p->n_inlined; i++) {
		const struct dec_inlined *c = &p->inlined[i];

		if (i + 1 < p->n_inlined && !is_users(p->inlined[i].file))
			continue; // on the way within a library's headers
		fprintf(out, ", called at %s:%d in %s", c->file ? c->file : "?", c->line,
			c->function ? c->function : "?");
	}
}
