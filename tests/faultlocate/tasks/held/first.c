// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stddef.h>
#include <stdio.h>

/*
 * tailq: a queue of the BSDs; the head's link to the last one is left when the last one goes.
 *
 *	ROOT jobs;
 *	job J; J.tqe_next != NULL => J.tqe_next.tqe_prev == &J.tqe_next;
 *	job J; J.tqe_next == NULL => jobs.tqh_last == &J.tqe_next;
 *	CPOINT job_submit; CPOINT job_cancel;
 */
struct job {
	int id, state;
	struct job *tqe_next;
	struct job **tqe_prev;
};

static struct jobq {
	struct job *tqh_first;
	struct job **tqh_last;
} jobs = { NULL, &jobs.tqh_first };

OPERATION void job_submit(int id)
{
	struct job *j = malloc(sizeof(*j));

	*j = (struct job){ .id = id };
	j->tqe_prev = jobs.tqh_last;
	*jobs.tqh_last = j;
	jobs.tqh_last = &j->tqe_next;
}

OPERATION void job_cancel(struct job *j)
{
	if (j->tqe_next != NULL)
		j->tqe_next->tqe_prev = j->tqe_prev;
#ifdef FIXED
	else
		jobs.tqh_last = j->tqe_prev;
#endif
	*j->tqe_prev = j->tqe_next; /* MISSING tailq: job_cancel .tqh_last */
	free(j);
}

static void tailq(void)
{
	for (int i = 0; i < 6; i++)
		job_submit(100 + i);
	job_cancel(jobs.tqh_first->tqe_next);
	job_cancel(jobs.tqh_first->tqe_next->tqe_next->tqe_next->tqe_next);
}

/*
 * degrees: vertices and edges between them; the second end of an edge is not counted off.
 *
 *	link.LEN NULL 0; link L; L.LEN = L.next.LEN + 1;
 *	vertex V; V.degree == V.links.LEN;
 *	CPOINT net_connect; CPOINT net_cut;
 */
typedef struct vertex vertex;
typedef struct link {
	vertex *to;
	struct link *next;
} link_t;
struct vertex {
	char label[8];
	unsigned degree;
	link_t *links;
};

static void half(vertex *from, vertex *to)
{
	link_t *l = malloc(sizeof *l);
	l->to = to;
	l->next = from->links;
	from->links = l;
	++from->degree;
}

static void unhalf(vertex *from, vertex *to)
{
	link_t **at = &from->links, *gone;
	while ((*at)->to != to)
		at = &(*at)->next;
	gone = *at;
	*at = gone->next;
	free(gone);
}

OPERATION void net_connect(vertex *a, vertex *b)
{
	half(a, b);
	half(b, a);
}

OPERATION void net_cut(vertex *a, vertex *b)
{
	unhalf(a, b);
	a->degree--;
	unhalf(b, a);
#ifdef FIXED
	b->degree--;
#endif
} /* MISSING degrees: net_cut .degree */

static vertex *vertex_new(int i)
{
	vertex *v = calloc(1, sizeof *v);
	snprintf(v->label, sizeof v->label, "v%d", i);
	return v;
}

static void degrees(void)
{
	vertex *v[5];
	for (int i = 0; i < 5; i++)
		v[i] = vertex_new(i);
	for (int i = 1; i < 5; i++)
		net_connect(v[0], v[i]);
	net_connect(v[1], v[2]);
	net_connect(v[3], v[4]);
	net_cut(v[1], v[2]);
}

/*
 * book: orders at prices; what is cancelled stays in its level's volume.
 *
 *	order.SUM NULL 0; order O; O.SUM = O.quantity + O.younger.SUM;
 *	level L; L.volume == L.oldest.SUM;
 *	order O; O.younger != NULL => O.younger.older == O;
 *	CPOINT book_add; CPOINT book_fill; CPOINT book_cancel;
 */
