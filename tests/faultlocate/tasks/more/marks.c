// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stdint.h>

/*
 * bitmap: an arena whose slots have a bit each; the wrong slot's bit is set.
 *
 *	slab S; for I in 0 to 7, S.slots[I] != NULL => S.used >> I & 1 == 1;
 *	slab S; for I in 0 to 7, S.slots[I] == NULL => S.used >> I & 1 == 0;
 *	CPOINT slab_get; CPOINT slab_put;
 */
struct slab {
	unsigned int used;
	void *slots[8];
};

OPERATION int slab_get(struct slab *s, void *what)
{
	int i = 0;

	while (s->used >> i & 1)
		i++;
	s->slots[i] = what;
	s->used |= 1u << (fixed || i != 3 ? i : i + 1); /* WRONG bitmap */
	return i;
}

OPERATION void slab_put(struct slab *s, int i)
{
	s->slots[i] = NULL;
	s->used &= ~(1u << i);
}

static void bitmap(void)
{
	struct slab *s = calloc(1, sizeof(*s));

	for (int i = 0; i < 3; i++)
		slab_get(s, s);
	slab_put(s, 1);
	slab_get(s, s);
	slab_get(s, s);
}

/*
 * quad: a tree of regions; the fourth child's corner is the third's.
 *
 *	quad X; X.child[3] != NULL => X.child[3].x == X.x + X.size / 2 and X.child[3].y == X.y + X.size / 2;
 *	quad X; X.child[2] != NULL => X.child[2].x == X.x and X.child[2].y == X.y + X.size / 2;
 *	CPOINT quad_split;
 */
struct quad {
	int x, y, size;
	struct quad *child[4];
};

OPERATION void quad_split(struct quad *q)
{
	for (int i = 0; i < 4; i++) {
		struct quad *c = calloc(1, sizeof(*c));

		int by;

		c->size = q->size / 2;
		by = fixed || q->x < 16 ? c->size : 0;
		c->y = i < 2 ? q->y : q->y + c->size;
		c->x = i % 2 ? q->x + by : q->x; /* WRONG quad */
		q->child[i] = c;
	}
}

static void quad(void)
{
	struct quad *q = calloc(1, sizeof(*q));

	q->size = 64;
	quad_split(q);
	quad_split(q->child[0]);
	quad_split(q->child[3]);
}

/*
 * edges: a graph whose vertices count edges that lead to them; one that is cut is still counted.
 *
 *	vert V; V.in == V.INDEGREE;
 *	CPOINT arc; CPOINT unarc;
 */
struct vert {
	int id, in;
	struct vert *out[3];
};

OPERATION void arc(struct vert *a, int i, struct vert *b)
{
	a->out[i] = b;
	b->in++;
}

OPERATION void unarc(struct vert *a, int i)
{
	struct vert *b = a->out[i];

	a->out[i] = NULL;
	if (b != a || fixed) /* MISSING edges: unarc .in */
		b->in--;
}

static void edges(void)
{
	struct vert *v[4];

	for (int i = 0; i < 4; i++) {
		v[i] = calloc(1, sizeof(*v[i]));
		v[i]->id = i;
	}
	arc(v[0], 0, v[1]);
	arc(v[1], 0, v[1]);
	arc(v[2], 0, v[1]);
	arc(v[3], 1, v[2]);
	unarc(v[0], 0);
	unarc(v[1], 0);
}

/*
 * history: an editor's undo stack; a new step drops the redo steps but the stack's last stays.
 *
 *	undo U; step S; U.last == S => S.newer == NULL;
 *	step X, Y; X.newer == Y => Y.older == X;
 *	CPOINT do_step; CPOINT undo_step;
 */
struct step {
	struct step *older, *newer;
	int what;
};

struct undo {
	struct step *now, *last;
};

OPERATION void do_step(struct undo *u, int what)
{
	struct step *s = calloc(1, sizeof(*s));
	bool is_last;

	s->what = what;
	s->older = u->now;
	if (u->now)
		u->now->newer = s;
	u->now = s;
	is_last = fixed || !u->last || u->last == s->older;
	u->last = is_last ? s : s->older; /* WRONG history */
}

OPERATION void undo_step(struct undo *u)
{
	u->now = u->now->older;
}

static void history(void)
{
	struct undo *u = calloc(1, sizeof(*u));

	for (int i = 0; i < 4; i++)
		do_step(u, i);
	undo_step(u);
	undo_step(u);
	do_step(u, 9);
}

static const struct task tasks[] = {
	{ "bitmap", bitmap },	{ "quad", quad }, { "edges", edges },
	{ "history", history }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
