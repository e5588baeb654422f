// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Of arrays of constant pointers clang makes tables of how far it is from them to there. Argument `wrong': what numbers in a
// table of the program's own lead to by its elements, behind it.
#include <stdio.h>
#include <string.h>

static const char *const words[] = { "zero", "one", "two", "three", "four", "five" };
static const char *const names[] = { "north", "east", "south", "west", "up", "down" };
static const int steps[] = { 3, 1, 4, 1, 5, 9 };

__attribute__((noinline)) static int number_of(const char *word)
{
	for (int i = 0; i < 6; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

__attribute__((noinline)) static int letter(int name, int at)
{
	return names[name][at];
}

__attribute__((noinline)) static int sum(const int *from, int n)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += from[from[i]]; // expect: GLOBAL-OVERFLOW
	return s;
}

int main(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < 6; i++)
		n += letter(i, argc > 5);
	printf("%d %d %d\n", number_of("four"), n, sum(steps, argc > 1 ? 6 : 5));
	return 0;
}
