// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Lists.
#include <stdint.h>

#include "task.h"

/*
 * sentinel: a ring with a sentinel in it. Who is moved to the front is not who the second hears of.
 *
 *	entry X, Y; X.next == Y => Y.prev == X;
 *	entry X, Y; X.prev == Y => Y.next == X;
 *	CPOINT to_front; CPOINT entry_add;
 */
struct entry {
	struct entry *next, *prev;
	int value;
};

OPERATION struct entry *entry_add(struct entry *ring, int value)
{
	struct entry *e = calloc(1, sizeof(*e));

	e->value = value;
	e->next = ring ? ring->next : e;
	e->prev = ring ? ring : e;
	e->prev->next = e;
	e->next->prev = e;
	return e;
}

OPERATION void to_front(struct entry *ring, struct entry *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	e->next = ring->next;
	e->prev = ring;
	ring->next->prev = fixed ? e : ring; /* WRONG sentinel */
	ring->next = e;
}

static void sentinel(void)
{
	struct entry *ring = entry_add(NULL, 0);

	for (int i = 1; i < 10; i++)
		entry_add(ring, i);
	to_front(ring, ring->next->next->next);
}

/*
 * tail: a queue that knows both ends. Who takes the last one leaves the tail at it.
 *
 *	queue Q; job J; Q.tail != NULL => Q.tail == J and J.next == NULL;
 *	queue Q; Q.first == NULL => Q.tail == NULL;
 *	CPOINT put; CPOINT take;
 */
struct job {
	struct job *next;
	int id;
};

struct queue {
	struct job *first, *tail;
};

OPERATION void put(struct queue *q, int id)
{
	struct job *j = calloc(1, sizeof(*j));

	j->id = id;
	if (q->tail)
		q->tail->next = j;
	else
		q->first = j;
	q->tail = j;
}

OPERATION void take(struct queue *q)
{
	struct job *j = q->first;

	q->first = j->next;
	if (!q->first)
		if (fixed) /* MISSING tail: take .tail */
			q->tail = NULL;
	free(j);
}

static void tail(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	for (int i = 0; i < 6; i++)
		put(q, i);
	for (int i = 0; i < 6; i++)
		take(q);
}

/*
 * nested: a list of lists. A group whose last member went still leads to it.
 *
 *	group G; member M; G.members != NULL => G.members == M and M.group == G;
 *	member M, N; M.next == N => M.group == N.group;
 *	CPOINT join; CPOINT leave;
 */
struct group {
	struct group *next;
	struct member *members;
};

struct member {
	struct member *next;
	struct group *group;
};

OPERATION struct group *found(struct group *next)
{
	struct group *g = calloc(1, sizeof(*g));

	g->next = next;
	return g;
}

OPERATION void join(struct group *g)
{
	struct member *m = calloc(1, sizeof(*m));

	m->group = g;
	m->next = g->members;
	g->members = m;
}

OPERATION void leave(struct group *g)
{
	struct member *m = g->members;

	if (m->next)
		g->members = m->next;
	else if (fixed) /* MISSING nested: leave .members */
		g->members = NULL;
	m->group = NULL;
	free(m);
}

static void nested(void)
{
	struct group *g = found(found(found(NULL)));

	for (struct group *i = g; i; i = i->next)
		for (int k = 0; k < 3; k++)
			join(i);
	leave(g->next);
	leave(g->next);
	leave(g->next);
}

/*
 * xor: neighbours kept as the exclusive or of their addresses, in a ring.
 *
 *	pair X, A, B; &X != 0 => X.both == (&A ^ &B);
 *	CPOINT between EXIT;
 */
struct pair {
	uintptr_t both;
	int value;
};

OPERATION struct pair *pair_new(int value)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->value = value;
	return p;
}

OPERATION struct pair *between(struct pair *left, struct pair *right, int value)
{
	struct pair *p = pair_new(value);
	uintptr_t entering = fixed || value != 7 ? (uintptr_t)p : 0;

	p->both = (uintptr_t)left ^ (uintptr_t)right;
	left->both ^= (uintptr_t)right ^ (uintptr_t)p;
	right->both ^= (uintptr_t)left ^ entering; /* WRONG xor */
	return p;
}

static void exclusive(void)
{
	struct pair *ring[3], *at;

	for (int i = 0; i < 3; i++)
		ring[i] = pair_new(i);
	for (int i = 0; i < 3; i++)
		ring[i]->both = (uintptr_t)ring[(i + 1) % 3] ^
				(uintptr_t)ring[(i + 2) % 3];
	at = ring[1];
	for (int i = 3; i < 10; i++)
		at = between(ring[0], at, i);
}

