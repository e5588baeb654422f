// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * intrusive2: jobs on a run list by an embedded link; moving to the tail leaves the old neighbour.
 *
 *	job X, Y; X.run.next == &Y.run => Y.run.prev == &X.run;
 *	CPOINT job_add; CPOINT job_tail;
 */
struct lnk {
	struct lnk *next, *prev;
};

struct job {
	int id;
	struct lnk run;
};

OPERATION void job_add(struct lnk *head, struct job *j)
{
	j->run.next = head;
	j->run.prev = head->prev;
	head->prev->next = &j->run;
	head->prev = &j->run;
}

OPERATION void job_tail(struct lnk *head, struct job *j)
{
	struct lnk *l = &j->run;

	l->prev->next = l->next;
	if (fixed) /* MISSING intrusive2: job_tail .prev */
		l->next->prev = l->prev;
	l->next = head;
	l->prev = head->prev;
	head->prev->next = l;
	head->prev = l;
}

static void intrusive2(void)
{
	struct lnk *head = malloc(sizeof(*head));
	struct job *j[4];

	head->next = head->prev = head;
	for (int i = 0; i < 4; i++) {
		j[i] = calloc(1, sizeof(*j[i]));
		j[i]->id = i;
		job_add(head, j[i]);
	}
	job_tail(head, j[1]);
}

/*
 * buddy: blocks that are split in halves; the upper half says the wrong order.
 *
 *	buddy X, Y; X.pair == Y => X.order == Y.order and X.pair.pair == X;
 *	CPOINT buddy_split;
 */
struct buddy {
	struct buddy *pair, *upper;
	int order;
	unsigned long at;
};

OPERATION struct buddy *buddy_split(struct buddy *b)
{
	struct buddy *u = calloc(1, sizeof(*u)), *l = calloc(1, sizeof(*l));

	l->at = b->at;
	l->order = b->order - 1;
	u->at = b->at + (1ul << (b->order - 1));
	u->order = fixed || b->order > 3 ? b->order - 1 : b->order; /* WRONG buddy */
	l->pair = u;
	u->pair = l;
	b->upper = u;
	return l;
}

static void buddy(void)
{
	struct buddy *b = calloc(1, sizeof(*b));

	b->order = 5;
	for (int i = 0; i < 3; i++)
		b = buddy_split(b);
}

/*
 * cow: strings that share their bytes and count who does; a copy on write does not let go.
 *
 *	str; bytes B; B.refs == B.INDEGREE;
 *	CPOINT str_new; CPOINT str_share; CPOINT str_own;
 */
struct bytes {
	int refs, n;
	char text[16];
};

struct str {
	struct bytes *b;
	int flags;
};

OPERATION struct str *str_new(const char *text)
{
	struct str *s = calloc(1, sizeof(*s));
	struct bytes *b = calloc(1, sizeof(*b));

	strncpy(b->text, text, 15);
	b->n = strlen(b->text);
	b->refs = 1;
	s->b = b;
	return s;
}

OPERATION struct str *str_share(struct str *of)
{
	struct str *s = calloc(1, sizeof(*s));

	of->b->refs++;
	s->b = of->b;
	return s;
}

OPERATION void str_own(struct str *s)
{
	struct bytes *b = calloc(1, sizeof(*b)), *old = s->b;

	memcpy(b->text, old->text, sizeof(b->text));
	b->n = old->n;
	b->refs = 1;
	s->b = b;
	if (fixed) /* MISSING cow: str_own .refs */
		old->refs--;
}

static void cow(void)
{
	struct str *a = str_new("abc"), *b = str_share(a);

	str_share(a);
	str_own(b);
}

/*
 * zip: two lists that are put together alternately; one node is linked to itself's list again.
 *
 *	znode.N NULL 0; znode X; X.N = X.next.N + 1;
 *	zlist L; L.n == L.first.N;
 *	CPOINT z_add; CPOINT z_merge;
 */
struct znode {
	struct znode *next;
	int key;
};

struct zlist {
	struct znode *first;
	int n;
};

OPERATION void z_add(struct zlist *l, int key)
{
	struct znode *z = malloc(sizeof(*z));

	z->key = key;
	z->next = l->first;
	l->first = z;
	l->n++;
}

OPERATION void z_merge(struct zlist *a, struct zlist *b)
{
	struct znode *x = a->first, *y = b->first;

	while (y) {
		struct znode *nx = x->next, *ny = y->next;

		x->next = y;
		y->next = fixed || nx ? nx : NULL;
		if (!nx) {
			y->next = ny;
			break;
		}
		x = nx;
		y = ny;
	}
	a->n = fixed ? a->n + b->n : a->n + a->n; /* WRONG zip */
	b->first = NULL;
	b->n = 0;
}

static void zip(void)
{
	struct zlist *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	for (int i = 0; i < 3; i++)
		z_add(a, i);
	for (int i = 0; i < 4; i++)
		z_add(b, i);
	z_merge(a, b);
}

/*
 * bst2: a search tree with parents; the removal of a node with two children forgets the right child's parent.
 *
 *	bst X, Y; X.left == Y or X.right == Y => Y.up == X;
 *	CPOINT bst_put; CPOINT bst_cut;
 */
struct bst {
	int key;
	struct bst *left, *right, *up;
};

OPERATION struct bst *bst_put(struct bst *root, int key)
{
	struct bst *n = calloc(1, sizeof(*n)), *at = root;

	n->key = key;
	while (at) {
		struct bst **side = key < at->key ? &at->left : &at->right;

		if (!*side) {
			*side = n;
			n->up = at;
			return root;
		}
		at = *side;
	}
	return n;
}

OPERATION void bst_cut(struct bst *x)
{
	struct bst *s = x->right;

	while (s->left)
		s = s->left;
	if (s->up != x) {
		s->up->left = s->right;
		if (s->right)
			s->right->up = s->up;
		s->right = x->right;
		if (fixed) /* MISSING bst2: bst_cut .up */
			x->right->up = s;
	}
	s->left = x->left;
	x->left->up = s;
	if (x->up->left == x)
		x->up->left = s;
	else
		x->up->right = s;
	s->up = x->up;
	free(x);
}

static void bst2(void)
{
	static const int keys[] = { 50, 20, 10, 40, 30, 45, 80, 70, 90 };
	struct bst *root = NULL;

	for (int i = 0; i < 9; i++)
		root = bst_put(root, keys[i]);
	bst_cut(root->right);
	bst_cut(root->left);
}

static const struct task tasks[] = {
	{ "intrusive2", intrusive2 },
	{ "buddy", buddy },
	{ "cow", cow },
	{ "zip", zip },
	{ "bst2", bst2 },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
