// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * bplus: leaves of a tree, chained; the new one of a split skips the next.
 *
 *	ROOT leaves;
 *	leaf L; L.link != NULL => L.keys[0] < L.link.keys[0];
 *	leaf L; L == leaves or leaves ->> L;
 *	leaf L; L.n <= 4;
 *	CPOINT bp_put;
 */
struct leaf {
	int n;
	int keys[4];
	struct leaf *link;
};

static struct leaf *leaves;

static void put_in(struct leaf *l, int key)
{
	int i = l->n++;

	for (; i && l->keys[i - 1] > key; i--)
		l->keys[i] = l->keys[i - 1];
	l->keys[i] = key;
}

OPERATION void bp_put(struct leaf *l, int key)
{
	while (l->link && l->link->keys[0] <= key)
		l = l->link;
	if (l->n == 4) {
		struct leaf *half = calloc(1, sizeof(*half));
		struct leaf *next = l->link;

		memcpy(half->keys, l->keys + 2, 2 * sizeof(int));
		half->n = l->n = 2;
		l->link = half;
#ifdef FIXED
		half->link = next;
#else
		half->link = next ? next->link : next; /* WRONG bplus */
#endif
		if (key >= half->keys[0])
			l = half;
	}
	put_in(l, key);
}

static void bplus(void)
{
	static const int keys[] = { 10, 20, 30, 40, 50, 60, 70, 80, 12, 14, 16, 18 };

	leaves = calloc(1, sizeof(*leaves));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		bp_put(leaves, keys[i]);
}

/*
 * treap: keys in order, priorities as a heap; turning left hands the wrong child over.
 *
 *	tnode.MIN NULL 9999; tnode T; T.l == NULL => T.MIN = T.key || T.MIN = T.l.MIN;
 *	tnode.MAX NULL -9999; tnode T; T.r == NULL => T.MAX = T.key || T.MAX = T.r.MAX;
 *	tnode T; T.l != NULL => T.l.MAX < T.key and T.l.pri <= T.pri;
 *	tnode T; T.r != NULL => T.r.MIN > T.key and T.r.pri <= T.pri;
 *	CPOINT tr_add;
 */
typedef struct tnode {
	int key, pri;
	struct tnode *l, *r;
} tnode;

static tnode *insert(tnode *t, tnode *n)
{
	tnode *c;

	if (!t)
		return n;
	if (n->key < t->key) {
		t->l = c = insert(t->l, n);
		if (c->pri > t->pri) {
			t->l = c->r;
			c->r = t;
			return c;
		}
	} else {
		t->r = c = insert(t->r, n);
		if (c->pri > t->pri) {
#ifdef FIXED
			t->r = c->l;
#else
			t->r = c->r; /* WRONG treap */
#endif
			c->l = t;
			return c;
		}
	}
	return t;
}

OPERATION tnode *tr_add(tnode *t, int key, int pri)
{
	tnode *n = calloc(1, sizeof *n);

	n->key = key;
	n->pri = pri;
	return insert(t, n);
}

static void treap(void)
{
	tnode *t = NULL;

	t = tr_add(t, 50, 60);
	t = tr_add(t, 30, 40);
	t = tr_add(t, 70, 50);
	t = tr_add(t, 60, 45);
	t = tr_add(t, 80, 20);
	t = tr_add(t, 65, 95);
}

/*
 * zones: blocks of a pool, the free ones chained; a block that is given back skips one that is free.
 *
 *	zone; cell C; C.isfree == 1 => C.INDEGREE == 1;
 *	cell C; C.isfree == 0 => C.INDEGREE == 0;
 *	CPOINT zone_take; CPOINT zone_give;
 */
struct cell {
	struct cell *next;
	int isfree;
	char load[20];
};
struct zone {
	struct cell *cells;
	int n;
};

OPERATION void zone_give(struct zone *z, struct cell *c)
{
	c->isfree = 1;
#ifdef FIXED
	c->next = z->cells;
#else
	c->next = z->n > 1 ? z->cells->next : z->cells; /* WRONG zones */
#endif
	z->cells = c;
	z->n++;
}

OPERATION struct cell *zone_take(struct zone *z)
{
	struct cell *c = z->cells;

	z->cells = c->next;
	c->next = NULL;
	c->isfree = 0;
	z->n--;
	return c;
}

static struct cell *cell_new(void)
{
	struct cell *c = calloc(1, sizeof(*c));

	c->load[0] = 1;
	return c;
}

static void zones(void)
{
	struct zone *z = calloc(1, sizeof(*z));
	struct cell *c[4];

	for (int i = 0; i < 4; i++)
		c[i] = cell_new();
	zone_give(z, c[0]);
	zone_give(z, c[1]);
	c[1] = zone_take(z);
	zone_give(z, c[2]);
	zone_give(z, c[3]);
}

