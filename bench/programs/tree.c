// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Allocation-heavy: a binary search tree balanced by random priorities (a treap) of some
 * 2,000 nodes; each operation inserts a key, or removes it when it is there.
 */
#include "bench/programs/program.h"

#define KEYS 4096

struct node {
	struct node *child[2];
	uint32_t key, priority;
};

static struct node *root;
static uint64_t n_nodes;

static void rotate(struct node **link, int side)
{
	struct node *n = *link, *up = n->child[!side];

	n->child[!side] = up->child[side];
	up->child[side] = n;
	*link = up;
}

static void insert(struct node **link, uint32_t key, uint32_t priority)
{
	struct node *n = *link;
	int side;

	if (!n) {
		n = malloc(sizeof(*n));
		if (!n)
			exit(1);
		*n = (struct node){ .key = key, .priority = priority };
		*link = n;
		n_nodes++;
		return;
	}
	side = key > n->key;
	insert(&n->child[side], key, priority);
	if (n->child[side]->priority > n->priority)
		rotate(link, !side);
}

static struct node **find(struct node **link, uint32_t key)
{
	while (*link && (*link)->key != key)
		link = &(*link)->child[key > (*link)->key];
	return link;
}

/** Turn the node down until it has one child at most, and take it out. */
static void remove_at(struct node **link)
{
	struct node *n = *link;

	while (n->child[0] && n->child[1]) {
		int side = n->child[0]->priority > n->child[1]->priority;

		rotate(link, side);
		link = &(*link)->child[side];
	}
	*link = n->child[0] ? n->child[0] : n->child[1];
	free(n);
	n_nodes--;
}

int main(int argc, char **argv)
{
	uint64_t n = count_of(argc, argv), random = 1, found = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t key = random_next(&random) % KEYS;
		struct node **link = find(&root, key);

		if (*link) {
			remove_at(link);
			found = found * 31 + key;
		} else {
			insert(&root, key, random_next(&random));
		}
	}
	printf("tree: %llu nodes, found %llx\n", (unsigned long long)n_nodes,
	       (unsigned long long)found);
	return 0;
}
