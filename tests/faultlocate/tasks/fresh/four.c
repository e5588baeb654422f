// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"

/*
 * swaps: a list, linked both ways, that is sorted by exchanging neighbours; one behind them
 * hears of the wrong one.
 *
 *	sw A, B; A.next == B => B.prev == A;
 *	sw A, B; A.prev == B => B.next == A;
 *	CPOINT sw_swap; CPOINT sw_push;
 */
struct sw {
	struct sw *prev, *next;
	short rank;
};

static struct sw *sw_first;

OPERATION void sw_push(short rank)
{
	struct sw *s = malloc(sizeof(*s));

	s->rank = rank;
	s->prev = NULL;
	s->next = sw_first;
	if (sw_first)
		sw_first->prev = s;
	sw_first = s;
}

OPERATION void sw_swap(struct sw *a) /* with the next one */
{
	struct sw *b = a->next;

	a->next = b->next;
	b->prev = a->prev;
#ifdef FIXED
	if (b->next)
		b->next->prev = a;
#else
	if (b->next)
		b->next->prev = b; /* WRONG swaps */
#endif
	if (a->prev)
		a->prev->next = b;
	else
		sw_first = b;
	b->next = a;
	a->prev = b;
}

static void swaps(void)
{
	sw_push(3);
	sw_push(5);
	sw_push(1);
	sw_push(4);
	for (struct sw *s = sw_first; s && s->next; s = s->next)
		if (s->rank > s->next->rank) {
			sw_swap(s);
			s = s->prev;
		}
}

/*
 * depends: packages that wait for others; each knows for how many. Who is installed does not tell all who
 * wait.
 *
 *	pkg P; P.installed == 1 => P.unmet == 0;
 *	wait W; W.on.installed == 1 => W.is_met == 1;
 *	CPOINT pkg_install; CPOINT pkg_needs;
 */
struct pkg {
	const char *name;
	int unmet, installed;
	struct wait *waiters;
};
struct wait {
	struct wait *next;
	struct pkg *who, *on;
	int is_met;
};

OPERATION void pkg_needs(struct pkg *p, struct pkg *on)
{
	struct wait *w = calloc(1, sizeof(*w));

	w->who = p;
	w->on = on;
	w->next = on->waiters;
	on->waiters = w;
	p->unmet++;
}

OPERATION void pkg_install(struct pkg *p)
{
	p->installed = 1;
	for (struct wait *w = p->waiters; w; w = w->next) {
		w->who->unmet--;
#ifdef FIXED
		w->is_met = 1;
#else
		if (!w->who->unmet)
			w->is_met = 1;
#endif
	}
} /* MISSING depends: pkg_install .is_met */

static struct pkg *pkg_new(const char *name)
{
	struct pkg *p = calloc(1, sizeof(*p));

	p->name = name;
	return p;
}

static void depends(void)
{
	struct pkg *libc = pkg_new("libc"), *zlib = pkg_new("zlib"), *png = pkg_new("png"),
		   *app = pkg_new("app");

	pkg_needs(zlib, libc);
	pkg_install(libc);
	pkg_needs(png, zlib);
	pkg_needs(app, zlib);
	pkg_needs(app, png);
	pkg_install(zlib);
	pkg_install(png);
}

/*
 * dom: elements with their parent, first and last child and siblings. One that is put before the first
 * child is not its parent's first.
 *
 *	elem E; E.first != NULL => E.first.parent == E and E.first.before == NULL;
 *	elem E; E.last != NULL => E.last.parent == E and E.last.after == NULL;
 *	elem E, F; E.after == F => F.before == E and F.parent == E.parent;
 *	CPOINT elem_append; CPOINT elem_insert;
 */
struct elem {
	struct elem *parent, *first, *last, *before, *after;
	char tag[6];
};

static struct elem *elem_new(const char *tag)
{
	struct elem *e = calloc(1, sizeof(*e));