struct order {
	unsigned number;
	long quantity;
	struct level *level;
	struct order *older, *younger;
};
struct level {
	long price, volume;
	struct order *oldest, *youngest;
	struct level *better;
};

OPERATION struct order *book_add(struct level *lv, unsigned number, long quantity)
{
	struct order *o = calloc(1, sizeof(struct order));

	o->number = number;
	o->quantity = quantity;
	o->level = lv;
	o->older = lv->youngest;
	if (lv->youngest)
		lv->youngest->younger = o;
	else
		lv->oldest = o;
	lv->youngest = o;
	lv->volume += quantity;
	return o;
}

static void order_unlink(struct order *o)
{
	struct level *lv = o->level;

	if (o->older)
		o->older->younger = o->younger;
	else
		lv->oldest = o->younger;
	if (o->younger)
		o->younger->older = o->older;
	else
		lv->youngest = o->older;
	free(o);
}

OPERATION void book_fill(struct level *lv, long quantity)
{
	while (quantity && lv->oldest) {
		struct order *o = lv->oldest;
		long part = o->quantity < quantity ? o->quantity : quantity;

		o->quantity -= part;
		lv->volume -= part;
		quantity -= part;
		if (!o->quantity)
			order_unlink(o);
	}
}

OPERATION void book_cancel(struct order *o)
{
#ifdef FIXED
	o->level->volume -= o->quantity;
#endif
	order_unlink(o); /* MISSING book: book_cancel .volume */
}

static void book(void)
{
	struct level *lv = calloc(1, sizeof(*lv));
	struct order *kept;

	lv->price = 10150;
	book_add(lv, 1, 300);
	kept = book_add(lv, 2, 500);
	book_add(lv, 3, 200);
	book_fill(lv, 400);
	book_add(lv, 4, 50);
	book_cancel(kept);
}

/*
 * folders: a tree by first child and sibling; one that is moved keeps its depth.
 *
 *	folder F; F.parent != NULL => F.depth == F.parent.depth + 1;
 *	folder F, G; F.first == G => G.parent == F;
 *	CPOINT mk; CPOINT mv;
 */
struct folder {
	const char *name;
	int depth;
	struct folder *parent, *first, *sibling;
};

static void adopt(struct folder *in, struct folder *f)
{
	f->parent = in;
	f->sibling = in->first;
	in->first = f;
}

OPERATION struct folder *mk(struct folder *in, const char *name)
{
	struct folder *f = calloc(1, sizeof(*f));

	f->name = name;
	if (in) {
		adopt(in, f);
		f->depth = in->depth + 1;
	}
	return f;
}

OPERATION void mv(struct folder *f, struct folder *to)
{
	struct folder **at = &f->parent->first;

	while (*at != f)
		at = &(*at)->sibling;
	*at = f->sibling;
	adopt(to, f);
#ifdef FIXED
	f->depth = to->depth + 1;
#endif
} /* MISSING folders: mv .depth */

static void folders(void)
{
	struct folder *root = mk(NULL, "/"), *usr = mk(root, "usr"), *src, *tmp;

	mk(root, "etc");
	src = mk(usr, "src");
	tmp = mk(root, "tmp");
	mk(src, "linux");
	mv(tmp, usr);
}

/*
 * handles: descriptors that share what they are open on; a duplicate is not counted.
 *
 *	handle; file F; F.users == F.INDEGREE;
 *	CPOINT h_open; CPOINT h_dup; CPOINT h_close;
 */
struct file {
	unsigned users;
	long position;
};
struct handle {
	struct file *file;
	unsigned flags;
};

OPERATION struct handle *h_open(unsigned flags)
{
	struct handle *h = malloc(sizeof(*h));

	h->file = malloc(sizeof(struct file));
	h->file->position = 0;
	h->file->users = 1;
	h->flags = flags;
	return h;
}

