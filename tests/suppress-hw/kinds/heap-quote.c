// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As pine-4.44: the size of a buffer is estimated too small, quoting needs more; free() notices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *at;

static void put(char c)
{
	*at++ = c; // FAULT
}

static char *quote(const char *name)
{
	char *to = malloc(strlen(name) + 1);

	for (at = to; *name; name++) {
		if (*name == '"')
			put('\\');
		put(*name);
	}
	put(0);
	return to;
}

int main(void)
{
	char *other, *q;

	puts("start");
	q = quote("\"\"\"\"\"\"\"\"a\"b\"c\"d\"e\"f\"g\"h\"i\"j\"k\"l");
	other = strdup("other");
	printf("%zu\n", strlen(q));
	free(q);
	free(other);
	return 0;
}
