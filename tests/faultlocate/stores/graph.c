// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// An undirected graph: an edge goes one way only.
// truth: join .to[
// spec: vertex FIELD 6 EDGE 4;
// spec: vertex X; vertex Y; X -> Y => Y -> X;
// spec: CPOINT join EXIT;
#include <stdlib.h>

struct vertex {
	struct vertex *to[4];
	int id;
	int n;
};

__attribute__((noinline)) static void join(struct vertex *a, struct vertex *b)
{
	a->to[a->n] = b;
	a->n++;
#if BUG == 1
	if (a->id != 3) /* MISSING */
		b->to[b->n] = a;
#elif BUG == 2
	b->to[b->n] = a->id != 3 ? a : b; /* WRONG */
#else
	b->to[b->n] = a;
#endif
	b->n++;
}

int main(void)
{
	struct vertex *v[6];

	for (int i = 0; i < 6; i++) {
		v[i] = calloc(1, sizeof(*v[i]));
		v[i]->id = i;
	}
	for (int i = 0; i < 5; i++)
		join(v[i], v[i + 1]);
	return 0;
}
