// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w -fno-builtin

/**
 * @file
 * Pointers that move where they are, in memory, and are added to what is in registers: argument 0 does nothing
 * wrong, each other one thing.
 */
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline, noclone))

static volatile long sum;

struct cursor {
	char *at, *base;
};

KEEP static void walk(struct cursor *c, int n)
{
	for (int i = 0; i < n; i++) {
		c->at += 8;
		__asm__ volatile("" ::: "memory");
		sum += *c->at;
	}
}

KEEP static void back(struct cursor *c, int n)
{
	for (int i = 0; i < n; i++) {
		c->at -= 8;
		__asm__ volatile("" ::: "memory");
		sum += *c->at;
	}
}

KEEP static void by_ones(struct cursor *c, int n)
{
	while (n--) {
		c->at++;
		__asm__ volatile("" ::: "memory");
		sum += *c->at;
	}
}

KEEP static void offset(struct cursor *c, long by)
{
	char *p;

	__asm__("mov %1, %0; add %2, %0" : "=&r"(p) : "r"(by), "m"(c->base));
	sum += *p;
}

KEEP static long less(struct cursor *c, char *p)
{
	long n;

	__asm__("mov %1, %0; sub %2, %0" : "=&r"(n) : "r"(p), "m"(c->base));
	return n;
}

static char *block(void)
{
	return memset(malloc(80), 1, 80);
}

static void wrong(struct cursor *c, int kind)
{
	char *again;

	switch (kind) {
	case 1:
		walk(c, 10);
		break;
	case 2:
		back(c, 1);
		break;
	case 3:
		by_ones(c, 80);
		break;
	case 4:
		offset(c, 80);
		break;
	case 5:
		offset(c, -1);
		break;
	case 6:
		sum += c->base[80 + less(c, c->base)];
		break;
	case 7:
		free(c->base);
		walk(c, 2);
		exit(0);
	case 8:
		free(c->base);
		again = block();
		offset(c, 5);
		exit(again == NULL);
	}
}

int main(int argc, char **argv)
{
	struct cursor here = { block() }, *there = malloc(sizeof(*there));

	there->at = there->base = block();
	here.base = here.at;
	walk(&here, 9);
	back(&here, 9);
	by_ones(&here, 79);
	walk(there, 9);
	back(there, 9);
	offset(&here, 79);
	offset(there, 0);
	sum += here.base[less(&here, here.base + 30)];
	wrong(there, argc > 1 ? atoi(argv[1]) : 0);
	free(here.base);
	free(there->base);
	free(there);
	return 0;
}
