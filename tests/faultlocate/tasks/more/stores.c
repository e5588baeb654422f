// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * xorlist: a list by the exclusive or of neighbours, in the order of an array; what is behind an
 * insertion is not told.
 *
 *	order O; xnode X; for I in 0 to 6, O.at[I] != NULL and O.at[I + 2] != NULL and O.at[I + 1] == X => X.link == (O.at[I] ^ O.at[I + 2]);
 *	CPOINT xor_insert;
 */
struct xnode {
	uintptr_t link;
	int key;
};

struct order {
	int n;
	struct xnode *at[9];
};

OPERATION void xor_insert(struct order *o, int where, int key)
{
	struct xnode *n = malloc(sizeof(*n));
	struct xnode *left = where ? o->at[where - 1] : NULL, *right = o->at[where];

	n->key = key;
	n->link = (uintptr_t)left ^ (uintptr_t)right;
	if (left)
		left->link ^= (uintptr_t)right ^ (uintptr_t)n;
	if (right)
		if (!left || fixed) /* MISSING xorlist: xor_insert .link */
			right->link ^= (uintptr_t)left ^ (uintptr_t)n;
	memmove(o->at + where + 1, o->at + where, (o->n - where) * sizeof(*o->at));
	o->at[where] = n;
	o->n++;
}

static void xorlist(void)
{
	struct order *o = calloc(1, sizeof(*o));

	xor_insert(o, 0, 1);
	xor_insert(o, 1, 5);
	xor_insert(o, 2, 7);
	xor_insert(o, 0, 0);
	xor_insert(o, 2, 3);
}

/*
 * chunks: an arena of chunks that is emptied: each but the first says that it is full.
 *
 *	piece P; P.at >= P.begin and P.at <= P.end;
 *	piece P; P.free == P.end - P.at;
 *	CPOINT piece_take; CPOINT piece_reset;
 */
struct piece {
	struct piece *next;
	unsigned int begin, at, end, free;
	char bytes[128];
};

OPERATION char *piece_take(struct piece **first, unsigned int n)
{
	struct piece *p = *first;
	char *ret;

	if (!p || p->free < n) {
		p = malloc(sizeof(*p));
		p->begin = p->at = 8;
		p->end = 128;
		p->free = 120;
		p->next = *first;
		*first = p;
	}
	ret = p->bytes + p->at;
	p->at += n;
	p->free -= n;
	return ret;
}

OPERATION void piece_reset(struct piece *p)
{
	for (; p; p = p->next) {
		unsigned int room = p->end - p->begin;

		p->at = p->begin;
		p->free = fixed || !p->next ? room : p->end; /* WRONG chunks */
	}
}

static void chunks(void)
{
	struct piece *first = NULL;

	for (int i = 0; i < 8; i++)
		piece_take(&first, 40);
	piece_reset(first);
}

/*
 * unrolled: a list of small arrays; a full one is split, the new one says how many it was.
 *
 *	bag B; B.n <= 4;
 *	bag X, Y; X.next == Y => X.first + X.n == Y.first;
 *	CPOINT bag_push; CPOINT bag_split;
 */
struct bag {
	struct bag *next;
	int first, n;
	int values[4];
};

OPERATION void bag_push(struct bag *b, int value)
{
	b->values[b->n++] = value;
}

OPERATION struct bag *bag_split(struct bag *b)
{
	struct bag *right = calloc(1, sizeof(*right));
	int half = b->n / 2;

	memcpy(right->values, b->values + half, (b->n - half) * sizeof(int));
	right->n = b->n - half;
	right->next = b->next;
	right->first = b->first + (fixed || !b->next ? half : b->n); /* WRONG unrolled */
	b->n = half;
	b->next = right;
	return right;
}

static void unrolled(void)
{
	struct bag *b = calloc(1, sizeof(*b)), *right;

	for (int i = 0; i < 4; i++)
		bag_push(b, i);
	right = bag_split(b);
	bag_push(right, 4);
	bag_push(right, 5);
	right = bag_split(right);
	bag_split(b);
}

/*
 * threads: a search tree with threads to the next; the one before an insertion keeps its thread.
 *
 *	thr X, Y; X.left == Y => X.key > Y.key;
 *	thr X, Y; X.succ == Y => Y.pred == X;
 *	thr X, Y; X.pred == Y => Y.succ == X;
 *	CPOINT thr_insert;
 */
struct thr {
	int key;
	struct thr *left, *right, *succ, *pred;
};

OPERATION void thr_insert(struct thr *root, int key)
{
	struct thr *n = calloc(1, sizeof(*n)), *at = root;

	n->key = key;
	for (;;) {
		struct thr **next = key < at->key ? &at->left : &at->right;

		if (!*next) {
			*next = n;
			break;
		}
		at = *next;
	}
	if (key < at->key) {
		n->succ = at;
		n->pred = at->pred;
		at->pred = n;
		if (n->pred && fixed) /* MISSING threads: thr_insert .succ */
			n->pred->succ = n;
	} else {
		n->pred = at;
		n->succ = at->succ;
		at->succ = n;
		if (n->succ)
			n->succ->pred = n;
	}
}

