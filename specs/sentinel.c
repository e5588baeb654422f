// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A red-black tree with parent links; all missing leaves, and what is above the root, are one
 * black node that is its own child. */
#include "specs/subject.h"

enum { RED, BLACK };

struct sb {
	int key;
	int color;
	struct sb *left;
	struct sb *right;
	struct sb *parent;
};

static struct sb *nil;
static struct sb *root;
static int n_keys;

/* Put @p now where @p was is. */
NOINLINE static void sb_replace(struct sb *was, struct sb *now)
{
	if (was->parent == nil)
		root = now;
	else if (was->parent->left == was)
		FAULT(0, was->parent->left = now, was->parent->left = was->parent);
	else
		was->parent->right = now;
	now->parent = was->parent; // of the sentinel, too: who removes looks there
}

NOINLINE static void sb_rotate_left(struct sb *n)
{
	struct sb *r = n->right;

	sb_replace(n, r);
	FAULT(1, n->right = r->left, n->right = n);
	if (r->left != nil)
		r->left->parent = n;
	r->left = n;
	n->parent = r;
}

NOINLINE static void sb_rotate_right(struct sb *n)
{
	struct sb *l = n->left;

	sb_replace(n, l);
	n->left = l->right;
	if (l->right != nil)
		l->right->parent = n;
	l->right = n;
	n->parent = l;
}

NOINLINE static void sb_insert_fixup(struct sb *n)
{
	while (n->parent->color == RED) {
		struct sb *p = n->parent, *g = p->parent;
		int is_left = p == g->left;
		struct sb *uncle = is_left ? g->right : g->left;

		subject_step();
		if (uncle->color == RED) {
			FAULT(2, p->color = BLACK, n->color = BLACK);
			uncle->color = BLACK;
			g->color = RED;
			n = g;
			continue;
		}
		if (is_left && n == p->right) {
			sb_rotate_left(p);
			n = p;
			p = n->parent;
		} else if (!is_left && n == p->left) {
			sb_rotate_right(p);
			n = p;
			p = n->parent;
		}
		p->color = BLACK;
		g->color = RED;
		if (is_left)
			sb_rotate_right(g);
		else
			sb_rotate_left(g);
	}
	root->color = BLACK;
}

NOINLINE static void sb_insert(int key)
{
	struct sb **at = &root, *parent = nil, *n;

	while (*at != nil) {
		subject_step();
		parent = *at;
		if (key == parent->key)
			return;
		at = key < parent->key ? &parent->left : &parent->right;
	}
	n = NEW(struct sb);
	n->key = key;
	n->color = RED;
	n->parent = parent;
	n->left = nil;
	FAULT(3, n->right = nil, n->right = NULL);
	*at = n;
	n_keys++;
	sb_insert_fixup(n);
}

/* @p n is a black too few. */
NOINLINE static void sb_remove_fixup(struct sb *n)
{
	while (n != root && n->color == BLACK) {
		struct sb *p = n->parent;
		int is_left = n == p->left;
		struct sb *s = is_left ? p->right : p->left;

		subject_step();
		if (s->color == RED) {
			s->color = BLACK;
			p->color = RED;
			if (is_left)
				sb_rotate_left(p);
			else
				sb_rotate_right(p);
			s = is_left ? p->right : p->left;
		}
		if (s->left->color == BLACK && s->right->color == BLACK) {
			FAULT(4, s->color = RED, s->parent = s);
			n = p;
			continue;
		}
		if (is_left && s->right->color == BLACK) {
			s->left->color = BLACK;
			s->color = RED;
			sb_rotate_right(s);
			s = p->right;
		} else if (!is_left && s->left->color == BLACK) {
			s->right->color = BLACK;
			s->color = RED;
			sb_rotate_left(s);
			s = p->left;
		}
		s->color = p->color;
		p->color = BLACK;
		if (is_left) {
			s->right->color = BLACK;
			sb_rotate_left(p);
		} else {
			s->left->color = BLACK;
			sb_rotate_right(p);
		}
		n = root;
	}
	n->color = BLACK;
}

NOINLINE static void sb_remove(struct sb *n)
{
	struct sb *below;

	if (n->left != nil && n->right != nil) {
		struct sb *next = n->right;

		while (next->left != nil) {
			subject_step();
			next = next->left;
		}
		n->key = next->key;
		n = next;
	}
	below = n->left != nil ? n->left : n->right;
	sb_replace(n, below);
	if (n->color == BLACK)
		sb_remove_fixup(below);
	free(n);
	n_keys--;
}

static void build(void)
{
	nil = NEW(struct sb);
	nil->color = BLACK;
	root = nil->left = nil->right = nil->parent = nil;
	while (n_keys < SUBJECT_NODES)
		sb_insert(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	struct sb *n = root;

	if (r & 1) {
		sb_insert(r % 1000000);
		return;
	}
	for (unsigned i = r % 12; i && (n->left != nil || n->right != nil); i--, r /= 2)
		n = (r & 1 && n->left != nil) || n->right == nil ? n->left : n->right;
	sb_remove(n);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 5, build, operate });
}
