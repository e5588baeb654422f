// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As polymorph-0.4.0: a loop that converts a name into a local buffer overwrites the pointer that
// its caller kept beside it.
#include <ctype.h>
#include <stdio.h>

struct state {
	char clean[16];
	int *counter;
};

static int counts[4];

static void convert(const char *name, struct state *s)
{
	int i;

	for (i = 0; name[i]; i++)
		s->clean[i] = tolower(name[i]); // FAULT
}

int main(void)
{
	struct state s;

	puts("start");
	s.counter = &counts[1];
	convert("A-NAME-THAT-IS-TOO-LONG", &s);
	for (int i = 0; i < 1000; i++)
		counts[i % 4] += i;
	*s.counter += 1;
	printf("%d\n", counts[1]);
	return 0;
}
