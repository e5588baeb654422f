// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Blocks, copies and static data, all right; with an argument numbers behind a static array are read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline))
struct item {
	struct item *next;
	char *name;
};
static const char words[] = "neither here nor there";
static int numbers[64], others[64];
static struct item *items;
static char *first;
KEEP static void add(const char *name, size_t n)
{
	struct item *i = malloc(sizeof(*i));
	i->name = malloc(n + 1);
	memcpy(i->name, name, n);
	i->name[n] = 0;
	i->next = items;
	items = i;
}
KEEP static void drop(size_t n)
{
	memmove(items->name, items->name + 1, n);
	printf("%s\n", items->name);
}
KEEP static int come_and_go(int round)
{
	char *block[64];
	int sum = 0;
	for (int i = 0; i < 64; i++)
		block[i] = malloc(1 + (round * 977 + i * 61) % 5000);
	for (int i = 0; i < 64; i++)
		free(block[i * 37 % 64]);
	for (int i = 0; i < 64; i++) { // small ones, where large ones were
		block[i] = malloc(8 + round * 4);
		memset(block[i], i, 8 + round * 4);
		sum += block[i][7 + round * 4];
	}
	for (int i = 0; i < 64; i++)
		free(block[i]);
	return sum;
}
int main(int argc, char **argv)
{
	int sum = 0;
	(void)argv;
	first = malloc(3);
	strcpy(first, "ab");
	for (int i = 0; i < 64; i++)
		numbers[i] = others[i] = i * argc;
	for (int round = 0; round < 40; round++)
		sum += come_and_go(round);
	add(words, sizeof(words) - 1);
	drop(sizeof(words) - 1);
	for (int i = 0; i < 60 + 2 * argc + (argc > 1); i++)
		sum += numbers[i]; // wrong
	return sum + others[3] == 42;
}
