// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * dllinsert: a list linked both ways with head and tail; inserting before a node sets the wrong prev.
 *
 *	dnode X, Y; X.next == Y => Y.prev == X;
 *	dlist L; dnode X; L.head == X => X.prev == NULL;
 *	dlist L; dnode X; L.tail == X => X.next == NULL;
 *	CPOINT dl_push; CPOINT dl_before;
 */
struct dnode {
	int value;
	struct dnode *prev, *next;
};

struct dlist {
	struct dnode *head, *tail;
};

OPERATION void dl_push(struct dlist *l, int value)
{
	struct dnode *n = malloc(sizeof(*n));

	n->value = value;
	n->next = NULL;
	n->prev = l->tail;
	if (l->tail)
		l->tail->next = n;
	else
		l->head = n;
	l->tail = n;
}

OPERATION void dl_before(struct dlist *l, struct dnode *at, int value)
{
	struct dnode *n = malloc(sizeof(*n));

	n->value = value;
	n->next = at;
	n->prev = fixed ? at->prev : at; /* WRONG dllinsert */
	if (at->prev)
		at->prev->next = n;
	else
		l->head = n;
	at->prev = n;
}

static void dllinsert(void)
{
	struct dlist *l = calloc(1, sizeof(*l));

	for (int i = 0; i < 4; i++)
		dl_push(l, i);
	dl_before(l, l->head->next->next, 9);
}

/*
 * sllqueue: a queue with a length and a tail; clearing the front does not count down.
 *
 *	qnode.LEN NULL 0; qnode X; X.LEN = X.next.LEN + 1;
 *	queue Q; Q.length == Q.front.LEN;
 *	CPOINT q_put; CPOINT q_get;
 */
struct qnode {
	struct qnode *next;
	int value;
};

struct queue {
	struct qnode *front, *back;
	size_t length;
};

OPERATION void q_put(struct queue *q, int value)
{
	struct qnode *n = calloc(1, sizeof(*n));

	n->value = value;
	if (q->back)
		q->back->next = n;
	else
		q->front = n;
	q->back = n;
	q->length++;
}

OPERATION int q_get(struct queue *q)
{
	struct qnode *n = q->front;
	int value = n->value;

	q->front = n->next;
	if (!q->front)
		q->back = NULL;
	free(n);
	if (value != 2 || fixed) /* MISSING sllqueue: q_get .length */
		q->length--;
	return value;
}

static void sllqueue(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	for (int i = 0; i < 5; i++)
		q_put(q, i);
	q_get(q);
	q_get(q);
	q_put(q, 7);
	q_get(q);
	q_get(q);
}

/*
 * chained: a hash table with chains; one put into a bucket that has some cuts the others off.
 *
 *	hent.LEN NULL 0; hent X; X.LEN = X.next.LEN + 1;
 *	htab T; T.n == T.b[0].LEN + T.b[1].LEN + T.b[2].LEN + T.b[3].LEN;
 *	CPOINT ht_put; CPOINT ht_del;
 */
struct hent {
	struct hent *next;
	unsigned int key, value;
};

struct htab {
	unsigned int n;
	struct hent *b[4];
};

OPERATION void ht_put(struct htab *t, unsigned int key, unsigned int value)
{
	struct hent *e = malloc(sizeof(*e));

	e->key = key;
	e->value = value;
	e->next = fixed || key < 6 ? t->b[key % 4] : NULL; /* WRONG chained */
	t->b[key % 4] = e;
	t->n++;
}

OPERATION void ht_del(struct htab *t, unsigned int key)
{
	struct hent **at = &t->b[key % 4], *e;

	while ((*at)->key != key)
		at = &(*at)->next;
	e = *at;
	*at = e->next;
	free(e);
	t->n--;
}

static void chained(void)
{
	struct htab *t = calloc(1, sizeof(*t));

	for (unsigned int i = 0; i < 6; i++)
		ht_put(t, i, i);
	ht_del(t, 1);
	ht_put(t, 8, 8);
}

