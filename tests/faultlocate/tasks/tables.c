// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// Tables and caches.
#include "task.h"

/*
 * bucket: a hash table whose entries know their buckets. One that moves to a larger does not.
 *
 *	table T; slot S; for I in 0 to 15, T.slots[I] == S => S.bucket == I;
 *	slot X, Y; X.next == Y => X.bucket == Y.bucket;
 *	CPOINT grow; CPOINT add;
 */
struct slot {
	struct slot *next;
	unsigned int hash, bucket;
};

struct table {
	unsigned int size;
	struct slot *slots[16];
};

OPERATION void add(struct table *t, unsigned int hash)
{
	struct slot *s = calloc(1, sizeof(*s));

	s->hash = hash;
	s->bucket = hash % t->size;
	s->next = t->slots[s->bucket];
	t->slots[s->bucket] = s;
}

OPERATION void grow(struct table *t)
{
	struct slot *all = NULL, *s;

	for (unsigned int i = 0; i < t->size; i++) {
		while ((s = t->slots[i])) {
			t->slots[i] = s->next;
			s->next = all;
			all = s;
		}
	}
	t->size *= 2;
	while ((s = all)) {
		unsigned int at = s->hash % t->size;

		all = s->next;
		if (fixed) /* MISSING bucket: grow .bucket */
			s->bucket = at;
		s->next = t->slots[at];
		t->slots[at] = s;
	}
}

static void bucket(void)
{
	struct table *t = calloc(1, sizeof(*t));

	t->size = 4;
	for (unsigned int i = 0; i < 6; i++)
		add(t, 5 * i);
	grow(t);
}

/*
 * robin: open addressing with distances. Who moves back a slot keeps its distance.
 *
 *	robin R; for I in 0 to 15, R.slots[I].key != 0 => R.slots[I].distance == (I - R.slots[I].key) & 15;
 *	CPOINT robin_add; CPOINT robin_remove;
 */
struct robin {
	int used;
	struct {
		int key, distance;
	} slots[16];
};

OPERATION void robin_add(struct robin *r, int key)
{
	int at = key & 15, distance = 0;

	while (r->slots[at].key) {
		at = (at + 1) & 15;
		distance++;
	}
	r->slots[at].key = key;
	r->slots[at].distance = distance;
	r->used++;
}

OPERATION void robin_remove(struct robin *r, int at)
{
	int next = (at + 1) & 15;

	while (r->slots[next].key && r->slots[next].distance) {
		r->slots[at].key = r->slots[next].key;
		r->slots[at].distance = r->slots[next].distance - fixed; /* WRONG robin */
		at = next;
		next = (next + 1) & 15;
	}
	r->slots[at].key = 0;
	r->slots[at].distance = 0;
	r->used--;
}

static void robin(void)
{
	struct robin *r = calloc(1, sizeof(*r));

	for (int i = 0; i < 4; i++)
		robin_add(r, 3 + 16 * i);
	robin_remove(r, 4);
}

/*
 * lru: a cache; who moves the last one to the front leaves the last pointer at it.
 *
 *	cache C; page P; C.last == P => P.next == NULL;
 *	page X, Y; X.next == Y => Y.prev == X;
 *	CPOINT use; CPOINT load;
 */
struct page {
	struct page *prev, *next;
	int number;
};

struct cache {
	struct page *first, *last;
};

OPERATION void load(struct cache *c, int number)
{
	struct page *p = calloc(1, sizeof(*p));

	p->number = number;
	p->next = c->first;
	if (c->first)
		c->first->prev = p;
	else
		c->last = p;
	c->first = p;
}

OPERATION void use(struct cache *c, struct page *p)
{
	p->prev->next = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else if (fixed) /* MISSING lru: use .last */
		c->last = p->prev;
	p->next = c->first;
	p->prev = NULL;
	c->first->prev = p;
	c->first = p;
}

static void lru(void)
{
	struct cache *c = calloc(1, sizeof(*c));

	for (int i = 0; i < 6; i++)
		load(c, i);
	use(c, c->first->next);
	use(c, c->last);
}

/*
 * skip: a skip list. A node is linked into the lane above where the one below was meant.
 *
 *	lane X; lane Y; X.next[0] == Y => X.key < Y.key;
 *	lane X; lane Y; X.next[1] == Y => X.key < Y.key;
 *	lane X; lane Y; X.next[1] == Y => Y.height == 2;
 *	CPOINT skip_add;
 */
struct lane {
	int key, height;
	struct lane *next[2];
};

OPERATION void skip_add(struct lane *head, int key, int height)
{
	struct lane *n = calloc(1, sizeof(*n)), *before[2];

	n->key = key;
	n->height = height;
	for (int i = 1; i >= 0; i--) {
		before[i] = i ? head : before[1];
		while (before[i]->next[i] && before[i]->next[i]->key < key)
			before[i] = before[i]->next[i];
	}
	n->next[0] = before[0]->next[0];
	before[0]->next[fixed || key != 6 ? 0 : 1] = n; /* WRONG skip */
	if (height > 1) {
		n->next[1] = before[1]->next[1];
		before[1]->next[1] = n;
	}
}

static void skip(void)
{
	static const int keys[] = { 2, 8, 5, 7, 3, 6 };
	struct lane *head = calloc(1, sizeof(*head));

	head->height = 2;
	for (int i = 0; i < 6; i++)
		skip_add(head, keys[i], keys[i] % 4 ? 1 : 2);
}

