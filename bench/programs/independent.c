// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A maximal independent set on linked lists: vertices in a list, each with a list of its
 * edges. The vertex of the smallest degree joins the set; it and its neighbours leave the
 * graph, with their edges.
 */
#include "bench/programs/graph.h"

#define MAX_VERTICES 65536

struct edge {
	struct edge *next;
	struct vertex *to;
};

struct vertex {
	struct vertex *next, *prev;
	struct edge *edges;
	unsigned degree, id;
};

static struct vertex *by_id[MAX_VERTICES];
static struct vertex *list;
static unsigned n_vertices;

static struct vertex *vertex(unsigned id)
{
	struct vertex *v = by_id[id];

	if (v)
		return v;
	v = by_id[id] = must(calloc(1, sizeof(*v)));
	v->id = id;
	v->next = list;
	if (list)
		list->prev = v;
	list = v;
	n_vertices++;
	return v;
}

static void add_edge(struct vertex *from, struct vertex *to)
{
	struct edge *e = must(malloc(sizeof(*e)));

	e->to = to;
	e->next = from->edges;
	from->edges = e;
	from->degree++;
}

static void remove_edge(struct vertex *from, const struct vertex *to)
{
	for (struct edge **at = &from->edges, *e; (e = *at);)
		if (e->to == to) {
			*at = e->next;
			from->degree--;
			free(e);
		} else {
			at = &e->next;
		}
}

static void remove_vertex(struct vertex *v)
{
	while (v->edges) {
		struct edge *e = v->edges;

		v->edges = e->next;
		remove_edge(e->to, v);
		free(e);
	}
	if (v->prev)
		v->prev->next = v->next;
	else
		list = v->next;
	if (v->next)
		v->next->prev = v->prev;
	by_id[v->id] = NULL;
	free(v);
}

static struct vertex *smallest(void)
{
	struct vertex *best = list;

	for (struct vertex *v = list; v; v = v->next)
		if (v->degree < best->degree)
			best = v;
	return best;
}

int main(int argc, char **argv)
{
	FILE *f = open_edges(argc, argv);
	unsigned from, to, n_edges = 0, n_set = 0, n;

	for (; next_edge(f, MAX_VERTICES, &from, &to); n_edges++) {
		add_edge(vertex(from), vertex(to));
		add_edge(vertex(to), vertex(from));
	}
	n = n_vertices;
	for (; list; n_set++) {
		struct vertex *v = smallest();

		while (v->edges)
			remove_vertex(v->edges->to);
		remove_vertex(v);
	}
	printf("%u vertices, %u edges: %u of them independent\n", n, n_edges, n_set);
	return 0;
}