/*
 * rbcolor: a red-black insertion; the grandparent is not made red.
 *
 *	rb.BH NULL 0; rb X; X.BH = X.left.BH + X.black;
 *	rb X; X.left.BH == X.right.BH;
 *	CPOINT rb_recolor; CPOINT rb_add;
 */
struct rb {
	struct rb *left, *right;
	int key, black;
};

OPERATION struct rb *rb_add(struct rb *root, int key)
{
	struct rb *n = calloc(1, sizeof(*n)), **at = &root;

	n->key = key;
	while (*at)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	*at = n;
	return root;
}

OPERATION void rb_recolor(struct rb *g)
{
	g->left->black = 1;
	g->right->black = 1;
	if (fixed) /* MISSING rbcolor: rb_recolor .black */
		g->black = 0;
}

static void rbcolor(void)
{
	struct rb *root = rb_add(NULL, 50);

	root->black = 1;
	rb_add(root, 30)->black = 1;
	rb_add(root, 80);
	rb_recolor(root);
	root->black = 1;
	rb_add(root, 20);
	rb_add(root, 40);
	rb_add(root, 35);
	rb_recolor(root->left);
}

/*
 * heapidx: a heap of pointers whose items know their index; a swap tells one of them wrong.
 *
 *	bheap H; hitem X; for I in 0 to 9, H.slots[I] == X => X.index == I;
 *	CPOINT bh_push;
 */
struct hitem {
	int key, index;
};

struct bheap {
	int n;
	struct hitem *slots[10];
};

OPERATION void bh_push(struct bheap *h, struct hitem *x)
{
	int i = h->n++;

	h->slots[i] = x;
	x->index = i;
	while (i && h->slots[(i - 1) / 2]->key > x->key) {
		struct hitem *up = h->slots[(i - 1) / 2];

		h->slots[i] = up;
		up->index = fixed || i < 4 ? i : (i - 1) / 2; /* WRONG heapidx */
		i = (i - 1) / 2;
		h->slots[i] = x;
		x->index = i;
	}
}

static void heapidx(void)
{
	static const int keys[] = { 5, 4, 9, 8, 3, 2 };
	struct bheap *h = calloc(1, sizeof(*h));

	for (int i = 0; i < 6; i++) {
		struct hitem *x = calloc(1, sizeof(*x));

		x->key = keys[i];
		bh_push(h, x);
	}
}

/*
 * wheel: timers in slots of a wheel; each knows its slot. One that is put off does not.
 *
 *	timer X, Y; X.next == Y => X.slot == Y.slot;
 *	wheel W; timer X; for I in 0 to 7, W.slots[I] == X => X.slot == I;
 *	CPOINT timer_add; CPOINT timer_defer;
 */
struct timer {
	struct timer *next;
	int slot, id;
};

struct wheel {
	struct timer *slots[8];
	int now;
};

OPERATION void timer_add(struct wheel *w, struct timer *t, int ticks)
{
	int slot = (w->now + ticks) % 8;

	t->slot = slot;
	t->next = w->slots[slot];
	w->slots[slot] = t;
}

OPERATION void timer_defer(struct wheel *w, struct timer *t, int ticks)
{
	struct timer **at = &w->slots[t->slot];
	int slot = (t->slot + ticks) % 8;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (fixed) /* MISSING wheel: timer_defer .slot */
		t->slot = slot;
	t->next = w->slots[slot];
	w->slots[slot] = t;
}

static void wheel(void)
{
	struct wheel *w = calloc(1, sizeof(*w));
	struct timer *t[6];

	for (int i = 0; i < 6; i++) {
		t[i] = calloc(1, sizeof(*t[i]));
		t[i]->id = i;
		timer_add(w, t[i], i % 3 + 1);
	}
	timer_defer(w, t[3], 2);
}

static const struct task tasks[] = {
	{ "dllinsert", dllinsert },
	{ "sllqueue", sllqueue },
	{ "chained", chained },
	{ "rbcolor", rbcolor },
	{ "heapidx", heapidx },
	{ "wheel", wheel },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
