// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#include "../task.h"
#include <stddef.h>
#include <stdint.h>

/*
 * towers: a skip list with as many links as a node is high; one lane of a new one is the lowest.
 *
 *	tower T; for I in 0 to 3, T.next[I] != NULL => T.next[I].height > I;
 *	tower T; for I in 0 to 3, T.next[I] != NULL => T.next[I].key > T.key;
 *	CPOINT tower_add; CPOINT tower_drop;
 */
struct tower {
	int key, height;
	struct tower *next[4];
};

static struct tower *towers_head;

static void towers_before(int key, struct tower *at[4])
{
	struct tower *t = towers_head;

	for (int l = 3; l >= 0; l--) {
		while (t->next[l] && t->next[l]->key < key)
			t = t->next[l];
		at[l] = t;
	}
}

OPERATION void tower_add(int key, int height)
{
	struct tower *at[4], *n = calloc(1, sizeof(*n));

	towers_before(key, at);
	n->key = key;
	n->height = height;
	for (int l = 0; l < height; l++) {
#ifdef FIXED
		n->next[l] = at[l]->next[l];
#else
		n->next[l] = at[l]->next[l & 1]; /* WRONG towers */
#endif
		at[l]->next[l] = n;
	}
}

OPERATION void tower_drop(int key)
{
	struct tower *at[4], *gone;

	towers_before(key, at);
	gone = at[0]->next[0];
	for (int l = 0; l < gone->height; l++)
		at[l]->next[l] = gone->next[l];
	free(gone);
}

static void towers(void)
{
	towers_head = calloc(1, sizeof(*towers_head));
	towers_head->height = 4;
	towers_head->key = -1;
	tower_add(10, 1);
	tower_add(30, 2);
	tower_add(50, 1);
	tower_drop(10);
	tower_add(20, 2);
	tower_add(40, 3);
	tower_add(35, 1);
	tower_add(15, 4);
}

/*
 * idle: connections in a list of the idle ones by a hook in them. One that gets busy is not left by
 * the one behind it.
 *
 *	conn C, D; C.idle.next == &D.idle => D.idle.prev == &C.idle;
 *	conn C, D; C.idle.prev == &D.idle => D.idle.next == &C.idle;
 *	CPOINT conn_idle; CPOINT conn_busy;
 */
struct hook {
	struct hook *next, *prev;
};
struct conn {
	int fd;
	char peer[12];
	struct hook idle;
	long bytes;
};

static struct hook idle_list = { &idle_list, &idle_list };

OPERATION void conn_idle(struct conn *c)
{
	c->idle.next = &idle_list;
	c->idle.prev = idle_list.prev;
	idle_list.prev->next = &c->idle;
	idle_list.prev = &c->idle;
}

OPERATION void conn_busy(struct conn *c)
{
	struct hook *before = c->idle.prev;

	before->next = c->idle.next;
#ifdef FIXED
	c->idle.next->prev = before;
#endif
	c->idle.next = c->idle.prev = NULL;
	c->bytes++;
} /* MISSING idle: conn_busy .prev */

static void idle(void)
{
	struct conn *c[5];

	for (int i = 0; i < 5; i++) {
		c[i] = calloc(1, sizeof(*c[i]));
		c[i]->fd = i + 3;
		conn_idle(c[i]);
	}
	conn_busy(c[2]);
	conn_idle(c[2]);
}

/*
 * cells: a queue linked by the exclusive or of both neighbours, numbered. Who was the last one
 * forgets the one before.
 *
 *	cell A, B, C; A.at + 1 == B.at and B.at + 1 == C.at => B.link == (&A ^ &C);
 *	CPOINT cell_put; CPOINT cell_take;
 */
struct cell {
	uintptr_t link;
	long at;
};

static struct cell *cells_first, *cells_last;
static long cells_n;

OPERATION void cell_put(void)
{
	struct cell *c = malloc(sizeof(*c));

	c->at = cells_n++;
	c->link = (uintptr_t)cells_last;
	if (!cells_last)
		cells_first = c;
	else
#ifdef FIXED
		cells_last->link ^= (uintptr_t)c;
#else
		cells_last->link = (uintptr_t)c; /* WRONG cells */
#endif
	cells_last = c;
}

OPERATION void cell_take(void)
{
	struct cell *c = cells_first, *next = (struct cell *)c->link;

	if (next)
		next->link ^= (uintptr_t)c;
	else
		cells_last = NULL;
	cells_first = next;
	free(c);
}

static void cells(void)
{
	cell_put();
	cell_take();
	cell_put();
	cell_put();
	cell_put();
	cell_put();
}

/*
 * chunks: an arena of chunks that knows how much it has. What is given back is still counted.
 *
 *	ROOT chunks_arena AS arena;
 *	chunk.SUM NULL 0; chunk C; C.SUM = C.older.SUM + C.bytes;
 *	chunk C; C.used <= C.bytes;
 *	arena.total == arena.newest.SUM;
 *	CPOINT arena_alloc; CPOINT arena_release;
 */
