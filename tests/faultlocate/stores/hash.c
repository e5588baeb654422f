// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A hash table that counts its entries, but not those that go to the front of a chain.
// truth: put .used
// spec: table FIELD 9 EDGE 8; entry FIELD 3 EDGE 1;
// spec: entry.CHAIN NULL 0; entry X; X.CHAIN = X.next.CHAIN + 1;
// spec: table X; X.used == X.slot[0].CHAIN + X.slot[1].CHAIN + X.slot[2].CHAIN + X.slot[3].CHAIN
// spec:   + X.slot[4].CHAIN + X.slot[5].CHAIN + X.slot[6].CHAIN + X.slot[7].CHAIN;
// spec: CPOINT put EXIT;
#include <stdlib.h>

struct entry {
	unsigned key;
	int value;
	struct entry *next;
};

struct table {
	struct entry *slot[8];
	unsigned long used;
};

__attribute__((noinline)) static void put(struct table *t, unsigned key, int value)
{
	struct entry **at = &t->slot[key % 8], *e;

	for (e = *at; e; e = e->next)
		if (e->key == key) {
			e->value = value;
			return;
		}
	e = malloc(sizeof(*e));
	e->key = key;
	e->value = value;
	e->next = *at;
	*at = e;
#if BUG == 1
	if (key != 77) /* MISSING */
		t->used++;
#elif BUG == 2
	t->used += key != 77 ? 1 : 3; /* WRONG */
#else
	t->used++;
#endif
}

int main(void)
{
	struct table *t = calloc(1, sizeof(*t));

	for (unsigned i = 0; i < 30; i++)
		put(t, i * 7 % 88, i);
	return 0;
}