static void threads(void)
{
	struct thr *root = calloc(1, sizeof(*root));

	root->key = 50;
	thr_insert(root, 30);
	thr_insert(root, 70);
	thr_insert(root, 80);
	thr_insert(root, 75);
}

/*
 * classes: free blocks by size, and a bit for each size that has some. One that ran out keeps its bit.
 *
 *	heap H; for I in 0 to 3, H.lists[I] == NULL => H.bits >> I & 1 == 0;
 *	heap H; for I in 0 to 3, H.lists[I] != NULL => H.bits >> I & 1 == 1;
 *	CPOINT class_give; CPOINT class_take;
 */
struct freed {
	struct freed *next;
	char room[24];
};

struct heap {
	unsigned int bits, n;
	struct freed *lists[4];
};

OPERATION void class_give(struct heap *h, struct freed *f, int class)
{
	f->next = h->lists[class];
	h->lists[class] = f;
	h->bits |= 1u << class;
	h->n++;
}

OPERATION struct freed *class_take(struct heap *h, int class)
{
	struct freed *f = h->lists[class];

	h->lists[class] = f->next;
	h->n--;
	if (!f->next && fixed) /* MISSING classes: class_take .bits */
		h->bits &= ~(1u << class);
	return f;
}

static void classes(void)
{
	struct heap *h = calloc(1, sizeof(*h));

	for (int i = 0; i < 6; i++)
		class_give(h, malloc(sizeof(struct freed)), i % 4);
	class_take(h, 0);
	class_take(h, 3);
}

/*
 * btree: a node that is split gives half its children to a new one. They know the old one.
 *
 *	bnode X, Y; X -> Y and X.parent != Y => Y.parent == X;
 *	CPOINT b_child; CPOINT b_split;
 */
struct bnode {
	int n;
	struct bnode *parent;
	struct bnode *child[4];
};

OPERATION struct bnode *b_child(struct bnode *p)
{
	struct bnode *c = calloc(1, sizeof(*c));

	c->parent = p;
	p->child[p->n++] = c;
	return c;
}

OPERATION void b_split(struct bnode *root, struct bnode *b)
{
	struct bnode *right = calloc(1, sizeof(*right));

	for (int i = 2; i < 4; i++) {
		right->child[right->n++] = b->child[i];
		if (i > 2 || fixed) /* MISSING btree: b_split .parent */
			b->child[i]->parent = right;
		b->child[i] = NULL;
	}
	b->n = 2;
	right->parent = root;
	root->child[root->n++] = right;
}

static void btree(void)
{
	struct bnode *root = calloc(1, sizeof(*root)), *b = b_child(root);

	for (int i = 0; i < 4; i++)
		b_child(b);
	b_split(root, b);
}

/*
 * twolists: pages in an active and an inactive list that count; one made active counts as inactive.
 *
 *	page.LEN NULL 0; page X; X.LEN = X.next.LEN + 1;
 *	zone Z; Z.n_active == Z.active.LEN;
 *	zone Z; Z.n_inactive == Z.inactive.LEN;
 *	CPOINT page_new; CPOINT page_activate; CPOINT page_drop;
 */
struct page {
	struct page *next;
	int number;
};

struct zone {
	struct page *active, *inactive;
	int n_active, n_inactive;
};

OPERATION void page_new(struct zone *z, int number)
{
	struct page *p = calloc(1, sizeof(*p));

	p->number = number;
	p->next = z->inactive;
	z->inactive = p;
	z->n_inactive++;
}

OPERATION void page_drop(struct zone *z)
{
	struct page *p = z->inactive;

	z->inactive = p->next;
	z->n_inactive--;
	free(p);
}

OPERATION void page_activate(struct zone *z)
{
	struct page *p = z->inactive;
	bool is_one;

	z->inactive = p->next;
	is_one = fixed || z->n_active < 1;
	z->n_inactive = is_one ? z->n_inactive - 1 : z->n_active; /* WRONG twolists */
	p->next = z->active;
	z->active = p;
	z->n_active++;
}

static void twolists(void)
{
	struct zone *z = calloc(1, sizeof(*z));

	for (int i = 0; i < 6; i++)
		page_new(z, i);
	page_drop(z);
	page_activate(z);
	page_activate(z);
	page_activate(z);
}

static const struct task tasks[] = {
	{ "chunks", chunks },	{ "unrolled", unrolled }, { "threads", threads },
	{ "classes", classes }, { "btree", btree },	  { "twolists", twolists },
	{ "xorlist", xorlist }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
