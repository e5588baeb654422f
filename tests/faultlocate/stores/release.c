// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Objects that count who holds them: who lets go is counted still, always.
// truth: let_go .refs
// spec: object FIELD 2 EDGE 0; holder FIELD 2 EDGE 1;
// spec: object X; X.refs == X.INDEGREE;
// spec: CPOINT let_go EXIT;
#include <stdlib.h>

struct object {
	long refs;
	int id;
};

struct holder {
	struct object *held;
	int id;
};

__attribute__((noinline)) static struct object *new_object(int id)
{
	struct object *o = calloc(1, sizeof(*o));

	o->id = id;
	return o;
}

__attribute__((noinline)) static struct holder *new_holder(int id)
{
	struct holder *h = calloc(1, sizeof(*h));

	h->id = id;
	return h;
}

__attribute__((noinline)) static void let_go(struct holder *h)
{
	struct object *o = h->held;

	if (!o)
		return;
	h->held = NULL;
#if BUG == 1
	/* MISSING */
#elif BUG == 2
	o->refs -= 2; /* WRONG */
#else
	o->refs--;
#endif
	h->id = 0;
}

int main(void)
{
	struct object *o = new_object(1);
	struct holder *h[6];

	for (int i = 0; i < 6; i++) {
		h[i] = new_holder(i + 1);
		h[i]->held = o;
		o->refs++;
	}
	for (int i = 0; i < 6; i++)
		let_go(h[i]);
	return 0;
}
