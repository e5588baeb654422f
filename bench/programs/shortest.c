// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Shortest paths on shards, as out-of-core graph engines have them (edges have no lengths,
 * as in the paper's graph): vertices are divided into intervals, and the edges into an
 * interval are an array of their own, its shard, in order of where they come from. An edge
 * carries its source's distance as it was told last. Intervals are taken in turn, a vertex
 * at a time: what comes in is looked at, and what is new told to the edges that go out.
 */
#include "bench/programs/graph.h"

#define MAX_VERTICES 65536
#define INTERVALS 8
#define FAR 0x7fffffff

struct edge {
	unsigned from, to;
	int told;
};

struct edges {
	struct edge **edge;
	unsigned n, room;
};

struct vertex {
	int distance;
	struct edges in, out; /* in any shard */
};

struct shard {
	struct edge *edges;
	unsigned n, room;
};

static struct vertex *vertices[MAX_VERTICES];
static struct shard *shards[INTERVALS];
static unsigned n_vertices;

static struct vertex *vertex(unsigned id)
{
	if (!vertices[id]) {
		vertices[id] = must(calloc(1, sizeof(struct vertex)));
		vertices[id]->distance = FAR;
		n_vertices++;
	}
	return vertices[id];
}

static void shard_add(struct shard *s, unsigned from, unsigned to)
{
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->edges = must(realloc(s->edges, s->room * sizeof(*s->edges)));
	}
	s->edges[s->n++] = (struct edge){ from, to, FAR };
}

static int by_source(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Files of edges mostly are in order. */
static void shard_sort(struct shard *s)
{
	for (unsigned i = 1; i < s->n; i++)
		if (by_source(&s->edges[i - 1], &s->edges[i]) > 0) {
			qsort(s->edges, s->n, sizeof(struct edge), by_source);
			return;
		}
}

static void edges_add(struct edges *to, struct edge *e)
{
	if (to->n == to->room) {
		to->room = to->room ? to->room * 2 : 4;
		to->edge = must(realloc(to->edge, to->room * sizeof(e)));
	}
	to->edge[to->n++] = e;
}

/* Edges have their places for good: vertices learn where theirs are. */
static void link_vertices(struct shard *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		edges_add(&vertices[s->edges[i].from]->out, &s->edges[i]);
		edges_add(&vertices[s->edges[i].to]->in, &s->edges[i]);
	}
}

static void tell(struct vertex *v, int distance)
{
	v->distance = distance;
	for (unsigned i = 0; i < v->out.n; i++)
		v->out.edge[i]->told = distance;
}

static int least_told(const struct vertex *v)
{
	int least = FAR;

	for (unsigned i = 0; i < v->in.n; i++)
		if (v->in.edge[i]->told < least)
			least = v->in.edge[i]->told;
	return least;
}

/* One interval. Returns how many distances became smaller. */
static unsigned pass(unsigned interval)
{
	unsigned n_changed = 0;

	for (unsigned i = interval; i < MAX_VERTICES; i += INTERVALS) {
		int least = vertices[i] ? least_told(vertices[i]) : FAR;

		if (least == FAR || least + 1 >= vertices[i]->distance)
			continue;
		tell(vertices[i], least + 1);
		n_changed++;
	}
	return n_changed;
}

int main(int argc, char **argv)
{
	FILE *f = open_edges(argc, argv);
	unsigned from, to, n_edges = 0, n_changed, n_reached = 0;
	long sum = 0;

	for (int i = 0; i < INTERVALS; i++)
		shards[i] = must(calloc(1, sizeof(struct shard)));
	for (; next_edge(f, MAX_VERTICES, &from, &to); n_edges++) {
		vertex(from);
		vertex(to);
		shard_add(shards[to % INTERVALS], from, to);
	}
	for (int i = 0; i < INTERVALS; i++) {
		shard_sort(shards[i]);
		link_vertices(shards[i]);
	}
	if (n_vertices)
		tell(vertex(0), 0);
	do {
		n_changed = 0;
		for (int i = 0; i < INTERVALS; i++)
			n_changed += pass(i);
	} while (n_changed);
	for (unsigned i = 0; i < MAX_VERTICES; i++)
		if (vertices[i] && vertices[i]->distance != FAR) {
			n_reached++;
			sum += vertices[i]->distance;
		}
	printf("%u vertices, %u edges: %u reached, %ld steps in all\n", n_vertices,
	       n_edges, n_reached, sum);
	return 0;
}
