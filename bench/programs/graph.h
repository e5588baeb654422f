// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the graph programs share: edges read from a file of lines "FROM TO".
 */
#ifndef BENCH_PROGRAMS_GRAPH_H
#define BENCH_PROGRAMS_GRAPH_H

#include <stdio.h>
#include <stdlib.h>

static inline void *must(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "out of memory\n");
	exit(1);
}

static inline FILE *open_edges(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (f)
		return f;
	fprintf(stderr, "usage: %s EDGES (a file of lines \"FROM TO\")\n", argv[0]);
	exit(1);
}

/* The next edge; both ends are below limit, and not the same. 0 at the end. By lines: fscanf
 * would change the stream, which is in the heap, at each character. */
static inline int next_edge(FILE *f, unsigned limit, unsigned *from, unsigned *to)
{
	char line[64], *end;

	do {
		if (!fgets(line, sizeof(line), f))
			return 0;
		*from = strtoul(line, &end, 10);
		*to = strtoul(end, &end, 10);
	} while (*from == *to);
	return *from < limit && *to < limit;
}

#endif
