// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * pairing: a pairing heap; of the children, one that is put before others is not their former.
 *
 *	pnode X, Y; X.child == Y => Y.prev == X;
 *	pnode X, Y; X.sibling == Y => Y.prev == X;
 *	CPOINT pair_meld;
 */
struct pnode {
	int key;
	struct pnode *child, *sibling, *prev;
};

OPERATION struct pnode *pair_meld(struct pnode *a, struct pnode *b)
{
	if (b->key < a->key) {
		struct pnode *c = a;

		a = b;
		b = c;
	}
	b->prev = a;
	b->sibling = a->child;
	if (b->sibling)
		b->sibling->prev = fixed || b->key < 7 ? b : a; /* WRONG pairing */
	a->child = b;
	return a;
}

static struct pnode *pnode_new(int key)
{
	struct pnode *p = calloc(1, sizeof(*p));

	p->key = key;
	return p;
}

static void pairing(void)
{
	static const int keys[] = { 5, 3, 6, 8, 1 };
	struct pnode *heap = pnode_new(4);

	for (int i = 0; i < 5; i++) {
		struct pnode *n = pnode_new(keys[i]);

		heap = pair_meld(heap, n);
	}
}

/*
 * spsc: a ring of messages with counters that only grow; who takes two forgets one of the marks.
 *
 *	spsc Q; Q.written - Q.read <= Q.mask + 1 and Q.written >= Q.read;
 *	spsc Q; Q.used == Q.written - Q.read;
 *	CPOINT spsc_put; CPOINT spsc_take;
 */
struct spsc {
	unsigned int written, read, mask, used;
	void *slots[8];
};

OPERATION void spsc_put(struct spsc *q, void *message)
{
	q->slots[q->written & q->mask] = message;
	q->written++;
	q->used++;
}

OPERATION unsigned int spsc_take(struct spsc *q, unsigned int max)
{
	unsigned int n = q->written - q->read;

	if (n > max)
		n = max;
	q->read += n;
	q->used -= fixed || n == 1 ? n : 1; /* WRONG spsc */
	return n;
}

static void spsc(void)
{
	struct spsc *q = calloc(1, sizeof(*q));

	q->mask = 7;
	for (int i = 0; i < 5; i++)
		spsc_put(q, q);
	spsc_take(q, 1);
	spsc_put(q, q);
	spsc_take(q, 2);
}

/*
 * words: a prefix tree that counts the words below; a removed word is not taken off in the middle.
 *
 *	word.N NULL 0; word X; X.N = X.ends + X.child[0].N + X.child[1].N;
 *	word X; X.below == X.N;
 *	CPOINT word_add; CPOINT word_cut;
 */
struct word {
	struct word *child[2];
	int ends, below;
};

OPERATION void word_add(struct word *w, const char *text)
{
	for (;; text++) {
		w->below++;
		if (!*text)
			break;
		if (!w->child[*text - 'a'])
			w->child[*text - 'a'] = calloc(1, sizeof(*w));
		w = w->child[*text - 'a'];
	}
	w->ends++;
}

OPERATION void word_cut(struct word *w, const char *text)
{
	for (; *text; text++) {
		w->below--;
		w = w->child[*text - 'a'];
	}
	w->ends--;
	if (fixed) /* MISSING words: word_cut .below */
		w->below--;
}

static void words(void)
{
	struct word *root = calloc(1, sizeof(*root));

	word_add(root, "ab");
	word_add(root, "abb");
	word_add(root, "b");
	word_add(root, "ba");
	word_cut(root, "ba");
}

/*
 * splice: a list with a sentinel takes another one over; its last leads to the other's head.
 *
 *	link X, Y; X.next == Y => Y.prev == X;
 *	link X, Y; X.prev == Y => Y.next == X;
 *	CPOINT link_new; CPOINT link_splice;
 */
struct link {
	struct link *next, *prev;
	int id;
};

OPERATION struct link *link_new(struct link *head, int id)
{
	struct link *l = malloc(sizeof(*l));

	l->id = id;
	if (!head) {
		l->next = l->prev = l;
		return l;
	}
	l->next = head;
	l->prev = head->prev;
	l->prev->next = l;
	head->prev = l;
	return l;
}

OPERATION void link_splice(struct link *to, struct link *from)
{
	struct link *first = from->next, *last = from->prev;

	first->prev = to->prev;
	to->prev->next = first;
	last->next = fixed ? to : from; /* WRONG splice */
	to->prev = last;
	from->next = from->prev = from;
}

static void splice(void)
{
	struct link *a = link_new(NULL, 0), *b = link_new(NULL, 1);

	link_new(a, 2);
	link_new(a, 3);
	link_new(b, 4);
	link_new(b, 5);
	link_splice(a, b);
}

/*
 * successor: a search tree counts its keys; what is removed takes its successor's other side along.
 *
 *	key.N NULL 0; key X; X.N = X.left.N + X.right.N + 1;
 *	dict D; D.n == D.root.N;
 *	CPOINT dict_add; CPOINT dict_del;
 */
struct key {
	int value;
	struct key *left, *right;
};

struct dict {
	struct key *root;
	int n;
};

OPERATION void dict_add(struct dict *d, int value)
{
	struct key *k = calloc(1, sizeof(*k)), **at = &d->root;

	k->value = value;
	while (*at)
		at = value < (*at)->value ? &(*at)->left : &(*at)->right;
	*at = k;
	d->n++;
}

OPERATION void dict_del(struct dict *d, int value)
{
	struct key **at = &d->root, *k, **least;

	while ((*at)->value != value)
		at = value < (*at)->value ? &(*at)->left : &(*at)->right;
	k = *at;
	if (k->left && k->right) {
		struct key *next;

		least = &k->right;
		while ((*least)->left)
			least = &(*least)->left;
		next = *least;
		k->value = next->value;
		*least = fixed ? next->right : next->left; /* WRONG successor */
		free(next);
	} else {
		*at = k->left ? k->left : k->right;
		free(k);
	}
	d->n--;
}

static void successor(void)
{
	static const int values[] = { 50, 30, 70, 60, 80, 65, 20 };
	struct dict *d = calloc(1, sizeof(*d));

	for (int i = 0; i < 7; i++)
		dict_add(d, values[i]);
	dict_del(d, 20);
	dict_del(d, 50);
}

static const struct task tasks[] = {
	{ "pairing", pairing }, { "spsc", spsc },	    { "words", words },
	{ "splice", splice },	{ "successor", successor }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