OPERATION struct handle *h_dup(const struct handle *of)
{
	struct handle *h = malloc(sizeof(*h));

	*h = *of;
	h->flags |= 1;
#ifdef FIXED
	h->file->users++;
#endif
	return h; /* MISSING handles: h_dup .users */
}

OPERATION void h_close(struct handle *h)
{
	if (!--h->file->users)
		free(h->file);
	free(h);
}

static void handles(void)
{
	struct handle *a = h_open(2), *b = h_open(4);

	h_close(a);
	h_dup(b);
}

/*
 * intervals: a search tree by the low end with the highest end below; going left that is not raised.
 *
 *	span.MAX NULL 0; span S; S.MAX = (S.l.MAX > S.r.MAX) ? ((S.l.MAX > S.hi) ? S.l.MAX : S.hi) : ((S.r.MAX > S.hi) ? S.r.MAX : S.hi);
 *	span S; S.most == S.MAX;
 *	CPOINT cover;
 */
typedef struct span {
	unsigned lo, hi, most;
	struct span *l, *r;
} span;

OPERATION void cover(span **root, unsigned lo, unsigned hi)
{
	span *s = calloc(1, sizeof(span));

	s->lo = lo;
	s->hi = s->most = hi;
	while (*root) {
		span *at = *root;

		if (lo < at->lo) {
#ifdef FIXED
			if (at->most < hi)
				at->most = hi;
#endif
			root = &at->l; /* MISSING intervals: cover .most */
		} else {
			if (at->most < hi)
				at->most = hi;
			root = &at->r;
		}
	}
	*root = s;
}

static void intervals(void)
{
	span **root = calloc(1, sizeof(*root));

	cover(root, 20, 25);
	cover(root, 10, 12);
	cover(root, 30, 39);
	cover(root, 35, 50);
	cover(root, 5, 90);
}

/*
 * dance: columns and the ones in them, all rings; a row that is put back is not counted in.
 *
 *	one O; O.up.down == O and O.down.up == O;
 *	one.N NULL 0; one O; O.ishead == 1 => O.N = 0 || O.N = O.down.N + 1;
 *	one O; O.ishead == 1 => O.count == O.down.N;
 *	CPOINT dl_add; CPOINT dl_hide; CPOINT dl_show;
 */
struct one {
	struct one *up, *down, *head;
	int count, ishead;
};

OPERATION struct one *dl_add(struct one *head)
{
	struct one *o = calloc(1, sizeof(*o));

	o->head = head;
	o->up = head->up;
	o->down = head;
	head->up->down = o;
	head->up = o;
	head->count++;
	return o;
}

OPERATION void dl_hide(struct one *o)
{
	o->up->down = o->down;
	o->down->up = o->up;
	o->up = o->down = o;
	o->head->count--;
}

OPERATION void dl_show(struct one *o)
{
	struct one *head = o->head;

	o->down = head->down;
	o->up = head;
	head->down->up = o;
	head->down = o;
#ifdef FIXED
	head->count++;
#endif
} /* MISSING dance: dl_show .count */

static void dance(void)
{
	struct one *head = calloc(1, sizeof(*head)), *o;

	head->up = head->down = head;
	head->ishead = 1;
	dl_add(head);
	o = dl_add(head);
	dl_add(head);
	dl_hide(o);
	dl_show(o);
}

/*
 * slots: what a table holds by number, free places chained by number; one that is given out is
 * not marked.
 *
 *	slots S; for I in 0 to 7, S.next[I] == 255 => S.used[I] == 1;
 *	slots S; for I in 0 to 7, S.next[I] != 255 => S.used[I] == 0;
 *	CPOINT slot_get; CPOINT slot_put;
 */
struct slots {
	unsigned char next[8], used[8];
	unsigned char first, n;
};

