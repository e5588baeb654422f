// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Memory that an allocator's own functions give out, and take, between what malloc() and free() do. What is wrong, by number,
// is so whatever those have done. Below zero: they have nothing to do with what malloc() gives out and free() takes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocator.h"

struct item {
	struct item *next;
	char *name;
	int v[4];
};

static char fixed[32];
static struct item *kept;
static char *grown, *block;
static int wrong;

/* Each address is now one's, now the other's. */
static void mix(int round)
{
	struct item *list = NULL;

	for (int i = 0; i < 60; i++) {
		struct item *n = (i + round) % 3 ? malloc(sizeof(*n)) : heap_zalloc(sizeof(*n));

		n->next = list;
		n->name = i % 2 ? malloc(10) : heap_zalloc(20);
		memset(n->name, 'a', i % 2 ? 10 : 20);
		n->v[3] = i;
		list = n;
	}
	while (list) {
		struct item *next = list->next;

		(list->v[3] % 4 ? free : heap_free)(list->name);
		if (list->v[3] % 3)
			free(list);
		else
			heap_free(list);
		list = next;
	}
}

static void on_piece(void *ctx, size_t bytes)
{
	if (bytes)
		block[wrong == 8 ? 40 : 39] = 1; // expect 8: HEAP-OVERFLOW
}

int main(int argc, char **argv)
{
	char *p, local[32], *volatile mapped;

	wrong = argc > 1 ? atoi(argv[1]) : 0;
	p = malloc(40); // expect 10: DEFINITE-LEAK
	block = malloc(40);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wrong == 1)
		free(mapped); // expect 1: UNMATCHED-FREE
	if (wrong < 0) {
		grown = heap_zalloc(heap_size(heap_zalloc(8)));
		free(p);
		free(block);
		return grown[0];
	}
	for (int round = 0; round < 4; round++)
		mix(round);
	grown = malloc(20);
	grown = heap_realloc(NULL, grown, 30);
	memset(grown, 'b', 30);
	grown = heap_realloc(NULL, grown, 200);
	memset(grown, 'b', 200);
	free(grown);
	grown = malloc(20);
	memset(grown, 'c', heap_size(grown));
	free(grown);
	grown = malloc(20);
	free(grown);
	heap_get((void **)&grown, 20);
	grown[19] = 'd';
	free(grown);
	kept = heap_zalloc(sizeof(*kept));
	kept->name = malloc(10);
	heap_each(on_piece, NULL);
	switch (wrong) {
	case 4:
		free(local); // expect 4: UNMATCHED-FREE
		break;
	case 5:
		free(fixed); // expect 5: UNMATCHED-FREE
		break;
	case 6:
		free(block + 16); // expect 6: UNMATCHED-FREE
		break;
	case 9:
		p[40] = 1; // expect 9: HEAP-OVERFLOW
		break;
	case 10:
		p = NULL;
		break;
	}
	free(p);
	heap_free(block);
	switch (wrong) {
	case 2:
		heap_zalloc(8);
		free(p); // expect 2: DOUBLE-FREE
		break;
	case 3:
		heap_free(block); // expect 3: DOUBLE-FREE
		break;
	case 7:
		p = heap_zalloc(40);
		p[0] = 1;
		block[1] = 2; // expect 7: DANGLING-WRITE
		break;
	}
	return 0;
}
