// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Graph colouring on a linked list of arrays: a vertex has its neighbours in an array of
 * its own, and vertices are listed in order of degree. Greedy, largest degree first.
 */
#include "bench/programs/graph.h"

#define MAX_VERTICES 65536

struct vertex {
	struct vertex *next; /* in order of degree */
	struct vertex **neighbours;
	unsigned n, room;
	int id, colour;
};

static struct vertex *vertices[MAX_VERTICES];

static struct vertex *vertex(unsigned id)
{
	struct vertex *v = vertices[id];

	if (v)
		return v;
	v = vertices[id] = must(calloc(1, sizeof(*v)));
	v->id = id;
	v->colour = -1;
	return v;
}

static void add_neighbour(struct vertex *v, struct vertex *to)
{
	if (v->n == v->room) {
		v->room = v->room ? v->room * 2 : 2;
		v->neighbours = must(realloc(v->neighbours, v->room * sizeof(to)));
	}
	v->neighbours[v->n++] = to;
}

static struct vertex *list_by_degree(void)
{
	struct vertex *head = NULL, **at;

	for (unsigned i = 0; i < MAX_VERTICES; i++) {
		struct vertex *v = vertices[i];

		if (!v)
			continue;
		for (at = &head; *at && (*at)->n >= v->n; at = &(*at)->next)
			;
		v->next = *at;
		*at = v;
	}
	return head;
}

/* The smallest colour that no neighbour has; used is zeros, and again after. */
static int free_colour(const struct vertex *v, char *used)
{
	unsigned colour = 0;

	for (unsigned i = 0; i < v->n; i++)
		if (v->neighbours[i]->colour >= 0)
			used[v->neighbours[i]->colour] = 1;
	while (used[colour])
		colour++;
	for (unsigned i = 0; i < v->n; i++)
		if (v->neighbours[i]->colour >= 0)
			used[v->neighbours[i]->colour] = 0;
	return colour;
}

int main(int argc, char **argv)
{
	FILE *f = open_edges(argc, argv);
	char *used = must(calloc(MAX_VERTICES, 1));
	unsigned from, to, n_edges = 0, n_vertices = 0;
	int colours = 0;

	for (; next_edge(f, MAX_VERTICES, &from, &to); n_edges++) {
		add_neighbour(vertex(from), vertex(to));
		add_neighbour(vertex(to), vertex(from));
	}
	for (struct vertex *v = list_by_degree(); v; v = v->next, n_vertices++) {
		v->colour = free_colour(v, used);
		if (v->colour >= colours)
			colours = v->colour + 1;
	}
	printf("%u vertices, %u edges: %d colours\n", n_vertices, n_edges, colours);
	return 0;
}
