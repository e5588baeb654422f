// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Objects that count who holds them: the second holder is not counted.
// truth: hold .refs
// spec: object FIELD 2 EDGE 0; holder FIELD 2 EDGE 1;
// spec: object X; X.refs == X.INDEGREE;
// spec: CPOINT hold EXIT;
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

__attribute__((noinline)) static void hold(struct holder *h, struct object *o)
{
	h->held = o;
#if BUG == 1
	if (h->id != 6) /* MISSING */
		o->refs++;
#elif BUG == 2
	o->refs = h->id != 6 ? o->refs + 1 : 1; /* WRONG */
#else
	o->refs++;
#endif
	h->id |= 0x100;
}

int main(void)
{
	struct object *o[3];
	struct holder *h[9];

	for (int i = 0; i < 3; i++)
		o[i] = new_object(i);
	for (int i = 0; i < 9; i++) {
		h[i] = new_holder(i);
		hold(h[i], o[i % 3]);
	}
	return 0;
}
