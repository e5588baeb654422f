// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As gzip-1.2.4: a name too long for a global buffer runs into the pointer behind it, which is used
// much later.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	char name[32];
	int *table;
} g;

static int sum;

static void set_name(const char *from)
{
	strcpy(g.name, from); // FAULT
}

static void work(int n)
{
	for (int i = 0; i < n; i++)
		sum = sum * 31 + i;
}

int main(void)
{
	char *name = malloc(80);

	puts("start");
	g.table = calloc(64, sizeof(int));
	memset(name, 'n', 70);
	strcpy(name + 36, ".gz");
	set_name(name);
	work(3000);
	for (int i = 0; i < 64; i++)
		sum += g.table[i];
	printf("%d\n", sum);
	return 0;
}
