// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * circular: a circular list linked both ways, known by its first. Who removes the last does not tell the first.
 *
 *	cell X, Y; X.next == Y => Y.prev == X;
 *	CPOINT cell_add; CPOINT cell_pop_back;
 */
struct cell {
	struct cell *next, *prev;
	int data;
};

OPERATION struct cell *cell_add(struct cell *head, int data)
{
	struct cell *c = malloc(sizeof(*c));

	c->data = data;
	if (!head) {
		c->next = c;
		c->prev = c;
		return c;
	}
	c->next = head;
	c->prev = head->prev;
	head->prev->next = c;
	head->prev = c;
	return head;
}

OPERATION void cell_pop_back(struct cell *head)
{
	struct cell *last = head->prev;

	last->prev->next = head;
	if (fixed) /* MISSING circular: cell_pop_back .prev */
		head->prev = last->prev;
	free(last);
}

static void circular(void)
{
	struct cell *head = NULL;

	for (int i = 0; i < 5; i++)
		head = cell_add(head, i);
	cell_pop_back(head);
}

/*
 * owners: lists of lists; an item knows its group. One that moves to another group does not.
 *
 *	item X; group G; G.items == X => X.group == G;
 *	item X, Y; X.next == Y => X.group == Y.group;
 *	CPOINT item_add; CPOINT item_move;
 */
struct group {
	struct group *next;
	struct item *items;
	int n;
};

struct item {
	struct item *next;
	struct group *group;
	int value;
};

OPERATION struct item *item_add(struct group *g, int value)
{
	struct item *i = malloc(sizeof(*i));

	i->value = value;
	i->group = g;
	i->next = g->items;
	g->items = i;
	g->n++;
	return i;
}

OPERATION void item_move(struct item *i, struct group *to)
{
	struct group *from = i->group;
	struct item **at = &from->items;

	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	from->n--;
	i->next = to->items;
	to->items = i;
	to->n++;
	if (fixed) /* MISSING owners: item_move .group */
		i->group = to;
}

static void owners(void)
{
	struct group *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	struct item *i;

	a->next = b;
	item_add(a, 1);
	i = item_add(a, 2);
	item_add(a, 3);
	item_add(b, 4);
	item_move(i, b);
}

/*
 * upward: a search tree with parent pointers; what is inserted deep down knows its grandparent.
 *
 *	tnode X, Y; X.left == Y or X.right == Y => Y.parent == X;
 *	CPOINT tree_insert;
 */
struct tnode {
	int key;
	struct tnode *left, *right, *parent;
};

OPERATION struct tnode *tree_insert(struct tnode *root, int key)
{
	struct tnode *n = calloc(1, sizeof(*n)), *at = root, *above = NULL,
		     *further = NULL;
	bool is_right;

	n->key = key;
	while (at) {
		further = above;
		above = at;
		at = key < at->key ? at->left : at->right;
	}
	if (!above)
		return n;
	if (key < above->key)
		above->left = n;
	else
		above->right = n;
	is_right = fixed || key < above->key || !further;
	n->parent = is_right ? above : further; /* WRONG upward */
	return root;
}

static void upward(void)
{
	static const int keys[] = { 50, 30, 70, 20, 40, 60 };
	struct tnode *root = NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		root = tree_insert(root, keys[i]);
}

/*
 * hlist: buckets of entries that know where they are led to from. Who leaves does not tell the next.
 *
 *	entry X, Y; X.next == Y => Y.pprev == &X.next;
 *	CPOINT hlist_add; CPOINT hlist_del;
 */
struct entry {
	struct entry *next, **pprev;
	int key;
};

struct buckets {
	struct entry *first[4];
};

OPERATION struct entry *hlist_add(struct buckets *b, int key)
{
	struct entry *e = malloc(sizeof(*e));
	struct entry **at = &b->first[key & 3];

	e->key = key;
	e->next = *at;
	e->pprev = at;
	if (*at)
		(*at)->pprev = &e->next;
	*at = e;
	return e;
}

OPERATION void hlist_del(struct entry *e)
{
	struct entry *next = e->next;

	*e->pprev = next;
	if (next && fixed) /* MISSING hlist: hlist_del .pprev */
		next->pprev = e->pprev;
	free(e);
}

static void hlist(void)
{
	struct buckets *b = calloc(1, sizeof(*b));
	struct entry *e[8];

	for (int i = 0; i < 8; i++)
		e[i] = hlist_add(b, i * 2);
	hlist_del(e[0]);
	hlist_del(e[5]);
}

/*
 * nil: a tree whose ends lead to a sentinel. What a rotation moves down gets NULL.
 *
 *	nnode X; X.left != NULL and X.right != NULL;
 *	CPOINT nil_insert; CPOINT nil_rotate;
 */
struct nnode {
	int key;
	struct nnode *left, *right;
};

static struct nnode *nil_node;

OPERATION struct nnode *nil_insert(struct nnode *root, int key)
{
	struct nnode *n = malloc(sizeof(*n)), **at = &root;

	n->key = key;
	n->left = nil_node;
	n->right = nil_node;
	while (*at != nil_node)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	*at = n;
	return root;
}

OPERATION struct nnode *nil_rotate(struct nnode *x)
{
	struct nnode *y = x->right;

	x->right = fixed || y->left != nil_node ? y->left : NULL; /* WRONG nil */
	y->left = x;
	return y;
}

static void nil(void)
{
	struct nnode *root;

	nil_node = calloc(1, sizeof(*nil_node));
	nil_node->left = nil_node->right = nil_node;
	root = nil_node;
	for (int i = 1; i < 5; i++)
		root = nil_insert(root, i * 3);
	root = nil_insert(root, 5);
	root = nil_rotate(root);
	root = nil_rotate(root);
}

/*
 * lanes: a skip list; who is removed stays in the upper lane.
 *
 *	snode X, Y; X.next[1] != NULL => X.next[1] == Y;
 *	snode X, Y, Z; X.next[1] == Y => X.next[0] ->> Y or X.next[0] == Y;
 *	CPOINT skip_put; CPOINT skip_del;
 */
struct snode {
	int key, levels;
	struct snode *next[2];
};

OPERATION void skip_put(struct snode *head, int key, int levels)
{
	struct snode *n = calloc(1, sizeof(*n));

	n->key = key;
	n->levels = levels;
	for (int l = 1; l >= 0; l--) {
		struct snode *at = head;

		while (at->next[l] && at->next[l]->key < key)
			at = at->next[l];
		if (l < levels) {
			n->next[l] = at->next[l];
			at->next[l] = n;
		}
	}
}

OPERATION void skip_del(struct snode *head, int key)
{
	struct snode *at = head, *upper = head, *n;

	while (upper->next[1] && upper->next[1]->key < key)
		upper = upper->next[1];
	while (at->next[0]->key < key)
		at = at->next[0];
	n = at->next[0];
	at->next[0] = n->next[0];
	if (upper->next[1] == n &&
	    (n->next[1] || fixed)) /* MISSING lanes: skip_del .next */
		upper->next[1] = n->next[1];
	free(n);
}

static void lanes(void)
{
	struct snode *head = calloc(1, sizeof(*head));

	for (int i = 0; i < 8; i++)
		skip_put(head, i * 10, 1 + i % 2);
	skip_del(head, 20);
	skip_del(head, 30);
	skip_del(head, 70);
}

static const struct task tasks[] = {
	{ "circular", circular }, { "owners", owners }, { "upward", upward },
	{ "hlist", hlist },	  { "nil", nil },	{ "lanes", lanes },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