/*
 * scopes: symbols that hide others. A scope that ends leaves its symbol in the table.
 *
 *	names N; symbol S; for I in 0 to 3, N.at[I] != NULL => N.at[I] == S;
 *	symbol X, Y; X.outer != NULL => X.outer == Y and Y.depth < X.depth;
 *	CPOINT enter; CPOINT leave;
 */
struct symbol {
	struct symbol *outer;
	int depth, name;
};

struct names {
	struct symbol *at[4];
};

OPERATION void enter(struct names *n, int name, int depth)
{
	struct symbol *s = calloc(1, sizeof(*s));

	s->name = name;
	s->depth = depth;
	s->outer = n->at[name];
	n->at[name] = s;
}

OPERATION void leave(struct names *n, int depth)
{
	for (int i = 0; i < 4; i++) {
		struct symbol *s = n->at[i];

		if (!s || s->depth < depth)
			continue;
		if (s->outer || fixed) /* MISSING scopes: leave .at */
			n->at[i] = s->outer;
		free(s);
	}
}

static void scopes(void)
{
	struct names *n = calloc(1, sizeof(*n));

	enter(n, 0, 1);
	enter(n, 1, 1);
	enter(n, 0, 2);
	enter(n, 1, 2);
	leave(n, 2);
	enter(n, 0, 2);
	enter(n, 2, 2);
	leave(n, 2);
}

/*
 * multimap: keys with several values, counted. A value of a key that was there is not.
 *
 *	value.NUMBER NULL 0; value X; X.NUMBER = X.next.NUMBER + 1;
 *	key K; K.count == K.values.NUMBER;
 *	CPOINT map_add;
 */
struct value {
	struct value *next;
	int number;
};

struct key {
	struct key *next;
	struct value *values;
	int name, count;
};

OPERATION struct key *map_add(struct key *keys, int name, int number)
{
	struct value *v = calloc(1, sizeof(*v));
	struct key *k = keys;

	v->number = number;
	while (k && k->name != name)
		k = k->next;
	if (!k) {
		k = calloc(1, sizeof(*k));
		k->name = name;
		k->next = keys;
		k->values = v;
		k->count = 1;
		return k;
	}
	v->next = k->values;
	k->values = v;
	if (fixed) /* MISSING multimap: map_add .count */
		k->count++;
	return keys;
}

static void multimap(void)
{
	struct key *keys = NULL;

	for (int i = 0; i < 5; i++)
		keys = map_add(keys, i, i);
	map_add(keys, 3, 7);
}

/*
 * frequencies: a cache by use. An entry used more often is put into the next count's list.
 *
 *	use X, Y; X.next == Y => X.count == Y.count and Y.prev == X;
 *	counts C; use X; for I in 1 to 5, C.lists[I] == X => X.count == I and X.prev == NULL;
 *	CPOINT touch;
 */
struct use {
	struct use *prev, *next;
	int count, id;
};

struct counts {
	struct use *lists[8];
};

OPERATION void count_in(struct counts *c, struct use *u)
{
	struct use **list = &c->lists[u->count];

	u->prev = NULL;
	u->next = *list;
	if (*list)
		(*list)->prev = u;
	*list = u;
}

OPERATION void touch(struct counts *c, struct use *u)
{
	if (u->prev)
		u->prev->next = u->next;
	else
		c->lists[u->count + !fixed] = u->next; /* WRONG frequencies */
	if (u->next)
		u->next->prev = u->prev;
	u->count++;
	count_in(c, u);
}

static void frequencies(void)
{
	struct counts *c = calloc(1, sizeof(*c));
	struct use *uses[5];

	for (int i = 0; i < 5; i++) {
		struct use *u = calloc(1, sizeof(*u));

		u->id = i;
		u->count = 1;
		count_in(c, u);
		uses[i] = u;
	}
	touch(c, uses[2]);
	touch(c, uses[4]);
}

/*
 * cuckoo: two tables; who is driven out of one is not put where its other hash says.
 *
 *	cuckoo C; for I in 0 to 7, C.left[I] != 0 => C.left[I] & 7 == I;
 *	cuckoo C; for I in 0 to 7, C.right[I] != 0 => (C.right[I] >> 3) & 7 == I;
 *	CPOINT cuckoo_add;
 */
struct cuckoo {
	unsigned int left[8], right[8];
};

OPERATION void cuckoo_add(struct cuckoo *c, unsigned int key)
{
	for (int i = 0; i < 8 && key; i++) {
		unsigned int out = c->left[key & 7], other;

		c->left[key & 7] = key;
		if (!out)
			return;
		other = c->right[(out >> 3) & 7];
		c->right[fixed ? (out >> 3) & 7 : out & 7] = out; /* WRONG cuckoo */
		key = other;
	}
}

static void cuckoo(void)
{
	struct cuckoo *c = calloc(1, sizeof(*c));

	cuckoo_add(c, 0x11);
	cuckoo_add(c, 0x22);
	cuckoo_add(c, 0x33);
	cuckoo_add(c, 0x29);
}

static const struct task tasks[] = {
	{ "bucket", bucket },
	{ "robin", robin },
	{ "lru", lru },
	{ "skip", skip },
	{ "scopes", scopes },
	{ "multimap", multimap },
	{ "frequencies", frequencies },
	{ "cuckoo", cuckoo },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_task(tasks, argc, argv);
}
