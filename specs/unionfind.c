// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* Union-find by rank, with path compression. */
#include "specs/subject.h"

struct set {
	long rank;
	struct set *parent;
};

static struct set *set[SUBJECT_NODES];

static struct set *find(struct set *s)
{
	struct set *top = s, *next;

	for (; top->parent != top; top = top->parent)
		subject_step();
	for (; s != top; s = next) {
		next = s->parent;
		FAULT(0, s->parent = top, s->rank = top->rank + 1);
	}
	return top;
}

NOINLINE static void unite(struct set *a, struct set *b)
{
	a = find(a);
	b = find(b);
	if (a == b)
		return;
	if (a->rank < b->rank) {
		struct set *t = a;

		a = b;
		b = t;
	}
	b->parent = a;
	if (a->rank == b->rank)
		a->rank++;
	FAULT(1, a->parent = a, a->rank = b->rank - 1);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++) {
		set[i] = NEW(struct set);
		set[i]->parent = set[i];
	}
	for (int i = 0; i < 500; i++)
		unite(set[subject_random() % SUBJECT_NODES],
		      set[subject_random() % SUBJECT_NODES]);
}

NOINLINE static void operate(unsigned r)
{
	unite(set[r % SUBJECT_NODES], set[subject_random() % SUBJECT_NODES]);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