struct chunk {
	struct chunk *older;
	size_t bytes, used;
	char data[];
};

static struct arena {
	struct chunk *newest;
	size_t total, n_allocs;
} chunks_arena;

OPERATION void *arena_alloc(struct arena *a, size_t n)
{
	struct chunk *c = a->newest;

	n = (n + 7) & ~(size_t)7;
	if (!c || c->bytes - c->used < n) {
		size_t bytes = n > 64 ? n : 64;

		c = malloc(sizeof(*c) + bytes);
		c->older = a->newest;
		c->bytes = bytes;
		c->used = 0;
		a->newest = c;
		a->total += bytes;
	}
	c->used += n;
	a->n_allocs++;
	return c->data + c->used - n;
}

OPERATION void arena_release(struct arena *a, size_t keep)
{
	while (a->newest && a->total > keep) {
		struct chunk *c = a->newest;

		if (!c->older)
			break;
		a->newest = c->older;
#ifdef FIXED
		a->total -= c->bytes;
		free(c);
#else
		free(c);
		break; /* MISSING chunks: arena_release .total */
#endif
	}
}

static void chunks(void)
{
	arena_alloc(&chunks_arena, 40);
	arena_alloc(&chunks_arena, 10);
	arena_alloc(&chunks_arena, 50);
	arena_alloc(&chunks_arena, 100);
	arena_release(&chunks_arena, 130);
	arena_alloc(&chunks_arena, 20);
}

/*
 * samples: a ring of samples that grows. What is copied ends one too early.
 *
 *	samples S; (S.first + S.n) % S.room == S.end;
 *	samples S; S.n <= S.room;
 *	CPOINT sample_add; CPOINT sample_take;
 */
struct samples {
	double *of;
	unsigned first, end, n, room;
};

static void samples_grow(struct samples *s)
{
	double *of = malloc(2 * s->room * sizeof(*of));

	for (unsigned i = 0; i < s->n; i++)
		of[i] = s->of[(s->first + i) % s->room];
	free(s->of);
	s->of = of;
	s->first = 0;
#ifdef FIXED
	s->end = s->n;
#else
	s->end = s->n - 1; /* WRONG samples */
#endif
	s->room *= 2;
}

OPERATION void sample_add(struct samples *s, double v)
{
	if (s->n == s->room)
		samples_grow(s);
	s->of[s->end] = v;
	s->end = (s->end + 1) % s->room;
	s->n++;
}

OPERATION double sample_take(struct samples *s)
{
	double v = s->of[s->first];

	s->first = (s->first + 1) % s->room;
	s->n--;
	return v;
}

static void samples(void)
{
	struct samples *s = calloc(1, sizeof(*s));

	s->room = 4;
	s->of = malloc(4 * sizeof(*s->of));
	for (int i = 0; i < 3; i++)
		sample_add(s, i);
	sample_take(s);
	for (int i = 0; i < 4; i++)
		sample_add(s, i * 0.5);
}

/*
 * probing: a hash table with open addressing. What is deleted leaves its item in the slot.
 *
 *	table T; for I in 0 to 15, T.slot[I].state != 1 => T.slot[I].item == NULL;
 *	CPOINT table_put; CPOINT table_delete;
 */
struct item {
	int key;
	long value;
};
struct table {
	int n;
	struct {
		int state; /* 0 never used, 1 used, 2 deleted */
		struct item *item;
	} slot[16];
};

static int table_find(const struct table *t, int key)
{
	int i = key * 7 & 15;

	while (t->slot[i].state == 2 || (t->slot[i].state && t->slot[i].item->key != key))
		i = (i + 1) & 15;
	return i;
}

OPERATION void table_put(struct table *t, int key, long value)
{
	int i = table_find(t, key);

	if (!t->slot[i].item) {
		t->slot[i].item = malloc(sizeof(struct item));
		t->n++;
	}
	*t->slot[i].item = (struct item){ key, value };
	t->slot[i].state = 1;
}

OPERATION void table_delete(struct table *t, int key)
{
	int i = table_find(t, key);

	if (t->slot[i].state != 1)
		return;
	free(t->slot[i].item);
#ifdef FIXED
	t->slot[i].item = NULL;
#endif
	t->slot[i].state = 2;
	t->n--;
} /* MISSING probing: table_delete .item */

static void probing(void)
{
	struct table *t = calloc(1, sizeof(*t));

	for (int k = 0; k < 9; k++)
		table_put(t, k * 3, k);
	table_delete(t, 12);
	table_put(t, 40, 1);
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{ "towers", towers },	{ "idle", idle },	{ "cells", cells },
		{ "chunks", chunks }, { "samples", samples }, { "probing", probing },
		{ NULL, NULL },
	};

	return run_task(tasks, argc, argv);
}
