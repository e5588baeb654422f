// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A quad tree of points (paper 001, Figure 4.1). A leaf holds one point; a second one
 * splits it into four. When the new point lies exactly on the corner of a new quadrant,
 * split() cuts a quadrant off the parent: its points are lost, and nothing crashes.
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>

#define WORLD 65536
#define POINTS 200

struct pt {
	int x, y;
};

struct qdtree {
	int posX, posY;
	int width, height;
	struct pt *point;
	struct qdtree *child[4]; /* north-east, north-west, south-west, south-east */
};

struct qdtree *root;
static int n_nodes;

static struct pt *create_point(int x, int y)
{
	struct pt *p = malloc(sizeof(struct pt));

	if (!p)
		exit(1);
	p->x = x;
	p->y = y;
	return p;
}

static struct qdtree *create_node(int x, int y, int width, int height)
{
	struct qdtree *node = calloc(1, sizeof(struct qdtree));

	if (!node)
		exit(1);
	node->posX = x;
	node->posY = y;
	node->width = width;
	node->height = height;
	n_nodes++;
	return node;
}

/* The quadrant of node that holds (x,y). */
static int quadrant(const struct qdtree *node, int x, int y)
{
	int is_east = x >= node->posX + node->width / 2;
	int is_north = y >= node->posY + node->height / 2;

	if (is_north)
		return is_east ? 0 : 1;
	return is_east ? 3 : 2;
}

static struct qdtree *create_quadrant(const struct qdtree *node, int i)
{
	int width = node->width / 2, height = node->height / 2;
	int is_east = i == 0 || i == 3, is_north = i == 0 || i == 1;

	return create_node(node->posX + (is_east ? width : 0),
			   node->posY + (is_north ? height : 0), width, height);
}

/* The leaf for (x,y), and the node above it; NULL when there is none. */
static struct qdtree *search(int x, int y, struct qdtree *node, struct qdtree **parent)
{
	*parent = NULL;
	while (node && node->child[2]) {
		*parent = node;
		node = node->child[quadrant(node, x, y)];
	}
	return node;
}

__attribute__((noinline)) static void split(int x, int y, struct qdtree *node,
					    struct qdtree *parent_node)
{
	struct pt *point = node->point;
	struct qdtree *temp;
	int i;

	for (i = 0; i < 4; i++) {
		temp = create_quadrant(node, i);
		node->child[i] = temp;
		if (x == temp->posX && y == temp->posY && parent_node) {
#ifndef FIXED
			parent_node->child[0] = NULL; /* BUG */
#endif
		}
	}
	/* The point moves to its quadrant; the new one follows it down. */
	node->point = NULL;
	node->child[quadrant(node, point->x, point->y)]->point = point;
}

__attribute__((noinline)) static void insert(int x, int y)
{
	struct qdtree *n, *parent;

	/* ##C-POINT(qdtree) */
	if (root == NULL) {
		root = create_node(0, 0, WORLD, WORLD);
		root->point = create_point(x, y);
	} else {
		n = search(x, y, root, &parent);
		while (n && n->point && (n->point->x != x || n->point->y != y)) {
			split(x, y, n, parent);
			n = search(x, y, n, &parent);
		}
		if (n && !n->point)
			n->point = create_point(x, y);
	}
	/* ##C-POINT(qdtree) */
}

static int count_points(const struct qdtree *node)
{
	int i, n;

	if (!node)
		return 0;
	n = node->point != NULL;
	for (i = 0; i < 4; i++)
		n += count_points(node->child[i]);
	return n;
}

int main(void)
{
	unsigned int seed = 12345;
	int i;

	for (i = 0; i < POINTS; i++) {
		int x, y;

		/* Odd numbers: never on a corner. */
		seed = seed * 1103515245 + 12345;
		x = (seed >> 8) % WORLD | 1;
		seed = seed * 1103515245 + 12345;
		y = (seed >> 8) % WORLD | 1;
		if (i == POINTS - 21)
			x = 1001, y = 2001;
		if (i == POINTS - 20)
			x = y = 0; /* the corner of the world, in the same leaf */
		insert(x, y);
	}
	printf("%d points, %d of them in the tree of %d nodes\n", POINTS,
	       count_points(root), n_nodes);
	return 0;
}
