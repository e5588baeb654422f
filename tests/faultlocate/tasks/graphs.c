// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// Graphs, meshes, and trees with more than two children.
#include "task.h"

/*
 * twins: an undirected graph, each edge twice; the second does not know the first.
 *
 *	edge X, Y; X.twin == Y => Y.twin == X;
 *	edge X; X.twin != NULL;
 *	CPOINT connect EXIT;
 */
struct vertex {
	struct edge *edges;
	int id, degree;
};

struct edge {
	struct edge *next, *twin;
	struct vertex *to;
};

OPERATION struct vertex *vertex_new(int id)
{
	struct vertex *v = calloc(1, sizeof(*v));

	v->id = id;
	return v;
}

static struct edge *half(struct vertex *from, struct vertex *to)
{
	struct edge *e = calloc(1, sizeof(*e));

	e->to = to;
	e->next = from->edges;
	from->edges = e;
	from->degree++;
	return e;
}

OPERATION void connect(struct vertex *a, struct vertex *b)
{
	struct edge *there = half(a, b), *back = half(b, a);

	there->twin = back;
	if (fixed) /* MISSING twins: connect .twin */
		back->twin = there;
}

static void twins(void)
{
	struct vertex *v[4];

	for (int i = 0; i < 4; i++) {
		v[i] = vertex_new(i);
	}
	connect(v[0], v[1]);
	connect(v[1], v[2]);
	connect(v[3], v[0]);
}

/*
 * degree: a directed graph whose vertices know how many arcs they have. The wrong one hears of it.
 *
 *	arc.NUMBER NULL 0; arc X; X.NUMBER = X.next.NUMBER + 1;
 *	place P; P.degree == P.arcs.NUMBER;
 *	CPOINT arc_add; CPOINT arc_cut;
 */
struct place {
	struct arc *arcs;
	int degree;
};

struct arc {
	struct arc *next;
	struct place *to;
};

OPERATION struct place *place_new(int degree)
{
	struct place *p = calloc(1, sizeof(*p));

	p->degree = degree;
	return p;
}

OPERATION void arc_add(struct place *from, struct place *to)
{
	struct arc *a = calloc(1, sizeof(*a));

	a->to = to;
	a->next = from->arcs;
	from->arcs = a;
	from->degree++;
}

OPERATION void arc_cut(struct place *from)
{
	struct arc *a = from->arcs;
	struct place *less = fixed ? from : a->to;

	from->arcs = a->next;
	less->degree--; /* WRONG degree */
	free(a);
}

static void degree(void)
{
	struct place *p[3];

	for (int i = 0; i < 3; i++)
		p[i] = place_new(0);
	for (int i = 0; i < 9; i++)
		arc_add(p[i % 3], p[(i + i / 3) % 3]);
	arc_cut(p[1]);
}

/*
 * sets: union-find by rank; of two equal ranks the wrong one grows.
 *
 *	set X, Y; X.parent == Y => X == Y or X.rank < Y.rank;
 *	CPOINT unite; CPOINT set_new;
 */
struct set {
	struct set *parent;
	int rank;
};

OPERATION struct set *set_new(void)
{
	struct set *s = malloc(sizeof(*s));

	s->parent = s;
	s->rank = 0;
	return s;
}

static struct set *find(struct set *s)
{
	while (s->parent != s)
		s = s->parent;
	return s;
}

OPERATION void unite(struct set *a, struct set *b)
{
	a = find(a);
	b = find(b);
	if (a->rank < b->rank) {
		a->parent = b;
		return;
	}
	b->parent = a;
	if (a->rank == b->rank) {
		if (fixed)
			a->rank++;
		else
			b->rank++; /* WRONG sets */
	}
}

static void sets(void)
{
	struct set *s[5];

	for (int i = 0; i < 5; i++)
		s[i] = set_new();
	unite(s[0], s[1]);
	unite(s[2], s[0]);
}

/*
 * faces: a mesh of half edges. One cuts a face in two; an edge of the new one stays of the old.
 *
 *	side X, Y; X.next == Y => X.face == Y.face;
 *	side X; side Y; X.twin == Y => Y.twin == X;
 *	CPOINT divide;
 */
struct face {
	struct side *side;
};

struct side {
	struct side *next, *twin;
	struct face *face;
};

OPERATION struct side *side_new(struct face *face)
{
	struct side *s = calloc(1, sizeof(*s));

	s->face = face;
	return s;
}

OPERATION void divide(struct side *a, struct side *b)
{
	struct face *face = calloc(1, sizeof(*face));
	struct side *there = calloc(1, sizeof(*there)), *back = calloc(1, sizeof(*back));

	there->twin = back;
	back->twin = there;
	there->next = b->next;
	back->next = a->next;
	there->face = a->face;
	a->next = there;
	b->next = back;
	face->side = back;
	back->face = face;
	for (struct side *s = back->next; s != back; s = s->next)
		if (s != b || fixed) /* MISSING faces: divide .face */
			s->face = face;
	there->face->side = there;
}

static void faces(void)
{
	struct face *face = calloc(1, sizeof(*face));
	struct side *s[6];

	for (int i = 0; i < 6; i++) {
		s[i] = side_new(face);
	}
	for (int i = 0; i < 6; i++)
		s[i]->next = s[(i + 1) % 6];
	face->side = s[0];
	divide(s[0], s[3]);
}

