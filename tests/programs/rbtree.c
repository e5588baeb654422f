// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A red-black tree under inserts, look-ups and removals: pointers, branches and malloc.
 * rbtree [OPERATIONS [SEED]] prints what is in the tree at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum color { RED, BLACK };

struct node {
	struct node *child[2], *parent;
	enum color color;
	uint32_t key;
	uint64_t value;
};

static struct node *root;
static uint64_t n_nodes, n_rotations;

static int side_of(const struct node *n)
{
	return n->parent->child[1] == n;
}

static void replace(struct node *old, struct node *new)
{
	if (!old->parent)
		root = new;
	else
		old->parent->child[side_of(old)] = new;
	if (new)
		new->parent = old->parent;
}

// The child of n on the other side takes its place; n becomes its child on side.
static void rotate(struct node *n, int side)
{
	struct node *up = n->child[!side];

	n_rotations++;
	replace(n, up);
	n->child[!side] = up->child[side];
	if (n->child[!side])
		n->child[!side]->parent = n;
	up->child[side] = n;
	n->parent = up;
}

static void insert_fix(struct node *n)
{
	while (n->parent && n->parent->color == RED) {
		struct node *parent = n->parent, *grand = parent->parent;
		int side = side_of(parent);
		struct node *uncle = grand->child[!side];

		if (uncle && uncle->color == RED) {
			parent->color = uncle->color = BLACK;
			grand->color = RED;
			n = grand;
			continue;
		}
		if (side_of(n) != side) {
			rotate(parent, side);
			parent = n;
		}
		parent->color = BLACK;
		grand->color = RED;
		rotate(grand, !side);
		break;
	}
	root->color = BLACK;
}

static void insert(uint32_t key, uint64_t value)
{
	struct node **at = &root, *parent = NULL, *n;

	while (*at) {
		parent = *at;
		if (parent->key == key) {
			parent->value += value;
			return;
		}
		at = &parent->child[key > parent->key];
	}
	n = calloc(1, sizeof(*n));
	if (!n)
		exit(2);
	*n = (struct node){ .parent = parent, .key = key, .value = value };
	*at = n;
	n_nodes++;
	insert_fix(n);
}

static struct node *find(uint32_t key)
{
	struct node *n = root;

	while (n && n->key != key)
		n = n->child[key > n->key];
	return n;
}

static int is_black(const struct node *n)
{
	return !n || n->color == BLACK;
}

// The subtree on side of parent lacks one black node.
static void remove_fix(struct node *parent, int side)
{
	while (parent) {
		struct node *n = parent->child[side], *sibling;

		if (n && n->color == RED) {
			n->color = BLACK;
			return;
		}
		sibling = parent->child[!side];
		if (sibling->color == RED) {
			sibling->color = BLACK;
			parent->color = RED;
			rotate(parent, side);
			sibling = parent->child[!side];
		}
		if (is_black(sibling->child[0]) && is_black(sibling->child[1])) {
			sibling->color = RED;
			n = parent;
			parent = n->parent;
			if (n->color == RED) {
				n->color = BLACK;
				return;
			}
			if (parent)
				side = side_of(n);
			continue;
		}
		if (is_black(sibling->child[!side])) {
			sibling->child[side]->color = BLACK;
			sibling->color = RED;
			rotate(sibling, !side);
			sibling = parent->child[!side];
		}
		sibling->color = parent->color;
		parent->color = BLACK;
		sibling->child[!side]->color = BLACK;
		rotate(parent, side);
		return;
	}
	if (root)
		root->color = BLACK;
}

static void erase(struct node *n)
{
	struct node *next, *child, *parent;
	int side;

	if (n->child[0] && n->child[1]) {
		for (next = n->child[1]; next->child[0];)
			next = next->child[0];
		n->key = next->key;
		n->value = next->value;
		n = next;
	}
	child = n->child[n->child[0] == NULL];
	parent = n->parent;
	side = parent ? side_of(n) : 0;
	replace(n, child);
	if (n->color == BLACK) {
		if (parent)
			remove_fix(parent, side);
		else if (child)
			child->color = BLACK;
	}
	free(n);
	n_nodes--;
}

// @return the black height; exits when a rule of red-black trees does not hold.
static int check(const struct node *n, const struct node *parent)
{
	int left, right;

	if (!n)
		return 1;
	left = check(n->child[0], n);
	right = check(n->child[1], n);
	if (n->parent != parent || left != right ||
	    (n->color == RED && parent && parent->color == RED)) {
		printf("broken at %u\n", n->key);
		exit(1);
	}
	return left + (n->color == BLACK);
}

static uint64_t sum_values(const struct node *n)
{
	return n ? sum_values(n->child[0]) * 31 + n->value + n->key +
			       sum_values(n->child[1]) * 17 :
		   0;
}

int main(int argc, char **argv)
{
	unsigned long operations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	uint32_t x = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	uint64_t hits = 0;
	struct node *n;

	for (unsigned long i = 0; i < operations; i++) {
		x = x * 1664525 + 1013904223;
		n = find(x >> 14);
		hits += n != NULL;
		if (n && x >> 8 & 1)
			erase(n);
		else
			insert(x >> 14, i);
	}
	printf("%lu operations: %lu nodes, %lu found, %lu rotations, black height %d, "
	       "sum %lx\n",
	       operations, n_nodes, hits, n_rotations, check(root, NULL),
	       sum_values(root));
	return 0;
}
