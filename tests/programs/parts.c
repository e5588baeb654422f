// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w -fno-builtin

/**
 * @file
 * Arrays in structs, used again and again before one pass leaves one of them: argument 0 does nothing wrong, each
 * other one thing.
 */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

struct state {
	long table[16];
	char text[24];
	short small[8];
	unsigned long total;
	struct {
		int x, y[6];
	} pair[3];
};

KEEP static void mix(struct state *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		s->table[i & 15] += s->table[(i + 1) & 15] ^ i;
		s->text[i % 24] ^= i;
		s->small[i % 8] = s->table[i % 16];
		s->total++;
	}
}

KEEP static void put(short *at, unsigned i, short v)
{
	at[i] = v;
}

KEEP static void fill(char *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		at[i] = i;
}

KEEP static long sum(struct state *s, unsigned n)
{
	long r = 0;

	for (unsigned i = 0; i < n; i++)
		r += s->table[i];
	return r;
}

KEEP static void pairs(struct state *s, unsigned k, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		s->pair[k].y[i] += i;
}

int main(int argc, char **argv)
{
	int how = argc > 1 ? atoi(argv[1]) : 0;
	struct state *s[2] = { calloc(1, sizeof(**s)), calloc(1, sizeof(**s)) };
	long r = 0;

	for (int i = 0; i < 60; i++) {
		int is_it = i == 45;
		struct state *one = s[i / 3 % 2];

		mix(one, 40);
		for (unsigned k = 0; k < 8; k++)
			put(one->small, k + (how == 1 && is_it && k == 7), k);
		fill(one->text, 24 + (how == 2 && is_it));
		r += sum(one, 16 + (how == 3 && is_it ? 4 : 0));
		pairs(one, i % 3, 6 + (how == 4 && is_it));
	}
	printf("%ld\n", r);
	return 0;
}
