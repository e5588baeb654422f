// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A quad tree over points: a full square is split into four. */
#include "specs/subject.h"

enum { CAPACITY = 4, SIDE = 1 << 20 };

struct quad {
	int x, y, size;
	int n_points;
	struct quad *child[4];
	struct points *points; /* of a leaf */
};

struct points {
	int x[CAPACITY], y[CAPACITY];
};

static struct quad *root;
static int n_quads;

NOINLINE static struct quad *quad_new(int x, int y, int size)
{
	struct quad *q = NEW(struct quad);

	q->x = x;
	q->y = y;
	q->size = size;
	n_quads++;
	return q;
}

NOINLINE static int quad_of(const struct quad *q, int x, int y)
{
	int half = q->size / 2;

	return (x >= q->x + half) + 2 * (y >= q->y + half);
}

static void quad_insert(struct quad *q, int x, int y);

NOINLINE static void quad_split(struct quad *q)
{
	struct points *p = q->points;
	int half = q->size / 2;

	for (int i = 0; i < 4; i++)
		q->child[i] =
			quad_new(q->x + (i & 1) * half, q->y + (i >> 1) * half, half);
	q->points = NULL;
	for (int i = 0; p && i < CAPACITY; i++)
		quad_insert(q, p->x[i], p->y[i]);
	free(p);
	FAULT(0, q->n_points = 0, q->child[3] = q->child[2]);
}

NOINLINE static void quad_insert(struct quad *q, int x, int y)
{
	while (q && q->child[0]) {
		subject_step();
		q = q->child[quad_of(q, x, y)];
	}
	if (!q || q->size < 4)
		return;
	if (q->n_points == CAPACITY) {
		quad_split(q);
		quad_insert(q, x, y);
		return;
	}
	if (!q->points)
		q->points = NEW(struct points);
	q->points->x[q->n_points] = x;
	q->points->y[q->n_points++] = y;
}

/* Move the points of four leaves up: their parent is a leaf again. */
NOINLINE static void quad_merge(struct quad *q)
{
	for (int i = 0; i < 4; i++)
		if (!q->child[i] || q->child[i]->child[0])
			return;
	for (int i = 0; i < 4; i++) {
		free(q->child[i]->points);
		free(q->child[i]);
	}
	q->child[0] = q->child[1] = q->child[2] = NULL;
	FAULT(1, q->child[3] = NULL, q->child[3] = root);
	n_quads -= 4;
	q->n_points = 0;
}

NOINLINE static void quad_forget(unsigned r)
{
	struct quad *q = root, *above = NULL;

	while (q && q->child[0]) {
		subject_step();
		above = q;
		FAULT(2, q->n_points = 0, q->child[2] = q->child[1]);
		q = q->child[r & 3];
		r = r >> 2 | r << 30;
	}
	if (q && above)
		quad_merge(above);
}

static void build(void)
{
	root = quad_new(0, 0, SIDE);
	while (n_quads < SUBJECT_NODES)
		quad_insert(root, subject_random() % SIDE, subject_random() % SIDE);
}

NOINLINE static void operate(unsigned r)
{
	if (r & 16)
		quad_forget(r >> 5);
	for (int i = 0; i < 4; i++)
		quad_insert(root, subject_random() % SIDE, subject_random() % SIDE);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 3, build, operate });
}