	strncpy(e->tag, tag, sizeof(e->tag) - 1);
	return e;
}

OPERATION void elem_append(struct elem *to, struct elem *e)
{
	e->parent = to;
	e->before = to->last;
	if (to->last)
		to->last->after = e;
	else
		to->first = e;
	to->last = e;
}

OPERATION void elem_insert(struct elem *where, struct elem *e) /* before where */
{
	e->parent = where->parent;
	e->after = where;
	e->before = where->before;
	if (where->before)
		where->before->after = e;
#ifdef FIXED
	else
		where->parent->first = e;
#endif
	where->before = e;
} /* MISSING dom: elem_insert .first */

static void dom(void)
{
	struct elem *html = elem_new("html"), *body = elem_new("body"), *p = elem_new("p");

	elem_append(html, body);
	elem_append(body, p);
	elem_append(body, elem_new("ul"));
	elem_insert(body->last, elem_new("hr"));
	elem_insert(p, elem_new("h1"));
	elem_append(p, elem_new("em"));
}

/*
 * maxima: a tree over eight numbers in which each node has the larger of its two. A number that is lowered
 * is kept above.
 *
 *	seg S; S.l != NULL => S.max >= S.l.max and S.max >= S.r.max;
 *	seg S; S.l != NULL => S.max == S.l.max or S.max == S.r.max;
 *	CPOINT seg_set;
 */
struct seg {
	long max;
	int from, to;
	struct seg *l, *r;
};

static struct seg *seg_build(int from, int to)
{
	struct seg *s = calloc(1, sizeof(*s));

	s->from = from;
	s->to = to;
	if (to - from > 1) {
		s->l = seg_build(from, (from + to) / 2);
		s->r = seg_build((from + to) / 2, to);
	}
	return s;
}

static void seg_put(struct seg *s, int at, long v)
{
	if (!s->l) {
		s->max = v;
		return;
	}
	seg_put(at < s->r->from ? s->l : s->r, at, v);
#ifdef FIXED
	s->max = s->l->max > s->r->max ? s->l->max : s->r->max;
#else
	s->max = s->max > v ? s->max : v; /* WRONG maxima */
#endif
}

OPERATION void seg_set(struct seg *s, int at, long v)
{
	seg_put(s, at, v);
}

static void maxima(void)
{
	struct seg *s = seg_build(0, 8);

	seg_set(s, 3, 40);
	seg_set(s, 6, 70);
	seg_set(s, 0, 10);
	seg_set(s, 6, 20);
	seg_set(s, 1, 15);
}

/*
 * versions: a persistent search tree; a new version shares what it does not change, and what is shared is
 * counted. The other child of a copied node is not.
 *
 *	ROOT versions_of AS roots;
 *	ver V; V.refs == V.INDEGREE;
 *	CPOINT ver_add;
 */
struct ver {
	int key, refs;
	struct ver *a, *b;
};

static struct ver *versions_of[8];

static struct ver *ver_put(struct ver *v, int key)
{
	struct ver *n = calloc(1, sizeof(*n));

	n->refs = 1;
	n->key = v ? v->key : key;
	if (!v)
		return n;
	if (key < v->key) {
		n->a = ver_put(v->a, key);
		n->b = v->b;
#ifdef FIXED
		if (n->b)
			n->b->refs++;
#endif
	} else {
		n->b = ver_put(v->b, key);
		n->a = v->a;
		if (n->a)
			n->a->refs++;
	}
	return n;
} /* MISSING versions: ver_put .refs */

OPERATION void ver_add(int version, int key)
{
	versions_of[version + 1] = ver_put(versions_of[version], key);
}

static void versions(void)
{
	static const int keys[] = { 40, 20, 60, 70, 10 };

	for (int i = 0; i < 5; i++)
		ver_add(i, keys[i]);
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "swaps", swaps },	{ "depends", depends },	  { "dom", dom },
		{ "maxima", maxima },	{ "versions", versions }, { NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
