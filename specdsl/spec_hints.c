// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What somebody may have meant who wrote what is not in the language: words of other
 * languages, and names that are nearly right.
 */
#include <ctype.h>
#include <string.h>

#include "specdsl/spec_ast.h"

#define WORD_BYTES_MAX 32

static const struct {
	const char *word, *hint;
} foreign[] = {
	{ "if", "write 'condition => what then holds;'" },
	{ "while", "a constraint holds at a C-point, it does not run" },
	{ "not", "write '!', as in !(X -> Y), or '!=', '/->', '/->>'" },
	{ "forall",
	  "'node X;' is for all nodes when X is in the guard, or there is no guard" },
	{ "exists",
	  "a node that is in the body and not in the guard is one that exists" },
	{ "null", "write NULL" },
	{ "nullptr", "write NULL" },
	{ "nil", "write NULL" },
	{ "None", "write NULL" },
	{ "AND", "write 'and'" },
	{ "OR", "write 'or'" },
	{ "True", "write true" },
	{ "False", "write false" },
	{ "enum", "an enumerator is written as its number, or 'CONST NAME n;'" },
	{ "abs", "the absolute value of e is |e|" },
};

const char *spec_hint_foreign(const char *word)
{
	for (size_t i = 0; word && i < sizeof(foreign) / sizeof(*foreign); i++)
		if (!strcmp(word, foreign[i].word))
			return foreign[i].hint;
	return NULL;
}

const char *spec_hint_statement(const char *word)
{
	static const char *const statements[] = { "ROOT", "CPOINT", "CONST", "ARRAY" };

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
		if (!strcmp(word, statements[i]))
			return "it begins a statement of its own: put that before the "
			       "variables of the constraint";
	return NULL;
}

const char *spec_hint_character(char c)
{
	switch (c) {
	case '\'':
		return "write the character's number, as 65 for 'A'";
	case '{':
	case '}':
		return "a constraint ends with ';', parentheses group conditions";
	default:
		return NULL;
	}
}

/** How many letters must be changed, added, left out or swapped to make @p b of @p a; how
 * they are written does not matter. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_BYTES_MAX + 1] = {};
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_BYTES_MAX || m > WORD_BYTES_MAX)
		return WORD_BYTES_MAX;
	for (size_t i = 0; i <= n; i++) {
		unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3];

		now[0] = i;
		for (size_t k = 1; k <= m; k++) {
			unsigned cost = !i || tolower((unsigned char)a[i - 1]) !=
						      tolower((unsigned char)b[k - 1]);

			now[k] = now[k - 1] + 1;
			if (i && last[k] + 1 < now[k])
				now[k] = last[k] + 1;
			if (i && last[k - 1] + cost < now[k])
				now[k] = last[k - 1] + cost;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1] && rows[(i + 1) % 3][k - 2] + 1 < now[k])
				now[k] = rows[(i + 1) % 3][k - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

void spec_nearest_try(struct spec_nearest *n, const char *name)
{
	unsigned d = n->word && name ? distance(n->word, name) : WORD_BYTES_MAX;

	if (d > (strlen(n->word ? n->word : "") + 1) / 3 || (n->name && d >= n->distance))
		return;
	n->name = name;
	n->distance = d;
}
