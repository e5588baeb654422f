// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As pine-4.44: the size is estimated without what has to be quoted; strcat() writes beyond.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *quote(const char *name)
{
	char *to = malloc(strlen(name) + 3);

	strcpy(to, "\"");
	for (; *name; name++)
		if (*name == '\"')
			strcat(to, "\\\""); // FAULT
		else
			strncat(to, name, 1);
	return strcat(to, "\"");
}

int main(void)
{
	char *list = quote("a \"name\""), *next = quote("b");

	printf("%s %s\n", list, next);
	free(next);
	free(list);
	return 0;
}