/*
 * agenda: appointments by time, linked both ways; one at the same time as the last is put before it with
 * the wrong link back.
 *
 *	appt A; A.next != NULL => A.next.prev == A and A.at <= A.next.at;
 *	agenda G; G.first != NULL => G.first.prev == NULL;
 *	CPOINT agenda_add;
 */
struct appt {
	unsigned at;
	struct appt *prev, *next;
};
typedef struct {
	struct appt *first;
	size_t n;
} agenda;

OPERATION void agenda_add(agenda *g, unsigned at)
{
	struct appt *a = malloc(sizeof *a), *p = NULL, *q = g->first;

	while (q && q->at < at) {
		p = q;
		q = q->next;
	}
	a->at = at;
	a->prev = p;
	a->next = q;
	if (q)
#ifdef FIXED
		q->prev = a;
#else
		q->prev = q->at == at ? p : a; /* WRONG agenda */
#endif
	if (p)
		p->next = a;
	else
		g->first = a;
	g->n++;
}

static void do_agenda(void)
{
	agenda *g = calloc(1, sizeof *g);

	agenda_add(g, 900);
	agenda_add(g, 1100);
	agenda_add(g, 1000);
	agenda_add(g, 800);
	agenda_add(g, 1000);
}

/*
 * families: sets by parent pointers with their sizes; joining adds the wrong one's size.
 *
 *	fam F; F.up == NULL => F.size >= 1;
 *	fam F; F.up != NULL => F.up.size > F.size;
 *	CPOINT fam_join;
 */
struct fam {
	struct fam *up;
	int size;
};
static struct fam *people[8];

static struct fam *top(struct fam *f)
{
	while (f->up)
		f = f->up;
	return f;
}

OPERATION void fam_join(struct fam *a, struct fam *b)
{
	a = top(a);
	b = top(b);
	if (a == b)
		return;
	if (a->size < b->size) {
		struct fam *c = a;
		a = b;
		b = c;
	}
	b->up = a;
#ifdef FIXED
	a->size += b->size;
#else
	a->size = b->size + (b->size == 1); /* WRONG families */
#endif
}

static void families(void)
{
	for (int i = 0; i < 8; i++) {
		people[i] = calloc(1, sizeof(struct fam));
		people[i]->size = 1;
	}
	fam_join(people[0], people[1]);
	fam_join(people[2], people[3]);
	fam_join(people[0], people[4]);
	fam_join(people[0], people[2]);
}

/*
 * poly: sums of powers, the highest first, none with 0; a difference keeps the old factor.
 *
 *	term T; T.factor != 0;
 *	term T; T.next != NULL => T.power > T.next.power;
 *	poly P; P.terms != NULL => P.degree == P.terms.power;
 *	CPOINT poly_add;
 */
struct term {
	int factor, power;
	struct term *next;
};
struct poly {
	struct term *terms;
	int degree;
};

OPERATION void poly_add(struct poly *p, int factor, int power)
{
	struct term **at = &p->terms, *t;

	while (*at && (*at)->power > power)
		at = &(*at)->next;
	t = *at;
	if (t && t->power == power) {
		t->factor += factor;
		if (!t->factor) {
			*at = t->next;
			free(t);
		}
	} else {
		t = malloc(sizeof(*t));
		t->factor = factor;
		t->power = power;
		t->next = *at;
		*at = t;
	}
#ifdef FIXED
	p->degree = p->terms->power;
#else
	p->degree = power > p->degree ? power : p->degree; /* WRONG poly */
#endif
}

static void poly(void)
{
	struct poly *p = calloc(1, sizeof(*p));

	poly_add(p, 3, 2);
	poly_add(p, 1, 0);
	poly_add(p, 4, 5);
	poly_add(p, 2, 2);
	poly_add(p, -4, 5);
}

/*
 * huffman: a tree of weights, and codes by depth; of three that are joined one weighs double.
 *
 *	sym S; S.zero != NULL => S.weight == S.zero.weight + S.one.weight;
 *	sym S; S.zero != NULL => S.zero.up == S and S.one.up == S;
 *	CPOINT join;
 */
typedef struct sym sym_t;
struct sym {
	uint32_t weight;
	uint16_t letter;
	sym_t *up, *zero, *one;
};

OPERATION sym_t *join(sym_t *a, sym_t *b)
{
	sym_t *s = calloc(1, sizeof(*s));

	s->zero = a;
	s->one = b;
	a->up = b->up = s;
#ifdef FIXED
	s->weight = a->weight + b->weight;
#else
	s->weight = a->weight + (b->zero ? b->one->weight : b->weight); /* WRONG huffman */
#endif
	return s;
}

