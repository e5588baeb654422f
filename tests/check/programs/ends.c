// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The end of an array, which is where another variable begins, is stored there: a word that points to itself is still the
// array's. With argument `wrong' what is behind the array is read by it.
#include <stdio.h>

struct reader {
	const char *end;
	char rest[24];
};

__attribute__((noipa)) static void begin(struct reader *r, char *text)
{
	r->end = text + 64;
}

__attribute__((noipa)) static int get(struct reader *r, int back)
{
	const char *at = r->end - back;

	return *at; // expect: STACK-OVERFLOW
}

__attribute__((noipa)) static int before(int back)
{
	struct reader r;
	char text[64] = "";

	begin(&r, text);
	return get(&r, back);
}

__attribute__((noipa)) static int behind(int back)
{
	char text[64] = "";
	struct reader r;

	begin(&r, text);
	return get(&r, back);
}

int main(int argc, char **argv)
{
	int back = argc > 1 ? -(int)sizeof(struct reader) : 20;

	(void)argv;
	printf("%d\n", (before(back) + behind(back)) & 0);
	return 0;
}
