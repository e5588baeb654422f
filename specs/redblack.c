// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A red-black tree with parent links; leaves are NULL and black. */
#include "specs/subject.h"

enum { RED, BLACK };

struct rb {
	int key;
	int color;
	struct rb *left;
	struct rb *right;
	struct rb *parent;
};

static struct rb *root;
static int n_keys;

/* Put @p now where @p was is. */
NOINLINE static void rb_replace(struct rb *was, struct rb *now)
{
	if (!was->parent)
		root = now;
	else if (was->parent->left == was)
		FAULT(0, was->parent->left = now, was->parent->left = was->parent);
	else
		was->parent->right = now;
	if (now)
		now->parent = was->parent;
}

NOINLINE static void rb_rotate_left(struct rb *n)
{
	struct rb *r = n->right;

	rb_replace(n, r);
	FAULT(1, n->right = r->left, n->right = n);
	if (r->left)
		r->left->parent = n;
	r->left = n;
	n->parent = r;
}

NOINLINE static void rb_rotate_right(struct rb *n)
{
	struct rb *l = n->left;

	rb_replace(n, l);
	n->left = l->right;
	if (l->right)
		l->right->parent = n;
	l->right = n;
	n->parent = l;
}

static int color(const struct rb *n)
{
	return n ? n->color : BLACK;
}

NOINLINE static void rb_insert_fixup(struct rb *n)
{
	while (n->parent && n->parent->color == RED && n->parent->parent) {
		struct rb *p = n->parent, *g = p->parent;
		int is_left = p == g->left;
		struct rb *uncle = is_left ? g->right : g->left;

		subject_step();
		if (color(uncle) == RED) {
			FAULT(2, p->color = BLACK, n->color = BLACK);
			uncle->color = BLACK;
			g->color = RED;
			n = g;
			continue;
		}
		if (is_left && n == p->right) {
			rb_rotate_left(p);
			n = p;
			p = n->parent;
		} else if (!is_left && n == p->left) {
			rb_rotate_right(p);
			n = p;
			p = n->parent;
		}
		p->color = BLACK;
		g->color = RED;
		if (is_left)
			rb_rotate_right(g);
		else
			rb_rotate_left(g);
		break;
	}
	if (root->color == RED)
		root->color = BLACK;
}

NOINLINE static void rb_insert(int key)
{
	struct rb **at = &root, *parent = NULL, *n;

	while (*at) {
		subject_step();
		parent = *at;
		if (key == parent->key)
			return;
		at = key < parent->key ? &parent->left : &parent->right;
	}
	n = NEW(struct rb);
	n->key = key;
	n->color = RED;
	n->parent = parent;
	*at = n;
	n_keys++;
	rb_insert_fixup(n);
}

/* @p n, below @p p, is a black too few. */
NOINLINE static void rb_remove_fixup(struct rb *n, struct rb *p)
{
	while (p && color(n) == BLACK) {
		int is_left = n == p->left;
		struct rb *s = is_left ? p->right : p->left;

		subject_step();
		if (!s)
			return;
		if (s->color == RED) {
			s->color = BLACK;
			p->color = RED;
			if (is_left)
				rb_rotate_left(p);
			else
				rb_rotate_right(p);
			s = is_left ? p->right : p->left;
			if (!s)
				return;
		}
		if (color(s->left) == BLACK && color(s->right) == BLACK) {
			FAULT(4, s->color = RED, s->parent = s);
			n = p;
			p = n->parent;
			continue;
		}
		if (is_left && color(s->right) == BLACK) {
			s->left->color = BLACK;
			s->color = RED;
			rb_rotate_right(s);
			s = p->right;
		} else if (!is_left && color(s->left) == BLACK) {
			s->right->color = BLACK;
			s->color = RED;
			rb_rotate_left(s);
			s = p->left;
		}
		s->color = p->color;
		p->color = BLACK;
		if (is_left && s->right) {
			s->right->color = BLACK;
			rb_rotate_left(p);
		} else if (!is_left && s->left) {
			s->left->color = BLACK;
			rb_rotate_right(p);
		}
		return;
	}
	if (n && n->color == RED)
		n->color = BLACK;
}

NOINLINE static void rb_remove(struct rb *n)
{
	struct rb *below, *p;

	if (n->left && n->right) {
		struct rb *next = n->right;

		while (next->left) {
			subject_step();
			next = next->left;
		}
		FAULT(3, n->key = next->key, n->key = -1 - next->key);
		n = next;
	}
	below = n->left ? n->left : n->right;
	p = n->parent;
	rb_replace(n, below);
	if (n->color == BLACK)
		rb_remove_fixup(below, p);
	free(n);
	n_keys--;
}

static void build(void)
{
	while (n_keys < SUBJECT_NODES)
		rb_insert(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	struct rb *n = root;

	if (r & 1) {
		rb_insert(r % 1000000);
		return;
	}
	for (unsigned i = r % 12; i && (n->left || n->right); i--, r /= 2)
		n = (r & 1 && n->left) || !n->right ? n->left : n->right;
	rb_remove(n);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 5, build, operate });
}