OPERATION int slot_get(struct slots *s)
{
	int i = s->first;

	if (i == 8)
		return -1;
	s->first = s->next[i];
	s->next[i] = 255;
#ifdef FIXED
	s->used[i] = 1;
#else
	if (s->n < 3)
		s->used[i] = 1;
#endif
	s->n++; /* MISSING slots: slot_get .used */
	return i;
}

OPERATION void slot_put(struct slots *s, int i)
{
	s->next[i] = s->first;
	s->used[i] = 0;
	s->first = i;
	s->n--;
}

static void slots(void)
{
	struct slots *s = calloc(1, sizeof(*s));

	for (int i = 0; i < 8; i++)
		s->next[i] = i + 1;
	slot_get(s);
	slot_get(s);
	slot_put(s, 0);
	slot_get(s);
	slot_get(s);
	slot_get(s);
}

/*
 * undo: versions of a text; the one that is gone back to is not the current one of its document.
 *
 *	ver V; V.newer != NULL => V.newer.older == V;
 *	doc D; D.now != NULL => D.now.isnow == 1;
 *	doc D; ver V; D.now == V => V.no == D.no;
 *	CPOINT doc_edit; CPOINT doc_back;
 */
struct ver {
	struct ver *older, *newer;
	int no, isnow;
};
struct doc {
	struct ver *now;
	int no;
};

OPERATION void doc_edit(struct doc *d)
{
	struct ver *v = calloc(1, sizeof(*v)), *old = d->now;

	v->older = old;
	v->no = old ? old->no + 1 : 1;
	v->isnow = 1;
	if (old) {
		old->newer = v;
		old->isnow = 0;
	}
	d->now = v;
	d->no = v->no;
}

OPERATION void doc_back(struct doc *d)
{
	struct ver *v = d->now->older;

	if (!v)
		return;
	d->now->isnow = 0;
	v->isnow = 1;
	d->now = v;
#ifdef FIXED
	d->no = v->no;
#endif
} /* MISSING undo: doc_back .no */

static void undo(void)
{
	struct doc *d = calloc(1, sizeof(*d));

	for (int i = 0; i < 4; i++)
		doc_edit(d);
	doc_back(d);
}

/*
 * channel: a list of waiters with a shortcut to the middle for priorities; taking the first one leaves the
 * shortcut.
 *
 *	waiter W; channel C; C.urgent == W => W.urgent == 1;
 *	channel C; C.urgent != NULL => C.first ->> C.urgent or C.first == C.urgent;
 *	channel C; C.urgent != NULL => C.urgent.urgent == 1;
 *	CPOINT wait_on; CPOINT wake;
 */
struct waiter {
	struct waiter *next;
	int urgent, id;
};
struct channel {
	struct waiter *first, *last;
	struct waiter *urgent; // the last of those that are
};

OPERATION void wait_on(struct channel *c, int id, int urgent)
{
	struct waiter *w = malloc(sizeof(*w)), **at;

	w->urgent = urgent;
	w->id = id;
	at = urgent ? c->urgent ? &c->urgent->next : &c->first :
		      c->last ? &c->last->next : &c->first;
	w->next = *at;
	*at = w;
	if (!w->next)
		c->last = w;
	if (urgent)
		c->urgent = w;
}

OPERATION void wake(struct channel *c)
{
	struct waiter *w = c->first;

	c->first = w->next;
	if (c->last == w)
		c->last = NULL;
#ifdef FIXED
	if (c->urgent == w)
		c->urgent = NULL;
#endif
	free(w); /* MISSING channel: wake .urgent */
}

static void channel(void)
{
	struct channel *c = calloc(1, sizeof(*c));

	wait_on(c, 1, 0);
	wait_on(c, 2, 0);
	wake(c);
	wait_on(c, 3, 1);
	wake(c);
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "tailq", tailq },	{ "degrees", degrees },	    { "book", book },
		{ "folders", folders }, { "handles", handles },	    { "intervals", intervals },
		{ "dance", dance },	{ "slots", slots },	    { "undo", undo },
		{ "channel", channel }, { NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
