// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `##C-POINT(type)` comments in the program's own source (paper 001, Figure 4.1).
 */
#include <ctype.h>
#include <string.h>

#include "specdsl/specdsl.h"

#define MARK "##C-POINT"

/** Read the `(type)` at @p p, which may be missing. */
static void read_type(const char *p, char *type, size_t bytes)
{
	size_t n = 0;

	type[0] = '\0';
	while (*p == ' ' || *p == '\t')
		p++;
	if (*p != '(')
		return;
	p++;
	while (*p == ' ' || *p == '\t')
		p++;
	if (!strncmp(p, "struct ", 7))
		p += 7;
	while (n + 1 < bytes && (isalnum((unsigned char)*p) || *p == '_'))
		type[n++] = *p++;
	type[n] = '\0';
}

size_t spec_source_cpoints(FILE *in, struct spec_source_cpoint *ret, size_t max)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, n = 0;

	for (int number = 1; getline(&line, &capacity, in) >= 0; number++) {
		for (const char *p = line; (p = strstr(p, MARK)); p += strlen(MARK)) {
			if (n < max) {
				ret[n].line = number;
				read_type(p + strlen(MARK), ret[n].type,
					  sizeof(ret[n].type));
			}
			n++;
		}
	}
	return n;
}
