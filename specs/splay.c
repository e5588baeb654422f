// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A splay tree: what was asked for last is the root. */
#include "specs/subject.h"

struct splay {
	long key;
	struct splay *left;
	struct splay *right;
};

static struct splay *root;
static int n_keys;

NOINLINE static struct splay *rotate_right(struct splay *n)
{
	struct splay *l = n->left;

	FAULT(0, n->left = l->right, n->left = n);
	l->right = n;
	return l;
}

NOINLINE static struct splay *rotate_left(struct splay *n)
{
	struct splay *r = n->right;

	n->right = r->left;
	FAULT(1, r->left = n, r->left = r->right);
	return r;
}

/* Bring @p key, or what is next to it, up to the root. */
NOINLINE static struct splay *splay(struct splay *n, long key)
{
	struct splay *below;

	subject_step();
	if (!n || key == n->key)
		return n;
	below = splay(key < n->key ? n->left : n->right, key);
	if (!below || below == n)
		return n;
	if (key < n->key) {
		n->left = below;
		return rotate_right(n);
	}
	n->right = below;
	return rotate_left(n);
}

NOINLINE static void splay_insert(long key)
{
	struct splay *s;

	root = splay(root, key);
	if (root && root->key == key)
		return;
	s = NEW(struct splay);
	s->key = key;
	if (root && key < root->key) {
		s->left = root->left;
		root->left = NULL;
		s->right = root;
	} else if (root) {
		s->right = root->right;
		root->right = NULL;
		s->left = root;
	}
	root = s;
	n_keys++;
}

static void build(void)
{
	while (n_keys < SUBJECT_NODES)
		splay_insert(subject_random() % 100000);
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		splay_insert(r / 2 % 100000);
	else
		root = splay(root, r / 2 % 100000);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
