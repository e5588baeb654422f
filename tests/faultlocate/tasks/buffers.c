// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// Buffers, arenas and allocators of their own.
#include "task.h"

/*
 * deque: a ring buffer with two ends; who is put before the first is put before the buffer.
 *
 *	deque D; D.first >= 0 and D.first < D.size and D.count <= D.size;
 *	CPOINT unshift; CPOINT append;
 */
struct deque {
	int first, count, size;
	int values[8];
};

OPERATION void append(struct deque *d, int value)
{
	d->values[(d->first + d->count++) % d->size] = value;
}

OPERATION void unshift(struct deque *d, int value)
{
	int before = d->first - 1;

	d->first = fixed ? (before + d->size) % d->size : before; /* WRONG deque */
	d->values[(d->first + d->size) % d->size] = value;
	d->count++;
}

static void deque(void)
{
	struct deque *d = calloc(1, sizeof(*d));

	d->size = 8;
	d->first = 1;
	append(d, 1);
	append(d, 2);
	unshift(d, 0);
	unshift(d, -1);
}

/*
 * ring: a ring buffer that a producer fills. Who overwrites the oldest does not go past it.
 *
 *	ring R; R.head == (R.tail + R.count) % R.size;
 *	CPOINT ring_put; CPOINT ring_take;
 */
struct ring {
	unsigned int head, tail, count, size;
	int values[4];
};

OPERATION void ring_put(struct ring *r, int value)
{
	r->values[r->head] = value;
	r->head = (r->head + 1) % r->size;
	if (r->count < r->size)
		r->count++;
	else if (fixed) /* MISSING ring: ring_put .tail */
		r->tail = (r->tail + 1) % r->size;
}

OPERATION int ring_take(struct ring *r)
{
	int value = r->values[r->tail];

	r->tail = (r->tail + 1) % r->size;
	r->count--;
	return value;
}

static void ring(void)
{
	struct ring *r = calloc(1, sizeof(*r));

	r->size = 4;
	for (int i = 0; i < 3; i++)
		ring_put(r, i);
	ring_take(r);
	for (int i = 3; i < 6; i++)
		ring_put(r, i);
}

/*
 * pool: cells that are handed out again. The last free one is handed out and stays free.
 *
 *	pool P; node N; P.free == N => N.used == 0;
 *	node X, Y; X.next == Y => X.used == 0 and Y.used == 0;
 *	CPOINT get; CPOINT give;
 */
struct node {
	struct node *next;
	int used;
};

struct pool {
	struct node *free;
};

OPERATION void give(struct pool *p, struct node *n)
{
	n->used = 0;
	n->next = p->free;
	p->free = n;
}

OPERATION struct node *get(struct pool *p)
{
	struct node *n = p->free;

	if (n->next || fixed) /* MISSING pool: get .free */
		p->free = n->next;
	n->next = NULL;
	n->used = 1;
	return n;
}

static void pool(void)
{
	struct pool *p = calloc(1, sizeof(*p));

	for (int i = 0; i < 4; i++) {
		struct node *n = malloc(sizeof(*n));

		give(p, n);
	}
	for (int i = 0; i < 4; i++)
		get(p);
}

/*
 * arena: chunks that grow. A request larger than a chunk gets a chunk that says it is small.
 *
 *	chunk C; C.used <= C.size;
 *	CPOINT take;
 */
struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

OPERATION void *take(struct chunk **arena, size_t size)
{
	struct chunk *c = *arena;

	if (!c || c->size - c->used < size) {
		size_t room = size > 64 ? size : 64;

		c = malloc(sizeof(*c) + room);
		c->next = *arena;
		c->used = 0;
		c->size = fixed ? room : 64; /* WRONG arena */
		*arena = c;
	}
	c->used += size;
	return c->bytes + c->used - size;
}

static void arena(void)
{
	struct chunk *chunks = NULL;

	take(&chunks, 24);
	take(&chunks, 24);
	take(&chunks, 40);
	take(&chunks, 100);
	take(&chunks, 16);
}