/*
 * widgets: a tree of first children and brothers. One moved elsewhere has a strange brother.
 *
 *	widget X, Y; X.brother == Y => X.parent == Y.parent;
 *	widget X, Y; X.child == Y => Y.parent == X;
 *	CPOINT adopt; CPOINT orphan;
 */
struct widget {
	struct widget *parent, *child, *brother;
	int id;
};

OPERATION struct widget *widget_new(int id)
{
	struct widget *w = calloc(1, sizeof(*w));

	w->id = id;
	return w;
}

OPERATION void adopt(struct widget *parent, struct widget *w)
{
	w->parent = parent;
	w->brother = parent->child;
	parent->child = w;
}

OPERATION void orphan(struct widget *w)
{
	struct widget **at = &w->parent->child;

	while (*at != w)
		at = &(*at)->brother;
	*at = fixed || w->brother ? w->brother : w->parent; /* WRONG widgets */
	w->parent = w->brother = NULL;
}

static void widgets(void)
{
	struct widget *w[8];

	for (int i = 0; i < 8; i++) {
		w[i] = widget_new(i);
		if (i)
			adopt(w[i / 4], w[i]);
	}
	orphan(w[2]);
	orphan(w[4]);
}

/*
 * matrix: a sparse matrix, linked in both directions. What is put above another is not its upper.
 *
 *	cell X, Y; X.down == Y => Y.up == X and X.column == Y.column;
 *	cell X, Y; X.right == Y => Y.left == X and X.row == Y.row;
 *	CPOINT set;
 */
struct cell {
	struct cell *up, *down, *left, *right;
	int row, column;
};

OPERATION struct cell *cell_new(int row)
{
	struct cell *c = calloc(1, sizeof(*c));

	c->row = row;
	return c;
}

OPERATION struct cell *set(struct cell *row, struct cell *column)
{
	struct cell *c = cell_new(row->row);

	c->column = column->column;
	c->right = row->right;
	if (c->right)
		c->right->left = c;
	c->left = row;
	row->right = c;
	c->down = column->down;
	if (c->down)
		if (fixed) /* MISSING matrix: set .up */
			c->down->up = c;
	c->up = column;
	column->down = c;
	return c;
}

static void matrix(void)
{
	struct cell *heads[6];

	for (int i = 0; i < 6; i++) {
		heads[i] = cell_new(i < 3 ? i : -1);
		heads[i]->column = i < 3 ? -1 : i;
	}
	set(heads[0], heads[3]);
	set(heads[1], heads[4]);
	set(heads[0], heads[5]);
	set(heads[2], heads[4]);
}

/*
 * leaves: the leaves of a B+ tree, linked. One that is split keeps a key that went to the other.
 *
 *	leaf X, Y; X.next == Y => X.keys[X.n - 1] < Y.keys[0];
 *	leaf X; for I in 0 to 4, I + 1 < X.n => X.keys[I] < X.keys[I + 1];
 *	CPOINT leaf_add;
 */
struct leaf {
	struct leaf *next;
	int n;
	int keys[6];
};

OPERATION void leaf_add(struct leaf *leaf, int key)
{
	while (leaf->next && leaf->next->keys[0] <= key)
		leaf = leaf->next;
	if (leaf->n == 6) {
		struct leaf *right = calloc(1, sizeof(*right));

		right->next = leaf->next;
		right->n = 3;
		memcpy(right->keys, leaf->keys + 3, 3 * sizeof(int));
		leaf->n = fixed ? 3 : 4; /* WRONG leaves */
		leaf->next = right;
		if (key >= right->keys[0])
			leaf = right;
	}
	leaf->keys[leaf->n++] = key;
}

static void leaves(void)
{
	struct leaf *first = calloc(1, sizeof(*first));

	for (int i = 0; i < 9; i++)
		leaf_add(first, 3 * i);
}

/*
 * priorities: tasks in the lists of their priorities. One that changes does not know its list.
 *
 *	lists L; thread T; for I in 0 to 3, L.first[I] == T => T.priority == I;
 *	thread X, Y; X.next == Y => X.priority == Y.priority;
 *	CPOINT wake; CPOINT change;
 */
struct thread {
	struct thread *next;
	int priority, id;
};

struct lists {
	struct thread *first[4];
};

OPERATION struct thread *thread_new(int id)
{
	struct thread *t = calloc(1, sizeof(*t));

	t->id = id;
	return t;
}

OPERATION void wake(struct lists *l, struct thread *t, int priority)
{
	t->priority = priority;
	t->next = l->first[priority];
	l->first[priority] = t;
}

OPERATION void change(struct lists *l, struct thread *t, int priority)
{
	struct thread **at = &l->first[t->priority];

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (fixed) /* MISSING priorities: change .priority */
		t->priority = priority;
	t->next = l->first[priority];
	l->first[priority] = t;
}

static void priorities(void)
{
	struct lists *l = calloc(1, sizeof(*l));
	struct thread *t[6];

	for (int i = 0; i < 6; i++) {
		t[i] = thread_new(i);
		wake(l, t[i], i % 3);
	}
	change(l, t[1], 3);
}

static const struct task tasks[] = {
	{ "twins", twins },   { "degree", degree },	    { "sets", sets },
	{ "faces", faces },   { "widgets", widgets },	    { "matrix", matrix },
	{ "leaves", leaves }, { "priorities", priorities }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
