// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A bipartite graph: links lead from one side to the other only. */
#include "specs/subject.h"

enum { LINKS = 4 };

struct vertex {
	long side;
	struct vertex *link[LINKS];
};

static struct vertex *vertex[2 * SUBJECT_NODES];
static int n_vertices;

NOINLINE static struct vertex *pick(long side)
{
	for (;;) {
		struct vertex *v = vertex[subject_random() % n_vertices];

		if (v->side == side)
			return v;
	}
}

NOINLINE static void vertex_add(long side)
{
	struct vertex *v = NEW(struct vertex);

	v->side = side;
	for (int i = 0; n_vertices > 1 && i < 3; i++)
		FAULT(0, v->link[i] = pick(!side), v->link[i] = pick(side));
	vertex[n_vertices++] = v;
}

NOINLINE static void vertex_remove(int index)
{
	struct vertex *gone = vertex[index];

	vertex[index] = vertex[--n_vertices];
	for (int i = 0; i < n_vertices; i++)
		for (int k = 0; k < LINKS; k++)
			if (vertex[i]->link[k] == gone)
				vertex[i]->link[k] = NULL;
	free(gone);
}

NOINLINE static void vertex_relink(int index)
{
	struct vertex *v = vertex[index];

	FAULT(1, v->link[3] = pick(!v->side), v->link[3] = v);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		vertex_add(i & 1);
}

NOINLINE static void operate(unsigned r)
{
	if (r % 4 == 0)
		vertex_relink(r / 4 % n_vertices);
	else if (r % 4 == 1)
		vertex_remove(2 + r / 4 % (n_vertices - 2));
	else
		vertex_add(r / 4 & 1);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
