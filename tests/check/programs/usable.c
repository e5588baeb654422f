// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What malloc_usable_size() gave of a block, behind what was asked for, has the values that it was given, also where
 * realloc() takes it along; what realloc() adds has none.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	char *text = NULL, *between[8];
	size_t at = 0, room = 20;
	int is_wrong = argc > 1, n = 0;

	for (int i = 0; i < 8; i++) {
		text = realloc(text, room);
		if (is_wrong && i && text[at] == 3) // expect: UNINIT-USE
			puts("3");
		between[i] = malloc(i % 2 ? 20 : 70);
		room = malloc_usable_size(text);
		while (at < room)
			text[at++] = at % 10;
		room += room / 2;
	}
	for (size_t i = 0; i < at; i++)
		n += text[i] == 3;
	for (int i = 0; i < 8; i++)
		free(between[i]);
	free(text);
	return n < 8;
}