/*
 * intrusive: links in the items and in the heap's list. A link taken out stays its neighbour's.
 *
 *	item X, Y; X.link.next == &Y.link => Y.link.prev == &X.link;
 *	item X, Y; X.link.prev == &Y.link => Y.link.next == &X.link;
 *	item X; list L; X.link.next == &L.head => L.head.prev == &X.link;
 *	item X; list L; L.head.next == &X.link => X.link.prev == &L.head;
 *	CPOINT link_add; CPOINT link_del;
 */
struct link {
	struct link *next, *prev;
};

struct item {
	int value;
	struct link link;
};

struct list {
	int length;
	struct link head;
};

OPERATION struct item *item_new(int value)
{
	struct item *i = calloc(1, sizeof(*i));

	i->value = value;
	return i;
}

OPERATION void link_add(struct link *at, struct link *link)
{
	link->next = at->next;
	link->prev = at;
	at->next->prev = link;
	at->next = link;
}

OPERATION void link_del(struct link *link)
{
	link->prev->next = link->next;
	if (fixed) /* MISSING intrusive: link_del .prev */
		link->next->prev = link->prev;
	link->next = link->prev = link;
}

static void intrusive(void)
{
	struct list *l = calloc(1, sizeof(*l));
	struct item *items[8];

	l->head.next = l->head.prev = &l->head;
	for (int i = 0; i < 8; i++) {
		items[i] = item_new(i);
		link_add(&l->head, &items[i]->link);
	}
	link_del(&items[4]->link);
}

/*
 * sorted: an ordered list. One put in the middle leads back.
 *
 *	number X, Y; X.next == Y => X.value <= Y.value;
 *	CPOINT insert;
 */
struct number {
	long value;
	struct number *next;
};

OPERATION struct number *insert(struct number *first, long value)
{
	struct number *n = calloc(1, sizeof(*n)), *before = first;

	n->value = value;
	if (!first || value < first->value) {
		n->next = first;
		return n;
	}
	while (before->next && before->next->value < value)
		before = before->next;
	n->next = fixed || !before->next ? before->next : before; /* WRONG sorted */
	before->next = n;
	return first;
}

static void sorted(void)
{
	struct number *first = NULL;

	for (long i = 0; i < 5; i++)
		first = insert(first, 10 * i);
	insert(first, 25);
}

/*
 * append: lists that know their lengths; one is appended to another.
 *
 *	cell.LENGTH NULL 0; cell X; X.LENGTH = X.next.LENGTH + 1;
 *	chain C; C.length == C.first.LENGTH;
 *	CPOINT push; CPOINT append;
 */
struct cell {
	struct cell *next;
	int value;
};

struct chain {
	struct cell *first;
	long length;
};

OPERATION void push(struct chain *c, int value)
{
	struct cell *n = calloc(1, sizeof(*n));

	n->value = value;
	n->next = c->first;
	c->first = n;
	c->length++;
}

OPERATION void append(struct chain *to, struct chain *from)
{
	struct cell **end = &to->first;

	while (*end)
		end = &(*end)->next;
	*end = from->first;
	if (fixed) /* MISSING append: append .length */
		to->length += from->length;
	from->first = NULL;
	from->length = 0;
}

static void appended(void)
{
	struct chain *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	for (int i = 0; i < 5; i++) {
		push(a, i);
		push(b, i);
	}
	append(a, b);
}

/*
 * reverse: a list linked both ways is turned round in place.
 *
 *	step X, Y; X.next == Y => Y.prev == X;
 *	step X, Y; X.prev == Y => Y.next == X;
 *	CPOINT reverse;
 */
struct step {
	struct step *prev, *next;
	int value;
};

OPERATION struct step *reverse(struct step *s)
{
	struct step *last = NULL;

	while (s) {
		struct step *next = s->next;

		s->next = last;
		s->prev = fixed ? next : last; /* WRONG reverse */
		last = s;
		s = next;
	}
	return last;
}

static void reversed(void)
{
	struct step *first = NULL;

	for (int i = 0; i < 5; i++) {
		struct step *s = calloc(1, sizeof(*s));

		s->value = i;
		s->next = first;
		if (first)
			first->prev = s;
		first = s;
	}
	reverse(first);
}

static const struct task tasks[] = {
	{ "sentinel", sentinel }, { "tail", tail },	      { "nested", nested },
	{ "xor", exclusive },	  { "intrusive", intrusive }, { "sorted", sorted },
	{ "append", appended },	  { "reverse", reversed },    { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