static sym_t *letter(uint16_t l, uint32_t weight)
{
	sym_t *s = calloc(1, sizeof(*s));

	s->letter = l;
	s->weight = weight;
	return s;
}

static void huffman(void)
{
	sym_t *a = join(letter('a', 5), letter('b', 6));

	a = join(a, letter('c', 10));
	join(letter('d', 20), a);
}

/*
 * calendar: events in days, a list each; one that is put off is filed under the old day.
 *
 *	event E; day D; D.events == E or (D.events ->> E and D.events != NULL) => E.day == D.number;
 *	event E; E.next != NULL => E.day == E.next.day;
 *	CPOINT ev_add; CPOINT ev_put_off;
 */
struct event {
	int day, hour;
	struct event *next;
};
struct day {
	int number;
	struct event *events;
};

static struct day *days[7];

OPERATION struct event *ev_add(int day, int hour)
{
	struct event *e = calloc(1, sizeof(*e));

	e->day = day;
	e->hour = hour;
	e->next = days[day]->events;
	days[day]->events = e;
	return e;
}

OPERATION void ev_put_off(struct event *e, int by)
{
	struct event **at = &days[e->day]->events;
	int to = (e->day + by) % 7;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	e->next = days[to]->events;
	days[to]->events = e;
#ifdef FIXED
	e->day = to;
#else
	e->day = e->day + by; /* WRONG calendar */
#endif
}

static void calendar(void)
{
	struct event *e, *f;

	for (int i = 0; i < 7; i++) {
		days[i] = calloc(1, sizeof(struct day));
		days[i]->number = i;
	}
	ev_add(3, 10);
	e = ev_add(5, 12);
	f = ev_add(2, 9);
	ev_put_off(f, 2);
	ev_put_off(e, 3);
}

/*
 * deltas: timers in a list, each with its time after the one before; one that is put before another does
 * not take its time off that.
 *
 *	timer.LEFT NULL 0; timer T; T.prev == NULL => T.LEFT = T.delta || T.LEFT = T.delta + T.prev.LEFT;
 *	timer T; T.due == T.LEFT;
 *	CPOINT arm;
 */
struct timer {
	long due, delta;
	struct timer *next, *prev;
};

OPERATION void arm(struct timer **list, long due)
{
	struct timer *t = calloc(1, sizeof(*t)), *p = NULL, *n = *list;
	long left = due;

	for (; n && n->delta <= left; p = n, n = n->next)
		left -= n->delta;
	t->due = due;
	t->delta = left;
	t->prev = p;
	t->next = n;
	if (n) {
		n->prev = t;
#ifdef FIXED
		n->delta -= left;
#else
		n->delta -= p ? due : left; /* WRONG deltas */
#endif
	}
	*(p ? &p->next : list) = t;
}

static void deltas(void)
{
	struct timer **list = calloc(1, sizeof(*list));

	arm(list, 50);
	arm(list, 20);
	arm(list, 90);
	arm(list, 70);
}

/*
 * regions: a map of memory, neighbours joined; a join forgets how long the second is.
 *
 *	area A; A.next != NULL => A.start + A.length <= A.next.start;
 *	area A; A.next != NULL => A.start + A.length != A.next.start;
 *	map M; M.bytes == M.first.SUM;
 *	area.SUM NULL 0; area A; A.SUM = A.length + A.next.SUM;
 *	CPOINT map_add;
 */
struct area {
	unsigned long start, length;
	struct area *next;
};
struct map {
	struct area *first;
	unsigned long bytes;
};

OPERATION void map_add(struct map *m, unsigned long start, unsigned long length)
{
	struct area *before = NULL, *after = m->first, *a;

	while (after && after->start < start) {
		before = after;
		after = after->next;
	}
	m->bytes += length;
	if (before && before->start + before->length == start) {
		a = before;
		a->length += length;
	} else {
		a = malloc(sizeof(*a));
		a->start = start;
		a->length = length;
		a->next = after;
		if (before)
			before->next = a;
		else
			m->first = a;
	}
	if (after && a->start + a->length == after->start) {
#ifdef FIXED
		a->length += after->length;
#else
		a->length += length; /* WRONG regions */
#endif
		a->next = after->next;
		free(after);
	}
}

static void regions(void)
{
	struct map *m = calloc(1, sizeof(*m));

	map_add(m, 0x1000, 0x1000);
	map_add(m, 0x8000, 0x3000);
	map_add(m, 0x2000, 0x800);
	map_add(m, 0x20000, 0x1000);
	map_add(m, 0x6000, 0x2000);
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "bplus", bplus },	  { "treap", treap },	    { "zones", zones },
		{ "agenda", do_agenda },  { "families", families }, { "poly", poly },
		{ "huffman", huffman },	  { "calendar", calendar }, { "deltas", deltas },
		{ "regions", regions },	  { NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