/*
 * extents: free space by extents; two that touch are joined, with the wrong size.
 *
 *	extent X, Y; X.next == Y => X.start + X.size == Y.start;
 *	CPOINT split; CPOINT unite;
 */
struct extent {
	struct extent *next;
	unsigned long start, size;
};

OPERATION struct extent *split(struct extent *e, unsigned long size)
{
	struct extent *rest = malloc(sizeof(*rest));

	rest->next = e->next;
	rest->start = e->start + size;
	rest->size = e->size - size;
	e->size = size;
	e->next = rest;
	return rest;
}

OPERATION void unite(struct extent *e)
{
	struct extent *gone = e->next;

	e->next = gone->next;
	e->size = fixed ? e->size + gone->size : gone->size; /* WRONG extents */
	free(gone);
}

static void extents(void)
{
	struct extent *first = calloc(1, sizeof(*first)), *e;

	first->size = 4096;
	e = split(first, 512);
	e = split(e, 256);
	split(e, 1024);
	unite(first);
}

/*
 * tags: blocks that know the size of the one before. The one behind a split is not told.
 *
 *	block X, Y; X.next == Y => Y.before == X.size;
 *	CPOINT cut;
 */
struct block {
	struct block *next;
	unsigned int size, before;
};

OPERATION void cut(struct block *b, unsigned int size)
{
	struct block *rest = malloc(sizeof(*rest));

	rest->size = b->size - size;
	rest->before = size;
	rest->next = b->next;
	if (rest->next && fixed) /* MISSING tags: cut .before */
		rest->next->before = rest->size;
	b->next = rest;
	b->size = size;
}

static void tags(void)
{
	struct block *b = calloc(1, sizeof(*b));

	b->size = 1024;
	cut(b, 512);
	cut(b->next, 128);
	cut(b, 64);
}

/*
 * gap: a gap buffer. What moves the gap to the left forgets how large it is.
 *
 *	gap G; G.begin <= G.end and G.end <= G.size;
 *	gap G; G.size - (G.end - G.begin) == G.length;
 *	CPOINT type; CPOINT left;
 */
struct gap {
	unsigned int begin, end, size, length;
	char text[32];
};

OPERATION void type(struct gap *g, char c)
{
	g->text[g->begin++] = c;
	g->length++;
}

OPERATION void left(struct gap *g, unsigned int n)
{
	memmove(g->text + g->end - n, g->text + g->begin - n, n);
	g->begin -= n;
	g->end = fixed ? g->end - n : g->begin + n; /* WRONG gap */
}

static void gap(void)
{
	struct gap *g = calloc(1, sizeof(*g));

	g->size = g->end = sizeof(g->text);
	for (const char *c = "faults"; *c; c++)
		type(g, *c);
	left(g, 2);
}

/*
 * refs: objects that count who leads to them. Who leads elsewhere does not leave the former.
 *
 *	object X; X.refs == X.INDEGREE;
 *	CPOINT lead;
 */
struct object {
	int refs, id;
	struct object *to;
};

OPERATION void lead(struct object *o, struct object *to)
{
	struct object *former = o->to;

	if (to)
		to->refs++;
	o->to = to;
	if (former)
		if (!to || fixed) /* MISSING refs: lead .refs */
			former->refs--;
}

static void refs(void)
{
	struct object *objects[4];

	for (int i = 0; i < 4; i++) {
		struct object *o = calloc(1, sizeof(*o));

		o->id = i;
		objects[i] = o;
	}
	lead(objects[0], objects[1]);
	lead(objects[2], objects[1]);
	lead(objects[3], objects[2]);
	lead(objects[3], NULL);
	lead(objects[0], objects[3]);
}

static const struct task tasks[] = {
	{ "deque", deque }, { "ring", ring },	    { "pool", pool },
	{ "arena", arena }, { "extents", extents }, { "tags", tags },
	{ "gap", gap },	    { "refs", refs },	    { NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
